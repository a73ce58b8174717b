"""Reads the record of a machine from a file; the content determines the kind of file, not the name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from noisewatch.documents.document import read_part, view_of
from noisewatch.documents.repetition import ByExitPart, RepetitionPart
from noisewatch.documents.run import CommandPart, RunDocument, RunOptionsPart
from noisewatch.errors import Unreadable, UsageError
from noisewatch.judgement.comparison import SideComparison, compare_records
from noisewatch.judgement.record import FindingState, MachineRecord, MeasuredFigure, RecordKind
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.judgement.terms import Severity, Status
from noisewatch.machine.recording.replay import is_recording
from noisewatch.model.estimate import Estimate
from noisewatch.model.history.facts import FactClass, Facts, parse_facts
from noisewatch.model.history.figures import TRAITS, Figure
from noisewatch.model.run.series import statistics_of
from noisewatch.operations.records.figures import (
    SPEED_DEVIATION,
    core_of,
    figures_of_calibration,
    figures_of_opening,
    load_of,
)
from noisewatch.operations.records.files import (
    Document,
    cpus_of,
    documents_in,
    mapping_of,
    mappings_of,
    not_ours,
    number_of,
    open_regular_file,
    positive_number_of,
    text_of,
)
from noisewatch.text import clean

Judge = Callable[[str], tuple[Document, str | None]]  # returns the verdict on a recording, and the recording's damage

_SCHEMA = 1
_GZIP = b"\x1f\x8b"
_OF_OLD = {  # facts in documents older than the key `facts`: class and name by key of `machine`
    "kernel": (FactClass.KERNEL, "kernel"),
    "cpu_model": (FactClass.IDENTITY, "CPU model"),
    "virtual": (FactClass.SURROUNDINGS, "virtual machine"),
    "container": (FactClass.SURROUNDINGS, "container"),
    "clock_source": (FactClass.SETTINGS, "clock source"),
}
_RUN_TIME = {"a": "run time", "b": "run time of the other command"}
_TEST = "Welch's t-test of the means of the undisturbed runs"
_TRAITS = TRAITS[Figure.LATENCY]
_HEADER = view_of(RunDocument, ("commands?", "options?.min_undisturbed?"))
_REPETITION = view_of(
    RepetitionPart, ("command?", "wall_ns?", "ended?", "is_cut_short?", "verdict?", "layout?.number?")
)
_FEWEST = 3
_LEAST_UNDISTURBED = 0.5


def compare_files(before: str, after: str, judge: Judge) -> SideComparison:
    """Compare two files; `judge` returns the verdict on a recording. Raise UsageError for an unusable file."""
    return compare_records(read_record(before, judge), read_record(after, judge))


def read_record(path: str, judge: Judge) -> MachineRecord:
    """Read the record in a file. Raise UsageError for an unusable file."""
    try:
        with open_regular_file(path) as file:
            if file.peek(2)[:2] == _GZIP:
                return _recording(path, judge)
            documents = documents_in(path, file)
            head = next(documents, None)
            if head is None:
                raise not_ours(path)
            return _record(path, head, documents)
    except Unreadable as error:
        raise UsageError(f"{clean(path)}: {error.reason}") from error


def _recording(path: str, judge: Judge) -> MachineRecord:
    if not is_recording(path):
        raise not_ours(path)
    document, damage = judge(path)
    record = _measured_record(path, RecordKind.RECORDING, document, mappings_of(document.get("findings")))
    remarks = () if damage is None else (f"{clean(path)}: {clean(damage)}; replayed up to there",)
    return replace(record, remarks=remarks)


def _record(path: str, head: Document, following: Iterator[Document]) -> MachineRecord:
    schema = head.get("schema", _SCHEMA)
    if schema != _SCHEMA:
        raise UsageError(
            f"{clean(path)}: contains schema {clean(str(schema))}, but this noisewatch compares schema {_SCHEMA}"
        )
    kind = head.get("kind")
    if kind in ("header", "series") and "commands" in head:
        return _run(path, head, following)
    if "verdict" in head and "profile" in head:
        findings = head.get("findings")
        return _measured_record(
            path, RecordKind.VERDICT, head, following if findings is None else mappings_of(findings)
        )
    if isinstance(head.get("calibration"), dict):
        return _measured_record(path, RecordKind.CALIBRATION, head)
    raise not_ours(path)


def _measured_record(
    path: str, kind: RecordKind, document: Document, findings: Iterable[Document] = ()
) -> MachineRecord:
    """Return the record of a verdict or a calibration."""
    calibration = document.get("calibration")
    return MachineRecord(
        source=clean(path),
        kind=kind,
        target=cpus_of(document.get("target")),
        facts=_facts_of(document),
        findings={clean(str(part.get("id"))): state for part in findings if (state := _state(part)) is not None},
        figures=figures_of_calibration(document) if isinstance(calibration, dict) else {},
        profile=text_of(document.get("profile")),
        measured_by=core_of(mapping_of(calibration)),
        noise_of=text_of(document.get("noise_floor_of")),
        against=cpus_of(document.get("against")),
        load=load_of(document),
    )


def _state(part: Mapping[str, Any]) -> FindingState | None:
    """Return the state of a finding, or None if its status or severity is unknown in this version.

    A finding without a state is ignored.
    """
    status, severity, check_id = (str(part.get(key)) for key in ("status", "severity", "id"))
    if status not in {*Status} or severity not in {*Severity} or check_id != part.get("id"):
        return None
    return FindingState(
        status=Status(status),
        severity=Severity(severity),
        said=text_of(part.get("said")) or "",
        reason=text_of(part.get("reason")),
        answered_by=text_of(part.get("answered_by")),
        measured=clean(str(part.get("measured"))),
        unknown_because=text_of(mapping_of(part.get("evidence")).get("unknown_because")),
    )


def _run(path: str, head: Document, following: Iterator[Document]) -> MachineRecord:
    footers: list[Document] = [mapping_of(head["footer"])] if "footer" in head else []

    def repetitions() -> Iterator[RepetitionPart]:
        yield from (read_part(_REPETITION, part) for part in mappings_of(head.get("repetitions")))
        for line in following:
            if line.get("kind") == "footer":
                footers.append(line)
            elif line.get("kind") == "repetition":
                yield read_part(_REPETITION, line)

    header = read_part(_HEADER, head)
    figures: dict[str, MeasuredFigure] = run_times(header, repetitions())
    opening = head.get("opening")
    return MachineRecord(
        source=clean(path),
        kind=RecordKind.RUN,
        target=cpus_of(head.get("target")),
        facts=_facts_of(head),
        figures=figures | (figures_of_opening(opening) if isinstance(opening, dict) else {}),
        measured_by=core_of(mapping_of(opening)),
        noise_of="mixed work",
        commands=commands_of(header),
        remarks=() if footers else (f"{clean(path)}: cut short, the receipt has no end",),
    )


def _facts_of(document: Document) -> Facts:
    """Return the document's facts; old documents have none, but a few of them are in `machine`."""
    if isinstance(document.get("facts"), dict):
        return parse_facts(document["facts"])
    machine = mapping_of(document.get("machine"))
    values_by_class: dict[FactClass, dict[str, str | None]] = {}
    for key, (of_class, name) in _OF_OLD.items():
        if key in machine:
            values_by_class.setdefault(of_class, {})[name] = text_of(machine[key])
    return values_by_class


class _Times:
    """The times of the undisturbed repetitions of one command."""

    def __init__(self) -> None:
        self.undisturbed_s: list[float] = []
        self.layouts: set[object] = set()  # of these repetitions; each has its own unless it shares one
        self.count = 0

    def take(self, repetition: RepetitionPart) -> None:
        """Count the repetition; keep its time if it is undisturbed, exited with status 0 and was not cut short."""
        self.count += 1
        wall_ns, ended = positive_number_of(repetition.wall_ns), repetition.ended
        is_whole = isinstance(ended, ByExitPart) and ended.status == 0 and repetition.is_cut_short is False
        if wall_ns is not None and is_whole and repetition.verdict == RunOutcome.UNDISTURBED:
            self.undisturbed_s.append(wall_ns / 1e9)
            shared = number_of(getattr(repetition.layout, "number", None))
            self.layouts.add(("repetition", self.count) if shared is None else shared)


def run_times(header: RunDocument, repetitions: Iterable[RepetitionPart]) -> dict[str, MeasuredFigure]:
    """Return the mean time of each command's undisturbed repetitions, by figure; unknown if there are too few.

    Series from different times are independent samples, not pairs. Repetitions are read one at a time, because there
    may be a million.
    """
    times: dict[str, _Times] = {}
    for repetition in repetitions:
        if repetition.command in _RUN_TIME:
            times.setdefault(repetition.command, _Times()).take(repetition)
    options: RunOptionsPart | None = header.options
    wanted = None if options is None else number_of(options.min_undisturbed)
    least = _LEAST_UNDISTURBED if wanted is None else wanted
    commands = [command for command in _RUN_TIME if command in times or command in commands_of(header)]
    return {
        _RUN_TIME[command]: MeasuredFigure(_mean(times.get(command, _Times()), least), _TRAITS, _TEST)
        for command in commands
    }


def commands_of(header: RunDocument) -> dict[str, str]:
    """Return the receipt's commands by name: whole command lines, or only the programs without --identify."""
    return {
        command.command: " ".join(map(clean, _command_words(command)))
        for command in header.commands or ()
        if command.command in _RUN_TIME
    }


def _command_words(command: CommandPart) -> list[str]:
    """Return the command line's words; a question mark stands for arguments that are malformed."""
    if isinstance(command.argv, list) and command.argv:
        return command.argv
    arguments = [] if command.argv is UNSET else ["?"]
    return [command.program or "?", *arguments]


def _mean(times: _Times, least_share: float) -> Estimate | None:
    """Return the mean time, or None for too few runs.

    If the order of the runs matters, they are not independent samples, so their number does not reduce the error. Runs
    that share a memory layout count as one sample.
    """
    kept, independent = times.undisturbed_s, len(times.layouts)
    if independent < _FEWEST or len(kept) < least_share * times.count:
        return None
    statistics = statistics_of(kept)
    spread = statistics.cv or 0.0
    error = spread if statistics.doubt is not None else spread / math.sqrt(independent)
    return Estimate(statistics.mean_s * 1e9, math.hypot(error, SPEED_DEVIATION), independent - 1)
