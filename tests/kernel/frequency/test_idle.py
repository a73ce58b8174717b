"""Idle states of CPUs, and processes that forbid deep ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.idle import (
    HOLDERS,
    LATENCY_REQUEST,
    NO_LIMIT_US,
    CpuIdle,
    Idle,
    IdleState,
    parse_resume_latency,
    processes_holding,
    read_idle,
)
from noisewatch.kernel.reader import Reader
from tests.written import Files, WrittenMachine, reading

_STATE = f"{CPUS}/cpu0/cpuidle/state3"
_FILES = {f"{_STATE}/name": "C6\n", f"{_STATE}/latency": "133\n", f"{_STATE}/disable": "0\n", "/proc/cmdline": "a=b\n"}


def _read(files: Files, answer: object = NO_LIMIT_US, *, is_copy: bool = False) -> Idle:
    machine = WrittenMachine(files, answers={LATENCY_REQUEST: answer}, is_copy=is_copy)
    return read_idle(Reader(machine), frozenset({0}))


def test_state_has_a_name_a_latency_and_a_switch() -> None:
    idle = _read(_FILES | {f"{CPUS}/cpu0/power/pm_qos_resume_latency_us": "50\n"})
    assert idle == Idle({0: CpuIdle((IdleState(3, "C6", 133, False),), 50)}, NO_LIMIT_US, "")


@pytest.mark.parametrize(("text", "limit_us"), [("0\n", NO_LIMIT_US), ("n/a\n", 0), ("7\n", 7)])
def test_no_limit_and_no_latency_are_opposites(text: str, limit_us: int) -> None:
    assert parse_resume_latency(text) == limit_us


@pytest.mark.parametrize(("is_copy", "states"), [(False, ()), (True, None)])
def test_missing_states_are_none_only_on_a_live_machine(is_copy: bool, states: tuple[IdleState, ...] | None) -> None:
    idle = _read({f"{CPUS}/cpu0/topology/core_id": "0\n"}, is_copy=is_copy)
    assert idle.cpus[0].states == states


@pytest.mark.parametrize("name", ["state", "statex", "state3x", "driver", "state 3"])
def test_other_folders_are_ignored(name: str) -> None:
    reader = reading({f"{CPUS}/cpu0/cpuidle/{name}/latency": "1\n"})
    idle = read_idle(reader, frozenset({0}))
    assert idle.cpus[0].states is None
    assert reader.reason_by_path[f"{CPUS}/cpu0/cpuidle"] == "no state in it"


def test_name_with_blanks_is_kept_and_an_unprintable_one_cleaned() -> None:
    names = [_read(_FILES | {f"{_STATE}/name": name}).cpus[0].states for name in ("haltpoll idle\n", "C\x1b6\n")]
    assert [states[0].name for states in names if states] == ["haltpoll idle", "C·6"]


@pytest.mark.parametrize("answer", [None, -1, "0", True, 1.5, [0]])
def test_request_that_is_no_number_is_unknown(answer: object) -> None:
    assert _read(_FILES, answer).request_us is None


@pytest.mark.parametrize(
    ("options", "option"), [("quiet", ""), ("idle=poll", "poll"), ("idle=poll idle=halt", "halt"), ("idle", "")]
)
def test_last_idle_option_counts(options: str, option: str) -> None:
    assert _read({"/proc/cmdline": options + "\n"}).boot_option == option
    assert _read({}).boot_option is None


def test_process_is_listed_while_it_has_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "cpu_dma_latency"
    path.write_bytes(b"")
    with path.open("rb"):
        assert os.getpid() in set(processes_holding(str(path)))
    assert os.getpid() not in set(processes_holding(str(path)))


def test_holders_of_the_request_are_read_again_when_it_changes() -> None:
    def read_with(request: int, holders: object, previous: Idle | None) -> Idle:
        machine = WrittenMachine(_FILES, answers={LATENCY_REQUEST: request, HOLDERS: holders})
        return read_idle(Reader(machine), frozenset({0}), previous)

    first = read_with(5, [812, "x", True], None)
    assert first.holders == {812}
    assert read_with(5, [900], first).holders == {812}
    assert read_with(0, [900], first).holders == {900}
    assert read_with(NO_LIMIT_US, [900], first).holders == frozenset()
