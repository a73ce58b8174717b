"""`preflight --show-options` prints each option with its value and its origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.surfaces.cli.parsers import build_parsers
from tests.surfaces.running import Ran, Run

_FILE = """
profile = "latency"
sample = 2
at = "10ms"
history = true
ignore = ["clock"]
[limit]
target-cpu-busy = "2%"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An options file in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("noisewatch.toml").write_text(_FILE)
    return str(tmp_path / "noisewatch.toml")


def _rows(result: Ran) -> dict[str, tuple[str, str]]:
    """Return value and origin by option."""
    assert (result.status, result.err) == (0, "")
    heading, *rows, note = result.out.splitlines()
    assert heading.split() == ["OPTION", "VALUE", "FROM"]
    assert note.startswith("-: no value; ")
    parts = [[part.strip() for part in row.split("  ") if part.strip()] for row in rows]
    return {option: (value, origin) for option, value, origin in parts}


def test_every_option_is_listed_with_its_origin(run: Run, file: str) -> None:
    rows = _rows(run("preflight", "--show-options"))
    _, commands = build_parsers()
    options = {action.option_strings[-1] for action in commands["preflight"]._actions}
    assert options - set(rows) == {"--help", "--show-options", "--no-calibration"}
    expected = {
        "--profile": ("latency", file),
        "--sample": ("2", file),
        "--at": ("10ms", file),
        "--history": ("yes", file),
        "--ignore": ("clock", file),
        "--limit": ("target-cpu-busy=2%", file),
        "--samples": ("25", "default"),
        "--max-cv": ("1%", "default"),
        "--cpus": ("-", "default"),
        "--color": ("auto", "default"),
        "--strict": ("no", "default"),
    }
    assert {option: rows[option] for option in expected} == expected


def test_the_command_line_outranks_the_file_and_adds_to_lists(run: Run, file: str) -> None:
    rows = _rows(
        run("--cpus", "1", "preflight", "--show-options", "--at=20ms", "--ignore", "load", "--no-calibration", "-v")
    )
    expected = {
        "--cpus": ("1", "command line"),
        "--at": ("20ms", "command line"),
        "--ignore": ("clock, load", f"{file}, command line"),
        "--calibration": ("0", "command line"),
        "--verbose": ("yes", "command line"),
        "--sample": ("2", file),
    }
    assert {option: rows[option] for option in expected} == expected


def test_without_the_file_all_is_default(run: Run, file: str) -> None:
    rows = _rows(run("preflight", "--show-options", "--no-config"))
    assert rows.pop("--no-config") == ("yes", "command line")
    assert {origin for _, origin in rows.values()} == {"default"}


def test_mistakes_are_reported_instead_of_options(run: Run, file: str) -> None:
    result = run("preflight", "--show-options", "--ignore", "clok")
    assert (result.status, result.out, "did you mean clock" in result.err) == (2, "", True)


def test_the_table_can_be_written_to_a_file(run: Run, file: str, tmp_path: Path) -> None:
    assert run("preflight", "--show-options", "--output", tmp_path / "options").out == ""
    assert "--profile" in (tmp_path / "options").read_text()
