"""What the plugin for Nagios ends with, where noisewatch is a program of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.gate import NOT_INSTALLED, Gate, run_as

_STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_TRACEBACK = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'noisewatch' | x"
_FAILED = "NOISEWATCH UNKNOWN: noisewatch failed (status {}): {}\n"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A machine that nothing is known of yet."""
    return Gate.of("nagios", tmp_path)


def _checked(gate: Gate, *options: str) -> tuple[int, str]:
    ended = run_as([gate.folder / "check_noisewatch", *options], {}, gate.folder)
    return ended.returncode, ended.stdout


@pytest.mark.parametrize("status", range(4))
def test_a_verdict_is_told_as_it_is(gate: Gate, status: int) -> None:
    told = f"NOISEWATCH {_STATES[status]}: 1 block | 'fail'=1\nFAIL swapping\n"
    gate.judged(status, f"noisewatch: a word on standard error\n{told}")
    assert _checked(gate) == (status, told)


@pytest.mark.parametrize("status", [0, 1, 2, NOT_INSTALLED])
def test_a_noisewatch_that_cannot_start_is_unknown(gate: Gate, status: int) -> None:
    gate.judged(status, _TRACEBACK)
    error = "ModuleNotFoundError: No module named 'noisewatch'   x"
    assert _checked(gate) == (3, _FAILED.format(status, error))


@pytest.mark.parametrize("said", [0, 1, 3])
def test_a_status_that_is_not_what_it_says_is_unknown(gate: Gate, said: int) -> None:
    told = f"NOISEWATCH {_STATES[said]}: 1 block"
    gate.judged(2, told)
    assert _checked(gate) == (3, _FAILED.format(2, told))


def test_options_come_from_the_command_and_from_no_file(gate: Gate) -> None:
    _checked(gate, "--sample", "3", "--cpus", "2-7")
    assert gate.asked[1:] == ["preflight", "--no-config", "--format", "nagios", "--sample", "3", "--cpus", "2-7"]


def test_both_configurations_start_the_plugin_where_the_page_puts_it(gate: Gate) -> None:
    for name in ("noisewatch.cfg", "noisewatch-nrpe.cfg"):
        assert "/etc/noisewatch/check_noisewatch " in (gate.folder / name).read_text()
