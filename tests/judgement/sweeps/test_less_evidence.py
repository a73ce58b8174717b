"""Less evidence never makes a better answer: each file that a check reads is withheld, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

import pytest

from noisewatch.judgement.answer import Answer
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Severity, Status
from noisewatch.judgement.verdict import Finding, Verdict
from tests.judgement.example import Example, all_examples, first_failures
from tests.judgement.judging import finding_on, judged
from tests.judgement.sweeps.lessened import (
    ABSENT,
    DENIED,
    EMPTY,
    FAULTS,
    TRUNCATED,
    Fact,
    LessenedMachine,
    faults_of,
    improvement_without_path,
    paths_of,
)
from tests.written import WrittenMachine

# Missing paths by which the kernel, or its configuration, states a fact.
FACTS = (
    Fact(r"/proc/\d+/(stat|task/.*)?", (ABSENT, EMPTY), "the process or the thread has ended"),
    Fact(
        *(r"/proc/\d+/schedstat", FAULTS, "stat contains its time too, in ticks of 10 ms"),
        ("background-job-runs", "own-load-on-target"),
    ),
    Fact(r"/sys/devices/system/cpu/cpu\d/", (ABSENT, EMPTY), "no such CPU", ("energy-bias-not-performance",)),
    Fact(r"/sys/bus/pci/(devices/(0000:[\w:.]*/)?)?", (ABSENT, EMPTY), "no such device, as in a small machine"),
    Fact(r".*/intel_pstate/(\w+)?", FAULTS, "acpi-cpufreq sets the clock", ("clock-boosted-after-io", "clock-capped")),
    Fact(r".*/cpuinfo_cur_freq", (ABSENT,), "a driver that does not read the clock", ("clock-capped",)),
    Fact(r".*/cgroup.controllers", (EMPTY,), "no controller is enabled for this group"),
    Fact(r".*/cgroup.events", (ABSENT,), "only the true root has none"),
    Fact(
        r"/sys/class/hwmon/hwmon\d/temp\d_label", (ABSENT,), "labels are optional, and the critical value is reported"
    ),
    Fact(r"/proc/vmstat", FAULTS, "there is only one memory node, to balance nothing", ("numa-balancing-runs",)),
    Fact(r"/boot/(config-.*)?", FAULTS, "nohz_full is there, which brings RCU_NOCB_CPU", ("rcu-callbacks-on-target",)),
    Fact(r"/proc/irq/\d+/", (ABSENT, EMPTY), "no such IRQ"),
    Fact(r"/sys/devices/cpu_(core|atom)/(cpus)?", FAULTS, "the work is measured instead", ("target-cores-differ",)),
    Fact(r"/sys/devices/system/cpu/vulnerabilities/\w+", (ABSENT,), "a vulnerability that this kernel does not list"),
    Fact(r"/proc/irq/\d+/effective_affinity_list", (ABSENT,), "before Linux 4.15 only the requested one is reported"),
    Fact(r"/proc/sys/.*", (ABSENT,), "this kernel has no such setting"),
    Fact(r"/proc/mdstat", (ABSENT,), "a kernel without md has no arrays"),
    Fact(r"/var/lib/(noisewatch/(tuned.json)?)?", (ABSENT, EMPTY), "not tuned", ("tuning-left-behind",)),
    Fact(r"/(etc|run)/.*|/\.dockerenv", (ABSENT, EMPTY), "not configured, locked or present"),
    Fact(r"/sys/class/(power_supply|thermal|graphics)/(\w+/)?(cursor_blink)?", (ABSENT, EMPTY), "no such device"),
    Fact(r"/sys/class/net/eth\d/(queues/(rx-0/)?)?", (ABSENT, EMPTY), "an interface that is gone, or has no queues"),
    Fact(r"/sys/class/net/eth\d/queues/rx-0/rps_cpus", (ABSENT,), "a kernel without CONFIG_RPS, in no queue"),
    Fact(r"/sys/class/(hwmon/hwmon\d|powercap/intel-rapl[-:\w]*)/", (ABSENT, EMPTY), "no such chip or zone"),
    Fact(r"/sys/class/powercap/[^/]*/constraint_0_name", (ABSENT,), "packages that have no limit"),
    Fact(r"/sys/bus/pci_express/(devices/)?", (ABSENT, EMPTY), "no port has a service"),
    Fact(r"/sys/devices/system/(machinecheck|edac)/(.*/)?(check_interval)?", (ABSENT, EMPTY), "no such driver"),
    Fact(r"/sys/devices/system/node/node[1-9]/", (ABSENT,), "no such memory node"),
    Fact(r"/sys/devices/system/cpu/nohz_full", (ABSENT,), "a kernel without CONFIG_NO_HZ_FULL ignores the option"),
    Fact(r".*/cpuidle/(state\d/)?", (ABSENT,), "the CPU has no such idle state"),
    Fact(r".*/power/(pm_qos_resume_latency_us)?", (ABSENT,), "a kernel without CONFIG_PM takes no requests"),
    Fact(r".*/(bios_limit|energy_performance_preference|energy_perf_bias)", (ABSENT,), "the driver has no such thing"),
    Fact(r".*/(intel_pstate|intel_uncore_frequency)/(\w*(perf_pct|boost))?", (ABSENT,), "the driver is not there"),
    Fact(r"/sys/kernel/(mm|sched_ext|livepatch|tracing)/.*", (ABSENT, EMPTY), "the kernel was built without it"),
    Fact(r"/sys/fs/cgroup/(.*/)?cpu(set)?\.[\w.]+", (ABSENT,), "the controller is not enabled for this group"),
    Fact(r"/sys/fs/cgroup/([\w.]+/)+", (ABSENT, EMPTY), "there is no such group"),
    Fact(r"/sys/firmware/acpi/(platform_profile)?", (ABSENT,), "a machine without ACPI, or without profiles"),
    Fact(
        r"/sys/(\w+/)*(online)?",
        FAULTS,
        "/proc/stat lists the online CPUs as well",
        ("target-cpu-unusable", "no-housekeeping-cpu"),
    ),
    Fact(
        r"/sys/(devices/(system/(cpu/(cpu\d/(cpu_capacity|cpufreq/(cpuinfo_max_freq)?|regs/.*)?)?)?)?)?",
        FAULTS,
        "the calibration measures the cores instead, and these are alike",
        ("target-cores-differ",),
    ),
    Fact(r"/proc/stat", FAULTS, "other files identify bare metal", ("hypervisor-steal",)),
    Fact(r".*/topology/(physical_package_id)?", FAULTS, "each CPU is asked for its package's count", ("throttled",)),
    Fact(r"/etc/(default/grub(\.d/.*)?|kernel/cmdline)", (TRUNCATED,), "an editor may leave the last line open"),
    Fact(r".*/set_event", (TRUNCATED,), "no event is left, as where none is traced"),
    Fact(r"/sys/kernel/security/lsm", (TRUNCATED,), "it never has a line end", ("privileges-limited",)),
)
# Sentences of checks that pass by other evidence than the missing path.
OTHER_PROOFS = {
    "the 2 other CPUs are 1.0% busy": "CPUs that may be neighbours are judged with all others",
    "khugepaged made no huge pages": "the count of collapsed pages decides, whatever the policy",
    "hwp_dynamic_boost is 0": "without the boost the governor does not matter",
    "timer_migration is 0": "where nothing migrates, nohz_full does not matter",
    "stat_interval is 120": "seldom enough for CPUs that are not spared",
}


@cache
def _sound() -> tuple[Verdict, frozenset[str]]:
    machine: WrittenMachine = Example("quiet", "pass").machine()
    return judged(machine), frozenset(paths_of(machine))


@cache
def _changed_findings(fault: str) -> dict[str, dict[str, Finding]]:
    """Return by path and check the findings on the quiet machine that differ without that path."""
    verdict, paths = _sound()
    paths = paths if fault == DENIED else _one_per_kind(paths)
    answers = {finding.check.id: finding.answer for finding in verdict.findings}
    lessened = {path: _judged_without(path, fault) for path in paths if fault in faults_of(path)}
    return {
        path: {finding.check.id: finding for finding in verdict.findings if finding.answer != answers[finding.check.id]}
        for path, verdict in lessened.items()
    }


def _one_per_kind(paths: Iterable[str]) -> frozenset[str]:
    """Return the paths without those of CPUs 0 and 2, whose roles CPUs 1 and 3 have as well."""
    return frozenset({_shape(path): path for path in sorted(paths)}.values())


def _shape(path: str) -> str:
    return re.sub("/cpu[01]/", "/cpu-other/", re.sub("/cpu[23]/", "/cpu-target/", path))


def _judged_without(path: str, fault: str) -> Verdict:
    return judged(Example("quiet", "pass").machine(LessenedMachine).take(path, fault))


@cache
def _paths_by_check() -> dict[str, set[str]]:
    """Return by check the paths without which its answer about the quiet machine differs."""
    denied = _changed_findings(DENIED).items()
    return {check.id: {path for path, changed in denied if check.id in changed} for check in CATALOGUE}


def _passes_otherwise(finding: Finding, sound: Answer) -> bool:
    """Return whether the finding is still calm, but differs: for a blocking check any difference counts."""
    is_calm = finding.status in (Status.PASS, Status.NOT_APPLICABLE)
    answer = finding.answer
    is_same = (answer.said, answer.measured, answer.reason) == (sound.said, sound.measured, sound.reason)
    return is_calm and (not is_same or finding.check.severity == Severity.BLOCKING)


def _paths_to_withhold(example: Example, machine: WrittenMachine) -> list[str]:
    """Return the paths that the check reads, and those in which the machine differs from the quiet one."""
    special = {*example.changed, *example.after, *example.loaded}
    usual = _sound()[1]
    return [
        path
        for path in paths_of(machine)
        if path in _paths_by_check()[example.id] or path not in usual or path in special
    ]


def _improvements(example: Example, ways: int) -> list[str]:
    """Return the answers that improve when a path is missing, with `ways` faults for each path."""
    machine: WrittenMachine = example.machine()
    sound = example.finding_of(machine)
    return [
        improvement
        for number, path in enumerate(_paths_to_withhold(example, machine))
        for fault in _some_of(faults_of(path), number, ways)
        if not any(fact.excuses(example.id, path, fault) for fact in FACTS)
        if (improvement := improvement_without_path(example, sound, path, fault)) is not None
    ]


def _some_of(faults: Sequence[str], number: int, ways: int) -> list[str]:
    return [faults[(number + way) % len(faults)] for way in range(min(ways, len(faults)))]


@pytest.mark.parametrize("example", first_failures(), ids=lambda example: example.id)
def test_less_evidence_never_makes_a_better_answer(example: Example) -> None:
    assert _improvements(example, ways=1) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_less_evidence_never_lets_a_check_pass_with_another_claim(fault: str) -> None:
    sound = {finding.check.id: finding for finding in _sound()[0].findings}
    otherwise = [
        f"{check_id}: {finding.status} where {path} is {fault}: {finding.answer.said} {finding.answer.reason or ''}"
        for path, changed in _changed_findings(fault).items()
        for check_id, finding in changed.items()
        if sound[check_id].status == Status.PASS and _passes_otherwise(finding, sound[check_id].answer)
        if finding.answer.said not in OTHER_PROOFS and not any(fact.excuses(check_id, path, fault) for fact in FACTS)
    ]
    assert otherwise == []


@pytest.mark.parametrize(
    ("check_id", "folder"),
    [
        ("mitigations-chosen-by-hand", "/sys/devices/system/cpu/vulnerabilities/"),
        ("packets-steered-to-target", "/sys/class/net/"),
        ("platform-profile-saves-power", "/sys/firmware/"),
        ("hardware-counters-unusable", "/sys/bus/event_source/devices/"),
        ("partition-invalid", "/sys/fs/cgroup/"),
    ],
)
def test_a_folder_that_no_kernel_leaves_empty_is_unknown_if_empty(check_id: str, folder: str) -> None:
    machine: LessenedMachine = Example(check_id, "pass").machine(LessenedMachine).take(folder, EMPTY)
    assert finding_on(machine, check_id).status == "unknown"


def test_a_warning_that_may_be_a_failure_is_unknown_where_it_would_block() -> None:
    files = {"/sys/devices/system/cpu/isolated": "3\n"}
    mild, strict = (
        Example("target-not-isolated", "warn", files, gone=("/proc/self/mounts",), rules=Rules(profile)).found()
        for profile in ("micro", "strict")
    )
    assert (mild.status, strict.status, strict.is_blocking_unknown) == ("warn", "unknown", True)


def test_the_sweep_withholds_a_path_of_nearly_every_check() -> None:
    idle = {check_id for check_id, paths in _paths_by_check().items() if not paths}
    assert len(idle) < len(CATALOGUE) // 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", [example for example in all_examples() if example.status in ("fail", "warn", "unknown")]
)
def test_less_evidence_of_any_example_never_makes_a_better_answer(example: Example) -> None:
    assert _improvements(example, ways=len(FAULTS)) == []
