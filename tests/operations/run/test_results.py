"""`noisewatch run --results` around pyperf itself, on this host, for a moment."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict
from noisewatch.operations.run.results import mark_results
from noisewatch.operations.run.series import RunSeries
from tests.judgement.judging import quiet_calibration
from tests.judgement.run.test_placement_reasons import placed
from tests.kernel.tasks.commands import thread_look
from tests.live.noise import CPU, LOOP, noise
from tests.surfaces.reports.run.running import lines_of
from tests.surfaces.reports.run.written_series import UNDISTURBED, written_series
from tests.written.quiet_machine import CPUS
from tests.written.repetitions import MS, ran, repeat

_NOISEWATCH = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU)]


def _ran(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*_NOISEWATCH, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def _pyperf(path: Path) -> list[object]:
    loops = ["-p", 2, "-n", 3, "-w", 1, "-l", 8_000_000]
    return [sys.executable, "-m", "pyperf", "timeit", "-q", *loops, "-o", path, "1+1"]


def test_runs_beside_a_busy_loop_are_marked_and_left_out(tmp_path: Path) -> None:
    results, filtered = tmp_path / "results.json", tmp_path / "filtered.json"
    receipt = tmp_path / "receipt.jsonl"
    with noise(LOOP):
        wanted = ["--results", results, "--filtered", filtered, "--output", receipt]
        ran = _ran(*wanted, "--", *_pyperf(results))
    assert "Mean +- std dev" in ran.stdout
    assert "0 of 2 runs undisturbed" in ran.stderr
    rows = [line.split() for line in ran.stderr.splitlines()]
    assert [row[0] for row in rows if row[1:2] == ["timeit"] and "disturbed" in row] == ["1", "2"]
    assert "nothing written: 0 of 2 runs of timeit undisturbed" in ran.stderr
    assert ran.returncode == 125
    assert not filtered.exists()
    assert len(json.loads(results.read_text())["benchmarks"][0]["runs"]) == 2
    told = lines_of(receipt)[-1]["results"]
    assert told["file"] == "results.json"
    assert told["counts"] == {"undisturbed": 0, "disturbed": 2, "unknown": 0}
    assert [(each["run"], each["name"], each["verdict"]) for each in told["runs"]] == [
        (0, "timeit", "disturbed"),
        (1, "timeit", "disturbed"),
    ]
    assert all(each["began_ns"] < each["ended_ns"] and each["reasons"] for each in told["runs"])


def test_the_gate_goes_by_the_runs_in_the_file(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    with noise(LOOP):
        assert _ran("--gate", "--results", results, "--", *_pyperf(results)).returncode == 5
    old = {"metadata": {"name": "old", "date": "2020-01-01 00:00:00", "duration": 0.1}, "runs": [{"values": [1.0]}]}
    results.write_text(json.dumps({"version": "1.0", "benchmarks": [old]}))
    assert _ran("--gate", "--results", results, "--", "true").returncode == 3  # none ran meanwhile
    results.unlink()
    assert _ran("--gate", "--results", results, "--", "true").returncode == 3


@pytest.mark.parametrize("content", [None, "rubbish"])
def test_a_file_that_cannot_be_read_is_said_and_the_status_is_not_0(tmp_path: Path, content: str | None) -> None:
    results = tmp_path / "results.json"
    if content is not None:
        results.write_text(content)
    ran = _ran("--results", results, "--", "true")
    assert ran.returncode == 125
    assert f"noisewatch run: {results}: " in ran.stderr
    assert "Traceback" not in ran.stderr


def test_runs_of_an_earlier_day_are_unknown(tmp_path: Path) -> None:
    results, filtered = tmp_path / "old.json", tmp_path / "new.json"
    metadata = {"name": "bench", "date": "2020-01-01 00:00:00.5", "duration": 0.1}
    benchmark = {"metadata": metadata, "runs": [{"values": [1.0]}, {"values": [1.1]}]}
    results.write_text(json.dumps({"version": "1.0", "benchmarks": [benchmark]}))
    ran = _ran("--results", results, "--filtered", filtered, "--", "true")
    assert "0 of 2 runs undisturbed" in ran.stderr
    assert "did not run while" in ran.stderr
    assert not filtered.exists()


def test_nothing_runs_where_the_files_cannot_be_meant(tmp_path: Path) -> None:
    results, made = tmp_path / "results.json", tmp_path / "made"
    for wanted in (("--filtered", results), ("--results", results, "--filtered", results)):
        ran = _ran(*wanted, "--", "touch", made)
        assert ran.returncode == 125
        assert "--filtered" in ran.stderr
    assert not made.exists()


def test_the_status_of_a_command_that_failed_stays(tmp_path: Path) -> None:
    assert _ran("--results", tmp_path / "none", "--", "sh", "-c", "exit 7").returncode == 7


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


def test_a_run_is_held_against_the_clock_of_the_opening_calibration(tmp_path: Path) -> None:
    clock = {f"{CPUS}/cpu2/cpufreq/scaling_cur_freq": "2400000\n", f"{CPUS}/nohz_full": "\n"}
    slow = replace(repeat(ran() | clock, ran({2: 1000}, 1.0) | clock, own_ms=1000), began_wall_ns=86_400 * 1000 * MS)
    series = written_series(UNDISTURBED)
    series = replace(series, repetitions=(replace(series.repetitions[0], repetition=slow),))
    met = _verdict_in(tmp_path, replace(series, opening=quiet_calibration()))
    assert ReasonKind.CLOCK_LOWERED in [reason.kind for reason in (*met.reasons, *met.own)]
    met = _verdict_in(tmp_path, series)
    assert ReasonKind.CLOCK_LOWERED not in [reason.kind for reason in (*met.reasons, *met.own)]


def test_a_thread_of_the_command_that_moved_leaves_no_run_undisturbed(tmp_path: Path) -> None:
    series = written_series(UNDISTURBED)
    moved = placed([thread_look(9, 1, 100 * MS)], [thread_look(9, 2, 900 * MS)])
    first = series.repetitions[0]
    dated = replace(first.repetition, began_wall_ns=86_400 * 1000 * MS)
    series = replace(series, repetitions=(replace(first, repetition=dated, placement=moved),))
    assert "moved to another memory node" in " ".join(_verdict_in(tmp_path, series).unknowns)
