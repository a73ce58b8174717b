"""Prints how right the history is, and how quickly it opens: `python -m tests.benchmark.history`.

Figures, no limits. The machines are made up (tests/model/history/noises.py): all nineteen figures at once, and the
question is asked after every entry, as preflight does. An argument is the number of machines of each kind.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from noisewatch.judgement.checks.calibration.history import evenly
from noisewatch.judgement.history.development import Development, development_of
from noisewatch.kinds import Work
from noisewatch.machine.history_file import machine_key
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.model.history.figures import Figure
from noisewatch.operations.history import described_facts, digest
from tests.benchmark.shares import describe_trials
from tests.model.history.noises import NOISES, SPEEDS, Series, Values, is_slower, machine_of, slowed

_MACHINES, _ENTRIES = 100, 60
_SHIFT, _WITHIN = 0.03, 5
_BEFORE = (5, 10, 20, 40)
_STORED, _OPENINGS = 10_000, 7
_A_DAY, _WEEKEND, _SLOW = 144, 63 * 6, 0.05  # entries of a timer
_FACTS: Facts = {FactClass.KERNEL: {"kernel": "6.14.0"}}
_LEVELS = {figure: 1e-3 if "noise" in figure else 100.0 for figure in Figure}


class Alarms(NamedTuple):
    """The reports on one machine that did not change; a drift is a move here."""

    moved: bool
    apart: bool
    bimodal: bool


def entries_of(machine: Mapping[Figure, Values]) -> list[Entry]:
    """One a day."""
    count = len(next(iter(machine.values())))
    return [
        Entry(
            at_s=86_400.0 * number,
            core="native",
            cpus=frozenset({2}),
            cvs={Work.MIXED: {1_000_000: 0.01}},
            figures={figure: _LEVELS[figure] * math.exp(values[number]) for figure, values in machine.items()},
        )
        for number in range(count)
    ]


def developments(entries: list[Entry], begin: int = 1) -> Iterator[Development]:
    """Return the development as known after each entry."""
    return (development_of(entries[:count]) for count in range(begin, len(entries) + 1))


def alarms(series: Series, spread: float, machines: int) -> list[Alarms]:
    """Return the reports on machines that do not change, one for each machine."""
    rng, found = np.random.default_rng(1), []
    for _ in range(machines):
        told = list(developments(entries_of(machine_of(rng, series, spread, _ENTRIES))))
        found.append(
            Alarms(
                any(each.moves or each.departures or each.drifts for each in told),
                any(each.apart for each in told),
                any(each.alternations for each in told),
            )
        )
    return found


def found_within(series: Series, spread: float, machines: int, before: int) -> tuple[int, int, int]:
    """Count the machines on which a slow-down of 3 % is found, dated and warned of within five entries.

    It is dated where its first entry is known, and warned of where a preflight has warned by then.
    """
    rng, found, dated, warned = np.random.default_rng(2), 0, 0, 0
    for _ in range(machines):
        machine = slowed(machine_of(rng, series, spread, before + _WITHIN), before, _SHIFT)
        entries = entries_of(machine)
        told = list(developments(entries, before + 1))
        departed = next((each.departures for each in told if each.departures), ())
        found += bool(departed)
        dated += any(move.first_new is entries[before] for move in departed)
        warned += any(each.departures or each.apart for each in told)
    return found, dated, warned


def shares(machines: int) -> None:
    """A block for each kind of noise."""
    for name, (series, spread) in NOISES.items():
        told = alarms(series, spread, machines)
        print(f"\n{name}: {machines} machines of {_ENTRIES} entries that do not change")
        print(f"  a move was reported          {describe_trials(sum(each.moved for each in told), machines)}")
        print(f"  an entry apart was reported  {describe_trials(sum(each.apart for each in told), machines)}")
        print(
            f"  bimodal was reported         {describe_trials(sum(each.bimodal for each in told), machines)}",
            flush=True,
        )
        for before in _BEFORE:
            found, dated, warned = found_within(series, spread, machines, before)
            print(
                f"  3 % slower after {before:2} entries, found within {_WITHIN}: {describe_trials(found, machines)}; "
                f"dated to the entry {dated}, at least warned {warned}",
                flush=True,
            )


def timed(rng: np.random.Generator, days: int, wave: float) -> list[Entry]:
    """One each ten minutes, with a wave of that size each day, as of a room that is warm in the afternoon; since
    Friday evening all speeds are 5 % slower."""
    count = days * _A_DAY + _WEEKEND
    machine = machine_of(rng, *NOISES["gaussian, 0.3 %"], count)
    daily = wave * np.sin(2 * np.pi * (np.arange(count) / _A_DAY + rng.random()))
    for figure in SPEEDS:
        machine[figure] = machine[figure] + (daily if is_slower(figure) else -daily)
    entries = entries_of(slowed(machine, count - _WEEKEND, _SLOW))
    return [replace(entry, at_s=600.0 * number) for number, entry in enumerate(entries)]


def timers(machines: int) -> None:
    """Print the reports on a machine that a timer measures every ten minutes, of which 200 entries are looked at."""
    for days, wave in ((7, 0.0), (28, 0.0), (120, 0.0), (28, 0.005), (28, 0.01)):
        rng, moved, found = np.random.default_rng(4), 0, 0
        for _ in range(machines):
            entries = timed(rng, days, wave)
            looks = range(len(entries) - _WEEKEND - _A_DAY, len(entries) - _WEEKEND, 12)
            moved += any(_is_told(entries[:count]) for count in looks)
            found += bool(development_of(evenly(entries)).departures)
        print(
            f"\n{machines} machines of {days} days, an entry each ten minutes, {wave:.1%} up and down each day\n"
            f"  a move was reported on the last day  {describe_trials(moved, machines)}\n"
            f"  5 % slower, known after 63 hours     {describe_trials(found, machines)}",
            flush=True,
        )


def _is_told(entries: list[Entry]) -> bool:
    told = development_of(evenly(entries))
    return bool(told.moves or told.departures or told.drifts)


def stored(folder: Path, moved: bool) -> Path:
    """The file of a machine with ten thousand entries, of which the newest moved or not."""
    rng, path = np.random.default_rng(3), folder / f"history-{moved}.jsonl"
    machine = machine_of(rng, *NOISES["gaussian, 0.3 %"], _STORED)
    entries = entries_of(slowed(machine, _STORED - 50, 0.05 if moved else 0.0))
    facts = described_facts(_FACTS) | {"machine": machine_key()}
    with path.open("w") as file:
        for line in [facts, *map(_line, entries)]:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return path


def _line(entry: Entry) -> dict[str, Any]:
    cvs = {work: {str(10**power): 0.0123456789 for power in range(6, 10)} for work in Work}
    return {
        "kind": "calibration",
        "at": entry.at_s,
        "core": "native",
        "cpus": [2],
        "cv": cvs,
        "figures": dict(entry.figures),
        "facts": digest(_FACTS),
        "boot": "b",
        "machine": machine_key(),
    }


def openings() -> None:
    """The whole process, with its imports."""
    with TemporaryDirectory() as folder:
        for moved in (False, True):
            path = stored(Path(folder), moved)
            what = f"{_STORED} entries ({path.stat().st_size / 1e6:.1f} MB), {'a move' if moved else 'no move'}"
            _print_openings(f"noisewatch history of {what}", "history", "--file", str(path))
    _print_openings("noisewatch --version", "--version")


def _print_openings(what: str, *words: str) -> None:
    took, used = [], []
    for _ in range(_OPENINGS):
        began, used_before = time.perf_counter(), _children_s()
        subprocess.run([sys.executable, "-m", "noisewatch", *words], check=True, stdout=subprocess.DEVNULL)
        took.append(time.perf_counter() - began)
        used.append(_children_s() - used_before)
    print(
        f"{what}: median {statistics.median(took):.2f} s ({min(took):.2f} to {max(took):.2f} s), "
        f"of which {statistics.median(used):.2f} s of CPU time",
        flush=True,
    )


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """All of it."""
    machines = int(sys.argv[1]) if len(sys.argv) > 1 else _MACHINES
    openings()
    timers(machines)
    shares(machines)


if __name__ == "__main__":
    main()
