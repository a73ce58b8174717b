"""The folders from which a command reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisewatch.operations.run.options import folders_of


def test_program_arguments_and_working_directory_are_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = (os.path.realpath(tmp_path), os.path.realpath("/bin/sh"), os.path.realpath("/srv/data"), "/")
    assert folders_of(("sh", "-c", "/srv/data")) == expected


def test_a_removed_working_directory_and_an_unknown_program_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert folders_of(("no-such-program",))[-1] == "/"
