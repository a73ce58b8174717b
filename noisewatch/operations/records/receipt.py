"""Reads a receipt of `noisewatch run` for its poster: the runs, and the result of the series in sentences.

Nothing is judged again. A receipt that is damaged, or that has no result, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

from noisewatch.documents.document import SCHEMA, to_builtins, view_of
from noisewatch.documents.repetition import ByExitPart, ReasonPart, RepetitionPart
from noisewatch.documents.run import FooterPart, RunDocument, RunWordsPart
from noisewatch.errors import Unreadable, UsageError, damaged_words
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason, RunStanding
from noisewatch.judgement.run.run_culprits import RunCulprit, rank_culprits
from noisewatch.kinds import Kind
from noisewatch.machine.recording.replay import is_recording
from noisewatch.model.run.series import SeriesStatistics
from noisewatch.operations.records.files import (
    Document,
    NotOurs,
    documents_in,
    mapping_of,
    mappings_of,
    open_regular_file,
)
from noisewatch.text import clean
from noisewatch.units import describe_count

_Kind = TypeVar("_Kind")
_HEADER = view_of(
    RunDocument,
    (
        "noisewatch",
        "machine",
        "target",
        "target_chosen_by",
        "attribution.trace",
        "commands.command",
        "commands.program",
        "options.aa",
    ),
)
_REPETITION = view_of(
    RepetitionPart,
    ("number", "command", "began_ns", "began_utc", "wall_ns", "ended", "is_cut_short?", "verdict", "reasons"),
)
_OF_COMMANDS = ("command", "all", "undisturbed", "is_refused")
_FOOTER = view_of(
    FooterPart,
    ("words?", *(f"commands.{key}" for key in _OF_COMMANDS), "counts", "is_difference_refused"),
)


class ReceiptRun(Struct, frozen=True):
    """A run in a receipt; `standing` is how the series counted it."""

    part: RepetitionPart
    standing: RunStanding
    verdict: RepetitionVerdict


class CommandStatistics(Struct, frozen=True):
    """The statistics of a command's undisturbed runs or, if none was undisturbed, of all its measured runs."""

    command: str
    is_of_undisturbed: bool
    is_refused: bool
    statistics: SeriesStatistics


class Receipt(Struct, frozen=True):
    """A whole receipt: the header, all runs in order, the footer, the result in sentences, and the statistics."""

    header: RunDocument
    runs: Sequence[ReceiptRun]
    footer: FooterPart
    words: RunWordsPart
    statistics: Sequence[CommandStatistics]

    @property
    def culprits(self) -> list[RunCulprit]:
        """The culprits of all runs, the costliest first."""
        return rank_culprits((run.part.number, run.verdict) for run in self.runs)


_EXPECTED = "expected a receipt (run --output FILE.jsonl, or --format json) or a recording with a calibration"
_OF_CALIBRATION = (
    "this document does not contain each gap with its cause; draw the poster with calibrate --format svg --poster, or "
    "from a recording (--record FILE)"
)


def read_receipt(path: str) -> Receipt | None:
    """Read the receipt for its poster; return None for a recording. Raise UsageError for any other or damaged file."""
    try:
        with open_regular_file(path) as file:
            if is_recording(path):
                return None
            documents = documents_in(path, file)
            head = next(documents)
            if head.get("kind") in ("header", "series") and "commands" in head:
                return _receipt(path, head, documents)
            reason = _OF_CALIBRATION if isinstance(head.get("calibration"), dict) else _EXPECTED
            raise UsageError(f"{clean(path)}: nothing to draw: {reason}")
    except NotOurs as error:
        raise UsageError(f"{clean(path)}: nothing to draw: {_EXPECTED}") from error
    except Unreadable as error:
        raise UsageError(f"{clean(path)}: {error.reason}") from error


def _receipt(path: str, head: Document, following: Iterator[Document]) -> Receipt:
    """Return the receipt that begins with `head`. Raise UsageError if it is damaged or has no result."""
    if head.get("schema") != SCHEMA:
        schema = clean(str(head.get("schema")))
        raise UsageError(f"{clean(path)}: contains schema {schema}, but this noisewatch draws schema {SCHEMA}")
    footers = [mapping_of(head["footer"])] if "footer" in head else []
    runs = [_run(path, part) for part in mappings_of(head.get("repetitions"))]
    for line in following:
        if line.get("kind") == "footer":
            footers.append(line)
        elif line.get("kind") == "repetition":
            runs.append(_run(path, line))
    if not footers:
        raise UsageError(f"{clean(path)}: the receipt has no end, so the series has no result")
    if not runs:
        raise UsageError(f"{clean(path)}: the receipt has no run")
    header, footer = _convert(path, "header", head, _HEADER), _convert(path, "footer", footers[-1], _FOOTER)
    if not isinstance(footer.words, RunWordsPart):
        version = clean(header.noisewatch)
        raise UsageError(f"{clean(path)}: noisewatch {version} has written this receipt without its result in words")
    run_count = sum(count for count in msgspec.structs.astuple(footer.counts) if count is not UNSET)
    if run_count != len(runs):
        left = f"only {len(runs)} of {describe_count(run_count, 'run')} are in the file"
        raise UsageError(f"{clean(path)}: {damaged_words(left)}")
    return Receipt(header, runs, footer, footer.words, list(_statistics(path, footer)))


def _statistics(path: str, footer: FooterPart) -> Iterator[CommandStatistics]:
    for command in footer.commands:
        part = command.undisturbed or command.all
        if part is not None:
            statistics = _convert(path, "footer", to_builtins(part), SeriesStatistics)
            yield CommandStatistics(command.command, command.undisturbed is not None, command.is_refused, statistics)


def _convert(path: str, what: str, document: Mapping[str, Any], kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{clean(path)}: {damaged_words(clean(str(error)), f'in the {what}')}") from error


def _run(path: str, document: Document) -> ReceiptRun:
    part = _convert(path, f"line of run {clean(str(document.get('number')))}", document, _REPETITION)
    try:
        reasons = tuple(map(_reason, part.reasons))
    except ValueError as error:
        raise UsageError(
            f"{clean(path)}: run {part.number} has a reason that this version of noisewatch does not have: "
            f"{clean(str(error))}"
        ) from error
    return ReceiptRun(part, _standing(part), RepetitionVerdict(part.verdict, reasons))


def _standing(part: RepetitionPart) -> RunStanding:
    if part.is_cut_short is True:
        return RunStanding.CUT_SHORT
    is_success = isinstance(part.ended, ByExitPart) and part.ended.status == 0
    return RunStanding(RunOutcome(part.verdict)) if is_success else RunStanding.FAILED


def _reason(part: ReasonPart) -> RunReason:
    """Return the reason without its process. Raise ValueError for a kind that this version does not know."""
    return RunReason(
        kind=ReasonKind(part.kind),
        name=part.name,
        noise=None if part.noise is None else Kind(part.noise),
        cpu=part.cpu,
        pid=part.pid,
        irq=part.irq,
        ns=part.ns,
        share=part.share,
        begin_ns=part.begin_ns,
        end_ns=part.end_ns,
        is_estimate=part.is_estimate,
        cpus=frozenset() if part.cpus is UNSET else frozenset(part.cpus),
    )
