"""Load, pressure and the cost of interrupts in an interval."""

from __future__ import annotations

import pytest

from noisewatch.model.interval.disturbance import disturbances_of, is_of_a_device, kind_of_row, taken_by_cpu
from noisewatch.model.interval.interrupt_counts import RowCount
from tests.model.interval.sampling import interval_of
from tests.written import Files
from tests.written.quiet.system import CONFIG
from tests.written.quiet_machine import cpu_row, process, stat_file


def test_rate_is_per_second_of_the_interval() -> None:
    interval = interval_of({}, {})
    assert interval.seconds == 3.0
    (disturbance,) = [culprit for culprit in disturbances_of(interval, 0) if culprit.irq == 24]
    assert disturbance.rate_per_s == pytest.approx(100)
    assert (disturbance.name, disturbance.is_inferred) == ("24 eth0-rx-0 (Ethernet Controller X550 (eth0))", True)


def test_load_excludes_idle_time_and_waiting_for_io() -> None:
    assert interval_of({}, {"/proc/stat": stat_file({2: 30}, 300)}).busy_share(2) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (cpu_row("cpu2", user=10, idle=100_300), "a counter that runs backwards"),
        (cpu_row("cpu2"), "a CPU whose time stands still"),
    ],
)
def test_load_is_unknown_without_valid_counters(row: str, cause: str) -> None:
    lines = stat_file({}, 300).splitlines(keepends=True)
    lines[3] = row
    interval = interval_of({}, {"/proc/stat": "".join(lines)})
    assert interval.busy_share(2) is None, cause
    assert interval.unexplained_ns(2) is None
    assert interval.busy_share(3) == 0


def test_load_of_a_cpu_that_came_online_is_unknown() -> None:
    rows = stat_file({}, 0).splitlines(keepends=True)
    interval = interval_of({"/proc/stat": "".join(rows[:3] + rows[4:])}, {})
    assert interval.busy_share(2) is None


def test_accounted_interrupt_time_is_divided_by_count() -> None:
    lines = stat_file({}, 300).splitlines(keepends=True)
    lines[1] = "cpu0 1000 0 500 100294 20 6 5 0 0 0\n"
    interval = interval_of({}, {"/proc/stat": "".join(lines)})
    interrupts = [culprit for culprit in disturbances_of(interval, 0) if culprit.kind in ("irq", "tick", "ipi")]
    assert sum(interrupt.stolen_ns or 0 for interrupt in interrupts) == pytest.approx(60_000_000, rel=0.01)


def _timer_of_cpu2(count: int, config: str) -> tuple[str, str, float | None]:
    table = "CPU0 CPU1 CPU2 CPU3\n24: 1 1 1 1 PCI-MSIX 0-edge eth0\nLOC: 9 9 {} 9 Local timer interrupts\n"
    files = {CONFIG: config, "/proc/interrupts": table.format(100)}
    interval = interval_of(files, files | {"/proc/interrupts": table.format(100 + count)})
    (timer,) = [culprit for culprit in disturbances_of(interval, 2) if culprit.kind in ("tick", "timer")]
    return timer.kind, timer.name, timer.rate_per_s


def test_timer_interrupts_far_above_hz_are_not_ticks() -> None:
    assert _timer_of_cpu2(750, "CONFIG_HZ=250\n") == ("tick", "Local timer interrupts", 250.0)
    assert _timer_of_cpu2(42_474, "CONFIG_HZ=250\n") == ("timer", "timer interrupts", 14_158.0)
    assert _timer_of_cpu2(3_000, "CONFIG_HZ=250\n") == ("timer", "timer interrupts", 1_000.0)
    assert _timer_of_cpu2(3_000, "CONFIG_SMP=y\n") == ("tick", "Local timer interrupts", 1_000.0)


def test_steal_is_attributed_to_the_outside() -> None:
    interval = interval_of({}, {"/proc/stat": stat_file({}, 300, {2: 6})})
    (disturbance,) = disturbances_of(interval, 2)
    assert (disturbance.kind, disturbance.stolen_ns) == ("outside", 60_000_000)


def test_pressure_that_runs_backwards_is_unknown() -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
    interval = interval_of({"/proc/pressure/io": text.format(500)}, {"/proc/pressure/io": text.format(20)})
    assert interval.stall_by_resource["io"].some is None
    assert interval.stall_by_resource["cpu"].some == 0


@pytest.mark.parametrize(
    ("label", "description", "kind", "is_device"),
    [
        ("36", "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0", "irq", True),
        ("LOC", "Local timer interrupts", "tick", False),
        ("10", "GICv3 27 Level arch_timer", "tick", False),
        ("49", "GICv3 23 Level arm-pmu", "local", False),
        ("RES", "Rescheduling interrupts", "ipi", False),
        ("IPI1", "Function call interrupts", "ipi", False),
        ("NMI", "Non-maskable interrupts", "nmi", False),
        ("TRM", "Thermal event interrupts", "local", False),
        ("AIO", "", "irq", True),
    ],
)
def test_kind_of_a_row_is_derived_from_what_it_counts(label: str, description: str, kind: str, is_device: bool) -> None:
    row = RowCount(label, description, int(label) if label.isdecimal() else None, {0: 1})
    assert (kind_of_row(row), is_of_a_device(row)) == (kind, is_device)


_CPUS = range(4)
_TABLE = "CPU0 CPU1 CPU2 CPU3\n24: 1 1 1 1 PCI-MSIX 0-edge eth0\nLOC: 9 9 {} {} Local timer interrupts\n"
_TICKS, _TIMERS = (
    {"/proc/interrupts": _TABLE.format(9, 9)},
    {"/proc/interrupts": _TABLE.format(9 + 40_000, 90)},
)
_STEAL = {"/proc/stat": stat_file({}, 300, {2: 6})}
_MEASURED = {"/proc/stat": stat_file({}, 300).replace("cpu1 1000 0 500 100300 20 0", "cpu1 1000 0 500 100294 20 6")}
_UNATTRIBUTED = {"/proc/stat": stat_file({1: 200}, 300)}


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ({}, {}, {"irq", "tick"}),
        (_TICKS, _TIMERS, {"timer", "tick"}),
        ({}, _STEAL, {"outside"}),
        ({}, _MEASURED, {"irq"}),
        ({}, _UNATTRIBUTED, {"unexplained"}),
        (
            process(700, "hog", 3, 0),
            process(700, "hog", 3, 10**9) | {"/proc/stat": stat_file({3: 100}, 300)},
            {"thread"},
        ),
        ({}, {"/proc/interrupts": "rubbish"}, {"softirq"}),
    ],
    ids=["quiet", "timers", "steal", "measured", "unattributed", "threads", "unreadable"],
)
def test_stolen_time_by_kind_is_the_sum_over_culprits(before: Files, after: Files, kinds: set[str]) -> None:
    interval = interval_of(before, after)
    expected = {}
    for cpu in _CPUS:
        culprits = disturbances_of(interval, cpu)
        by_kind = {
            kind: sum(culprit.stolen_ns or 0 for culprit in culprits if culprit.kind == kind)
            for kind in {culprit.kind for culprit in culprits}
        }
        if culprits:
            expected[cpu] = by_kind, culprits[0].stolen_ns
    stolen = taken_by_cpu(interval, _CPUS)
    assert {cpu: (sums.ns_by_kind, sums.most_ns) for cpu, sums in stolen.items()} == expected
    assert kinds <= {kind for by_kind, _ in expected.values() for kind in by_kind}
