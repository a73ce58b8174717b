"""Finds the newest report of each host in any number of verdict files, with one file in memory at a time.

A file contains a verdict of `preflight --format json` or `jsonl`. Only the needed keys are decoded; all other
keys are skipped, but have to be valid JSON. The `json` module would decode everything: half a minute for twenty
thousand verdicts.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from noisewatch.documents.calibration import KEYS_OF_WORK, CalibrationPart
from noisewatch.documents.document import view_of
from noisewatch.documents.machine import CulpritPart
from noisewatch.documents.verdict import CausePart, FindingPart, VerdictDocument
from noisewatch.errors import Unreadable, UsageError, damaged_words, system_reason
from noisewatch.judgement.fleet import BOARD, FLOOR_NS, Fleet, Floor, HostReports, Reason, Report, SlowestCpu, fleet_of
from noisewatch.judgement.terms import Gravity
from noisewatch.machine.regular_files import read_small
from noisewatch.model.history.figures import Figure, slowest_of
from noisewatch.operations.records.figures import OF_EACH_CPU, value_of
from noisewatch.operations.records.files import open_regular_file
from noisewatch.text import clean
from noisewatch.units import describe_names

_MOST_HOSTS_BYTES = 64 * 1024 * 1024
_MOST_NAMED = 4
_ENDINGS = (".json", ".jsonl")
_OF_NO_HOST = (
    "verdict",
    "noisewatch",
    "preflight",
    "report",
)  # a file with one of these names is in a folder named after the host


class FleetOptions(Struct, frozen=True, kw_only=True):
    """The report files, the hosts that should have a report, and a report's maximum age."""

    places: Sequence[str]
    baseline: str | None = None
    expected: Collection[str] | None = None
    max_age_s: float | None = None


def gather(options: FleetOptions) -> Fleet:
    """Read the fleet's reports.

    Raise UsageError if a place does not exist, or if there is neither a report nor an expected host.
    """
    reports, others = _reports(options.places)
    baseline = None
    if options.baseline is not None:
        newest = {
            name: own.newest if own.newest.trouble is None else own.earlier
            for name, own in _reports([options.baseline])[0].items()
        }
        baseline = {name: report for name, report in newest.items() if report is not None}
    ignored = _add_others(reports, others, {*reports, *(baseline or ()), *(options.expected or ())})
    if not reports and not options.expected:
        what = f"no verdict, only other JSON ({describe_names(ignored, _MOST_NAMED)})" if ignored else "no report"
        raise UsageError(f"{', '.join(options.places)}: {what}; fleet reads verdicts (*.json, *.jsonl)")
    return fleet_of(reports, baseline, options.expected, options.max_age_s, time.time(), ignored)


def expected_hosts(text: str) -> tuple[str, ...]:
    """Return the hosts that a file lists, one per line, or that `text` itself lists, separated by commas.

    Raise UsageError for an invalid list.
    """
    if os.path.exists(text) or "/" in text:  # os.path.exists returns False for a list that is too long for a path
        try:
            content = read_small(Path(text), _MOST_HOSTS_BYTES, "a list of hosts")
        except UsageError as error:
            raise UsageError(f"--expect {error}") from error
        names = [line.partition("#")[0] for line in content.decode("utf-8", "replace").splitlines()]
    else:
        names = text.split(",")
    hosts = tuple(host for name in names if (host := name.strip()))
    if not hosts:
        raise UsageError(f"--expect {text}: no host is named")
    for host in hosts:
        if len(host.split()) > 1 or "[" in host:
            raise UsageError(f"--expect: expected hosts separated by commas or line ends, found {host[:80]!r}")
    return hosts


def _reports(places: Sequence[str]) -> tuple[dict[str, HostReports], list[Report]]:
    """Return the reports by host, and those of other JSON files in folders."""
    reports: dict[str, HostReports] = {}
    others: list[Report] = []
    for report in _read_all(places):
        if report.is_other_json:
            others.append(report)
        else:
            reports.setdefault(report.host, HostReports(report)).add(report)
    return reports, others


def _add_others(reports: dict[str, HostReports], others: Sequence[Report], hosts: Collection[str]) -> tuple[str, ...]:
    """Add other JSON that is named like one of the hosts as its broken report; return the paths of all other files.

    An older verdict of a host is thus not in force if its newest file contains the error of another program.
    """
    for report in others:
        if report.host in hosts:
            reports.setdefault(report.host, HostReports(report)).add(report)
    return tuple(sorted(clean(report.source) for report in others if report.host not in hosts))


def _read_all(places: Sequence[str]) -> Iterator[Report]:
    """Yield one report per path, even if the path is named twice, or both by itself and by its folder."""
    seen = set()
    for file in report_files(places):
        if file.path not in seen:
            seen.add(file.path)
            if file.trouble is not None:
                yield broken_report(file.path, file.host, file.trouble, time.time())
            else:
                report = report_in(file.path, file.host)
                yield replace(report, is_other_json=False) if file.path in places else report


class ReportFile(Struct, frozen=True):
    """The path of a report, or of a folder that could not be read, with the reason."""

    path: str
    host: str
    trouble: str | None = None


def report_files(places: Sequence[str]) -> Iterator[ReportFile]:
    """Yield the named files, and the report files in named folders at any depth.

    Raise UsageError if a place does not exist; a missing file that is named like a report is yielded.
    """
    for place in places:
        if os.path.isdir(place):
            yield from _in_folder(place)
        elif place.endswith(_ENDINGS) or os.path.lexists(place):
            yield ReportFile(place, _host_of(place))
        else:
            raise UsageError(f"{place or repr(place)}: no such file or folder")


def _in_folder(top: str) -> Iterator[ReportFile]:
    """Yield the report files in a folder. Follow links, read each folder once, and skip hidden files and folders."""
    waiting, seen = [top], set()
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if _is_folder(entry):
                        waiting.append(entry.path)
                    elif entry.name.endswith(_ENDINGS):
                        yield ReportFile(entry.path, _host_of(entry.path))
        except OSError as error:
            yield ReportFile(folder, _name(folder), system_reason(error))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # such as a link to itself; opening it reports the error
        return False


def _host_of(path: str) -> str:
    stem = os.path.splitext(os.path.basename(path))[0]
    return _name(os.path.dirname(path)) if stem in _OF_NO_HOST else stem


def _name(folder: str) -> str:
    return os.path.basename(os.path.abspath(folder)) or folder


_SCHEMA = 1
_NOT_OURS = "not a verdict of noisewatch"
_OF_CALIBRATION = "a calibration; fleet reads verdicts (noisewatch preflight --format json)"
_NO_DETAILS = "without further details"
_MOST_BYTES = 64 * 1024 * 1024  # a verdict takes 0.1 MB, and 30 kB more for each calibrated CPU
_LONGEST_HOST = 253  # https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4
_FACTS = (("kernel", "kernel"), ("cpu_model", "cpu model"), ("virtual", "virtual"))
_DECIDING = (Gravity.FAILED, Gravity.UNANSWERED)


_OF_FINDINGS = ("id", "said?", "reason?", "culprits?.name", "culprits?.pid?")
_OF_CPUS = ("cpu", "effective_khz?", *(f"{key}?.{part}?" for key in KEYS_OF_WORK for part in ("median_ns", "pieces")))
_KEYS = (
    *("schema", "verdict", "noisewatch?", "profile?", "target?", "at?", "host?", "facts?.identity?"),
    *("machine.kernel?", "machine.cpu_model?", "machine.virtual?", "causes.gravity", "causes.findings"),
    *(f"findings?.{key}" for key in _OF_FINDINGS),
    *("calibration?.core?", *(f"calibration?.cpus.{key}" for key in _OF_CPUS)),
    *(f"noise_floor?.{key}" for key in ("sample_ns", "cv_low", "cv_expected", "cv_high")),
    "noise_floor_chance?",
)


class _Version(msgspec.Struct):
    schema: int
    verdict: msgspec.Raw


class OtherJson(Unreadable):
    """A file with valid JSON that is not a verdict, such as a calibration or a receipt."""


class _Head(msgspec.Struct):
    verdict: msgspec.Raw


class _Calibration(msgspec.Struct):
    calibration: msgspec.Raw
    against: msgspec.Raw  # verdicts have no such key


_HEADS = msgspec.json.Decoder(_Head)
_CALIBRATIONS = msgspec.json.Decoder(_Calibration)
_VERSIONS = msgspec.json.Decoder(_Version)
_VERDICTS = msgspec.json.Decoder(view_of(VerdictDocument, _KEYS))
_FINDINGS = msgspec.json.Decoder(view_of(FindingPart, _OF_FINDINGS))


def report_in(path: str, host: str) -> Report:
    """Read the report in the file; an unusable file gives a report with the reason.

    The host is the one in the file, or `host` if the file names none.
    """
    try:
        text, written_s = _read(path)
        return parse_report(path, host, text, written_s)
    except OtherJson as error:
        return replace(broken_report(path, host, clean(error.reason), _last_written_s(path)), is_other_json=True)
    except Unreadable as error:
        return broken_report(path, host, clean(error.reason), _last_written_s(path))


def _last_written_s(path: str) -> float:
    """Return when an unreadable file was last written: the later of the times of a link and its target.

    Return the current time if neither is known.
    """
    times: list[float] = []
    for stat in (os.lstat, os.stat):
        with suppress(OSError, ValueError):  # a NUL in the name
            times.append(stat(path).st_mtime)
    return max(times, default=time.time())


def broken_report(path: str, host: str, trouble: str, written_s: float) -> Report:
    """Return the report of an unusable file."""
    return Report(host=_printable_host(host), source=path, written_s=written_s, trouble=trouble, facts={}, figures={})


def _read(path: str) -> tuple[bytes, float]:
    """Return the file's content and modification time. Raise Unreadable."""
    with open_regular_file(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > _MOST_BYTES:
            raise Unreadable(path, f"larger than {_MOST_BYTES >> 20} MB: not a verdict")
        return file.read(status.st_size), status.st_mtime


def parse_report(path: str, host: str, text: bytes, written_s: float) -> Report:
    """Parse the text of the file. Raise Unreadable if it is not a verdict, and OtherJson if it is valid JSON."""
    verdict, findings = _parse(path, text)
    if verdict.host is not None and not 0 < len(verdict.host.strip()) <= _LONGEST_HOST:
        raise Unreadable(path, f"the host's name has {len(verdict.host)} characters, expected 1 to {_LONGEST_HOST}")
    floor = next((floor for floor in verdict.noise_floor or () if floor.sample_ns == FLOOR_NS), None)
    causes = verdict.causes or ()
    noise = {} if floor is None else {Figure.NOISE_100MS: floor.cv_expected}
    speeds = _speeds_by_cpu(verdict.calibration)
    return Report(
        host=_printable_host((verdict.host or host).strip()),
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
        figures=noise | {figure: statistics.fmean(values.values()) for figure, values in speeds.items()},
        slowest={figure: SlowestCpu(*slowest_of(figure, values)) for figure, values in speeds.items()},
    )


def _printable_host(host: str) -> str:
    """Return the host's name with its unprintable characters escaped, so different names stay different."""
    return host if host.isprintable() else host.encode("unicode_escape").decode()


def _parse(path: str, text: bytes) -> tuple[VerdictDocument, Sequence[FindingPart]]:
    """Parse the verdict and its findings; in JSON Lines the first line is the verdict.

    Raise OtherJson for a JSON value without the key `verdict`, and Unreadable for any other content.
    """
    first, _, rest = text.partition(b"\n")
    is_lines = first.rstrip().endswith(b"}")
    try:
        head = first if is_lines else text
        verdict = _decode(path, head)
        findings = verdict.findings or []
        return verdict, [*findings, *_FINDINGS.decode_lines(rest)] if is_lines else findings
    except RecursionError as error:
        raise Unreadable(path, damaged_words("too deeply nested")) from error
    except msgspec.ValidationError as error:  # JSON, but not a verdict
        reason = _OF_CALIBRATION if _is_calibration(text) else f"{_NOT_OURS}: {_error_text(error)}"
        raise (Unreadable if _has_verdict(head) else OtherJson)(path, reason) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason, is_object = _error_text(error), text.lstrip().startswith(b"{")
        raise Unreadable(path, damaged_words(reason) if is_object else f"{_NOT_OURS}: {reason}") from error


def _has_verdict(text: bytes) -> bool:
    """Return whether the JSON text is an object with the key `verdict`."""
    try:
        _HEADS.decode(text)
    except msgspec.ValidationError:
        return False
    return True


def _is_calibration(text: bytes) -> bool:
    """Return whether the text is a document of `noisewatch calibrate`."""
    try:
        _CALIBRATIONS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _decode(path: str, text: bytes) -> VerdictDocument:
    """Decode a verdict. Raise Unreadable for another schema version, and msgspec's errors for any other defect.

    The schema version is checked even if the verdict cannot be decoded.
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


def _error_text(error: Exception) -> str:
    words = str(error).removeprefix("JSON is malformed: ")
    return words[:1].lower() + words[1:]


def _reason(causes: Sequence[CausePart], findings: Sequence[FindingPart]) -> Reason | None:
    """Return the gravest cause, which is the first, as the report's reason."""
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
    values = {name: getattr(verdict.machine, key) for key, name in _FACTS}
    identity = None if verdict.facts is None else verdict.facts.identity
    values[BOARD] = identity.get("board") if identity else None
    values["loops"] = None if verdict.calibration is None else verdict.calibration.core
    values["profile"], values["noisewatch"] = verdict.profile, verdict.noisewatch
    return {name: None if fact is None else clean(fact) for name, fact in values.items()}


def _speeds_by_cpu(calibration: CalibrationPart | None) -> dict[Figure, dict[int, float]]:
    """Return the speeds by figure and CPU; figures unknown for any CPU are left out."""
    cpus = () if calibration is None else calibration.cpus
    speeds = {figure: {cpu.cpu: value_of(figure, cpu) for cpu in cpus} for figure in OF_EACH_CPU}
    known = {
        figure: {cpu: value for cpu, value in values.items() if value is not None} for figure, values in speeds.items()
    }
    return {figure: values for figure, values in known.items() if values and len(values) == len(cpus)}
