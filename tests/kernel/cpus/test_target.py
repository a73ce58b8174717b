"""Which CPUs are judged, and whether one may run on them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cgroup.partitions import Partitions
from noisewatch.kernel.cpus.isolation import Isolation
from noisewatch.kernel.cpus.online import Online
from noisewatch.kernel.cpus.target import PinTrial, choose_target, fastest_target, read_own_affinity, read_pin_trial
from noisewatch.kernel.cpus.topology import CpuPlace, fastest_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.clock import AVAILABLE, CURRENT, ClockSource, read_clock_source
from noisewatch.machine import Json
from tests.written import WrittenMachine, reading

ALL = frozenset(range(8))
_NOBODY = Isolation(
    boot=frozenset(),
    partitions=Partitions(frozenset()),
    nohz_full=None,
    rcu_nocbs=None,
    isolcpus=None,
    unbalanced=frozenset(),
    requested=None,
)


def _place(cpu: int, *siblings: int) -> CpuPlace:
    return CpuPlace(
        cpu=cpu,
        core=None,
        package=None,
        node=None,
        siblings=frozenset(siblings),
        last_level_cache=None,
        kind=None,
        capacity=None,
    )


def _choose(
    requested: CpuSet | None = None,
    isolated: CpuSet | None = frozenset(),
    online: CpuSet | None = ALL,
    own: CpuSet | None = ALL,
    boot_core: tuple[int, ...] = (0,),
) -> tuple[CpuSet, str]:
    """The target's CPUs and why these, where CPUs are isolated at boot."""
    isolation = replace(_NOBODY, boot=isolated)
    places = {0: _place(0, *boot_core)} if boot_core else {}
    target = choose_target(requested, isolation, Online(online, None, None), own, places)
    return target.cpus, target.chosen_by


def test_what_is_requested_is_judged_whatever_is_isolated() -> None:
    assert _choose(frozenset({9}), isolated=frozenset({2})) == (frozenset({9}), "as requested")


def test_an_empty_request_is_a_request() -> None:
    assert _choose(frozenset())[0] == frozenset()


def test_isolated_cpus_are_the_target_as_far_as_they_are_online() -> None:
    assert _choose(isolated=frozenset({2, 3, 9})) == (frozenset({2, 3}), "isolated")


@pytest.mark.parametrize("isolated", [frozenset(), None, frozenset({9})])
def test_without_isolation_it_is_what_we_may_use_less_the_core_of_cpu_0(isolated: CpuSet | None) -> None:
    target = _choose(isolated=isolated, own=frozenset({0, 1, 4, 5}), boot_core=(0, 4))
    assert target == (frozenset({1, 5}), "allowed to this process, without CPU 0's core")


def test_where_only_the_core_of_cpu_0_is_allowed_that_is_the_target() -> None:
    target = _choose(own=frozenset({0, 4}), boot_core=(0, 4))
    assert target == (frozenset({0, 4}), "allowed to this process")


def test_a_copy_that_cannot_be_asked_is_judged_as_a_whole() -> None:
    assert _choose(own=None) == (ALL, "all online CPUs")


def test_without_topology_cpu_0_alone_is_spared() -> None:
    assert _choose(boot_core=())[0] == ALL - {0}


def test_without_knowing_who_is_online_there_is_no_target() -> None:
    assert _choose(online=None, own=None) == (frozenset(), "no CPU is known to be online")


@pytest.mark.parametrize("online", [None, frozenset({0})])
def test_where_no_list_names_the_cpus_that_the_scheduler_gives_these_are_the_target(online: CpuSet | None) -> None:
    assert _choose(online=online, own=frozenset({3, 7}))[0] == frozenset({3, 7})


def test_the_target_says_that_a_container_numbers_cpus_otherwise() -> None:
    online = Online(frozenset({0, 1}), None, None, renumbered="lxcfs renumbers")
    isolation = replace(_NOBODY, boot=frozenset())
    target = choose_target(frozenset({1}), isolation, online, None, {})
    assert target.chosen_by == "as requested; lxcfs renumbers"


def test_in_a_copied_container_whose_cpus_are_renumbered_the_status_of_its_copier_tells_the_cpus() -> None:
    files = {"/proc/self/status": "Cpus_allowed_list:\t3,7\n"}
    reader = Reader(WrittenMachine(files, is_copy=True))
    renumbered = Online(None, None, None, renumbered="lxcfs renumbers")
    assert read_own_affinity(reader, None, renumbered) == frozenset({3, 7})
    assert read_own_affinity(reader, None, Online(None, None, None)) is None


def test_our_own_affinity_is_asked_of_the_machine() -> None:
    machine = WrittenMachine(answers={"CPUs this process may use": [0, 5]})
    assert read_own_affinity(Reader(machine), None) == frozenset({0, 5})


def test_an_affinity_that_cannot_be_asked_is_unknown_with_the_reason() -> None:
    reader = reading({})
    assert read_own_affinity(reader, None) is None
    assert reader.reason_by_path == {"CPUs this process may use": "not written down"}


@pytest.mark.parametrize("answer", [5, "text", ["x"], [None], {"a": 1}], ids=str)
def test_a_damaged_answer_about_our_affinity_is_unknown(answer: Json) -> None:
    assert read_own_affinity(Reader(WrittenMachine(answers={"CPUs this": answer})), None) is None


@pytest.mark.parametrize(
    ("answer", "trial"),
    [
        ({"granted": [2, 3]}, PinTrial(frozenset({2, 3}), None)),
        ({"reason": "invalid argument"}, PinTrial(None, "invalid argument")),
        ({}, PinTrial(None, None)),
        ([], PinTrial(None, None)),
    ],
    ids=str,
)
def test_a_pin_is_granted_or_refused_with_a_reason(answer: Json, trial: PinTrial) -> None:
    machine = WrittenMachine(answers={"pin to CPUs 2-3": answer})
    assert read_pin_trial(Reader(machine), frozenset({3, 2})) == trial


@pytest.mark.parametrize("granted", [5, [[2]], {"2": 1}, "23"], ids=str)
def test_a_damaged_answer_about_a_pin_is_unknown(granted: Json) -> None:
    machine = WrittenMachine(answers={"pin to": {"granted": granted}})
    assert read_pin_trial(Reader(machine), frozenset({2})).granted is None


def test_the_clock_in_use_and_those_that_could_be_are_told() -> None:
    clock = read_clock_source(reading({CURRENT: "tsc\n", AVAILABLE: "tsc hpet acpi_pm \n"}))
    assert clock == ClockSource("tsc", ("tsc", "hpet", "acpi_pm"))


def test_only_the_clock_in_use_is_missed() -> None:
    reader = reading({})
    assert read_clock_source(reader) == ClockSource(None, None)
    assert list(reader.reason_by_path) == [CURRENT]


class _Host(WrittenMachine):
    """Asks this host."""

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        return answer()


def test_a_thread_that_sleeps_is_pinned_and_never_runs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    last, states = max(os.sched_getaffinity(0)), []
    pin = os.sched_setaffinity

    def noted(tid: int, cpus: Collection[int]) -> None:
        pin(tid, cpus)
        stat = Path(f"/proc/self/task/{tid}/stat").read_text()
        states.append((tid == threading.get_native_id(), stat.rpartition(")")[2].split()[0]))

    monkeypatch.setattr(os, "sched_setaffinity", noted)
    assert read_pin_trial(Reader(_Host()), frozenset({last})) == PinTrial(frozenset({last}), None)
    assert states == [(False, "S")] * 2


def test_all_pins_are_tried_with_one_thread_that_keeps_its_own_cpus() -> None:
    last = max(os.sched_getaffinity(0))
    read_pin_trial(Reader(_Host()), frozenset({last}))
    before = {thread: os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")}
    assert read_pin_trial(Reader(_Host()), frozenset({last})).granted == frozenset({last})
    after = {thread: os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")}
    assert after.items() <= before.items()


def _cores(*kinds: str | None, designs: str = "", capacities: tuple[int, ...] = ()) -> dict[int, CpuPlace]:
    """CPUs of those kinds, each of one core; a letter for each design."""
    return {
        cpu: replace(
            _place(cpu, cpu),
            kind=kind,
            design=designs[cpu] if designs else None,
            capacity=capacities[cpu] if capacities else None,
        )
        for cpu, kind in enumerate(kinds)
    }


_FAST, _SLOW, _ALIKE = "performance", "efficiency", "none"
_HYBRID = _cores(_FAST, _FAST, _SLOW, _SLOW, _FAST)


def _isolating(*cpus: int) -> Isolation:
    return replace(_NOBODY, boot=frozenset(cpus))


@pytest.mark.parametrize(
    ("isolation", "own", "cpus", "chosen_by"),
    [
        (_isolating(1, 2, 4), None, {1, 4}, "isolated, the fastest kind of core"),
        (_isolating(2, 3), None, {2, 3}, "isolated"),
        (_isolating(1), None, {1}, "isolated"),
        (_NOBODY, {0, 1, 2, 4}, {1, 4}, "allowed to this process, without CPU 0's core, the fastest kind of core"),
        (_NOBODY, {0, 2, 3}, {2, 3}, "allowed to this process, without CPU 0's core"),
        (_NOBODY, None, {0, 1, 4}, "all online CPUs, the fastest kind of core"),
    ],
)
def test_of_several_kinds_of_core_the_target_is_of_the_fastest(
    isolation: Isolation, own: set[int] | None, cpus: set[int], chosen_by: str
) -> None:
    allowed = frozenset(own) if own is not None else None
    target = choose_target(None, isolation, Online(frozenset(range(5)), None, None), allowed, _HYBRID)
    assert (set(target.cpus), target.chosen_by) == (cpus, chosen_by)


@pytest.mark.parametrize(
    ("topology", "cpus"),
    [
        (_cores(_FAST, _FAST, None, None), {0, 1}),  # what hides itself may be slower, and is not faster
        (_cores(None, None, None), {0, 1, 2}),
        (_cores(_ALIKE, _ALIKE), {0, 1}),
        (_cores(_SLOW, _FAST, _FAST, designs="abc", capacities=(400, 900, 1024)), {2}),
        (_cores(_SLOW, _FAST, _FAST, designs="abb", capacities=(400, 990, 1024)), {1, 2}),
        (_cores(_SLOW, _FAST, _FAST, designs="abc"), {1, 2}),  # nobody tells which of the two is stronger
    ],
)
def test_the_fastest_are_told_by_kind_and_of_several_designs_by_capacity(
    topology: dict[int, CpuPlace], cpus: set[int]
) -> None:
    assert set(fastest_of(frozenset(topology), topology)) == cpus


@pytest.mark.parametrize(
    ("isolation", "own", "cpus"),
    [
        (_NOBODY, {0, 1, 2, 3, 4}, {1, 4}),
        (_isolating(2, 3), {0, 1, 4}, {1, 4}),
        (_isolating(2, 4), {0, 1, 3}, {4}),
        (_NOBODY, {0, 2}, {0}),
        (_NOBODY, {2, 3}, set()),
    ],
)
def test_who_asks_for_the_fastest_gets_no_others(isolation: Isolation, own: set[int], cpus: set[int]) -> None:
    assert fastest_target(isolation, frozenset(range(5)), frozenset(own), _HYBRID) == frozenset(cpus)


def test_where_the_kind_of_one_cpu_is_not_told_nobody_knows_which_are_the_fastest() -> None:
    assert fastest_target(_NOBODY, frozenset({0, 1}), frozenset({0, 1}), _cores(_FAST, None)) is None
    assert fastest_target(_NOBODY, frozenset({0, 1}), frozenset({0, 1}), _cores(_FAST)) is None
    assert fastest_target(_NOBODY, None, frozenset({0}), _cores(_FAST)) is None
