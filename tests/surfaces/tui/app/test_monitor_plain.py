"""`noisewatch` without a terminal prints one picture."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.running import Run, record
from tests.written.quiet_machine import process, quiet_files, stat_file


def test_a_copied_tree_is_one_picture_without_rates(run: Run, unchanged_tree: Path) -> None:
    result = run("--sysroot", unchanged_tree)
    lines = result.out.splitlines()
    assert (result.status, result.err) == (0, "")
    assert lines[0].startswith("noisewatch  benchmark-host · 4 CPUs")
    assert "UNKNOWN" in lines[1]
    assert "target 2-3 (isolated)" in lines[2]
    assert len([line for line in lines if " T " in line]) == 2


def test_a_recording_is_one_picture_of_its_worst_interval_with_its_time(run: Run, tmp_path: Path) -> None:
    run_times_ms = (0, 0, 30, 1530, 1560)
    moments = [
        quiet_files(3.0 * number)
        | process(900, "hog", 2, ms * 1_000_000, allowed="0-3")
        | {"/proc/stat": stat_file({2: ms // 10}, 300 * number)}
        for number, ms in enumerate(run_times_ms)
    ]
    result = run("--replay", record(tmp_path / "machine.nw", *moments))
    lines = result.out.splitlines()
    assert "STOPPED at 9 of 12 s" in lines[1]
    assert "UNSTABLE" in lines[1]
    assert [line for line in lines if "hog [900]" in line and "50%" in line]
    assert lines[-1] == "shown: the worst of the 4 intervals, at 9 s; noisewatch screenshot --at SECONDS draws another"


def test_an_unknown_interval_is_counted_and_not_called_the_worst(run: Run, tmp_path: Path) -> None:
    moments = [quiet_files(3.0 * number) for number in range(4)]
    del moments[3]["/proc/stat"]
    lines = run("--replay", record(tmp_path / "machine.nw", *moments)).out.splitlines()
    assert lines[-1].startswith("shown: the worst of the 3 intervals (1 unknown), at 6 s")


def test_no_two_adjacent_rows_are_empty(run: Run, unchanged_tree: Path) -> None:
    assert "\n\n\n" not in run("--sysroot", unchanged_tree).out


def test_the_picture_has_no_keys_escapes_or_trailing_blanks(run: Run, unchanged_tree: Path) -> None:
    out = run("--sysroot", unchanged_tree).out
    assert "q quit" not in out
    assert out.isprintable() is False  # for its line ends only
    assert [line for line in out.splitlines() if not line.isprintable() or line != line.rstrip()] == []
    assert not out.endswith("\n\n")


def test_a_completely_unknown_machine_is_drawn(run: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    result = run("--sysroot", tmp_path)
    assert (result.status, result.err) == (0, "")
    assert "target none" in result.out


def test_the_requested_cpus_are_the_targets(run: Run, unchanged_tree: Path) -> None:
    assert "target 1 (as requested)" in run("--sysroot", unchanged_tree, "--cpus", "1").out
