"""`noisewatch run --results` around pyperf itself, on this host, and pyperf's files."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from copy import deepcopy
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pyperf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.errors import NoisewatchError
from noisewatch.judgement.run.left_target import LeftTarget
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict
from noisewatch.operations.run.results import (
    PyperfFile,
    TooFewUndisturbed,
    mark_results,
    read_pyperf_file,
    refuse_same_file,
    write_filtered,
)
from noisewatch.operations.run.series import RunSeries
from tests.judgement.judging import quiet_calibration
from tests.judgement.run.test_placement_reasons import placed
from tests.kernel.tasks.commands import thread_look
from tests.live.noise import CPU, LOOP, noise
from tests.plumbing.any_json import ANY_JSON
from tests.surfaces.conftest import run as run
from tests.surfaces.reports.run.running import lines_of
from tests.surfaces.reports.run.written_series import UNDISTURBED, written_series
from tests.surfaces.running import Run
from tests.written.quiet_machine import CPUS
from tests.written.repetitions import MS, ran, repeat

_NOISEWATCH = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU)]


def _run_noisewatch(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*_NOISEWATCH, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def _pyperf(path: Path) -> list[object]:
    loops = ["-p", 2, "-n", 3, "-w", 1, "-l", 8_000_000]
    return [sys.executable, "-m", "pyperf", "timeit", "-q", *loops, "-o", path, "1+1"]


def test_runs_during_a_busy_loop_are_marked_and_left_out(tmp_path: Path) -> None:
    results, filtered = tmp_path / "results.json", tmp_path / "filtered.json"
    receipt = tmp_path / "receipt.jsonl"
    with noise(LOOP):
        options = ["--results", results, "--filtered", filtered, "--output", receipt]
        process = _run_noisewatch(*options, "--", *_pyperf(results))
    assert "Mean +- std dev" in process.stdout
    assert "0 of 2 runs undisturbed" in process.stderr
    rows = [line.split() for line in process.stderr.splitlines()]
    assert [row[0] for row in rows if row[1:2] == ["timeit"] and "disturbed" in row] == ["1", "2"]
    assert "nothing written: 0 of 2 runs of timeit undisturbed" in process.stderr
    assert process.returncode == 125
    assert not filtered.exists()
    assert len(json.loads(results.read_text())["benchmarks"][0]["runs"]) == 2
    marked = lines_of(receipt)[-1]["results"]
    assert marked["file"] == "results.json"
    assert marked["counts"] == {"undisturbed": 0, "disturbed": 2, "unknown": 0}
    assert [(marked_run["run"], marked_run["name"], marked_run["verdict"]) for marked_run in marked["runs"]] == [
        (0, "timeit", "disturbed"),
        (1, "timeit", "disturbed"),
    ]
    assert all(
        marked_run["began_ns"] < marked_run["ended_ns"] and marked_run["reasons"] for marked_run in marked["runs"]
    )


_WRITES_RUNS = """
import datetime, json, sys, time
time.sleep(0.3)
uptime = float(open("/proc/uptime").read().split()[0])
metadata = {"name": "bench", "date": str(datetime.datetime.now()), "uptime": uptime, "duration": 0.2}
runs = [{"values": [value], "metadata": metadata} for value in (1.0, 1.1)]
json.dump({"version": "1.0", "benchmarks": [{"runs": runs}]}, open(sys.argv[1], "w"))
"""
_OLD = {"name": "bench", "date": "2020-01-01 00:00:00.5", "duration": 0.1}
_OLD_FILE = {"version": "1.0", "benchmarks": [{"metadata": _OLD, "runs": [{"values": [1.0]}, {"values": [1.1]}]}]}


def test_the_gate_judges_the_runs_in_the_file(tmp_path: Path) -> None:
    results, filtered = tmp_path / "results.json", tmp_path / "filtered.json"
    with noise(LOOP):
        writes = [sys.executable, "-S", "-c", _WRITES_RUNS, results]
        assert _run_noisewatch("--gate", "--results", results, "--", *writes).returncode == 5
    results.write_text(json.dumps(_OLD_FILE))
    process = _run_noisewatch("--gate", "--results", results, "--filtered", filtered, "--", "true")
    assert process.returncode == 3  # no run took place during the command
    assert "0 of 2 runs undisturbed" in process.stderr
    assert "did not take place while" in process.stderr
    assert not filtered.exists()
    results.unlink()
    process = _run_noisewatch("--gate", "--results", results, "--", "true")
    assert (process.returncode, f"noisewatch run: {results}: no such file" in process.stderr) == (3, True)


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    results.write_text("rubbish")
    process = _run_noisewatch("--results", results, "--", "true")
    assert process.returncode == 125
    assert f"noisewatch run: {results}: " in process.stderr
    assert "Traceback" not in process.stderr


def test_nothing_runs_with_contradictory_file_options(run: Run, tmp_path: Path) -> None:
    results, made = tmp_path / "results.json", tmp_path / "made"
    for options in (("--filtered", results), ("--results", results, "--filtered", results)):
        result = run("run", *options, "--", "touch", made)
        assert result.status == 125
        assert "--filtered" in result.err
    assert not made.exists()


def test_the_exit_status_of_a_failed_command_is_kept(tmp_path: Path) -> None:
    assert _run_noisewatch("--results", tmp_path / "none", "--", "sh", "-c", "exit 7").returncode == 7


def _verdict_in(folder: Path, series: RunSeries) -> RepetitionVerdict:
    """Return the verdict on a benchmark run in the last 0.9 s of the first repetition, which began in 1970."""
    began_s = series.repetitions[0].repetition.began_wall_ns / 1e9
    metadata = {"name": "bench", "date": datetime.fromtimestamp(began_s + 1).isoformat(" "), "duration": 0.9}
    results = folder / "results.json"
    results.write_text(
        json.dumps({"version": "1.0", "benchmarks": [{"metadata": metadata, "runs": [{"values": [1.0]}]}]})
    )
    (marked,) = mark_results(str(results), series).marked
    return marked.verdict


def test_a_run_is_unknown_if_its_repetition_may_have_left_the_target(tmp_path: Path) -> None:
    series = written_series(UNDISTURBED)
    (judged,) = series.repetitions
    left = LeftTarget(None, 0, "the command ran on other CPUs for 1 s")
    for moved, expected in ((None, False), (left, True)):
        verdict = _verdict_in(tmp_path, replace(series, repetitions=(replace(judged, left=moved),)))
        assert (left.unknown in verdict.unknowns) == expected


def test_the_clock_of_a_run_is_compared_with_the_opening_calibration(tmp_path: Path) -> None:
    clock = {f"{CPUS}/cpu2/cpufreq/scaling_cur_freq": "2400000\n", f"{CPUS}/nohz_full": "\n"}
    slow = replace(repeat(ran() | clock, ran({2: 1000}, 1.0) | clock, own_ms=1000), began_wall_ns=86_400 * 1000 * MS)
    series = written_series(UNDISTURBED)
    series = replace(series, repetitions=(replace(series.repetitions[0], repetition=slow),))
    verdict = _verdict_in(tmp_path, replace(series, opening=quiet_calibration()))
    assert ReasonKind.CLOCK_LOWERED in [reason.kind for reason in (*verdict.reasons, *verdict.own)]
    verdict = _verdict_in(tmp_path, series)
    assert ReasonKind.CLOCK_LOWERED not in [reason.kind for reason in (*verdict.reasons, *verdict.own)]


def test_no_run_is_undisturbed_if_a_thread_moved_between_nodes(tmp_path: Path) -> None:
    series = written_series(UNDISTURBED)
    moved = placed([thread_look(9, 1, 100 * MS)], [thread_look(9, 2, 900 * MS)])
    first = series.repetitions[0]
    dated = replace(first.repetition, began_wall_ns=86_400 * 1000 * MS)
    series = replace(series, repetitions=(replace(first, repetition=dated, placement=moved),))
    assert "moved to another memory node" in " ".join(_verdict_in(tmp_path, series).unknowns)


_BOOTED_S = 1_763_900_000
_CALIBRATION = {"warmups": [[1, 4.8e-07]], "metadata": {"calibrate_loops": 1}}


def _run(value: float, **metadata: object) -> dict[str, Any]:
    return {"values": [value, value * 1.1], "warmups": [[4, value]], "metadata": metadata}


def _content(runs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    runs = [_CALIBRATION, _run(1.0), _run(2.0), _run(3.0)] if runs is None else runs
    benchmark = {"runs": runs, "metadata": {"name": "timeit", "loops": 4}}
    return {"version": "1.0", "benchmarks": [benchmark], "metadata": {"unit": "second"}}


def _read(tmp_path: Path, content: object) -> PyperfFile:
    path = tmp_path / "results.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_pyperf_file(str(path), _BOOTED_S * 10**9)


def _filter_runs(file: PyperfFile, places: set[int]) -> bytes:
    output = BytesIO()
    write_filtered(file, [run for run in file.runs if run.run in places], "9.9", output)
    return output.getvalue()


def test_the_date_of_a_run_is_read_in_any_time_zone(tmp_path: Path) -> None:
    """pyperf's workers lose TZ; the uptime in the metadata shows the zone of the date."""
    uptime_s = 4315.25
    ended = datetime.fromtimestamp(_BOOTED_S + uptime_s, UTC)
    for minutes in (0, 345, -720):
        local = datetime.fromtimestamp(ended.timestamp() + minutes * 60, UTC).replace(tzinfo=None)
        run = _run(1.0, date=str(local), uptime=uptime_s + 0.004, duration=0.5)
        (benchmark_run,) = _read(tmp_path, _content([run])).runs
        assert benchmark_run.ended_wall_ns == (_BOOTED_S * 10**9 + 4_315_250_000_000,)
        assert (benchmark_run.length_ns, benchmark_run.name, benchmark_run.value_count) == (500_000_000, "timeit", 2)


def test_a_date_without_an_uptime_is_local_and_may_be_ambiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        runs = [_run(1.0, date=f"2025-10-26 {hour}:30:00") for hour in ("02", "12")]
        twice, once = _read(tmp_path, _content(runs)).runs
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [ns // 10**9 for ns in twice.ended_wall_ns] == [1_761_438_600, 1_761_442_200]
    assert [ns // 10**9 for ns in once.ended_wall_ns] == [1_761_478_200]


@pytest.mark.parametrize("date", [None, 5, "", "yesterday", "0001-01-01", "9999-12-31 23:59:59"])
@pytest.mark.parametrize("uptime", [None, "x", 1e308, -5])
def test_an_invalid_date_is_far_from_the_series(tmp_path: Path, date: object, uptime: object) -> None:
    (run,) = _read(tmp_path, _content([_run(1.0, date=date, uptime=uptime, duration="long")])).runs
    assert run.length_ns is None
    assert not any(abs(ns - _BOOTED_S * 10**9) < 10**15 for ns in run.ended_wall_ns)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "pyperf's JSON"),
        ("[" * 200_000, "too deeply nested"),
        ('{"version": "1.0", "benchmarks": [NaN]}', "not a number"),
        ("[]", "an object"),
        ({"version": "2.0"}, "version 1.0"),
        ({"version": ["1.0"]}, "version 1.0"),
        ({"version": "1.0"}, "a list of benchmarks"),
        ({"version": "1.0", "benchmarks": [3]}, "a benchmark"),
        ({"version": "1.0", "benchmarks": [{"runs": []}]}, "a list of runs"),
        ({"version": "1.0", "benchmarks": [{"runs": [_run(1.0)]}]}, "a name for each benchmark"),
        (_content([_run(-1.0)]), "values above 0"),
        (_content([{"values": "12"}]), "values above 0"),
        (_content([{"metadata": {}}]), "values or warmups"),
        (_content([{"values": [1.0], "metadata": []}]), "metadata"),
        ("1" * 5000, "pyperf's JSON"),
    ],
)
def test_a_file_that_is_not_pyperfs_is_refused_with_its_name(tmp_path: Path, content: object, words: str) -> None:
    with pytest.raises(NoisewatchError, match=words) as caught:
        _read(tmp_path, content)
    assert "results.json" in str(caught.value)


def test_an_unreadable_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe, folder, bomb, cut = (tmp_path / name for name in ("pipe", "folder", "bomb.json.gz", "cut.json.gz"))
    os.mkfifo(pipe)
    folder.mkdir()
    bomb.write_bytes(gzip.compress(b" " * (65 << 20), compresslevel=1))
    cut.write_bytes(gzip.compress(json.dumps(_content()).encode())[:-20])
    expected = {
        tmp_path / "none": "no such file: the command did not write it",
        pipe: "not a regular file",
        folder: "[Dd]irectory|not a regular file",
        bomb: "larger than 64 MiB",
        cut: "ended before",
    }
    for path, words in expected.items():
        with pytest.raises(NoisewatchError, match=words):
            read_pyperf_file(str(path), 0)


_PLACES = [("version",), ("benchmarks",), ("metadata",), ("benchmarks", 0), ("benchmarks", 0, "runs")]
_PLACES += [(*_PLACES[4], 1), *[(*_PLACES[4], 1, name) for name in ("values", "warmups", "metadata")]]
_PLACES += [
    (*_PLACES[4], 1, "metadata", name) for name in ("date", "uptime", "duration", "name", "noisewatch_began_ns")
]


@given(place=st.sampled_from(_PLACES), value=ANY_JSON)
def test_any_value_in_a_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], value: object
) -> None:
    content = deepcopy(_content())
    inner: Any = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        file = _read(tmp_path_factory.mktemp("any"), content)
    except NoisewatchError:
        return
    assert all(run.name for run in file.runs)


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_pyperf_reads_the_filtered_file(tmp_path: Path, suffix: str) -> None:
    file = _read(tmp_path, _content())
    written = _filter_runs(file, {1, 3})
    path = tmp_path / f"filtered{suffix}"
    path.write_bytes(gzip.compress(written) if suffix.endswith("gz") else written)
    benchmark = pyperf.BenchmarkSuite.load(str(path)).get_benchmark("timeit")
    assert benchmark.get_values() == (1.0, 1.1, 3.0, 3.0 * 1.1)
    assert benchmark.get_nrun() == 3  # with the calibration
    assert benchmark.get_metadata()["noisewatch_version"] == "9.9"
    assert benchmark.get_metadata()["noisewatch_undisturbed"] == "2 of 3 runs"
    assert len(read_pyperf_file(str(path), 0).runs) == 3


@pytest.mark.parametrize("left", [set(), {2}])
def test_fewer_than_two_runs_are_not_a_benchmark(tmp_path: Path, left: set[int]) -> None:
    with pytest.raises(TooFewUndisturbed, match=f"{len(left)} of 3 runs of timeit"):
        _filter_runs(_read(tmp_path, _content()), left)


def test_the_results_file_is_never_overwritten(tmp_path: Path) -> None:
    results, link, hard = tmp_path / "a.json", tmp_path / "link.json", tmp_path / "hard.json"
    link.symlink_to(results)
    for other in (results, link):  # before the file exists
        with pytest.raises(NoisewatchError, match="same file as --results"):
            refuse_same_file(str(results), str(other))
    results.write_text("{}")
    hard.hardlink_to(results)
    with pytest.raises(NoisewatchError, match="same file as --results"):
        refuse_same_file(str(results), str(hard))
    refuse_same_file(str(results), str(tmp_path / "b.json"))
