"""The calibration's processes: short runs, on any CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.errors import CannotMeasure
from noisewatch.machine.spinning.calibration.buffer import (
    COMMAND,
    CYCLES,
    FETCH,
    GAPS,
    INTERPRETER,
    LATENCY,
    OF_WORK,
    SPINS,
    STARTED,
    THROUGHPUT,
    WORKING,
    Slot,
    Slots,
    capacities_for,
    plan_slots,
    round_ends_of,
    starts_of,
)
from noisewatch.machine.spinning.calibration.run import Calibrating, Progress, calibrate
from noisewatch.machine.spinning.loops import PYTHON, load_core
from tests.plumbing.waiting import descendants_of, is_alive, wait_until

_CPU = max(os.sched_getaffinity(0))
_SHORT_NS = 500_000_000
_CORES = sorted({PYTHON, load_core().NAME})


def _calibration(
    core: str = PYTHON, cpus: tuple[int, ...] = (_CPU,), command: tuple[str, ...] = (), length_ns: int = _SHORT_NS
) -> Calibrating:
    slots = plan_slots(cpus, {}, {}, length_ns, bool(command))
    return Calibrating(slots, command=command, core=core)


def _ignore_progress(progress: Progress) -> None:
    """Do nothing."""


def _only_cpu(result: dict[str, Any]) -> dict[str, Any]:
    (cpu,) = result["cpus"]
    return cpu  # type: ignore[no-any-return]


@pytest.mark.parametrize("core", _CORES)
def test_calibration_measures_all_that_its_core_can(core: str) -> None:
    cpu: dict[str, Any] = {}
    for longer in (1, 4, 16):  # a short calibration on a busy CPU may have no turn
        cpu = _only_cpu(calibrate(_calibration(core, length_ns=longer * _SHORT_NS), _ignore_progress))
        assert (cpu["cpu"], cpu["state"], cpu["error"]) == (_CPU, "done", 0)
        assert cpu["spun_ns"] > 0
        if len(cpu["work"]) > 100 and all(len(cpu[series]) > 10 for series in OF_WORK):
            return
    pytest.fail(f"too few samples: { {series: len(cpu[series]) for series in OF_WORK} }")


def test_measurements_can_be_watched_while_they_grow() -> None:
    counts: list[int] = []
    calibrate(_calibration(), lambda progress: counts.append(progress.buffers[_CPU].counts["work"][0]), look_s=0.02)
    assert len(set(counts)) > 2
    assert counts == sorted(counts)


def test_cpu_that_cannot_be_pinned_to_is_refused() -> None:
    cpu = _only_cpu(calibrate(_calibration(cpus=(4095,)), _ignore_progress))
    assert (cpu["state"], cpu["error"]) == ("refused", 22)


def test_command_of_the_user_runs_at_least_three_times() -> None:
    cpu = _only_cpu(calibrate(_calibration(command=("true",)), _ignore_progress))
    assert cpu["state"] == "done"
    assert len(cpu["command"]) >= 6
    assert all(length > 0 for length in cpu["command"][1::2])


@pytest.mark.parametrize(("command", "error"), [(("false",), 1), (("/no/such/program",), 258)])
def test_failed_command_is_reported(command: tuple[str, ...], error: int) -> None:
    cpu = _only_cpu(calibrate(_calibration(command=command), _ignore_progress))
    assert (cpu["state"], cpu["error"]) == ("failed", error)


def test_watcher_may_stop_the_calibration_and_no_process_is_left() -> None:
    def stop(progress: Progress) -> None:
        raise CannotMeasure("stopped")

    with pytest.raises(CannotMeasure, match="stopped"):
        calibrate(replace(_calibration(), slots=plan_slots([_CPU], {}, {}, 60 * 10**9)), stop)
    _wait_until_none_is_left(os.getpid())


def test_calibration_ends_with_the_round_in_which_it_is_enough() -> None:
    looks: list[dict[str, Any]] = []

    def is_enough(so_far: dict[str, Any]) -> bool:
        looks.append(so_far)
        return len(looks) == 2

    slots = plan_slots([_CPU], {}, {}, 20 * 10**9)
    result = calibrate(Calibrating(slots, core="python", is_enough=is_enough), _ignore_progress)
    assert [_only_cpu(outcome)["state"] for outcome in (*looks, result)] == ["done"] * 3
    assert 3 * 10**9 <= looks[0]["length_ns"] < looks[1]["length_ns"] < result["length_ns"] < 10 * 10**9
    kept, planned = _only_cpu(result)["slots"], slots[_CPU]
    assert kept == planned[: len(kept)]
    assert planned[len(kept)][:2] == (GAPS, result["length_ns"]), "it ends after a whole round"
    assert all(_only_cpu(result)[kind][-2] < result["length_ns"] for kind in OF_WORK)


def _start_calibration(command: tuple[str, ...] = ()) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start a process that calibrates. Return it and its descendants: the host, its spinner and the command, if any."""
    program = (
        "from noisewatch.machine.spinning.calibration.buffer import OF_WORK, plan_slots\n"
        "from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate\n"
        f"slots = plan_slots([{_CPU}], {{}}, {{}}, {10 if command else 60} * 10**9, {bool(command)})\n"
        f"calibrate(Calibrating(slots, command={command}, core='python'), "
        "lambda progress: print('runs', flush=True) if progress.done_s > 0.1 else None)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if parent.stdout is None:
        raise AssertionError
    assert parent.stdout.readline() == b"runs\n"
    wait_until(lambda: len(descendants_of(parent.pid)) == 2 + bool(command), 30.0)
    return parent, descendants_of(parent.pid)


_SLEEPS = ("sleep", "600")


@pytest.mark.parametrize("command", [(), _SLEEPS], ids=["loop", "command"])
@pytest.mark.parametrize("victim", ["parent", "host", "both", "spinner"])
def test_killed_process_leaves_nothing_running(command: tuple[str, ...], victim: str) -> None:
    parent, descendants = _start_calibration(command)
    victims = {"parent": [parent.pid], "host": descendants[:1], "spinner": descendants[1:2]}
    for pid in victims.get(victim, [descendants[0], parent.pid]):
        os.kill(pid, signal.SIGKILL)
    parent.communicate()
    wait_until(lambda: not any(is_alive(pid) for pid in descendants), 5.0)  # before the command would end


def test_processes_of_a_calibration_are_recognized_by_name() -> None:
    parent, descendants = _start_calibration()
    names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in descendants}
    parent.kill()
    parent.communicate()
    assert names == {"noisewatch-spin"}


def _wait_until_none_is_left(pid: int) -> None:
    wait_until(lambda: not [child for child in descendants_of(pid) if is_alive(child) and _is_spinner(child)])


def _is_spinner(pid: int) -> bool:
    try:
        return b"calibration.host" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


_S = 1_000_000_000
_WORKING = {*WORKING, COMMAND}


def _overlap(one: list[Slot], other: list[Slot], kinds: set[str]) -> bool:
    return any(a[0] in kinds and b[0] in kinds and a[1] < b[2] and b[1] < a[2] for a in one for b in other)


@st.composite
def _machines(draw: st.DrawFn) -> tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]]:
    """Draw CPUs in cores of one or two, and in caches of some cores."""
    core_count, threads, cores_per_cache = draw(st.integers(1, 8)), draw(st.integers(1, 2)), draw(st.integers(1, 4))
    cpus = list(range(core_count * threads))
    core_of = {cpu: cpu % core_count for cpu in cpus}
    siblings = {cpu: frozenset(sibling for sibling in cpus if core_of[sibling] == core_of[cpu]) for cpu in cpus}
    caches = {
        cpu: frozenset(near for near in cpus if core_of[near] // cores_per_cache == core_of[cpu] // cores_per_cache)
        for cpu in cpus
    }
    chosen = draw(st.lists(st.sampled_from(cpus), min_size=1, unique=True))
    return chosen, siblings, caches


@given(_machines(), st.integers(_S // 2, 20 * _S), st.booleans())
def test_siblings_never_spin_together_and_neighbours_in_a_cache_never_work_together(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]],
    duration_ns: int,
    has_command: bool,
) -> None:
    cpus, siblings, caches = machine
    slots = plan_slots(cpus, siblings, caches, duration_ns, has_command)
    pairs = list(combinations(sorted(cpus), 2))
    assert not any(
        _overlap(slots[one], slots[other], {GAPS} | _WORKING) for one, other in pairs if other in siblings[one]
    )
    assert not any(_overlap(slots[one], slots[other], _WORKING) for one, other in pairs if other in caches[one])


@given(_machines(), st.integers(_S // 2, 20 * _S))
def test_slots_are_within_the_time_and_in_order(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]], duration_ns: int
) -> None:
    slots = plan_slots(*machine, duration_ns)
    edges = [[edge for _, begin, end in cpu_slots for edge in (begin, end)] for cpu_slots in slots.values()]
    assert all(times == sorted(times) and times[0] >= 0 and times[-1] <= duration_ns for times in edges)


def _kinds(slots: Slots) -> set[str]:
    return {kind for cpu_slots in slots.values() for kind, _, _ in cpu_slots}


def test_shortest_calibration_contains_each_kind() -> None:
    assert _kinds(plan_slots([1], {}, {}, _S // 2)) == {GAPS, *FETCH, *WORKING}
    assert _kinds(plan_slots([1], {}, {}, _S, True)) == {GAPS, COMMAND}


def test_kinds_that_need_the_core_alone_recur_every_few_milliseconds() -> None:
    """The effect of a busy sibling is then known for each kind at any time."""
    slots = plan_slots([1], {}, {}, 3 * _S)[1]
    for kind in (INTERPRETER, THROUGHPUT, LATENCY):
        begins = [begin for slot_kind, begin, _ in slots if slot_kind == kind]
        rounds = [second - first for first, second in pairwise(begins)]
        assert sorted(rounds)[len(rounds) // 2] < 20_000_000


def test_every_other_turn_has_one_start_of_all_kinds_right_after_the_rest() -> None:
    slots = plan_slots([1, 2], {}, {1: frozenset({1, 2}), 2: frozenset({1, 2})}, 4 * _S)
    for cpu_slots in slots.values():
        starts = starts_of(cpu_slots)
        assert len(starts) == sum(kind == GAPS for kind, _, _ in cpu_slots) / 2
        assert sum(end - begin for begin, end in starts) == sum(
            end - begin for kind, begin, end in cpu_slots if kind in STARTED
        )


def test_cpus_that_share_nothing_work_at_the_same_time() -> None:
    slots = plan_slots([1, 2], {}, {}, 5 * _S)
    assert slots[1] == slots[2]
    assert sum(end - begin for kind, begin, end in slots[1] if kind == GAPS) == pytest.approx(5 * _S / 4)


@given(_machines(), st.integers(_S // 2, 20 * _S))
def test_all_cpus_have_equally_many_turns_at_the_end_of_a_round(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]], duration_ns: int
) -> None:
    slots = plan_slots(*machine, duration_ns)
    for number, end_ns in enumerate(round_ends_of(slots), start=1):
        before = [[slot for slot in cpu_slots if slot[1] < end_ns] for cpu_slots in slots.values()]
        assert all(slot[2] <= end_ns for cpu_slots in before for slot in cpu_slots)
        assert all([kind for kind, *_ in cpu_slots].count(GAPS) == number for cpu_slots in before)
        assert all([kind for kind, *_ in cpu_slots].count(LATENCY) > 0 for cpu_slots in before)


@given(st.integers(1, 900))
@settings(max_examples=15)
def test_buffers_of_a_long_calibration_are_large_enough(seconds: int) -> None:
    """Slots of work become longer instead of more numerous."""
    slots = plan_slots([1], {}, {}, seconds * _S)[1]
    ns_by_kind: dict[str, int] = {}
    for kind, begin, end in slots[:3_000]:
        ns_by_kind[kind] = ns_by_kind.get(kind, 0) + end - begin
    room = capacities_for(ns_by_kind)
    kinds = [kind for kind, *_ in slots[:3_000]]
    assert room[CYCLES] >= kinds.count(INTERPRETER) + kinds.count("start")
    assert room[SPINS] >= kinds.count(GAPS)
