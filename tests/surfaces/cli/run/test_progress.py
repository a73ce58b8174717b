"""Progress of a series on standard error, with and without a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from noisewatch.operations.run.load import SeriesLoad
from noisewatch.surfaces.cli.commands.run import SingleRunReport
from tests.judgement.noise.test_steadiness import calibration
from tests.surfaces.reports.run.running import ran, words
from tests.surfaces.reports.run.written_series import UNDISTURBED, written_series


def at_a_terminal(arguments: Sequence[str], **environment: str) -> str:
    """Return what `noisewatch run` writes to a terminal on standard error."""
    terminal, its_end = pty.openpty()
    settings = os.environ | {"TERM": "xterm"} | environment
    with subprocess.Popen(words(*arguments), stdout=subprocess.DEVNULL, stderr=its_end, env=settings) as process:
        os.close(its_end)
        content = b""
        while chunk := _read(terminal):
            content += chunk
        process.wait(60)
    os.close(terminal)
    return content.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: the other end has been closed
        return b""


def test_a_terminal_shows_one_line_that_is_cleared_in_the_end() -> None:
    text = at_a_terminal(["--runs", "3", "--", "sleep", "0.15"])
    assert "\n" not in text
    draws = text.split("\r\x1b[K")
    assert [line.replace("\x1b[1m", "").split("\x1b")[0] for line in draws if line] == ["0/3", "1/3", "2/3", "3/3"]
    assert draws[-1] == ""


def test_no_color_applies_to_the_progress() -> None:
    text = at_a_terminal(["--runs", "2", "--", "sleep", "0.15"], NO_COLOR="1")
    assert re.search(r"\x1b\[[\d;]*3\dm", text) is None
    assert "0/2" in text


def test_the_progress_of_many_short_runs_is_throttled() -> None:
    text = at_a_terminal(["--runs", "60", "--", "true"])
    assert text.count("\r\x1b[K") < 45


def test_an_error_has_its_own_line() -> None:
    text = at_a_terminal(["--runs", "3", "--", "/nonexistent"])
    assert text.rpartition("\r\x1b[K")[2].startswith("noisewatch run: cannot run")


def test_there_is_no_progress_without_a_terminal() -> None:
    assert ran("--runs", "3", "--", "true").stderr == ""


def test_output_of_the_command_is_not_overwritten() -> None:
    text = at_a_terminal(["--runs", "3", "--show-output", "--", "sh", "-c", "echo its own >&2"])
    assert text.count("its own\r\n") == 3
    assert "\x1b[K" not in text


def test_a_single_run_reports_that_the_machine_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """A single run prints no report, so standard error names the change."""
    series = written_series(UNDISTURBED)
    SingleRunReport().report_series(series)
    calibrated = replace(series, options=replace(series.options, calibration_s=1.0), opening=calibration())
    SingleRunReport().report_series(replace(calibrated, closing=calibration()))
    assert capsys.readouterr().err == ""
    SingleRunReport().report_series(replace(calibrated, closing=calibration(0.03)))
    assert "noisewatch run: the machine changed during the series" in capsys.readouterr().err
    SingleRunReport().report_series(replace(calibrated, not_calibrated="after the series: no memory"))
    assert capsys.readouterr().err.endswith("whether the machine changed: not calibrated after the series: no memory\n")


def test_a_single_run_reports_its_load_and_why_that_was_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    """A load that may have been smaller than requested makes the gate unknown."""
    load = SeriesLoad(2, frozenset({0}), busy_share=0.5)
    for trouble in (None, "the load ended before the measurement did"):
        SingleRunReport().report_series(replace(written_series(UNDISTURBED), load=replace(load, trouble=trouble)))
        words = "noisewatch run: under a load of 2 busy processes on CPU 0, each with 50% of its CPU\n"
        reason = f"noisewatch run: the load may have been smaller than requested: {trouble}\n" if trouble else ""
        assert capsys.readouterr().err == words + reason
