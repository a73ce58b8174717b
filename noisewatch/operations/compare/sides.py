"""A side of a comparison from a file: its kind is recognized by what it holds, whatever it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from noisewatch.errors import UsageError
from noisewatch.judgement.comparison.compared import SideComparison
from noisewatch.judgement.comparison.comparing import compare_sides
from noisewatch.judgement.comparison.side import ComparedSide, FindingState, MeasuredFigure, SideKind
from noisewatch.judgement.terms import Severity, Status
from noisewatch.machine.recording.replay import is_recording
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.operations.compare.calibrations import core_of, figures_of_calibration, figures_of_opening, load_of
from noisewatch.operations.compare.documents import Document, documents_in, not_ours, opened_document
from noisewatch.operations.compare.runs import commands_of, run_times
from noisewatch.operations.compare.values import cpus_of, mapping_of, mappings_of, word_of
from noisewatch.operations.history.described import parsed_facts
from noisewatch.text import clean

Judge = Callable[[str], tuple[Document, str | None]]  # of a recording: its verdict, and how it is damaged

_SCHEMA = 1
_GZIP = b"\x1f\x8b"
_OF_OLD = {  # facts of what was written before there was `facts`: class, name, and key of `machine`
    "kernel": (FactClass.KERNEL, "kernel"),
    "cpu_model": (FactClass.IDENTITY, "CPU model"),
    "virtual": (FactClass.SURROUNDINGS, "virtual machine"),
    "container": (FactClass.SURROUNDINGS, "container"),
    "clock_source": (FactClass.SETTINGS, "clock source"),
}


def compare_files(before: str, after: str, judge: Judge) -> SideComparison:
    """What differs between two files; `judge` gives the verdict on a recording. Raises UsageError."""
    return compare_sides(read_side(before, judge), read_side(after, judge))


def read_side(path: str, judge: Judge) -> ComparedSide:
    """What the file says. Raises UsageError."""
    with opened_document(path) as file:
        if file.peek(2)[:2] == _GZIP:  # type: ignore[attr-defined]  # of a BufferedReader
            return _recording(path, judge)
        documents = documents_in(path, file)
        head = next(documents, None)
        if head is None:
            raise not_ours(path)
        return _side(path, head, documents)


def _recording(path: str, judge: Judge) -> ComparedSide:
    if not is_recording(path):
        raise not_ours(path)
    document, damage = judge(path)
    side = _verdict(path, document, mappings_of(document.get("findings")))
    remarks = () if damage is None else (f"{clean(path)}: {clean(damage)}; replayed up to there",)
    return replace(side, kind=SideKind.RECORDING, remarks=remarks)


def _side(path: str, head: Document, following: Iterator[Document]) -> ComparedSide:
    schema = head.get("schema", _SCHEMA)
    if schema != _SCHEMA:
        raise UsageError(f"{clean(path)}: schema {clean(str(schema))}: this noisewatch compares schema {_SCHEMA}")
    kind = head.get("kind")
    if kind in ("header", "series") and "commands" in head:
        return _run(path, head, following)
    if "verdict" in head and "profile" in head:
        findings = head.get("findings")
        return _verdict(path, head, list(following) if findings is None else mappings_of(findings))
    if isinstance(head.get("calibration"), dict):
        return _calibration(path, head)
    raise not_ours(path)


def _verdict(path: str, document: Document, findings: Any) -> ComparedSide:
    found = {clean(str(said.get("id"))): state for said in findings if (state := _state(said)) is not None}
    has_calibration = isinstance(document.get("calibration"), dict)
    return ComparedSide(
        name=clean(path),
        kind=SideKind.VERDICT,
        target=cpus_of(document.get("target")),
        facts=_facts(document),
        findings=found,
        figures=figures_of_calibration(document) if has_calibration else None,
        profile=word_of(document.get("profile")),
        measured_by=core_of(mapping_of(document.get("calibration"))),
        noise_of=word_of(document.get("noise_floor_of")),
    )


def _state(said: Mapping[str, Any]) -> FindingState | None:
    """None for what this version does not know: it is then known to one side alone."""
    status, severity, check_id = (str(said.get(key)) for key in ("status", "severity", "id"))
    if status not in {*Status} or severity not in {*Severity} or check_id != said.get("id"):
        return None
    return FindingState(
        status=Status(status),
        severity=Severity(severity),
        said=word_of(said.get("said")) or "",
        reason=word_of(said.get("reason")),
        answered_by=word_of(said.get("answered_by")),
    )


def _calibration(path: str, document: Document) -> ComparedSide:
    return ComparedSide(
        name=clean(path),
        kind=SideKind.CALIBRATION,
        target=cpus_of(document.get("target")),
        facts=_facts(document),
        figures=figures_of_calibration(document),
        measured_by=core_of(mapping_of(document.get("calibration"))),
        noise_of=word_of(document.get("noise_floor_of")),
        against=cpus_of(document.get("against")),
        load=load_of(document),
    )


def _run(path: str, head: Document, following: Iterator[Document]) -> ComparedSide:
    footers: list[Document] = [mapping_of(head["footer"])] if "footer" in head else []

    def repetitions() -> Iterator[Document]:
        yield from mappings_of(head.get("repetitions"))
        for line in following:
            if line.get("kind") == "footer":
                footers.append(line)
            elif line.get("kind") == "repetition":
                yield line

    figures: dict[str, MeasuredFigure] = run_times(head, repetitions())
    opening = head.get("opening")
    return ComparedSide(
        name=clean(path),
        kind=SideKind.RUN,
        target=cpus_of(head.get("target")),
        facts=_facts(head),
        figures=figures | (figures_of_opening(opening) if isinstance(opening, dict) else {}),
        measured_by=core_of(mapping_of(opening)),
        noise_of="mixed work",
        commands=commands_of(head),
        remarks=() if footers else (f"{clean(path)}: cut short, the receipt has no end",),
    )


def _facts(document: Document) -> Facts:
    """Of what was written before facts were, the few that it tells."""
    if isinstance(document.get("facts"), dict):
        return parsed_facts(document["facts"])
    machine = mapping_of(document.get("machine"))
    found: dict[FactClass, dict[str, str | None]] = {}
    for key, (of_class, name) in _OF_OLD.items():
        if key in machine:
            found.setdefault(of_class, {})[name] = word_of(machine[key])
    return found
