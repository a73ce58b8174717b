"""The newest report of each host, from any number of files: one file is in memory at a time."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from noisewatch.errors import UsageError, system_reason
from noisewatch.judgement.fleet import Fleet, Report, Reports, fleet_of, lasting_difference
from noisewatch.operations.fleet.verdict_file import broken_report, report_in
from noisewatch.records import dataclass

_MOST_HOSTS_BYTES = 64 * 1024 * 1024
_ENDINGS = (".json", ".jsonl")
_OF_NO_HOST = ("verdict", "noisewatch", "preflight", "report")  # then the folder is named after it


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """The files of the reports, the hosts that should have reports, and the maximum age."""

    places: Sequence[str]
    baseline: str | None = None
    expected: Collection[str] | None = None
    max_age_s: float | None = None


def gather(options: FleetOptions) -> Fleet:
    """Read the fleet's reports. Raise UsageError if there is none, and no host is expected."""
    reports = _reports(options.places)
    baseline = None
    if options.baseline is not None:
        baseline = _sound(_reports([options.baseline]))
    if not reports.newest and not options.expected:
        raise UsageError(f"{', '.join(options.places)}: no report (*.json, *.jsonl) there")
    return fleet_of(reports, baseline, options.expected, options.max_age_s, time.time())


def expected_hosts(text: str) -> tuple[str, ...]:
    """Return the hosts of a file, one a line, or of a comma-separated list. Raise UsageError if it is invalid."""
    path = Path(text)
    if os.path.exists(text) or "/" in text:  # which takes a list that is too long for a path
        names = [line.partition("#")[0].strip() for line in _text_of(path).splitlines()]
    else:
        names = [name.strip() for name in text.split(",")]
    hosts = tuple(name for name in names if name)
    if not hosts:
        raise UsageError(f"--expect {text}: no host is named")
    for host in hosts:
        if len(host.split()) > 1 or "[" in host:
            raise UsageError(f"--expect: wanted one host a line, or parted by commas, found {host[:80]!r}")
    return hosts


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            raise UsageError(f"--expect {path}: no such file" if not path.exists() else f"--expect {path}: no file")
        with path.open("rb") as file:
            return file.read(_MOST_HOSTS_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"--expect {path}: {system_reason(error)}") from error


def _reports(places: Sequence[str]) -> Reports:
    newest: dict[str, Report] = {}
    machines: dict[str, list[Report]] = {}
    earlier: dict[str, Report] = {}
    counts: Counter[str] = Counter()
    for report in _read_all(places):
        counts[report.host] += 1
        if report.trouble is None:
            _sort_in(report, machines.setdefault(report.host, []))
        older, first = report, newest.get(report.host)
        if first is None or report.counts_before(first):
            newest[report.host] = report
            older = first or report
        if first is not None and older.trouble is None:
            second = earlier.get(report.host)
            if second is None or older.counts_before(second):
                earlier[report.host] = older
    others = {  # of other machines than that of the newest report; if that is broken, all
        name: tuple(report for report in of_name if report is not newest[name])
        for name, of_name in machines.items()
        if len(of_name) > 1
    }
    return Reports(newest, earlier, counts, others)


def _sort_in(report: Report, machines: list[Report]) -> None:
    """Add the report to the newest ones of each machine with this name; lasting facts distinguish machines."""
    for place, known in enumerate(machines):
        if lasting_difference(known, report) is None:
            machines[place] = report if report.counts_before(known) else known
            return
    machines.append(report)


def _read_all(places: Sequence[str]) -> Iterator[Report]:
    """Yield the report of each file once, even if the file is named twice or is also in a folder."""
    seen = set()
    for file in report_files(places):
        if file.path not in seen:
            seen.add(file.path)
            if file.trouble is not None:
                yield broken_report(file.path, file.host, file.trouble, time.time())
            else:
                yield report_in(file.path, file.host)


def _sound(reports: Reports) -> dict[str, Report]:
    """Return the newest report of each host that is not broken."""
    return {
        name: sound
        for name, report in reports.newest.items()
        if (sound := report if report.trouble is None else reports.earlier.get(name)) is not None
    }


@dataclass(frozen=True, slots=True)
class ReportFile:
    """The path of a report and its host, or the trouble with reading a folder."""

    path: str
    host: str
    trouble: str | None = None


def report_files(places: Sequence[str]) -> Iterator[ReportFile]:
    """Yield the named files, and the files in folders at any depth. Raise UsageError for a missing one."""
    for place in places:
        if os.path.isdir(place):
            yield from _in_folder(place)
        elif place.endswith(_ENDINGS) or os.path.lexists(place):
            yield ReportFile(place, _host_of(place))
        else:
            raise UsageError(f"{place or repr(place)}: no such file or folder")


def _in_folder(top: str) -> Iterator[ReportFile]:
    """Yield the files in a folder: links are followed, each folder is read once, and hidden files are skipped."""
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
    except OSError:  # a link to itself: opening it reports the error
        return False


def _host_of(path: str) -> str:
    stem = os.path.splitext(os.path.basename(path))[0]
    return _name(os.path.dirname(path)) if stem in _OF_NO_HOST else stem


def _name(folder: str) -> str:
    return os.path.basename(os.path.abspath(folder)) or folder
