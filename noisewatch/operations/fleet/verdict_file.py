"""A file with a verdict of `preflight --format json` or `jsonl`, parsed as far as a fleet's table needs it.

The rest is only checked to be JSON, and skipped: with `json`, which makes objects of everything, twenty thousand
verdicts take half a minute.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter

import msgspec

from noisewatch.documents.calibration import CalibratedCpuPart, CalibrationPart, FloorPart
from noisewatch.documents.document import view_of
from noisewatch.documents.machine import CulpritPart
from noisewatch.documents.verdict import CausePart, FindingPart, VerdictDocument
from noisewatch.errors import Unreadable, damaged_words, system_reason
from noisewatch.judgement.fleet import BOARD, FLOOR_NS, Floor, Reason, Report, SlowestCpu
from noisewatch.judgement.terms import Gravity
from noisewatch.model.history.figures import TRAITS, Figure, Nature
from noisewatch.text import clean

_SCHEMA = 1
_NOT_OURS = "not a verdict of noisewatch"
_NO_DETAILS = "without further details"
_MOST_BYTES = 64 * 1024 * 1024  # a verdict takes 0.1 MB, and 30 kB more for each CPU that was calibrated
_LONGEST_HOST = 253  # https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FACTS = (("kernel", "kernel"), ("cpu_model", "cpu model"), ("virtual", "virtual"))
_DECIDING = (Gravity.FAILED, Gravity.UNANSWERED)


_OF_FINDINGS = ("id", "said?", "reason?", "culprits?.name", "culprits?.pid?")
_OF_CPUS = ("cpu", "effective_khz?", "latency_work?")
_KEYS = (
    *("schema", "verdict", "noisewatch?", "profile?", "target?", "at?", "host?", "facts?.identity?"),
    *("machine.kernel?", "machine.cpu_model?", "machine.virtual?", "causes.gravity", "causes.findings"),
    *(f"findings?.{key}" for key in _OF_FINDINGS),
    *("calibration?.core?", *(f"calibration?.cpus.{key}" for key in _OF_CPUS)),
    *(f"noise_floor?.{key}" for key in ("sample_ns", "cv_low", "cv_expected", "cv_high")),
    "noise_floor_chance?",
)
_SPEEDS: Sequence[tuple[Figure, Callable[[CalibratedCpuPart], float | None]]] = (
    (Figure.LATENCY, lambda cpu: None if cpu.latency_work is None else cpu.latency_work.piece_ns),
    (Figure.CLOCK, lambda cpu: cpu.effective_khz),
)


class _Version(msgspec.Struct):
    schema: int
    verdict: msgspec.Raw


_VERSIONS = msgspec.json.Decoder(_Version)
_VERDICTS = msgspec.json.Decoder(view_of(VerdictDocument, _KEYS))
_FINDINGS = msgspec.json.Decoder(view_of(FindingPart, _OF_FINDINGS))


def report_in(path: str, host: str) -> Report:
    """Read the report of the file; a broken file gives a report with its trouble.

    Its host is the one in the file, or `host` if there is none.
    """
    try:
        text, written_s = _read(path)
        return parsed_report(path, host, text, written_s)
    except Unreadable as error:
        return broken_report(path, host, clean(error.reason), _written_at_the_latest(path))


def _written_at_the_latest(path: str) -> float:
    """Return when an unreadable file was written: the later time of the link and its target.

    Now, if neither is known.
    """
    times: list[float] = []
    for look in (os.lstat, os.stat):
        with suppress(OSError, ValueError):  # a NUL in the name
            times.append(look(path).st_mtime)
    return max(times, default=time.time())


def broken_report(path: str, host: str, trouble: str, written_s: float) -> Report:
    """Return the report of an unusable file."""
    return Report(host=_shown(host), source=path, written_s=written_s, trouble=trouble, facts={}, figures={})


def _read(path: str) -> tuple[bytes, float]:
    """Read the file and its modification time; a pipe does not block. Raise Unreadable if that fails."""
    try:
        descriptor = os.open(path, _OPEN)
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable(path, "not a regular file")
            if status.st_size > _MOST_BYTES:
                raise Unreadable(path, f"larger than {_MOST_BYTES >> 20} MB, so no verdict")
            return file.read(status.st_size) or b"", status.st_mtime
    except OSError as error:
        raise Unreadable(path, system_reason(error)) from error
    except ValueError as error:  # a NUL in the name
        raise Unreadable(path, str(error)) from error


def parsed_report(path: str, host: str, text: bytes, written_s: float) -> Report:
    """Parse the text of the file. Raise Unreadable if it is not a verdict."""
    verdict, findings = _parsed(path, text)
    if verdict.host is not None and not 0 < len(verdict.host.strip()) <= _LONGEST_HOST:
        raise Unreadable(path, f"names a host with {len(verdict.host)} characters, wanted 1 to {_LONGEST_HOST}")
    floor = next((each for each in verdict.noise_floor or () if each.sample_ns == FLOOR_NS), None)
    causes = verdict.causes or ()
    return Report(
        host=_shown((verdict.host or host).strip()),
        is_identified=verdict.host is not None,
        source=path,
        written_s=written_s,
        outcome=verdict.verdict,
        at_s=verdict.at,
        reason=_reason(causes, findings),
        open_checks=tuple(clean(id) for cause in causes if cause.gravity in _DECIDING for id in cause.findings),
        floor=None if floor is None else Floor(floor.cv_low, floor.cv_expected, floor.cv_high),
        chance=verdict.noise_floor_chance,
        facts=_facts(verdict),
        figures=_figures(verdict.calibration, floor),
        slowest=_slowest(verdict.calibration),
    )


def _shown(host: str) -> str:
    """Return a printable and unique name of the host: unprintable characters are escaped."""
    return host if host.isprintable() else host.encode("unicode_escape").decode()


def _parsed(path: str, text: bytes) -> tuple[VerdictDocument, Sequence[FindingPart]]:
    """Parse the verdict and its findings; in JSON Lines the first line is the verdict.

    Raise Unreadable if it is none.
    """
    first, _, rest = text.partition(b"\n")
    is_lines = first.rstrip().endswith(b"}")
    try:
        head = first if is_lines else text
        verdict = _decoded(path, head)
        findings = verdict.findings or []
        return verdict, [*findings, *_FINDINGS.decode_lines(rest)] if is_lines else findings
    except RecursionError as error:
        raise Unreadable(path, damaged_words("brackets within brackets")) from error
    except msgspec.ValidationError as error:  # JSON of something else
        raise Unreadable(path, f"{_NOT_OURS}: {_words_of(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why, is_object = _words_of(error), text.lstrip().startswith(b"{")
        raise Unreadable(path, damaged_words(why) if is_object else f"{_NOT_OURS}: {why}") from error


def _decoded(path: str, text: bytes) -> VerdictDocument:
    """Decode a verdict; another schema is reported as such first.

    Raise Unreadable for another schema, and msgspec's errors.
    """
    try:
        verdict = _VERDICTS.decode(text)
    except msgspec.ValidationError:
        _refuse_other_schema(path, _VERSIONS.decode(text).schema)
        raise
    _refuse_other_schema(path, verdict.schema)
    return verdict


def _refuse_other_schema(path: str, version: int) -> None:
    if version != _SCHEMA:
        raise Unreadable(path, f"schema {version}: this noisewatch reads schema {_SCHEMA}")


def _words_of(error: Exception) -> str:
    words = str(error).removeprefix("JSON is malformed: ")
    return words[:1].lower() + words[1:]


def _reason(causes: Sequence[CausePart], findings: Sequence[FindingPart]) -> Reason | None:
    """Return the first cause, which is the worst one."""
    if not causes:
        return None
    check = causes[0].findings[0]
    finding = next((finding for finding in findings if finding.id == check), None)
    if finding is None:
        return Reason(clean(check), _NO_DETAILS, None)
    said = (finding.said if finding.reason is None else finding.reason) or _NO_DETAILS
    return Reason(clean(check), clean(said), _culprit(finding.culprits))


def _culprit(culprits: Sequence[CulpritPart]) -> str | None:
    if not culprits:
        return None
    worst = culprits[0]
    return clean(worst.name) + ("" if worst.pid is None else f" (pid {worst.pid})")


def _facts(verdict: VerdictDocument) -> dict[str, str | None]:
    told = {name: getattr(verdict.machine, key) for key, name in _FACTS}
    identity = None if verdict.facts is None else verdict.facts.identity
    told[BOARD] = identity.get("board") if identity else None
    told["loops"] = None if verdict.calibration is None else verdict.calibration.core
    told["profile"], told["noisewatch"] = verdict.profile, verdict.noisewatch
    return {name: None if fact is None else clean(fact) for name, fact in told.items()}


def _figures(calibration: CalibrationPart | None, floor: FloorPart | None) -> dict[Figure, float]:
    """Return the noise floor and the speeds; speeds are the means of the CPUs."""
    noise = {} if floor is None else {Figure.NOISE_100MS: floor.cv_expected}
    speeds = _speeds_by_cpu(calibration)
    return noise | {figure: sum(value_by_cpu.values()) / len(value_by_cpu) for figure, value_by_cpu in speeds.items()}


def _slowest(calibration: CalibrationPart | None) -> dict[Figure, SlowestCpu]:
    slowest = {}
    for figure, value_by_cpu in _speeds_by_cpu(calibration).items():
        pick = min if TRAITS[figure].nature is Nature.RATE else max
        slowest[figure] = SlowestCpu(*pick(value_by_cpu.items(), key=itemgetter(1)))
    return slowest


def _speeds_by_cpu(calibration: CalibrationPart | None) -> dict[Figure, dict[int, float]]:
    """Return the speeds that are known for all CPUs."""
    cpus = () if calibration is None else calibration.cpus
    speeds = {}
    for figure, speed_of in _SPEEDS:
        known = {cpu.cpu: speed for cpu in cpus if (speed := speed_of(cpu)) is not None}
        if known and len(known) == len(cpus):
            speeds[figure] = known
    return speeds
