"""The newest report of each host, from any number of files: one file is in memory at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from noisewatch.errors import UsageError, system_reason
from noisewatch.judgement.fleet import Fleet, HostReports, Report, fleet_of
from noisewatch.machine.regular_files import read_small
from noisewatch.operations.fleet.verdict_file import broken_report, report_in

_MOST_HOSTS_BYTES = 64 * 1024 * 1024
_ENDINGS = (".json", ".jsonl")
_OF_NO_HOST = ("verdict", "noisewatch", "preflight", "report")  # then the folder is named after it


class FleetOptions(Struct, frozen=True, kw_only=True):
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
        newest = {
            name: own.newest if own.newest.trouble is None else own.earlier
            for name, own in _reports([options.baseline]).items()
        }
        baseline = {name: report for name, report in newest.items() if report is not None}
    if not reports and not options.expected:
        raise UsageError(f"{', '.join(options.places)}: no report (*.json, *.jsonl) there")
    return fleet_of(reports, baseline, options.expected, options.max_age_s, time.time())


def expected_hosts(text: str) -> tuple[str, ...]:
    """Return the hosts of a file, one a line, or of a comma-separated list. Raise UsageError if it is invalid."""
    if os.path.exists(text) or "/" in text:  # which takes a list that is too long for a path
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
            raise UsageError(f"--expect: wanted one host a line, or parted by commas, found {host[:80]!r}")
    return hosts


def _reports(places: Sequence[str]) -> dict[str, HostReports]:
    reports: dict[str, HostReports] = {}
    for report in _read_all(places):
        reports.setdefault(report.host, HostReports(report)).add(report)
    return reports


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


class ReportFile(Struct, frozen=True):
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
