"""`--output` leaves a whole answer or nothing."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tests.surfaces.running import Run

_ANSWERS = [["show"], ["show", "--format", "json"], ["preflight", "--sample", "0", "--no-calibration"]]


@pytest.mark.parametrize("command", _ANSWERS, ids=" ".join)
def test_the_file_contains_what_would_have_been_printed(
    run: Run, tmp_path: Path, unchanged_tree: Path, command: list[str]
) -> None:
    root, file = unchanged_tree, tmp_path / "answer"
    printed = run(*command, "--sysroot", root)
    written = run(*command, "--sysroot", root, "--output", file)
    assert (written.status, written.out, written.err) == (0, "", f"noisewatch: wrote {file}\n")
    assert file.read_text() == printed.out


def test_each_written_file_is_named_unless_quiet(run: Run, tmp_path: Path, unchanged_tree: Path) -> None:
    command = ("preflight", "--sample", "0", "--no-calibration", "--sysroot", unchanged_tree)
    options = [
        ("--output", tmp_path / "report"),
        ("--fix-script", tmp_path / "fix"),
        ("--undo-script", tmp_path / "undo"),
    ]
    words = [word for option in options for word in option]
    assert sorted(run(*command, *words).err.splitlines()) == sorted(f"noisewatch: wrote {path}" for _, path in options)
    assert run(*command, *words, "--quiet").err == ""
    assert run(*command, "--output", "/dev/null").err == ""


def test_a_file_that_was_there_is_replaced_and_keeps_its_mode(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "answer"
    file.write_text("old " * 100_000)
    file.chmod(0o640)
    assert run("show", {}, "--output", file).status == 0
    assert "old" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_that_the_umask_leaves(run: Run, tmp_path: Path) -> None:
    file, mask = tmp_path / "answer", os.umask(0o027)
    try:
        run("show", {}, "--output", file)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "command",
    [
        ["show", "--cpus", "99", "--output", "answer.svg"],
        ["preflight", "--sample", "0", "--cpus", "abc", "--output", "answer.svg"],
        ["screenshot", "answer.svg", "--cpus", "99"],
    ],
    ids=lambda command: command[0],
)
def test_an_error_leaves_the_old_file_and_nothing_else(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "answer.svg").write_text("old")
    monkeypatch.chdir(folder)
    assert run(*command, {}).status == 2
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("answer.svg", "old")]


def test_a_link_stays_a_link_to_the_file_that_is_replaced(run: Run, tmp_path: Path) -> None:
    file, link = tmp_path / "answer", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    assert run("show", {}, "--output", link).status == 0
    assert link.is_symlink()
    assert "target CPUs" in file.read_text()


def test_a_verdict_that_is_not_stable_is_written_too(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "answer"
    assert run("preflight", {}, "--output", file).status == 3
    assert file.read_text().splitlines()[-1].startswith("UNKNOWN: ")


def test_a_pipe_is_written_directly(run: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    result = run("show", {}, "--output", pipe)
    reader.join(10)
    assert result.status == 0
    assert "target CPUs" in read[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe"]


def test_the_null_device_is_written_directly_and_stays_a_device(run: Run) -> None:
    assert run("show", {}, "--output", "/dev/null").status == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_colour_is_for_terminals_only(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    file = tmp_path / "answer"
    run("preflight", {}, "--output", file)
    assert "\x1b" not in file.read_text()
