"""The JSON file of pyperf (version 1.0) that a watched benchmark wrote, with a verdict on each of its runs.

It is read for the times of its runs, and written without disturbed runs:

    {"version": "1.0", "metadata": {…}, "benchmarks": [{"metadata": {…}, "runs": [
        {"values": [6.7e-09, …], "warmups": [[16777216, 1.05e-08]], "metadata": {"date": "2026-11-23 19:17:13.842931",
         "duration": 0.419, "uptime": 4315.8, …}}, …]}, …]}

https://pyperf.readthedocs.io/en/latest/api.html. A file's metadata applies to all of its benchmarks, a benchmark's
metadata to all its runs. `date` is the worker's local time after its last value, without a zone (pyperf drops TZ from
its workers' environment); `uptime` is the time since boot at that moment; `duration` is from before the first value
until some milliseconds later. A run without values calibrates the number of loops or warm-ups.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import stat
import time
import zlib
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

from msgspec import Struct

from noisewatch import __version__
from noisewatch.errors import NO_SUCH_FILE, Malformed, NoisewatchError, Unreadable, UsageError
from noisewatch.judgement.case import Case
from noisewatch.judgement.run.benchmark_runs import MarkedRun, WatchedCommand, mark_run
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.model.run.benchmark_run import BenchmarkRun, HookedRun
from noisewatch.operations.run import pyperf_hook
from noisewatch.operations.run.judging import floors_of
from noisewatch.operations.run.series import RunSeries
from noisewatch.units import NS_PER_S, describe_count

_LARGEST = 64 << 20  # bytes of JSON; a run of 100 benchmarks has 2 MB
_VERSION = "1.0"
_ZONE_S = 900  # all time zones are whole quarters of an hour apart
_MOST_APART_S = 5  # between the two records of a run's end: date and uptime
_FEWEST_RUNS = 2  # a standard deviation needs them
_NAMED = 100  # characters
_UNDISTURBED = "noisewatch_undisturbed"


class MarkedResults(Struct, frozen=True):
    """The file, and its runs with values, each with its verdict, in order."""

    file: PyperfFile
    marked: tuple[MarkedRun, ...]

    @property
    def undisturbed(self) -> list[MarkedRun]:
        return [run for run in self.marked if run.verdict.outcome == RunOutcome.UNDISTURBED]

    def write_undisturbed(self, output: BinaryIO) -> None:
        """Write the file with its undisturbed runs, and its runs without values.

        Raise TooFewUndisturbed if too few runs are undisturbed.
        """
        write_filtered(self.file, [marked.run for marked in self.undisturbed], __version__, output)


def refuse_same_file(results: str, filtered: str) -> None:
    """Raise UsageError if both are the same file, so that the measurements are not overwritten."""
    is_same = os.path.realpath(results) == os.path.realpath(filtered)
    if is_same or (os.path.exists(results) and os.path.exists(filtered) and os.path.samefile(results, filtered)):
        raise UsageError(f"--filtered {filtered}: same file as --results")


def mark_results(path: str, series: RunSeries) -> MarkedResults:
    """Read the file and judge its runs by the series. Raise Unreadable or Malformed if it cannot be used."""
    booted_wall_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    file = read_pyperf_file(path, booted_wall_ns)
    watched = WatchedCommand(
        repetitions=[(judged.repetition, judged.placement) for judged in series.repetitions],
        siblings=Case(series.machine).siblings,
        floors=floors_of(series.opening),
        khz_by_cpu=calibrated_khz(series.opening),
        left_by_number={
            judged.repetition.number: judged.left for judged in series.repetitions if judged.left is not None
        },
    )
    return MarkedResults(file, tuple(mark_run(run, watched) for run in file.runs if run.value_count))


class PyperfFile(Struct, frozen=True):
    """The content of a file: the unchanged JSON, and its runs in order."""

    path: str
    content: Mapping[str, Any]
    runs: tuple[BenchmarkRun, ...]


class TooFewUndisturbed(NoisewatchError):
    """Too few runs in a file are undisturbed."""


def read_pyperf_file(path: str, booted_wall_ns: int) -> PyperfFile:
    """Read the file; `booted_wall_ns` is the time of day at boot.

    Raise Unreadable or Malformed if it cannot be used.
    """
    try:
        content = json.loads(_bytes_of(path), parse_constant=_refuse_constant)
    except RecursionError:
        raise Malformed("pyperf's JSON", "too deeply nested", path=path) from None
    except ValueError as error:
        raise Malformed("pyperf's JSON", str(error), path=path) from error
    try:
        return PyperfFile(path, content, tuple(_runs_of(content, booted_wall_ns)))
    except Malformed as error:
        raise error.at(path) from error


def write_filtered(file: PyperfFile, kept: Collection[BenchmarkRun], version: str, output: BinaryIO) -> None:
    """Write the file with the `kept` runs and the runs without values. Raise TooFewUndisturbed for too few runs."""
    places = {(run.benchmark, run.run) for run in file.runs if run in kept or not run.value_count}
    benchmarks = []
    for number, benchmark in enumerate(file.content["benchmarks"]):
        measured = [run for run in file.runs if run.benchmark == number and run.value_count]
        left = sum((number, run.run) in places for run in measured)
        if left < _FEWEST_RUNS:
            runs_of = f"{describe_count(len(measured), 'run')} of {measured[0].name if measured else 'a benchmark'}"
            raise TooFewUndisturbed(f"nothing written: {left} of {runs_of} undisturbed (minimum {_FEWEST_RUNS})")
        metadata = {**(benchmark.get("metadata") or {}), _UNDISTURBED: f"{left} of {len(measured)} runs"}
        runs = [run for place, run in enumerate(benchmark["runs"]) if (number, place) in places]
        benchmarks.append({**benchmark, "metadata": metadata, "runs": runs})
    metadata = {**(file.content.get("metadata") or {}), pyperf_hook.VERSION: version}
    text = json.dumps({**file.content, "metadata": metadata, "benchmarks": benchmarks}, separators=(",", ":"))
    output.write(text.encode() + b"\n")


def _bytes_of(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # a pipe would block
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable(path, "not a regular file")
            with gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file as reader:  # as pyperf does
                content = reader.read(_LARGEST + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise Unreadable(path, f"{NO_SUCH_FILE}: the command did not write it (see its output)") from error
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unreadable(path, reason) from error
    if len(content) > _LARGEST:
        raise Unreadable(path, f"larger than {_LARGEST >> 20} MiB")
    return content


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _runs_of(content: Any, booted_wall_ns: int) -> Iterator[BenchmarkRun]:
    version = _mapping(content, "an object").get("version")
    if version != _VERSION:
        raise Malformed(f"version {_VERSION} of pyperf's format", json.dumps(version))
    common = _metadata(content)
    for number, benchmark in enumerate(_sequence(content.get("benchmarks"), "benchmarks")):
        metadata = common | _metadata(_mapping(benchmark, "a benchmark"))
        for place, run in enumerate(_sequence(benchmark.get("runs"), "runs")):
            inherited = metadata | _metadata(_mapping(run, "a run"))
            values = run.get("values", [])
            if not isinstance(values, list) or not all(_is_positive(value) for value in values):
                raise Malformed("values above 0", json.dumps(values))
            if not values and not run.get("warmups"):
                raise Malformed("values or warmups", json.dumps(run))
            yield BenchmarkRun(
                benchmark=number,
                run=place,
                name=_name(inherited),
                value_count=len(values),
                ended_wall_ns=_ended_wall_ns(inherited, booted_wall_ns),
                length_ns=_length_ns(inherited),
                hooked=_hook_verdict(inherited),
            )


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(what, json.dumps(value))
    return value


def _sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise Malformed(f"a list of {what}", json.dumps(value))
    return value


def _metadata(owner: Mapping[str, Any]) -> dict[str, Any]:
    metadata = owner.get("metadata")
    return dict(_mapping({} if metadata is None else metadata, "metadata"))


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and math.isfinite(value)


def _name(metadata: Mapping[str, Any]) -> str:
    name = metadata.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Malformed("a name for each benchmark", json.dumps(name))
    return name.strip()[:_NAMED]


def _length_ns(metadata: Mapping[str, Any]) -> int | None:
    duration_s: Any = metadata.get("duration")
    return round(duration_s * NS_PER_S) if _is_positive(duration_s) else None


def _ended_wall_ns(metadata: Mapping[str, Any], booted_wall_ns: int) -> tuple[int, ...]:
    """Return when the run ended (ns since 1970, UTC), from its local date.

    The date is read in the time zone in which it agrees with the run's uptime, otherwise in this process's zone. Return
    two times if clocks in that zone were set back in that hour, and none if the run has no date.
    """
    try:
        date = datetime.fromisoformat(metadata.get("date", ""))
        if date.tzinfo is not None:
            return (_since_1970_ns(date),)
        in_utc_ns = _since_1970_ns(date.replace(tzinfo=UTC))
        ahead_s = (in_utc_ns - booted_wall_ns) / NS_PER_S - metadata.get("uptime", math.inf)
        zone_s = round(ahead_s / _ZONE_S) * _ZONE_S if math.isfinite(ahead_s) else 0
        if abs(ahead_s - zone_s) <= _MOST_APART_S:
            return (in_utc_ns - zone_s * NS_PER_S,)
        return tuple(dict.fromkeys(_since_1970_ns(date.replace(fold=fold).astimezone(UTC)) for fold in (0, 1)))
    except (TypeError, ValueError, OverflowError):
        return ()


def _since_1970_ns(date: datetime) -> int:
    since = date - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000


def _hook_verdict(metadata: Mapping[str, Any]) -> HookedRun | None:
    began_ns, ended_ns = metadata.get(pyperf_hook.BEGAN), metadata.get(pyperf_hook.ENDED)
    verdict, reasons = metadata.get(pyperf_hook.VERDICT), metadata.get(pyperf_hook.REASONS, "")
    if not (isinstance(began_ns, int) and isinstance(ended_ns, int)):
        return None
    if not (isinstance(verdict, str) and isinstance(reasons, str)):
        return None
    return HookedRun(began_ns, ended_ns, verdict, reasons)
