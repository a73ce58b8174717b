"""Fixes of the frequency and idle state checks, their undo, and the severity of these checks."""

from __future__ import annotations

import pytest

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.frequency.idle import LATENCY_REQUEST
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.fixes.proposed import fix_of
from tests.judgement.judging import answered, finding, finding_on, judged
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files


def test_the_undo_restores_the_governor_of_each_cpu() -> None:
    fix = fix_of(
        "governor-not-performance",
        {
            f"{CPUS}/cpu2/cpufreq/scaling_governor": "schedutil\n",
            f"{CPUS}/cpu3/cpufreq/scaling_governor": "ondemand\n",
        },
    )
    path = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
    assert fix.now == f'for c in 2 3; do echo performance | sudo tee "{path.format("$c")}"; done'
    assert fix.undo == f"echo schedutil | sudo tee {path.format(2)}; echo ondemand | sudo tee {path.format(3)}"


def test_a_persistent_governor_is_a_file_that_the_undo_removes() -> None:
    governor = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
    fix = fix_of("governor-not-performance", {governor.format(cpu): "schedutil\n" for cpu in (2, 3)})
    path = "/etc/tmpfiles.d/noisewatch-cpu2-3.cpufreq.scaling_governor.conf"
    assert fix.persist == f"echo 'w {governor.format('[23]')} - - - - performance' | sudo tee {path}"
    assert fix.undo_persist == f"sudo rm -f {path}"


def test_the_undo_restores_the_energy_preference_of_each_cpu() -> None:
    name = "energy_performance_preference"
    changed = {f"{CPUS}/cpu2/cpufreq/{name}": "balance_power\n", f"{CPUS}/cpu3/cpufreq/{name}": "128\n"}
    fix = fix_of("energy-preference-not-performance", changed)
    assert fix.now == f'for c in 2 3; do echo performance | sudo tee "{CPUS}/cpu$c/cpufreq/{name}"; done'
    assert fix.undo == (
        f"echo balance_power | sudo tee {CPUS}/cpu2/cpufreq/{name}; echo 128 | sudo tee {CPUS}/cpu3/cpufreq/{name}"
    )


def test_a_profile_that_the_platform_lacks_is_not_proposed() -> None:
    without: dict[str, str] = {Knob.PLATFORM_PROFILE: "balanced\n", Knob.PLATFORM_PROFILES: "quiet balanced\n"}
    assert answered("platform-profile-saves-power", without).fix is None


def test_daemons_are_stopped_and_started_by_the_names_of_their_units() -> None:
    fix = fix_of("frequency-daemon-runs", process(900, "thermald", 0, 0) | process(901, "power-profiles-", 0, 0))
    assert fix.now == "sudo systemctl stop power-profiles-daemon thermald"
    assert fix.undo == "sudo systemctl start power-profiles-daemon thermald"
    assert answered("frequency-daemon-runs", process(900, "gamemoded", 0, 0)).fix is None


def test_deep_idle_states_are_disabled_where_they_are_enabled_and_restored() -> None:
    files = {f"{CPUS}/cpu{cpu}/cpuidle/state3/disable": "0\n" for cpu in range(4)}
    files[f"{CPUS}/cpu2/cpuidle/state2/latency"] = "20\n"
    fix = fix_of("deep-idle-states", files)
    both, c6 = f"{CPUS}/cpu2/cpuidle/state$s/disable", f"{CPUS}/cpu3/cpuidle/state3/disable"
    assert fix.now == f'for s in 2 3; do echo 1 | sudo tee "{both}"; done; echo 1 | sudo tee {c6}'
    assert fix.undo == f'for s in 2 3; do echo 0 | sudo tee "{both}"; done; echo 0 | sudo tee {c6}'


def test_a_preference_that_follows_the_governor_is_only_a_note() -> None:
    files = {
        f"{CPUS}/cpu{cpu}/cpufreq/{name}": text
        for cpu in (2, 3)
        for name, text in (
            ("scaling_driver", "amd-pstate-epp\n"),
            ("scaling_governor", "powersave\n"),
            ("energy_performance_preference", "balance_performance\n"),
        )
    }
    verdict = judged(WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers=ANSWERS))
    assert finding(verdict, "governor-not-performance").is_warning
    assert finding(verdict, "energy-preference-not-performance").is_note


def test_a_daemon_that_rewrites_settings_is_a_warning() -> None:
    by_name = {}
    for name in ("auto-cpufreq", "tuned"):
        files = process(900, name, 0, 0)
        verdict = judged(WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers=ANSWERS))
        by_name[name] = finding(verdict, "frequency-daemon-runs").severity
    assert by_name == {"auto-cpufreq": "warning", "tuned": "information"}


@pytest.mark.parametrize(
    ("siblings", "profile", "severity"),
    [("2", "micro", "information"), ("1-2", "micro", "warning"), ("1-2", "latency", "information")],
)
def test_spinning_idle_siblings_of_the_target_are_a_warning(siblings: str, profile: str, severity: str) -> None:
    files = {f"{CPUS}/cpu2/topology/thread_siblings_list": siblings + "\n"}
    machine = WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers={**ANSWERS, LATENCY_REQUEST: 0})
    assert finding_on(machine, "idle-cpus-spin", rules=Rules(profile)).severity == severity
