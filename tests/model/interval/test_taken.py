"""What was taken of each CPU: the sums of its culprits, without a record for each of them."""

from __future__ import annotations

import pytest

from noisewatch.model.interval.disturbance import disturbances_of, taken_by_cpu
from tests.model.interval.sampling import interval_of
from tests.written import Files
from tests.written.quiet_machine import process, stat_file

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
def test_what_was_taken_is_what_the_culprits_add_up_to(before: Files, after: Files, kinds: set[str]) -> None:
    interval = interval_of(before, after)
    expected = {}
    for cpu in _CPUS:
        found = disturbances_of(interval, cpu)
        by_kind = {each.kind: sum(other.stolen_ns or 0 for other in found if other.kind == each.kind) for each in found}
        if found:
            expected[cpu] = by_kind, found[0].stolen_ns
    taken = taken_by_cpu(interval, _CPUS)
    assert {cpu: (each.ns_by_kind, each.most_ns) for cpu, each in taken.items()} == expected
    assert kinds <= {kind for by_kind, _ in expected.values() for kind in by_kind}
