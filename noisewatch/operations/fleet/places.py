"""Which files hold the reports, and of which hosts, by their names: HOST.json, or HOST/verdict.json."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from noisewatch.errors import UsageError
from noisewatch.records import dataclass

_ENDINGS = (".json", ".jsonl")
_OF_NO_HOST = ("verdict", "noisewatch", "preflight", "report")  # then the folder is named after it


@dataclass(frozen=True, slots=True)
class ReportFile:
    """Where a report is, and whose; or why a folder could not be looked at."""

    path: str
    host: str
    trouble: str | None = None


def report_files(places: Sequence[str]) -> Iterator[ReportFile]:
    """Those that are named, and those in folders at any depth. Raises UsageError where nothing is."""
    for place in places:
        if os.path.isdir(place):
            yield from _in_folder(place)
        elif place.endswith(_ENDINGS) or os.path.lexists(place):
            yield ReportFile(place, _host_of(place))
        else:
            raise UsageError(f"{place or repr(place)}: no such file or folder")


def _in_folder(top: str) -> Iterator[ReportFile]:
    """Links are followed, each folder is looked at once, and hidden files are not looked at."""
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
            yield ReportFile(folder, _name(folder), (error.strerror or str(error)).lower())


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself: whoever opens it is told
        return False


def _host_of(path: str) -> str:
    stem = os.path.splitext(os.path.basename(path))[0]
    return _name(os.path.dirname(path)) if stem in _OF_NO_HOST else stem


def _name(folder: str) -> str:
    return os.path.basename(os.path.abspath(folder)) or folder
