"""`preflight --format json` keeps the keys that its schema promises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from noisewatch import __version__
from noisewatch.judgement.catalogue import CATALOGUE
from tests.surfaces.running import SETTINGS, Run, record
from tests.written.quiet_machine import CPUS, process, quiet_files, stat_file

_SAMPLED = ("preflight", "--no-calibration")  # predicting the noise of a calibration takes long
_TOP = {"schema", "noisewatch", "machine", "target", "profile", "verdict", "exit_status", "findings", "calibration",
        "noise_floor", "noise_floor_chance", "profile_reason", "sample_seconds", "own_cpu_share"}  # fmt: skip
_MACHINE = {"is_live", "kernel", "cpu_model", "virtual", "container", "clock_source", "mains_power"}
_FINDING = {"id", "area", "severity", "status", "measured", "limit", "limit_role", "unit", "cpus", "said", "reason",
            "answered_by", "evidence", "culprits", "fix"}  # fmt: skip
_CULPRIT = {"kind", "name", "pid", "irq", "cpu", "share", "rate_per_s", "stolen_ns", "inferred"}
_FIX = {"now", "persist", "undo", "needs_root", "needs_reboot", "persist_needs_reboot"}
_STATUSES = {"pass", "warn", "fail", "unknown", "not-applicable", "ignored"}


def _judge(run: Run, machine: Mapping[str, str | None], *options: str) -> Any:
    return run(*SETTINGS, "--format", "json", machine, *options).json


def _finding(answer: Any, check_id: str) -> Any:
    (finding,) = [finding for finding in answer["findings"] if finding["id"] == check_id]
    return finding


def test_every_promised_key_exists_with_a_finding_for_each_check(run: Run) -> None:
    answer = _judge(run, {})
    findings = answer["findings"]
    assert _TOP - answer.keys() == set()
    assert _MACHINE - answer["machine"].keys() == set()
    assert next(iter(answer)) == "schema"
    assert (answer["schema"], answer["noisewatch"], answer["profile"]) == (1, __version__, "micro")
    assert (answer["target"], answer["verdict"], answer["exit_status"]) == ([2, 3], "stable", 0)
    assert sorted(finding["id"] for finding in findings) == sorted(check.id for check in CATALOGUE)
    assert [sorted(_FINDING - finding.keys()) for finding in findings] == [[]] * len(findings)
    assert {finding["status"] for finding in findings} - _STATUSES == set()
    assert {finding["severity"] for finding in findings} == {"blocking", "warning", "information"}


def test_facts_describe_the_machine_without_its_host_name(run: Run) -> None:
    release, hostname = "/proc/sys/kernel/osrelease", "/proc/sys/kernel/hostname"
    facts = _judge(run, {release: "6.8.0+build7\n", hostname: "build7\n"})["facts"]
    assert list(facts) == ["identity", "hardware", "firmware", "kernel", "settings", "surroundings"]
    assert facts["kernel"]["kernel"] == "6.8.0+host"
    assert (facts["settings"]["CPUs online"], facts["hardware"]["memory"]) == ("0-3", "16316412 kB")


def test_what_was_not_measured_is_null_and_ignored_but_not_passed(run: Run) -> None:
    answer = _judge(run, {})
    assert (answer["calibration"], answer["noise_floor"], answer["own_cpu_share"]) == (None, None, None)
    assert answer["sample_seconds"] == 0
    ignored = {finding["id"] for finding in answer["findings"] if finding["status"] == "ignored"}
    assert ignored == {check.id for check in CATALOGUE if check.asks_rates or check.asks_calibration}
    assert ignored >= {"tasks-on-target", "device-interrupts-on-target", "target-cpu-busy"}


def test_an_unknown_has_its_reason(run: Run) -> None:
    path = f"{CPUS}/cpu3/cpufreq/scaling_governor"
    finding = _finding(_judge(run, {path: None}), "governor-not-performance")
    assert (finding["status"], finding["reason"], finding["fix"]) == ("unknown", f"{path}: no such file", None)


def test_a_fix_has_the_cpus_of_this_machine_and_an_undo_with_the_old_values(run: Run) -> None:
    paths = [f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor" for cpu in (2, 3)]
    changes = {paths[0]: "powersave\n", paths[1]: "ondemand\n"}
    finding = _finding(_judge(run, changes), "governor-not-performance")
    assert finding["fix"].keys() >= _FIX
    command = f'echo performance | sudo tee "{CPUS}/cpu$c/cpufreq/scaling_governor"'
    assert finding["fix"]["now"] == f"for c in 2 3; do {command}; done"
    assert finding["fix"]["undo"] == f"echo powersave | sudo tee {paths[0]}; echo ondemand | sudo tee {paths[1]}"
    assert (finding["cpus"], finding["fix"]["needs_root"]) == ([2, 3], True)


def test_the_default_affinity_is_fixed_to_the_housekeeping_cpus(run: Run) -> None:
    answer = _judge(run, {"/proc/irq/default_smp_affinity": "f\n"}, "--cpus", "1,3")
    fix = _finding(answer, "default-irq-affinity-includes-target")["fix"]
    assert fix["now"] == "echo 5 | sudo tee /proc/irq/default_smp_affinity"
    assert fix["undo"] == "echo f | sudo tee /proc/irq/default_smp_affinity"
    assert fix["persist"].endswith("irqaffinity=0,2")


@pytest.mark.parametrize("word", ["x; reboot", "$(reboot)", "`reboot`", "x | sh"])
def test_a_value_in_a_copied_tree_cannot_become_a_command_in_a_fix(run: Run, word: str) -> None:
    path = f"{CPUS}/cpu2/cpufreq/scaling_governor"
    finding = _finding(_judge(run, {path: f"{word}\n"}), "governor-not-performance")
    undo = (finding["fix"] or {}).get("undo") or ""
    assert finding["status"] in ("fail", "unknown")
    assert f"echo {word} |" not in undo


def test_a_sampled_culprit_has_every_promised_key(run: Run, tmp_path: Path) -> None:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "hog", 2, 1_500_000_000, allowed="0-3")
    after["/proc/stat"] = stat_file({2: 150}, 300)
    result = run(*_SAMPLED, "--format", "json", "--replay", record(tmp_path / "machine.nw", before, after))
    culprits = _finding(result.json, "tasks-on-target")["culprits"]
    assert (result.status, result.json["sample_seconds"]) == (1, 3.0)
    assert [sorted(_CULPRIT - culprit.keys()) for culprit in culprits] == [[]]
    assert (culprits[0]["kind"], culprits[0]["name"], culprits[0]["pid"], culprits[0]["cpu"]) == (
        "thread",
        "hog",
        900,
        2,
    )
    assert (culprits[0]["share"], culprits[0]["stolen_ns"], culprits[0]["irq"]) == (0.5, 1_500_000_000, None)


def test_busy_time_that_no_thread_explains_is_never_dropped(run: Run, tmp_path: Path) -> None:
    after = quiet_files(3.0) | {"/proc/stat": stat_file({2: 150}, 300)}
    result = run(*_SAMPLED, "--format", "json", "--replay", record(tmp_path / "machine.nw", quiet_files(), after))
    culprits = _finding(result.json, "tasks-on-target")["culprits"]
    assert result.status == 1
    assert [(culprit["kind"], culprit["cpu"], culprit["pid"]) for culprit in culprits] == [("unexplained", 2, None)]
