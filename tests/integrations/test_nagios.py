"""The exit status of the Nagios plugin, where noisewatch is a program of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.gate import NOT_INSTALLED, Gate, run_as

_STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_TRACEBACK = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'noisewatch' | x"
_FAILED = "NOISEWATCH UNKNOWN: noisewatch failed (status {}): {}\n"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """The plugin for Nagios."""
    return Gate.of("nagios", tmp_path)


def _check(gate: Gate, *options: str) -> tuple[int, str]:
    result = run_as([gate.folder / "check_noisewatch", *options], {}, gate.folder)
    return result.returncode, result.stdout


@pytest.mark.parametrize("status", range(4))
def test_a_verdict_is_passed_on_unchanged(gate: Gate, status: int) -> None:
    output = f"NOISEWATCH {_STATES[status]}: 1 block | 'fail'=1\nFAIL swapping\n"
    gate.set_verdict(status, f"noisewatch: a word on standard error\n{output}")
    assert _check(gate) == (status, output)


@pytest.mark.parametrize("status", [0, 1, 2, NOT_INSTALLED])
def test_a_noisewatch_that_cannot_start_is_unknown(gate: Gate, status: int) -> None:
    gate.set_verdict(status, _TRACEBACK)
    error = "ModuleNotFoundError: No module named 'noisewatch'   x"
    assert _check(gate) == (3, _FAILED.format(status, error))


@pytest.mark.parametrize("state", [0, 1, 3])
def test_a_status_that_contradicts_the_output_is_unknown(gate: Gate, state: int) -> None:
    output = f"NOISEWATCH {_STATES[state]}: 1 block"
    gate.set_verdict(2, output)
    assert _check(gate) == (3, _FAILED.format(2, output))


def test_options_come_from_the_command_and_from_no_file(gate: Gate) -> None:
    _check(gate, "--sample", "3", "--cpus", "2-7")
    assert gate.call[1:] == ["preflight", "--no-config", "--format", "nagios", "--sample", "3", "--cpus", "2-7"]


def test_both_configurations_start_the_plugin_where_the_page_puts_it(gate: Gate) -> None:
    for name in ("noisewatch.cfg", "noisewatch-nrpe.cfg"):
        assert "/etc/noisewatch/check_noisewatch " in (gate.folder / name).read_text()
