"""Headings of Markdown reports: the title has level 2, sections have level 3, so that no level is skipped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from noisewatch.surfaces.tui.app.export import window_reports
from tests import MACHINES
from tests.surfaces.running import Run
from tests.surfaces.tui.framing import frame, model_of

_MACHINE = MACHINES / "lab-disturbed.nw"


def _levels(markdown: str) -> list[int]:
    """Return the levels of all headings outside of code blocks."""
    outside = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return [len(marks) for marks in re.findall(r"^(#+) ", outside, flags=re.MULTILINE)]


@pytest.mark.parametrize("command", ["preflight", "compare", "fleet"])
def test_sections_are_one_level_below_the_title(run: Run, tmp_path: Path, command: str) -> None:
    older, newer = tmp_path / "older" / "web1.json", tmp_path / "newer" / "web1.json"
    for path, machine in ((older, MACHINES / "host-kinds.nw"), (newer, _MACHINE)):
        path.parent.mkdir()
        run("preflight", "--replay", machine, "--format", "json", "--output", path)
    options: dict[str, list[str | Path]] = {
        "preflight": ["--replay", _MACHINE],
        "compare": [older, newer],
        "fleet": [newer.parent, "--baseline", older.parent],
    }
    levels = _levels(run(command, *options[command], "--format", "markdown").out)
    assert (levels[0], set(levels[1:])) == (2, {3})


@pytest.mark.parametrize(("count", "words"), [(1, "one interval of 1.0 s"), (3, "the last of 3 intervals of 1.0 s")])
def test_the_exported_screen_counts_its_intervals(count: int, words: str) -> None:
    model = model_of(*(frame(number) for number in range(count)))
    text = window_reports(model, 10)["md"]
    assert f"live, {words}\n" in text
    assert _levels(text)[0] == 2
