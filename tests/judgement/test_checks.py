"""Every check has a machine that passes and one that does not; they differ in what the check is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.declaration import BLOCKING
from noisewatch.judgement.verdict import judge
from noisewatch.sources.snapshot import Wish, read_snapshot
from tests.judgement.judging import finding, judged, judged_by_settings
from tests.quiet_machine import ANSWERS, CPUS, crowd, process, quiet_files, stat_file
from tests.written import WrittenMachine, without

_CLOCKS = "/sys/devices/system/clocksource/clocksource0"
_FULL = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"


@dataclass(frozen=True)
class Fault:
    """What to change in the quiet machine, and what the check then says."""

    id: str
    status: str
    changed: dict[str, str]
    named: str = ""  # what the sentence or a culprit must name
    cpus: set[int] = field(default_factory=set)
    answers: dict[str, Any] = field(default_factory=dict)
    is_at_both: bool = True  # a setting, not something that happens


def _interrupts(target_count: int) -> dict[str, str]:
    text = quiet_files(3.0)["/proc/interrupts"].splitlines()
    text[1] = f" 24:        800          0 {target_count}          0 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0"
    return {"/proc/interrupts": "\n".join(text) + "\n"}


_LEAVING_2 = {"/proc/irq/24/effective_affinity_list": "2\n"}
_ROUTED_TO_2 = _LEAVING_2 | {"/proc/irq/24/smp_affinity_list": "0-2\n"}


def _partition(kind: str, cpus: str) -> dict[str, str]:
    files = {"cpuset.cpus.partition": kind, "cpuset.cpus": cpus, "cpuset.cpus.effective": "0-3"}
    return {f"/sys/fs/cgroup/bench/{file}": f"{text}\n" for file, text in files.items()}


FAULTS = [
    Fault("target-cpu-unusable", "fail", {f"{CPUS}/online": "0-2\n"}, "CPU 3", {3}),
    Fault("target-cpu-unusable", "fail", {}, "grants 2", {3}, {"pin to CPUs": {"granted": [2]}}),
    Fault(
        "target-cpu-unusable", "fail", {}, "invalid argument", {2, 3}, {"pin to CPUs": {"reason": "invalid argument"}}
    ),
    Fault("busy-sibling", "warn", {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}, "sibling on CPU 1", {1}),
    Fault("busy-cache-neighbour", "fail", {"/proc/stat": stat_file({1: 290}, 300)}, "CPU 1, in one", {1}, {}, False),
    Fault("busy-cache-neighbour", "warn", {"/proc/stat": stat_file({1: 150}, 300)}, "0.5 CPUs", {1}, {}, False),
    Fault("partition-invalid", "fail", _partition("isolated invalid (not exclusive)", "2"), "(not exclusive)", {2}),
    Fault("partition-invalid", "pass", _partition("isolated invalid (not exclusive)", "0"), "(not exclusive)"),
    Fault("partition-invalid", "fail", _partition("isolated invalid (no cpus)", ""), "(no cpus)"),
    Fault("partition-invalid", "unknown", _partition("isolated perhaps", "2"), "unknown"),
    Fault("partition-invalid", "pass", _partition("isolated", "2"), "all valid"),
    Fault("threads-confined-to-isolated-cpus", "warn", crowd(900, "bench", [2, 2], "2-3"), "are on 2", {2, 3}),
    Fault("threads-confined-to-isolated-cpus", "pass", crowd(900, "bench", [2, 2], "2"), "no process"),
    Fault("threads-confined-to-isolated-cpus", "pass", crowd(900, "bench", [2, 2], "1-3"), "no process"),
    Fault("target-not-isolated", "warn", {f"{CPUS}/isolated": "3\n"}, "CPU 2", {2}),
    Fault("tasks-on-target", "fail", process(900, "hog", 2, 2_000_000_000, allowed="0-3"), "hog", {2}, {}, False),
    Fault("tasks-on-target", "warn", process(900, "idle", 0, 0, allowed="0-3"), "1 of"),
    Fault("tasks-on-target", "fail", {"/proc/stat": stat_file({2: 30}, 300)}, "time of no thread seen", {2}, {}, False),
    Fault(
        "device-interrupts-on-target", "fail", _interrupts(300), "eth0-rx-0 (Ethernet Controller X550", {2}, {}, False
    ),
    Fault("device-interrupts-on-target", "warn", _interrupts(3), "eth0-rx-0", {2}, {}, False),
    Fault("irq-routed-to-target", "warn", _ROUTED_TO_2, "24 eth0-rx-0", {2}),
    Fault("irq-routed-to-target", "pass", _LEAVING_2, "gone after one more interrupt: 24 eth0-rx-0"),
    Fault("irq-routed-to-target", "warn", {"/proc/irq/24/smp_affinity_list": "0-3\n"}, "may move"),
    Fault(
        "default-irq-affinity-includes-target", "warn", {"/proc/irq/default_smp_affinity": "f\n"}, "CPUs 2-3", {2, 3}
    ),
    Fault("target-cpu-busy", "fail", {"/proc/stat": stat_file({3: 30}, 300)}, "CPU 3 is 10.0% busy", {3}, {}, False),
    Fault("target-cpu-busy", "warn", {"/proc/stat": stat_file({3: 10}, 300)}, "3.3% busy", set(), {}, False),
    Fault("hypervisor-steal", "fail", {"/proc/stat": stat_file({}, 300, {2: 6})}, "2.0% of CPU 2", {2}, {}, False),
    Fault("pressure-stall", "warn", {"/proc/pressure/io": _FULL.format(total=25_000)}, "io 0.8%", set(), {}, False),
    Fault("pressure-stall", "fail", {"/proc/pressure/cpu": _FULL.format(total=301_000)}, "cpu 10.0%", set(), {}, False),
    Fault(
        "governor-not-performance", "fail", {f"{CPUS}/cpu3/cpufreq/scaling_governor": "schedutil\n"}, "schedutil", {3}
    ),
    Fault("turbo-enabled", "warn", {f"{CPUS}/cpufreq/boost": "1\n"}, "boost"),
    Fault(
        "frequency-window-open",
        "warn",
        {f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "3600000\n", f"{CPUS}/cpufreq/boost": "1\n"},
        "3600000",
        {2},
    ),
    Fault("on-battery", "fail", {"/sys/class/power_supply/AC/online": "0\n"}, "on battery"),
    Fault("slow-clock-source", "fail", {f"{_CLOCKS}/current_clocksource": "hpet\n"}, "hpet"),
    Fault(
        "cpu-quota",
        "fail",
        {"/sys/fs/cgroup/cpu.max": "150000 100000\n", "/sys/fs/cgroup/cpu.stat": "nr_throttled 0\n"},
        "1.5 of 2",
    ),
    Fault(
        "cpu-quota",
        "warn",
        {"/sys/fs/cgroup/cpu.max": "400000 100000\n", "/sys/fs/cgroup/cpu.stat": "nr_throttled 0\n"},
        "4 CPUs",
    ),
]


def test_the_quiet_machine_is_stable_and_answers_everything() -> None:
    verdict = judged(WrittenMachine(quiet_files(), quiet_files(3.0), answers=ANSWERS))
    assert {each.check.id: each.status for each in verdict.findings} == {
        each.id: "not-applicable" if each.id in ("hypervisor-steal", "partition-invalid") else "pass"
        for each in CATALOGUE
    }
    assert (verdict.verdict, verdict.exit_status) == ("stable", 0)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.id}-{fault.status}-{fault.named}")
def test_a_fault_is_found_and_named(fault: Fault) -> None:
    before = quiet_files() | (fault.changed if fault.is_at_both else {})
    after = quiet_files(3.0) | fault.changed
    verdict = judged(WrittenMachine(before, after, answers=ANSWERS | fault.answers), frozenset({2, 3}))
    found = finding(verdict, fault.id)
    named = found.answer.said + " ".join(culprit.name for culprit in found.answer.culprits)
    assert (found.status, fault.named in named) == (fault.status, True), named
    assert set(found.answer.cpus) == fault.cpus


def test_every_check_but_the_process_scan_has_a_fault_above() -> None:
    asked = {each.id for each in CATALOGUE if not each.asks_calibration}
    assert asked - {fault.id for fault in FAULTS} == {"irqbalance-may-move-irqs"}


def test_irqbalance_matters_only_where_it_may_use_the_target() -> None:
    running = process(800, "irqbalance", 0, 5_000)
    machine = WrittenMachine(quiet_files() | running, quiet_files(3.0) | running, answers=ANSWERS)
    assert finding(judged(machine), "irqbalance-may-move-irqs").status == "pass"
    machine = WrittenMachine(quiet_files() | running, quiet_files(3.0) | running, answers=ANSWERS)
    assert finding(judged(machine, frozenset({1})), "irqbalance-may-move-irqs").status == "warn"


def test_an_irq_that_was_told_to_leave_and_comes_all_the_same_is_routed_there() -> None:
    after = quiet_files(3.0) | _LEAVING_2 | _interrupts(1)
    machine = WrittenMachine(quiet_files() | _LEAVING_2, after, answers=ANSWERS)
    found = finding(judged(machine), "irq-routed-to-target")
    assert (found.status, set(found.answer.cpus)) == ("warn", {2})


def test_a_busy_sibling_fails_and_names_what_runs_there() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = quiet_files() | siblings
    after = quiet_files(3.0) | siblings | process(901, "neighbour", 1, 1_500_000_000)
    after["/proc/stat"] = stat_file({1: 150}, 300)
    found = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "busy-sibling")
    (culprit,) = found.answer.culprits
    assert (found.status, set(found.answer.cpus)) == ("fail", {1})
    assert (culprit.kind, culprit.name, culprit.pid) == ("sibling", "neighbour", 901)


def test_throttling_in_the_sample_fails_even_under_a_wide_quota() -> None:
    quota = {"/sys/fs/cgroup/cpu.max": "400000 100000\n"}
    before = quiet_files() | quota | {"/sys/fs/cgroup/cpu.stat": "nr_throttled 7\n"}
    after = quiet_files(3.0) | quota | {"/sys/fs/cgroup/cpu.stat": "nr_throttled 9\n"}
    found = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "cpu-quota")
    assert (found.status, found.answer.measured) == ("fail", 2)


def test_all_tasks_waiting_for_memory_block_although_pressure_usually_warns() -> None:
    after = quiet_files(3.0) | {"/proc/pressure/memory": _FULL.format(total=100_000)}
    verdict = judged(WrittenMachine(quiet_files(), after, answers=ANSWERS))
    assert finding(verdict, "pressure-stall").severity == BLOCKING
    assert verdict.verdict == "unstable"


def test_a_virtual_machine_cannot_see_who_shares_its_cache() -> None:
    machine = WrittenMachine(quiet_files() | _VIRTUAL, quiet_files(3.0) | _VIRTUAL, answers=ANSWERS)
    found = finding(judged(machine), "busy-cache-neighbour")
    assert (found.status, found.answered_by) == ("unknown", "memory-unsteady")


def test_without_caches_the_package_is_looked_at() -> None:
    caches = [f"{CPUS}/cpu{cpu}/cache" for cpu in range(4)]
    after = quiet_files(3.0) | {"/proc/stat": stat_file({1: 290}, 300)}
    machine = WrittenMachine(without(quiet_files(), *caches), without(after, *caches), answers=ANSWERS)
    assert finding(judged(machine), "busy-cache-neighbour").status == "fail"


def test_threads_are_spread_by_one_command_each_and_brought_back() -> None:
    several = crowd(900, "bench", [2, 2, 2], "2-3")
    machine = WrittenMachine(quiet_files() | several, quiet_files(3.0) | several, answers=ANSWERS)
    fix = finding(judged(machine), "threads-confined-to-isolated-cpus").answer.fix
    assert fix is not None
    assert fix.now == "sudo taskset -pc 2 900; sudo taskset -pc 3 901; sudo taskset -pc 2 902"
    assert fix.undo == "; ".join(f"sudo taskset -pc 2-3 {tid}" for tid in (900, 901, 902))


_VIRTUAL = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}


def test_steal_that_was_never_reported_is_unknown_in_a_virtual_machine() -> None:
    machine = WrittenMachine(quiet_files() | _VIRTUAL, quiet_files(3.0) | _VIRTUAL, answers=ANSWERS)
    verdict = judged(machine, is_calibrated=False)
    assert finding(verdict, "hypervisor-steal").status == "unknown"
    assert verdict.exit_status == 3


def test_steal_that_was_reported_once_is_believed_when_it_stands_still() -> None:
    before = quiet_files() | _VIRTUAL | {"/proc/stat": stat_file({}, 0, {2: 5, 3: 5})}
    after = quiet_files(3.0) | _VIRTUAL | {"/proc/stat": stat_file({}, 310, {2: 5, 3: 5})}
    assert finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "hypervisor-steal").status == "pass"


@pytest.mark.parametrize(
    ("check_id", "gone"),
    [
        ("target-cpu-unusable", (f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo")),
        ("busy-sibling", (f"{CPUS}/cpu2/topology/thread_siblings_list",)),
        ("tasks-on-target", ("/proc/stat",)),
        ("device-interrupts-on-target", ("/proc/interrupts",)),
        ("target-cpu-busy", ("/proc/stat",)),
        ("governor-not-performance", (f"{CPUS}/cpu2/cpufreq/scaling_governor",)),
        ("governor-not-performance", (f"{CPUS}/cpu2/cpufreq",)),
        ("on-battery", ("/sys/class/power_supply/AC/online",)),
        ("cpu-quota", ("/proc/self/cgroup",)),
        ("partition-invalid", ("/proc/self/mounts",)),
        ("cpu-quota", ("/proc/self/mounts",)),
    ],
)
def test_without_the_file_behind_a_blocking_check_the_verdict_is_unknown(check_id: str, gone: tuple[str, ...]) -> None:
    moments = (without(quiet_files(), *gone), without(quiet_files(3.0), *gone))
    verdict = judged(WrittenMachine(*moments, answers=ANSWERS), frozenset({2, 3}), is_calibrated=False)
    found = finding(verdict, check_id)
    assert (found.status, verdict.exit_status) == ("unknown", 3)
    assert found.answer.reason


@pytest.mark.parametrize(
    ("gone", "said_by"),
    [((f"{CPUS}/online",), "/proc/stat"), ((f"{CPUS}/online", "/proc/stat"), "/proc/cpuinfo")],
)
def test_online_cpus_may_be_told_by_another_file_which_is_then_named(gone: tuple[str, ...], said_by: str) -> None:
    verdict = judged_by_settings(WrittenMachine(without(quiet_files(), *gone), answers=ANSWERS))
    assert finding(verdict, "target-cpu-unusable").answer.evidence["online_by"] == said_by


def test_nothing_is_said_of_rates_that_nobody_asked_for() -> None:
    verdict = judged_by_settings(WrittenMachine(quiet_files(), answers=ANSWERS))
    ignored = {each.check.id for each in verdict.findings if each.status == "ignored"}
    assert ignored == {each.id for each in CATALOGUE if each.asks_rates or each.asks_calibration}
    assert verdict.verdict == "stable"


def test_bare_metal_needs_no_sample_to_know_that_nobody_steals() -> None:
    case = Case(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), Wish()), no_sample_reason="stands still")
    statuses = {each.check.id: each.status for each in judge(case).findings}
    assert (statuses["hypervisor-steal"], statuses["target-cpu-busy"]) == ("not-applicable", "unknown")
