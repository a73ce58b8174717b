"""`noisewatch calibrate` of recordings, and briefly on this host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyperf
import pytest

from noisewatch.kernel.calibration import QUESTION
from noisewatch.kernel.calibration import SETTLING_QUESTION as SETTLING
from noisewatch.machine.history_file import machine_key
from noisewatch.machine.spinning.loops import load_core
from noisewatch.surfaces.picture import THEMES
from tests import MACHINES
from tests.plumbing.waiting import descendants_of, is_alive, wait_until
from tests.surfaces.running import NOISEWATCH, Ran, Run, record
from tests.written.calibration import WORK_NS, written_calibration
from tests.written.quiet_machine import process, quiet_files

_MOMENTS = (quiet_files(), quiet_files(3.0))
_CPU = max(os.sched_getaffinity(0))
_AGAINST = ("--cpus", "2", "--against", "3")
_RESULTS: dict[tuple[str, ...], Ran] = {}  # by options: predicting the noise takes long


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("calibrated") / "machine.nw", *_MOMENTS)


@pytest.fixture
def calibrate(run: Run, recording: Path) -> Callable[..., Ran]:
    """`noisewatch calibrate` of the recording; equal options are run once."""

    def calibrate_recording(*options: str) -> Ran:
        if options not in _RESULTS:
            _RESULTS[options] = run("calibrate", "--replay", recording, *options)
        return _RESULTS[options]

    return calibrate_recording


def test_the_text_shows_measurements_and_noise_floors(calibrate: Callable[..., Ran]) -> None:
    result = calibrate("-v")
    assert result.status == 0
    assert result.out.startswith("noisewatch calibrate · CPUs 2-3 · 3.0 s · native core\n✓ 25 samples of 100 ms, ")
    for phrase in (
        "gaps/s",
        "noise",
        "3.000",
        "samples of",
        "within the budget of 1%",
        "by kind of work: ",
        "Welch",
    ):
        assert phrase in result.out


@pytest.mark.parametrize("options", [(), _AGAINST], ids=["alone", "against"])
def test_without_v_the_details_are_left_out_and_the_last_line_shows_how_to_get_them(
    calibrate: Callable[..., Ran], options: tuple[str, ...]
) -> None:
    brief, whole = calibrate(*options), calibrate("-v", *options)
    assert brief.out.splitlines()[-1].startswith(" details    -v (")
    assert "gaps/s  noise" not in brief.out
    assert "gaps/s  noise" in whole.out.partition("\n\ndetails\n")[2]
    markdown = calibrate("--format", "markdown", *options).out
    assert "gaps/s  noise" in markdown.partition("<details>\n<summary>details</summary>")[2]


def test_the_brief_report_fits_a_terminal_of_24_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, rows in ((80, 24), (120, 34)):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(rows))
        lines = run("calibrate", "--replay", MACHINES / "host-kinds.nw").out.splitlines()
        assert len(lines) < rows
        assert max(map(len, lines)) <= columns
        assert lines[1].startswith("✗ 25 samples of 100 ms, by kind of work: ")
        assert any("how long each gap lasted" in line for line in lines)


def test_json_has_the_promised_keys(calibrate: Callable[..., Ran]) -> None:
    answer = calibrate("--format", "json").json
    assert answer["settling"] is None
    assert (answer["schema"], answer["target"], answer["against"]) == (1, [2, 3], None)
    calibration = answer["calibration"]
    assert (calibration["seconds"], calibration["core"], calibration["workload"]) == (3.0, "native", "none")
    promised = {
        "cpu", "gaps_per_s", "stolen_share", "gap_threshold_ns", "gap_p50_ns", "gap_p99_ns", "gap_max_ns",
        "effective_khz", "effective_khz_spread_share", "throughput_drift_share", "histogram",
    }  # fmt: skip
    assert promised <= set(calibration["cpus"][0])
    assert [floor["sample_ns"] for floor in answer["noise_floor"]] == [10**6, 10**7, 10**8, 10**9]
    promised = {
        "cv_low", "cv_expected", "cv_high", "max_inflation", "smallest_change_share", "samples", "bounded",
    }  # fmt: skip
    assert promised <= set(answer["noise_floor"][0])
    assert [floor["extrapolated"] for floor in answer["noise_floor"]] == [False, False, False, True]


def test_reports_begin_with_the_smallest_detectable_change(calibrate: Callable[..., Ran]) -> None:
    for result in (calibrate(), calibrate("--format", "markdown")):
        assert " A change of " in result.words.partition("how long each gap lasted")[0]
        assert "samples of each version" not in result.out


@pytest.mark.parametrize("options", [(), _AGAINST], ids=["alone", "against"])
def test_the_samples_that_show_a_change_are_printed_on_request(
    calibrate: Callable[..., Ran], options: tuple[str, ...]
) -> None:
    for form in ("text", "markdown"):
        result = calibrate("--format", form, "--detect", "2%", *options)
        assert "samples of each version needed to show a change of 2%" in result.words
    detect = calibrate("--format", "json", "--detect", "2%", *options).json["detect"]
    assert (detect["share"], detect["reason"], len(detect["rows"])) == (0.02, None, 20)
    assert detect["rows"][0] == {"work": "latency", "sample_ns": 10**6, "samples": 2, "reason": None}
    assert calibrate("--format", "json", *options).json["detect"] is None


def test_without_a_trace_gaps_have_a_class_and_running_threads_are_suspects(run: Run, tmp_path: Path) -> None:
    before = quiet_files() | process(901, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(901, "hog", 2, 40_000_000, allowed="0-3")
    calibration = written_calibration(gaps=((10_000_000, 5_000_000, 1, 0), (70_000_000, 4_000, 0, 0)))
    recording = record(tmp_path / "untraced.nw", before, after, calibration=calibration, calibrated_after=1)
    brief, result = (run("calibrate", "--cpus", "2", *more, "--replay", recording) for more in ((), ("-v",)))
    assert "\n suspects   hog\n" in brief.out
    culprits = result.out.partition("culprits of the gaps on CPU 2")[2]
    assert "Suspects (ran there during the calibration): hog (pid 901) ~1.33%" in culprits
    rows = [" ".join(line.split()) for line in culprits.partition("longest gaps")[2].splitlines()]
    assert rows[2:4] == [
        "0.010000 s 5 ms another thread",
        "0.070000 s 4 µs a kernel interrupt, or outside the kernel",
    ]
    cpu = run("calibrate", "--cpus", "2", "--format", "json", "--replay", recording).json["calibration"]["cpus"][0]
    assert (cpu["suspects"][0]["name"], cpu["suspects"][0]["tid"]) == ("hog", 901)
    assert [(gap["length_ns"], gap["traced_ns"], gap["parts"]) for gap in cpu["longest_gaps"]] == [
        (5_000_000, None, []),
        (4_000, None, []),
    ]


def test_another_sample_length_is_added_to_the_table(calibrate: Callable[..., Ran]) -> None:
    answer = calibrate("--format", "json", "--at", "20ms", "--samples", "7").json
    assert [(floor["sample_ns"], floor["samples"]) for floor in answer["noise_floor"]][2] == (20 * 10**6, 7)


def test_pyperf_reads_its_format(run: Run, recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    assert run("calibrate", "--format", "pyperf", "--output", file, "--replay", recording).status == 0
    suite = pyperf.BenchmarkSuite.load(str(file))
    assert suite.get_benchmark_names() == ["fixed-work-cpu2", "fixed-work-cpu3"]
    benchmark = suite.get_benchmark("fixed-work-cpu2")
    assert benchmark.mean() == pytest.approx(5 * WORK_NS / 1e9)
    assert benchmark.get_nvalue() in (100, 200, 500, 1_000, 2_000)


def test_two_sets_of_cpus_are_compared_in_text(calibrate: Callable[..., Ran]) -> None:
    result = calibrate(*_AGAINST)
    assert result.status == 0
    for phrase in (
        "CPU 2 and CPU 3 do not differ",
        "interpreted piece p50",
        "longest",
        "times as much",
        "× 1.00",
        "Smallest detectable change: ",
    ):
        assert phrase in result.out


def test_two_sets_of_cpus_are_compared_in_json(calibrate: Callable[..., Ran]) -> None:
    answer = calibrate("--format", "json", *_AGAINST).json
    assert (answer["target"], answer["against"]) == ([2], [3])
    work = answer["comparison"]["work"]
    assert work["target"] == {"median_ns": WORK_NS, "deviation_ns": 0, "max_ns": WORK_NS}
    assert (work["ratio"]["median_ns"], work["ratio"]["deviation_ns"]) == (1, None)
    assert answer["comparison"]["gaps"]["target"] is None
    assert (answer["comparison"]["difference"], answer["comparison"]["noise_ratio"]) == ("same", None)
    assert answer["comparison"]["noise_share"] == {"target": 0, "against": 0}
    assert answer["comparison"]["noise_floor"]["against"][0]["sample_ns"] == 10**6
    assert answer["under_load"] is None


def test_the_text_has_the_histogram(run: Run, tmp_path: Path) -> None:
    gaps = tuple((at * 1_000_000, 2_000 + at, 0, 0) for at in range(0, 3_000, 7))
    moments = {"gaps": gaps, "seconds": 3.0}
    path = record(tmp_path / "machine.nw", *_MOMENTS, calibration=written_calibration(**moments))  # type: ignore[arg-type]
    text = run("calibrate", "--replay", path).out
    assert "how long each gap lasted" in text
    assert "▪" in text


def _history_entry(at_s: float, cv: float) -> dict[str, object]:
    entry = {"kind": "calibration", "at": at_s, "machine": machine_key(), "core": load_core().NAME, "cpus": [_CPU]}
    return {**entry, "cv": {"latency": {"1000000": cv}}}


def test_under_load_this_host_is_calibrated_twice_and_the_recording_replays_both(run: Run, tmp_path: Path) -> None:
    file, history = tmp_path / "host.nw", tmp_path / "history.jsonl"
    entries = [_history_entry(60 * number, 0.01 * 3 ** (number % 2)) for number in range(8)]
    history.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    options = ["calibrate", "--cpus", str(_CPU), "--format", "json", "--under-load", "1"]
    live = run(*options, "--duration", "0.5", "--record", file, "--history", history)
    assert live.status == 0
    assert live.json["noise_floor_drift"]["changes_seen"] == 7
    assert "calibrating again, alongside 1 busy process on CPU" in live.err
    loaded = live.json["under_load"]
    assert (loaded["processes"], len(loaded["cpus"])) == (1, 1)
    assert 0 < loaded["busy_share"] <= 1
    assert [cpu["cpu"] for cpu in loaded["calibration"]["cpus"]] == [_CPU]
    assert set(loaded["comparison"]) >= {"work", "gaps", "difference", "noise_ratio", "noise_floor"}
    assert run(*options, "--replay", file).json == live.json
    assert run(*options, "--replay", file, "--history", "/dev/null").json == live.json, "its own history counts"
    plain = run(*options[:5], "--replay", file).json
    assert (plain["under_load"], plain["calibration"]) == (None, live.json["calibration"])


def test_a_recording_without_a_load_has_no_calibration_under_load(run: Run, recording: Path) -> None:
    result = run("calibrate", "--under-load", "--replay", recording)
    assert (result.status, result.out) == (3, "")
    assert "a calibration under load: not in the recording" in result.err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_load_ends_with_the_command_whatever_the_signal(number: signal.Signals) -> None:
    options = ["calibrate", "--cpus", str(_CPU), "--under-load", "1", "--duration", "1", "--tracer", "none"]
    with subprocess.Popen([*NOISEWATCH, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"calibrating again" not in process.stderr.readline():
            assert process.poll() is None
        load = descendants_of(process.pid)
        assert len(load) >= 2
        process.send_signal(number)
        wait_until(lambda: not any(map(is_alive, load)))
        process.wait()
        assert process.returncode != 0


@pytest.mark.parametrize("form", ["svg", "png", "markdown"])
@pytest.mark.parametrize("options", [(), _AGAINST], ids=["alone", "against"])
def test_the_picture_comes_in_other_formats(
    calibrate: Callable[..., Ran], tmp_path: Path, form: str, options: tuple[str, ...]
) -> None:
    file = tmp_path / "picture"
    assert calibrate("--format", form, "--output", str(file), *options).status == 0
    content = file.read_bytes()
    prefixes = {"svg": b"<svg", "png": b"\x89PNG", "markdown": b"## "}
    assert content.startswith(prefixes[form])
    if form == "svg":
        assert calibrate("--format", form, *options).out == content.decode(), "a second run prints the same"
        assert "how\xa0long\xa0each\xa0gap" in content.decode()
        assert "http" not in content.decode().replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_the_light_theme_has_a_light_background(calibrate: Callable[..., Ran]) -> None:
    dark, light = calibrate("--format", "svg").out, calibrate("--format", "svg", "--theme", "light").out
    assert THEMES["light"].background in light
    assert THEMES["light"].background not in dark


def _record_settling(tmp_path: Path) -> Path:
    speeds = {"cpu": 2, "times_ns": [5_800] * 27 + [12_200] * 20, "multiply_ns": 300, "add_ns": 100}
    answer = {"cpus": [{**speeds, "chain_length": 8_507}]}
    return record(tmp_path / "settled.nw", *_MOMENTS, asides={SETTLING: answer})


def test_a_recording_shows_how_the_clock_settled(run: Run, tmp_path: Path) -> None:
    file = _record_settling(tmp_path)
    assert "settled after 27 s: 4.40 → 2.09 GHz on CPU 2 (worked for 47 s)" in run("calibrate", "--replay", file).out
    assert run("calibrate", "--format", "json", "--replay", file).json["settling"]["settled_after_s"] == 27


def test_settle_needs_a_recording_of_it(run: Run, recording: Path) -> None:
    result = run("calibrate", "--settle", "--replay", recording)
    assert (result.status, result.out) == (3, "")
    assert "--settle: not in the recording" in result.err


def test_a_recording_without_a_calibration_is_reported(run: Run, tmp_path: Path) -> None:
    result = run("calibrate", "--replay", record(tmp_path / "machine.nw", *_MOMENTS, calibration=None))
    assert (result.status, result.out) == (3, "")
    assert result.err == "noisewatch: cannot calibrate: the recording has no calibration\n"


def test_a_copied_tree_cannot_be_calibrated(run: Run) -> None:
    result = run("calibrate", {})
    assert (result.status, result.out) == (3, "")
    assert "cannot calibrate: not available in a copied tree" in result.err


def test_only_this_host_can_be_recorded(run: Run, recording: Path, tmp_path: Path) -> None:
    result = run("calibrate", "--replay", recording, "--record", tmp_path / "again.nw")
    assert (result.status, "only this host" in result.err) == (2, True)


def test_this_host_is_calibrated_and_the_recording_replays_the_same(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "host.nw"
    options = ["calibrate", "--cpus", str(_CPU), "--format", "json"]
    live = run(*options, "--duration", "0.5", "--record", file)
    assert live.status == 0
    assert run(*options, "--replay", file).json == live.json
    assert json.loads(live.out)["calibration"]["cpus"][0]["cpu"] == _CPU


def test_a_recording_is_not_reported_for_other_cpus_than_its_own(run: Run, recording: Path) -> None:
    result = run("calibrate", "--cpus", "1", "--replay", recording)
    assert (result.status, result.out) == (3, "")
    assert "CPU 1: not calibrated" in result.err


def test_a_failing_workload_is_reported(run: Run) -> None:
    result = run("calibrate", "--cpus", str(_CPU), "--duration", "0.5", "--workload", "false")
    assert (result.status, result.out) == (3, "")
    assert "the command ended with status 1" in result.err


def test_the_question_is_the_one_in_recordings() -> None:
    assert QUESTION == "calibration"
