"""Print how accurate the history is, and how quickly it opens: `python -m tests.benchmark.history`.

Figures, no limits. The machines are made up (tests/model/history/noises.py) with all nineteen figures, and judged
after every entry, as preflight does. An argument is the number of machines of each kind.
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

from noisewatch.judgement.checks.calibration.history import thin_evenly
from noisewatch.judgement.history.development import Development, development_of
from noisewatch.kinds import Work
from noisewatch.machine.history_file import machine_key
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.model.history.figures import Figure
from noisewatch.operations.history import digest, facts_line
from tests.benchmark.shares import describe_trials
from tests.model.history.noises import NOISES, SPEEDS, Series, Values, is_slower, machine_of, slowed

_MACHINES, _ENTRIES = 100, 60
_SHIFT, _MAX_ENTRIES = 0.03, 5
_BEFORE = (5, 10, 20, 40)
_STORED, _OPENINGS = 10_000, 7
_A_DAY, _WEEKEND, _SLOW = 144, 63 * 6, 0.05  # of a timer: entries, and the slow-down
_FACTS: Facts = {FactClass.KERNEL: {"kernel": "6.14.0"}}
_LEVELS = {figure: 1e-3 if "noise" in figure else 100.0 for figure in Figure}


class Alarms(NamedTuple):
    """Whether false reports of each kind were made on one machine, which did not change; drifts count as moves."""

    moved: bool
    apart: bool
    bimodal: bool


def entries_of(machine: Mapping[Figure, Values]) -> list[Entry]:
    """Return one entry a day."""
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
    rng, reports = np.random.default_rng(1), []
    for _ in range(machines):
        states = list(developments(entries_of(machine_of(rng, series, spread, _ENTRIES))))
        reports.append(
            Alarms(
                any(state.moves or state.departures or state.drifts for state in states),
                any(state.apart for state in states),
                any(state.alternations for state in states),
            )
        )
    return reports


def count_detections(series: Series, spread: float, machines: int, before: int) -> tuple[int, int, int]:
    """Count the machines on which a slow-down of 3 % is found, dated and warned of within five entries.

    It is dated if its first entry is identified, and warned of if a preflight has warned by then.
    """
    rng, detected, dated, warned = np.random.default_rng(2), 0, 0, 0
    for _ in range(machines):
        machine = slowed(machine_of(rng, series, spread, before + _MAX_ENTRIES), before, _SHIFT)
        entries = entries_of(machine)
        states = list(developments(entries, before + 1))
        departures = next((state.departures for state in states if state.departures), ())
        detected += bool(departures)
        dated += any(move.first_new is entries[before] for move in departures)
        warned += any(state.departures or state.apart for state in states)
    return detected, dated, warned


def shares(machines: int) -> None:
    """Print a block for each kind of noise."""
    for name, (series, spread) in NOISES.items():
        reports = alarms(series, spread, machines)
        print(f"\n{name}: {machines} machines of {_ENTRIES} entries that do not change")
        print(f"  a move was reported          {describe_trials(sum(report.moved for report in reports), machines)}")
        print(f"  an entry apart was reported  {describe_trials(sum(report.apart for report in reports), machines)}")
        print(
            f"  bimodal was reported         {describe_trials(sum(report.bimodal for report in reports), machines)}",
            flush=True,
        )
        for before in _BEFORE:
            detected, dated, warned = count_detections(series, spread, machines, before)
            print(
                f"  3 % slower after {before:2} entries, found within {_MAX_ENTRIES}: "
                f"{describe_trials(detected, machines)}; dated to the entry {dated}, at least warned {warned}",
                flush=True,
            )


def timer_entries(rng: np.random.Generator, days: int, wave: float) -> list[Entry]:
    """Return an entry every ten minutes, with a daily wave, as if the room were warm in the afternoon.

    Since Friday evening all speeds are 5 % slower.
    """
    count = days * _A_DAY + _WEEKEND
    machine = machine_of(rng, *NOISES["gaussian, 0.3 %"], count)
    daily = wave * np.sin(2 * np.pi * (np.arange(count) / _A_DAY + rng.random()))
    for figure in SPEEDS:
        machine[figure] = machine[figure] + (daily if is_slower(figure) else -daily)
    entries = entries_of(slowed(machine, count - _WEEKEND, _SLOW))
    return [replace(entry, at_s=600.0 * number) for number, entry in enumerate(entries)]


def timers(machines: int) -> None:
    """Print the reports on a machine that a timer measures every ten minutes, of which 200 entries are judged."""
    for days, wave in ((7, 0.0), (28, 0.0), (120, 0.0), (28, 0.005), (28, 0.01)):
        rng, moved_count, slower_count = np.random.default_rng(4), 0, 0
        for _ in range(machines):
            entries = timer_entries(rng, days, wave)
            counts = range(len(entries) - _WEEKEND - _A_DAY, len(entries) - _WEEKEND, 12)
            moved_count += any(_is_move_reported(entries[:count]) for count in counts)
            slower_count += bool(development_of(thin_evenly(entries)).departures)
        print(
            f"\n{machines} machines of {days} days, an entry each ten minutes, {wave:.1%} up and down each day\n"
            f"  a move was reported on the last day  {describe_trials(moved_count, machines)}\n"
            f"  5 % slower, known after 63 hours     {describe_trials(slower_count, machines)}",
            flush=True,
        )


def _is_move_reported(entries: list[Entry]) -> bool:
    state = development_of(thin_evenly(entries))
    return bool(state.moves or state.departures or state.drifts)


def write_history(folder: Path, moved: bool) -> Path:
    """Write the history of a machine with ten thousand entries; if it `moved`, the newest fifty are slower."""
    rng, path = np.random.default_rng(3), folder / f"history-{moved}.jsonl"
    machine = machine_of(rng, *NOISES["gaussian, 0.3 %"], _STORED)
    entries = entries_of(slowed(machine, _STORED - 50, 0.05 if moved else 0.0))
    facts = facts_line(_FACTS) | {"machine": machine_key()}
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
    """Print the time of the whole process, with its imports."""
    with TemporaryDirectory() as folder:
        for moved in (False, True):
            path = write_history(Path(folder), moved)
            description = f"{_STORED} entries ({path.stat().st_size / 1e6:.1f} MB), {'a move' if moved else 'no move'}"
            _print_openings(f"noisewatch history of {description}", "history", "--file", str(path))
    _print_openings("noisewatch --version", "--version")


def _print_openings(description: str, *words: str) -> None:
    wall_s, cpu_s = [], []
    for _ in range(_OPENINGS):
        start_s, cpu_before_s = time.perf_counter(), _children_s()
        subprocess.run([sys.executable, "-m", "noisewatch", *words], check=True, stdout=subprocess.DEVNULL)
        wall_s.append(time.perf_counter() - start_s)
        cpu_s.append(_children_s() - cpu_before_s)
    print(
        f"{description}: median {statistics.median(wall_s):.2f} s ({min(wall_s):.2f} to {max(wall_s):.2f} s), "
        f"of which {statistics.median(cpu_s):.2f} s of CPU time",
        flush=True,
    )


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print all figures."""
    machines = int(sys.argv[1]) if len(sys.argv) > 1 else _MACHINES
    openings()
    timers(machines)
    shares(machines)


if __name__ == "__main__":
    main()
