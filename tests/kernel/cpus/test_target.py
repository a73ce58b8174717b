"""The choice of target CPUs, and the trial of pinning to them."""

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
_SHARED = Isolation(
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
    """Return the target's CPUs and the reason for them, with CPUs isolated at boot."""
    isolation = replace(_SHARED, boot=isolated)
    places = {0: _place(0, *boot_core)} if boot_core else {}
    target = choose_target(requested, isolation, Online(online, None, None), own, places)
    return target.cpus, target.chosen_by


def test_requested_cpus_are_the_target_despite_isolated_ones() -> None:
    assert _choose(frozenset({9}), isolated=frozenset({2})) == (frozenset({9}), "as requested")


def test_empty_request_is_a_request() -> None:
    assert _choose(frozenset())[0] == frozenset()


def test_online_isolated_cpus_are_the_target() -> None:
    assert _choose(isolated=frozenset({2, 3, 9})) == (frozenset({2, 3}), "isolated")


@pytest.mark.parametrize("isolated", [frozenset(), None, frozenset({9})])
def test_target_without_isolation_is_all_allowed_cpus_without_the_core_of_cpu_0(isolated: CpuSet | None) -> None:
    target = _choose(isolated=isolated, own=frozenset({0, 1, 4, 5}), boot_core=(0, 4))
    assert target == (frozenset({1, 5}), "allowed to this process, without CPU 0's core")


def test_core_of_cpu_0_is_the_target_if_only_it_is_allowed() -> None:
    target = _choose(own=frozenset({0, 4}), boot_core=(0, 4))
    assert target == (frozenset({0, 4}), "allowed to this process")


def test_target_of_a_copy_is_all_online_cpus() -> None:
    assert _choose(own=None) == (ALL, "all online CPUs")


def test_only_cpu_0_is_spared_without_a_topology() -> None:
    assert _choose(boot_core=())[0] == ALL - {0}


def test_target_is_empty_if_online_cpus_are_unknown() -> None:
    assert _choose(online=None, own=None) == (frozenset(), "no CPU is known to be online")


@pytest.mark.parametrize("online", [None, frozenset({0})])
def test_allowed_cpus_are_the_target_if_no_list_of_online_cpus_names_them(online: CpuSet | None) -> None:
    assert _choose(online=online, own=frozenset({3, 7}))[0] == frozenset({3, 7})


def test_target_mentions_that_a_container_renumbers_cpus() -> None:
    online = Online(frozenset({0, 1}), None, None, renumbered="lxcfs renumbers")
    isolation = replace(_SHARED, boot=frozenset())
    target = choose_target(frozenset({1}), isolation, online, None, {})
    assert target.chosen_by == "as requested; lxcfs renumbers"


def test_allowed_cpus_of_a_copied_container_with_renumbered_cpus_are_those_of_its_status() -> None:
    files = {"/proc/self/status": "Cpus_allowed_list:\t3,7\n"}
    reader = Reader(WrittenMachine(files, is_copy=True))
    renumbered = Online(None, None, None, renumbered="lxcfs renumbers")
    assert read_own_affinity(reader, None, renumbered) == frozenset({3, 7})
    assert read_own_affinity(reader, None, Online(None, None, None)) is None


def test_own_affinity_is_the_machines_answer() -> None:
    machine = WrittenMachine(answers={"CPUs this process may use": [0, 5]})
    assert read_own_affinity(Reader(machine), None) == frozenset({0, 5})


def test_unanswered_affinity_is_unknown_with_the_reason() -> None:
    reader = reading({})
    assert read_own_affinity(reader, None) is None
    assert reader.reason_by_path == {"CPUs this process may use": "not written down"}


@pytest.mark.parametrize("answer", [5, "text", ["x"], [None], {"a": 1}], ids=str)
def test_malformed_answer_about_affinity_is_unknown(answer: Json) -> None:
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
def test_pin_is_granted_or_refused_with_a_reason(answer: Json, trial: PinTrial) -> None:
    machine = WrittenMachine(answers={"pin to CPUs 2-3": answer})
    assert read_pin_trial(Reader(machine), frozenset({3, 2})) == trial


@pytest.mark.parametrize("granted", [5, [[2]], {"2": 1}, "23"], ids=str)
def test_malformed_answer_about_a_pin_is_unknown(granted: Json) -> None:
    machine = WrittenMachine(answers={"pin to": {"granted": granted}})
    assert read_pin_trial(Reader(machine), frozenset({2})).granted is None


def test_current_and_available_clock_sources_are_read() -> None:
    clock = read_clock_source(reading({CURRENT: "tsc\n", AVAILABLE: "tsc hpet acpi_pm \n"}))
    assert clock == ClockSource("tsc", ("tsc", "hpet", "acpi_pm"))


def test_only_a_missing_current_clock_source_has_a_reason() -> None:
    reader = reading({})
    assert read_clock_source(reader) == ClockSource(None, None)
    assert list(reader.reason_by_path) == [CURRENT]


class _Host(WrittenMachine):
    """A machine that answers from this host."""

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        return answer()


def test_pin_trial_pins_a_sleeping_thread_that_never_runs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    last, states = max(os.sched_getaffinity(0)), []
    pin = os.sched_setaffinity

    def record_pin(tid: int, cpus: Collection[int]) -> None:
        pin(tid, cpus)
        stat = Path(f"/proc/self/task/{tid}/stat").read_text()
        states.append((tid == threading.get_native_id(), stat.rpartition(")")[2].split()[0]))

    monkeypatch.setattr(os, "sched_setaffinity", record_pin)
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
    """Return CPUs of these kinds, each of its own core, with a letter for each design."""
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


def _isolation_of(*cpus: int) -> Isolation:
    return replace(_SHARED, boot=frozenset(cpus))


@pytest.mark.parametrize(
    ("isolation", "own", "cpus", "chosen_by"),
    [
        (_isolation_of(1, 2, 4), None, {1, 4}, "isolated, the fastest kind of core"),
        (_isolation_of(2, 3), None, {2, 3}, "isolated"),
        (_isolation_of(1), None, {1}, "isolated"),
        (_SHARED, {0, 1, 2, 4}, {1, 4}, "allowed to this process, without CPU 0's core, the fastest kind of core"),
        (_SHARED, {0, 2, 3}, {2, 3}, "allowed to this process, without CPU 0's core"),
        (_SHARED, None, {0, 1, 4}, "all online CPUs, the fastest kind of core"),
    ],
)
def test_target_of_several_kinds_of_core_is_of_the_fastest(
    isolation: Isolation, own: set[int] | None, cpus: set[int], chosen_by: str
) -> None:
    allowed = frozenset(own) if own is not None else None
    target = choose_target(None, isolation, Online(frozenset(range(5)), None, None), allowed, _HYBRID)
    assert (set(target.cpus), target.chosen_by) == (cpus, chosen_by)


@pytest.mark.parametrize(
    ("topology", "cpus"),
    [
        (_cores(_FAST, _FAST, None, None), {0, 1}),  # a core of unknown kind may be slower, and is not faster
        (_cores(None, None, None), {0, 1, 2}),
        (_cores(_ALIKE, _ALIKE), {0, 1}),
        (_cores(_SLOW, _FAST, _FAST, designs="abc", capacities=(400, 900, 1024)), {2}),
        (_cores(_SLOW, _FAST, _FAST, designs="abb", capacities=(400, 990, 1024)), {1, 2}),
        (_cores(_SLOW, _FAST, _FAST, designs="abc"), {1, 2}),  # it is unknown which of the two is stronger
    ],
)
def test_fastest_cores_are_chosen_by_kind_and_among_designs_by_capacity(
    topology: dict[int, CpuPlace], cpus: set[int]
) -> None:
    assert set(fastest_of(frozenset(topology), topology)) == cpus


@pytest.mark.parametrize(
    ("isolation", "own", "cpus"),
    [
        (_SHARED, {0, 1, 2, 3, 4}, {1, 4}),
        (_isolation_of(2, 3), {0, 1, 4}, {1, 4}),
        (_isolation_of(2, 4), {0, 1, 3}, {4}),
        (_SHARED, {0, 2}, {0}),
        (_SHARED, {2, 3}, set()),
    ],
)
def test_fastest_target_has_no_slower_cores(isolation: Isolation, own: set[int], cpus: set[int]) -> None:
    assert fastest_target(isolation, frozenset(range(5)), frozenset(own), _HYBRID) == frozenset(cpus)


def test_fastest_cores_are_unknown_if_one_kind_is_unknown() -> None:
    assert fastest_target(_SHARED, frozenset({0, 1}), frozenset({0, 1}), _cores(_FAST, None)) is None
    assert fastest_target(_SHARED, frozenset({0, 1}), frozenset({0, 1}), _cores(_FAST)) is None
    assert fastest_target(_SHARED, None, frozenset({0}), _cores(_FAST)) is None
