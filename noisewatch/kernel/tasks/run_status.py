"""The status that `noisewatch run` publishes while it runs: the stage, and the outcome of each repetition.

    {"schema": 1, "owner": "4711 81234567 4026531836 noisewatch", "stage": "running", "cpus": "2-3",
     "programs": ["bench"], "wanted": 10, "number": 7, "command": 0, "since_ns": 81234567, "counts": [5, 1, 0, 0, 0],
     "repetitions": [[6, 6, 0, 80000000, 81000000, "disturbed", "stress-ng (pid 812) on CPU 3: 12 ms (1.2%)"]]}

An entry of `repetitions` contains the numbers of its first and last repetition, the command (null: both), start and end
on CLOCK_MONOTONIC (ns), the outcome, and the reason. Consecutive short repetitions share an entry. `counts` contains
the numbers of undisturbed, disturbed, unknown, failed and cut short repetitions; the last two kinds are not
measurements. Another process wrote the status, so the monitor shows it as that process's claim. Only the monitor uses
the status: a watched command does not count as noise on its own target CPUs. `preflight` does not read it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, parse_nonempty_cpu_list
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.machine_lock import Owner, is_alive, parse_lock
from noisewatch.kernel.tasks.task import Tasks, descendants_in, parents_in
from noisewatch.machine import Json
from noisewatch.text import printable

QUESTION = "benchmark runs"
SCHEMA = 1
OUTCOMES = ("undisturbed", "disturbed", "unknown", "failed", "cut short")
_FEWEST_COUNTS = 3  # earlier versions have only the first three counts
MOST_REPETITIONS = 64  # entries of `repetitions`; older ones are dropped
LONGEST_TEXT = 240  # characters
_MOST_RUNS = 16
_LONGEST_NAME = 64
_MOST = 1 << 63
_EXPECTED = "the status of a run"


class RunStage(StrEnum):
    """The current stage of a run."""

    CALIBRATING = "calibrating"
    WARMING_UP = "warming up"
    PREPARING = "preparing"  # the side command before a repetition
    WAITING = "waiting"  # the target CPUs are not quiet yet
    RUNNING = "running"
    CONCLUDING = "concluding"  # the side command after a repetition
    ENDED = "ended"


class ReportedRepetition(Struct, frozen=True, kw_only=True):
    """A repetition, or several short ones with the same outcome. `reason` explains the first one's outcome."""

    number: int
    last: int
    command: int | None  # 0: the first command, 1: the second, None: both
    began_ns: int
    ended_ns: int
    outcome: str  # one of OUTCOMES
    reason: str


class RunStatus(Struct, frozen=True, kw_only=True):
    """The status of a run. Its stage began at `since_ns`; `number` is the last repetition begun, None before the first.

    `is_alive`: whether the run's process still exists, or None if unknown.
    """

    owner: Owner
    stage: RunStage
    cpus: CpuSet
    programs: tuple[str, ...]
    wanted: int
    number: int | None
    command: int
    since_ns: int
    counts: tuple[int, ...]  # numbers of repetitions, in the order of OUTCOMES
    repetitions: tuple[ReportedRepetition, ...]
    is_alive: bool | None = None


def parse_run_status(text: str) -> RunStatus:
    """Parse the status that a run published. Raise Malformed."""
    try:
        return _status(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Malformed(_EXPECTED, str(error)[:_LONGEST_NAME]) from error


def _status(fields: Json) -> RunStatus:
    if fields["schema"] != SCHEMA:
        raise ValueError(f"schema {fields['schema']}")
    owner = parse_lock(_text(fields["owner"], LONGEST_TEXT))
    if owner is None:
        raise ValueError("no owner")
    number = fields["number"]
    counts = tuple(_count(count) for count in fields["counts"])
    repetitions = fields["repetitions"]
    if not _FEWEST_COUNTS <= len(counts) <= len(OUTCOMES) or len(repetitions) > MOST_REPETITIONS:
        raise ValueError("counts, or repetitions")
    return RunStatus(
        owner=owner,
        stage=RunStage(fields["stage"]),
        cpus=parse_nonempty_cpu_list(_text(fields["cpus"], LONGEST_TEXT)),
        programs=tuple(_text(program, _LONGEST_NAME) for program in fields["programs"][:2]),
        wanted=_count(fields["wanted"]),
        number=None if number is None else _count(number),
        command=_count(fields["command"]),
        since_ns=_count(fields["since_ns"]),
        counts=counts,
        repetitions=tuple(_repetition(*row) for row in repetitions),
    )


def _repetition(
    number: Json, last: Json, command: Json, began_ns: Json, end_ns: Json, outcome: Json, reason: Json
) -> ReportedRepetition:
    repetition = ReportedRepetition(
        number=_count(number),
        last=_count(last),
        command=None if command is None else _count(command),
        began_ns=_count(began_ns),
        ended_ns=_count(end_ns),
        outcome=outcome,
        reason=_text(reason, LONGEST_TEXT),
    )
    if outcome not in OUTCOMES or repetition.last < repetition.number or repetition.ended_ns < repetition.began_ns:
        raise ValueError("a repetition")
    return repetition


def _count(value: Json) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError("a number")
    return value


def _text(value: Json, longest: int) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return printable(value[:longest])


def read_run_statuses(reader: Reader, answer: Callable[[], Json]) -> tuple[RunStatus, ...]:
    """Return the status of each run on this machine; empty if none can be read, as in an older recording.

    `answer` returns the texts on a live host. A run whose process is gone is left out unless it had ended.
    """
    try:
        texts = reader.machine.ask(QUESTION, answer)
    except Unreadable:
        return ()
    statuses = []
    for text in texts[:_MOST_RUNS] if isinstance(texts, list) else ():
        try:
            status = parse_run_status(text)
        except Malformed:  # from a newer version, or not a status at all
            continue
        status = replace(status, is_alive=is_alive(reader, status.owner))
        if status.is_alive or status.stage == RunStage.ENDED:
            statuses.append(status)
    return tuple(statuses)


def cpus_by_watcher(runs: Iterable[RunStatus]) -> Mapping[int, CpuSet]:
    """Return the CPUs of each watched command by the PID of its watcher, the noisewatch that runs it.

    CPUs that several commands use are left out, because the commands disturb each other there.
    """
    alive = [run for run in runs if run.is_alive]
    times = Counter(cpu for run in alive for cpu in run.cpus)
    return {run.owner.pid: frozenset(cpu for cpu in run.cpus if times[cpu] == 1) for run in alive}


def commands_in(runs: Iterable[RunStatus], tasks: Tasks | None) -> Mapping[int, CpuSet]:
    """Return the CPUs of each process of a watched command, by PID; watchers are left out."""
    watchers = cpus_by_watcher(runs)
    if not watchers or tasks is None:
        return {}
    parents = parents_in(tasks)
    return {pid: cpus for watcher, cpus in watchers.items() for pid in descendants_in(parents, [watcher]) - {watcher}}
