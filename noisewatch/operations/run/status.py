"""Writes the status of a running series: a small file for this host's monitors, and for the run's own recording."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from contextlib import suppress

from msgspec import Struct, field

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import Malformed, Unreadable
from noisewatch.judgement.run.reasons import describe_reasons
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.machine_lock import read_owner
from noisewatch.kernel.tasks.run_status import LONGEST_TEXT, MOST_REPETITIONS, OUTCOMES, SCHEMA, RunStage
from noisewatch.machine import Machine
from noisewatch.machine.status_files import StatusFile
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.units import NS_PER_S

_MOST_TOGETHER_NS = NS_PER_S // 4  # from the start of the first to the end of the last repetition in one entry


class _Entry(Struct):
    number: int
    last: int
    command: int | None
    began_ns: int
    ended_ns: int
    outcome: str
    reason: str
    line: str = ""

    def takes(self, judged: JudgedRepetition) -> bool:
        """Return whether the repetition can be merged into the entry."""
        repetition = judged.repetition
        is_short = repetition.ended_ns - self.began_ns <= _MOST_TOGETHER_NS
        return is_short and self.last + 1 == repetition.number and self.outcome == judged.standing

    def encode(self) -> None:
        """Update the entry's line of the status."""
        values = (self.number, self.last, self.command, self.began_ns, self.ended_ns, self.outcome, self.reason)
        self.line = json.dumps(values, separators=(",", ":"))


class RunStatusWriter(Struct):
    """Writes the status, but only between repetitions. `owner` is this process; if None, nothing is written."""

    options: RunOptions
    cpus: CpuSet
    file: StatusFile
    owner: str | None
    _stage: RunStage = RunStage.CALIBRATING
    _number: int | None = None
    _command: int = 0
    _since_ns: int = 0
    _count_by_outcome: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    _entries: deque[_Entry] = field(default_factory=lambda: deque(maxlen=MOST_REPETITIONS))

    @classmethod
    def of(cls, machine: Machine, options: RunOptions, cpus: CpuSet, file: StatusFile) -> RunStatusWriter:
        """Return a writer for this process."""
        owner = None
        with suppress(Unreadable, Malformed):
            owner = read_owner(Reader(machine), os.getpid()).line().rstrip("\n")
        return cls(options=options, cpus=cpus, file=file, owner=owner)

    def enter(self, stage: RunStage) -> None:
        """Write that the series enters the stage."""
        self._stage, self._since_ns = stage, time.monotonic_ns()
        self._write()

    def begin(self, number: int, command: int) -> None:
        """Write that the repetition is about to begin."""
        self._number, self._command = number, command
        self.enter(RunStage.RUNNING)

    def add(self, judged: JudgedRepetition) -> None:
        """Add a finished repetition, to be written with the next stage."""
        repetition, outcome = judged.repetition, str(judged.standing)
        self._count_by_outcome[outcome] += 1
        entry = self._entries[-1] if self._entries else None
        if entry is not None and entry.takes(judged):
            entry.last, entry.ended_ns = repetition.number, repetition.ended_ns
            entry.command = entry.command if entry.command == repetition.command else None
        else:
            text = describe_reasons(judged.verdict)[:LONGEST_TEXT]
            times = repetition.began_ns, repetition.ended_ns
            entry = _Entry(repetition.number, repetition.number, repetition.command, *times, outcome, text)
            self._entries.append(entry)
        entry.encode()

    def texts(self) -> list[str]:
        """Return this run's status as a list of at most one text, like `StatusFiles.texts` for all runs."""
        return [self._text()] if self.owner is not None else []

    def end(self) -> None:
        """Write the last stage, and remove the file."""
        self.enter(RunStage.ENDED)
        self.file.remove()

    def _write(self) -> None:
        if self.owner is not None:
            self.file.write(self._text())

    def _text(self) -> str:
        head = json.dumps(
            {
                "schema": SCHEMA,
                "owner": self.owner,
                "stage": self._stage,
                "cpus": format_cpu_list(self.cpus),
                "programs": [os.path.basename(argv[0]) for argv in self.options.commands],
                "wanted": self.options.requested_count,
                "number": self._number,
                "command": self._command,
                "since_ns": self._since_ns,
                "counts": list(self._count_by_outcome.values()),
            },
            separators=(",", ":"),
        )
        return f'{head[:-1]},"repetitions":[{",".join([entry.line for entry in self._entries])}]}}'
