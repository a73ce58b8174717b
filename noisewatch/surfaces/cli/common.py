"""Functions that several commands share: options of the parsed command line, reports, recordings, remarks."""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from noisewatch.errors import UsageError
from noisewatch.machine import Machine
from noisewatch.machine.history_file import usual_path
from noisewatch.operations.machines import MachineOptions, require_free
from noisewatch.surfaces.cli.options import MAX_AUTO_S
from noisewatch.surfaces.cli.values import AS_LONG_AS_NEEDED
from noisewatch.surfaces.output import encode_report, open_output, takes_colour, takes_unicode

if TYPE_CHECKING:
    from noisewatch.judgement.noise.budget import Budget
    from noisewatch.kernel.calibration import CalibrationOptions

BY_SIGNAL = 128  # exit status of a command that a signal ended, minus the signal's number


def machine_options(arguments: Namespace) -> MachineOptions:
    """Return the options that select the machine and its CPUs."""
    return MachineOptions(sysroot=arguments.sysroot, replay=arguments.replay, cpus=arguments.cpus)


def budget_of(arguments: Namespace) -> Budget:
    """Return the budget from the options: the samples of the next benchmark, and their limits."""
    from noisewatch.judgement.noise.budget import Budget  # the monitor imports this module before its first picture
    from noisewatch.judgement.rules import WORK_OF_PROFILE

    work = arguments.work or WORK_OF_PROFILE.get(getattr(arguments, "profile", None) or "")
    return Budget(
        arguments.at,
        arguments.samples,
        arguments.max_cv,
        arguments.max_inflation,
        work,
        arguments.confidence,
        arguments.detect,
    )


def calibration_options(arguments: Namespace, seconds: float) -> CalibrationOptions:
    """Return the options of the microbenchmark. Raise UsageError if options exclude each other."""
    from noisewatch.kernel.calibration import CalibrationOptions

    command, is_auto = getattr(arguments, "workload", ()), seconds == AS_LONG_AS_NEEDED
    if command and is_auto:
        raise UsageError("--duration auto: not with --workload")
    if command and arguments.work is not None:
        raise UsageError("--workload and --work exclude each other")
    return CalibrationOptions(
        MAX_AUTO_S if is_auto else seconds, arguments.realtime, command, arguments.tracer, is_auto
    )


def history_path(arguments: Namespace) -> Path | None:
    """Return the path of the history, or None without --history. Raise UsageError if the default path is unknown."""
    if arguments.history is None:
        return None
    return Path(arguments.history) if arguments.history else usual_path()


class ReportOutput:
    """The destination of a command's report: --output or standard output, with its colours and characters."""

    def __init__(self, output: BinaryIO, path: str | None, color: str) -> None:
        self._output, self._path, self._color = output, path, color

    @property
    def in_colour(self) -> bool:
        return takes_colour(self._path, self._color)

    @property
    def in_unicode(self) -> bool:
        return takes_unicode(self._path)

    def write(self, text: str) -> None:
        self._output.write(text.encode("utf-8", "replace"))

    def write_bytes(self, content: bytes) -> None:
        self._output.write(content)

    def write_text(self, text: str) -> None:
        """Write a text report; use ASCII if a terminal or pipe takes nothing else."""
        self._output.write(encode_report(text, self._path))

    def write_json(self, described: object) -> None:
        from noisewatch.documents.document import to_json  # imports the library of all documents

        self.write(to_json(described, indent=1))


def is_quiet(arguments: Namespace) -> bool:
    """Return whether --quiet is given; not every command has it."""
    return getattr(arguments, "quiet", False)


@contextmanager
def open_report(arguments: Namespace) -> Iterator[ReportOutput]:
    """Yield the report's destination, opened before the measurement. Raise UsageError if it cannot be written."""
    with open_output(arguments.output, is_quiet(arguments)) as output:
        yield ReportOutput(output, arguments.output, arguments.color)


@contextmanager
def recording_to(arguments: Namespace, machine: Machine) -> Iterator[Machine]:
    """Yield the machine; with --record, reads from it are recorded. Raise UsageError if the file is not writable."""
    path = arguments.record
    if path is None:
        yield machine
        return
    require_free(path)
    from noisewatch.operations.record import recording_machine  # imports the sampler, needed only here

    with open_output(path, is_quiet(arguments)) as sink, recording_machine(machine, sink) as source:
        yield source


def report_interrupt(number: int, program: str = "noisewatch") -> int:
    """Print that the signal ended the measurement early, and return a shell's exit status: 128 plus its number."""
    print(f"{program}: interrupted by {signal.Signals(number).name}, so the report is partial", file=sys.stderr)
    return BY_SIGNAL + number


def report_damage(machine: Machine) -> None:
    """Print to standard error how far the recording could be replayed, if it is damaged."""
    damage = getattr(machine, "damage", None)
    if damage is not None:
        print(f"noisewatch: {machine.name}: {damage}; replayed up to there", file=sys.stderr)
