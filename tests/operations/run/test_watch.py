"""The distinction between a command's processes and those that noisewatch had inherited."""

from __future__ import annotations

import os

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.operations.run.watch import RunWatch
from tests.written import WrittenMachine
from tests.written.quiet_machine import process, quiet_files

_INHERITED, _STARTED, _BELOW_INHERITED, _BELOW_STARTED = 4001, 4002, 4003, 4004


def test_whoever_was_below_us_before_the_first_command_is_none_of_it_nor_is_what_it_starts() -> None:
    own = os.getpid()
    before = process(own, "python", 0, 0) | process(_INHERITED, "server", 0, 0, parent=own)
    later = (
        before
        | process(_BELOW_INHERITED, "worker", 0, 0, parent=_INHERITED)
        | process(_STARTED, "bench", 1, 0, parent=own)
        | process(_BELOW_STARTED, "child", 1, 0, parent=_STARTED)
    )
    assert _own_pids_later(before, later) == {own, _STARTED, _BELOW_STARTED}


def test_a_command_that_gets_the_number_of_one_that_was_below_us_before_is_a_command() -> None:
    own = os.getpid()
    before = process(own, "python", 0, 0) | process(_INHERITED, "helper", 0, 0, parent=own)
    recycled = process(_INHERITED, "bench", 1, 5_000_000, parent=own)
    later = before | {path: text.replace(f" {100 + _INHERITED} ", " 9000 ") for path, text in recycled.items()}
    assert _own_pids_later(before, later) == {own, _INHERITED}


def _own_pids_later(before: dict[str, str], later: dict[str, str]) -> frozenset[int]:
    machine = WrittenMachine(quiet_files() | before, quiet_files(3.0) | later, own_pids=[os.getpid()])
    watch = RunWatch(machine, SnapshotOptions(frozenset({1}), frozenset({0, 1})))
    watch.begin()
    machine.advance()
    return watch.look().after.own_pids
