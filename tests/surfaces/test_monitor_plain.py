"""`noisewatch` without a terminal prints one picture."""

from __future__ import annotations

from pathlib import Path

from tests.quiet_machine import process, quiet_files, stat_file
from tests.surfaces.running import Run, record


def test_a_copied_tree_is_one_picture_without_rates(run: Run, unchanged_tree: Path) -> None:
    ran = run("--sysroot", unchanged_tree)
    lines = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert lines[0].startswith("noisewatch  benchmark-host · 4 CPUs")
    assert "UNKNOWN" in lines[0]
    assert "target 2-3 (isolated)" in lines[1]
    assert len([line for line in lines if line.startswith(" T ")]) == 2


def test_a_recording_is_the_picture_of_its_last_moment(run: Run, tmp_path: Path) -> None:
    hog = process(900, "hog", 2, 1_500_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 150}, 600)}
    moments = [quiet_files(), quiet_files(3.0) | process(900, "hog", 2, 0), quiet_files(6.0) | hog]
    ran = run("--replay", record(tmp_path / "machine.nw", *moments))
    assert "NOISY" in ran.out.splitlines()[0]
    assert "hog [900]" in ran.out
    assert "50%" in ran.out


def test_it_holds_no_keys_no_escapes_and_no_trailing_blanks(run: Run, unchanged_tree: Path) -> None:
    out = run("--sysroot", unchanged_tree).out
    assert "q quit" not in out
    assert out.isprintable() is False  # for its line ends only
    assert [line for line in out.splitlines() if not line.isprintable() or line != line.rstrip()] == []
    assert not out.endswith("\n\n")


def test_a_machine_of_which_nothing_is_known_is_a_picture_all_the_same(run: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    ran = run("--sysroot", tmp_path)
    assert (ran.status, ran.err) == (0, "")
    assert "target none" in ran.out


def test_the_cpus_that_were_asked_for_are_the_targets(run: Run, unchanged_tree: Path) -> None:
    assert "target 1 (as requested)" in run("--sysroot", unchanged_tree, "--cpus", "1").out
