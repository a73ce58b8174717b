"""What a series shows on standard error, at a terminal and elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from noisewatch.surfaces.cli.commands.run import OneRun
from tests.judgement.noise.test_steadiness import calibration
from tests.surfaces.reports.run.running import ran, words
from tests.surfaces.reports.run.written_series import UNDISTURBED, written_series


def _at_a_terminal(arguments: Sequence[str], **environment: str) -> str:
    """All that the command wrote to a terminal on its standard error; its standard output goes elsewhere."""
    terminal, its_end = pty.openpty()
    settings = os.environ | {"TERM": "xterm"} | environment
    with subprocess.Popen(words(*arguments), stdout=subprocess.DEVNULL, stderr=its_end, env=settings) as process:
        os.close(its_end)
        written = b""
        while chunk := _read(terminal):
            written += chunk
        process.wait(60)
    os.close(terminal)
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: nobody has the other end any more
        return b""


def test_a_terminal_shows_one_line_that_is_gone_in_the_end() -> None:
    written = _at_a_terminal(["--runs", "3", "--", "sleep", "0.15"])
    assert "\n" not in written
    drawn = written.split("\r\x1b[K")
    assert [line.replace("\x1b[1m", "").split("\x1b")[0] for line in drawn if line] == ["0/3", "1/3", "2/3", "3/3"]
    assert drawn[-1] == ""


def test_without_colour_it_has_none() -> None:
    written = _at_a_terminal(["--runs", "2", "--", "sleep", "0.15"], NO_COLOR="1")
    assert re.search(r"\x1b\[[\d;]*3\dm", written) is None
    assert "0/2" in written


def test_many_short_runs_are_drawn_now_and_then() -> None:
    written = _at_a_terminal(["--runs", "60", "--", "true"])
    assert written.count("\r\x1b[K") < 45


def test_what_goes_wrong_is_told_in_a_line_of_its_own() -> None:
    written = _at_a_terminal(["--runs", "3", "--", "/nonexistent"])
    assert written.rpartition("\r\x1b[K")[2].startswith("noisewatch run: cannot run")


def test_elsewhere_than_at_a_terminal_nothing_is_shown() -> None:
    assert ran("--runs", "3", "--", "true").stderr == ""


def test_beside_the_commands_own_output_no_line_is_drawn_over() -> None:
    written = _at_a_terminal(["--runs", "3", "--show-output", "--", "sh", "-c", "echo its own >&2"])
    assert written.count("its own\r\n") == 3
    assert "\x1b[K" not in written


def test_after_a_single_run_it_is_said_that_the_machine_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """A single run prints no report, so standard error names the change."""
    series = written_series(UNDISTURBED)
    OneRun().report_speed_change(series)
    calibrated = replace(series, options=replace(series.options, calibration_s=1.0), opening=calibration())
    OneRun().report_speed_change(replace(calibrated, closing=calibration()))
    assert capsys.readouterr().err == ""
    OneRun().report_speed_change(replace(calibrated, closing=calibration(0.03)))
    assert "noisewatch run: the machine changed during the series" in capsys.readouterr().err
    OneRun().report_speed_change(replace(calibrated, not_calibrated="after the series: no memory"))
    assert capsys.readouterr().err.endswith("is unknown: not calibrated after the series: no memory\n")
