"""Lock of the machine: it counts as long as the process that it names lives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.machine_lock import NAMESPACE, PATH, MachineLock, Owner, parse_lock, read_machine_lock
from noisewatch.machine import Json
from tests.written import Files, WrittenMachine, reading
from tests.written.quiet_machine import stat_line

_OWNER = Owner(4711, 4811, 4026531836, "nightly.sh")  # a written process starts at tick 100 + its PID
_LOCK = {PATH: "4711 4811 4026531836 nightly.sh\n"}
_ALIVE = {"/proc/4711/stat": stat_line(4711, "nightly.sh", 0)}


def _read(files: Files, answers: Mapping[str, Json] = MappingProxyType({})) -> MachineLock | None:
    return read_machine_lock(Reader(WrittenMachine(files, answers={NAMESPACE: 4026531836, **answers})))


def test_written_lock_is_parsed() -> None:
    assert parse_lock(_OWNER.line()) == _OWNER
    assert parse_lock("\n") is None


def test_missing_file_is_no_lock_on_a_live_machine_and_unknown_in_a_copy() -> None:
    assert read_machine_lock(reading({"/proc/1/stat": ""})) == MachineLock(None)
    assert read_machine_lock(reading({"/proc/1/stat": ""}, is_copy=True)) is None


def test_owner_is_alive_only_if_it_started_at_that_time() -> None:
    assert _read(_LOCK | _ALIVE) == MachineLock(_OWNER, True)
    later = {PATH: "4711 1 4026531836 nightly.sh\n"}
    assert _read(later | _ALIVE) == MachineLock(Owner(4711, 1, 4026531836, "nightly.sh"), False)


@pytest.mark.parametrize(("has_ended", "is_alive"), [(True, False), (False, None)])
def test_invisible_owner_has_ended_only_if_the_kernel_denies_it(has_ended: bool, is_alive: bool | None) -> None:
    assert _read(_LOCK, {"process 4711 is gone": has_ended}) == MachineLock(_OWNER, is_alive)


@pytest.mark.parametrize(("state", "threads", "is_alive"), [("Z", 1, False), ("X", 1, False), ("Z", 2, True)])
def test_owner_that_awaits_reaping_has_ended_unless_a_thread_lives(state: str, threads: int, is_alive: bool) -> None:
    """A process keeps its number until its parent reaps it; the first thread may exit long before the others."""
    line = stat_line(4711, "nightly.sh", 0, threads=threads).replace(" S ", f" {state} ")
    assert _read(_LOCK | {"/proc/4711/stat": line}) == MachineLock(_OWNER, is_alive)


def _lineage(*parent_by_pid: tuple[int, int]) -> dict[str, str]:
    return {f"/proc/{pid}/stat": stat_line(pid, "sh", 0, parent=parent) for pid, parent in parent_by_pid}


def test_lock_is_ours_if_its_owner_is_an_ancestor_of_any_name() -> None:
    files = _LOCK | _lineage((50, 60), (60, 4711), (4711, 1), (1, 0))
    machine = WrittenMachine(files, answers={NAMESPACE: 4026531836}, own_pids=[50])
    assert read_machine_lock(Reader(machine)) == MachineLock(_OWNER, True, True)


def test_lock_is_another_process_if_all_ancestors_are_known() -> None:
    files = _LOCK | _ALIVE | _lineage((50, 60), (60, 1), (1, 0))
    machine = WrittenMachine(files, answers={NAMESPACE: 4026531836}, own_pids=[50])
    assert read_machine_lock(Reader(machine)) == MachineLock(_OWNER, True, False)


def test_owner_may_be_an_ancestor_if_a_parent_is_invisible() -> None:
    machine = WrittenMachine(_LOCK | _ALIVE | _lineage((50, 60)), answers={NAMESPACE: 4026531836}, own_pids=[50])
    assert read_machine_lock(Reader(machine)) == MachineLock(_OWNER, True, None)


def test_owner_with_a_malformed_file_is_neither_alive_nor_ended() -> None:
    assert _read(_LOCK | {"/proc/4711/stat": "rubbish"}) == MachineLock(_OWNER, None)


@pytest.mark.parametrize("namespace", [4026532000, None, "rubbish"])
def test_owner_in_another_container_is_unknown(namespace: Json) -> None:
    answers = {NAMESPACE: namespace, "process 4711 is gone": True}
    assert _read(_LOCK | _ALIVE, answers) == _read(_LOCK, answers) == MachineLock(_OWNER, None)
