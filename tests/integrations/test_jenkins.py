"""What the gate of Jenkins ends with; its step is run in tests/fleet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.gate import (
    NOT_IN_TIME,
    NOT_INSTALLED,
    STABLE,
    UNKNOWN,
    UNSTABLE,
    WRONG,
    Gate,
    run_as,
)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A stable machine."""
    return Gate.of("jenkins", tmp_path)


@pytest.mark.parametrize(
    ("status", "on_unknown", "ends"),
    [
        (STABLE, "fail", STABLE),
        (UNSTABLE, "run", UNSTABLE),
        (UNKNOWN, "fail", UNSTABLE),
        (UNKNOWN, "run", STABLE),
        (NOT_IN_TIME, "run", NOT_IN_TIME),
        (WRONG, "run", WRONG),
        (NOT_INSTALLED, "run", NOT_INSTALLED),
    ],
)
def test_the_gate_ends_as_the_machine_is(gate: Gate, status: int, on_unknown: str, ends: int) -> None:
    gate.judged(status)
    gate.set(f"on_unknown={on_unknown}")
    ended = run_as([gate.folder / "noisewatch-gate"], {}, gate.folder)
    assert (ended.returncode, ended.stdout) == (ends, "told\n")


def test_options_of_the_job_come_after_those_of_the_node_and_none_from_a_file(gate: Gate) -> None:
    gate.set('options="--sample 1"')
    run_as([gate.folder / "noisewatch-gate", "--cpus", "2-7"], {}, gate.folder)
    assert gate.asked == ["/", "preflight", "--no-config", "--on-unknown", "fail", "--sample", "1", "--cpus", "2-7"]


def test_without_its_settings_nothing_starts(gate: Gate) -> None:
    (gate.folder / "noisewatch-settings").unlink()
    assert run_as([gate.folder / "noisewatch-gate"], {}, gate.folder).returncode == 2
    assert gate.asked == []
