"""The manual page that ships is that of the parser, and the version stands in one place."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import noisewatch
from tests.surfaces.cli.manual import PAGE, manual, newest_release
from tests.surfaces.running import Run


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="each Python words usage lines in its own way")
def test_the_manual_page_is_that_of_the_parser() -> None:
    assert PAGE.read_text() == manual(), "python -m tests.surfaces.cli.manual writes it anew"


def test_the_newest_release_in_the_list_of_changes_is_this_version() -> None:
    assert newest_release()[0] == noisewatch.__version__


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="Debian's package mandoc is not installed")
def test_the_manual_page_is_well_formed() -> None:
    checked = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", PAGE], capture_output=True, text=True, check=False
    )
    assert (checked.stdout, checked.returncode) == ("", 0)


def test_the_help_names_the_least_that_settle_takes_as_the_error_does(run: Run) -> None:
    error = run("calibrate", "--settle", "1").err
    least = error.partition("wanted seconds from ")[2].partition(" ")[0]
    program = [sys.executable, "-m", "noisewatch", "calibrate", "--help"]
    told = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert f"for SECONDS at most ({least} or more, " in " ".join(told.split())
    assert "+" not in error
