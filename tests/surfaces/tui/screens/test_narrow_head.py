"""On a screen that is too narrow for the headline the words that matter most survive."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Kind
from noisewatch.surfaces.tui.draw.glyphs import UNICODE
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen, text_of

_CPUS = (cpu_line(2, "target"), cpu_line(3, "target", 9.97e8))
_LOOP = culprit("updatedb", 3, 9.97e8, pid=334, tid=334)


def _noisy(**rest: Any) -> ScreenModel:
    frames = [frame(_CPUS, (_LOOP,), second, verdict="unstable", failed=("tasks-on-target",)) for second in (1, 2, 3)]
    return model_of(*(replace(each, **rest) for each in frames))


@pytest.mark.parametrize("name", Screen)
@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("origin", [None, "replay of x.nw"])
@pytest.mark.parametrize("width", [20, 28, 40, 59])
def test_verdict_worst_cpu_and_culprit_are_in_the_head(
    width: int, origin: str | None, is_behind: bool, name: str
) -> None:
    model = _noisy(origin=origin)
    model.go_to(name)
    model.cursor = 1 if is_behind else None
    head = " ".join(text_of(row) for row in rows_of_screen(model, width, 12, UNICODE)[:3])
    assert -1 < head.index("UNSTABLE") < head.index("CPU 3") < head.index("updatedb")


@pytest.mark.parametrize("height", [6, 12])
def test_at_twenty_columns_the_verdict_and_the_cpu_stand_above_the_culprit(height: int) -> None:
    rows = screen(_noisy(), 20, height)
    at = next(at for at, row in enumerate(rows) if "UNSTABLE" in row)
    assert [row.rstrip() for row in rows[at : at + 2]] == [" UNSTABLE  CPU 3", "◂ updatedb [334]"]


def test_where_there_is_room_the_noise_is_told_as_well() -> None:
    rows = screen(_noisy(origin="replay of x.nw"), 40, 7)
    assert rows[1].startswith("◂ thread updatedb [334]") == rows[0].startswith(" UNSTABLE  CPU 3: 997 ms/s")


def test_on_one_row_the_name_begins_at_least() -> None:
    assert screen(_noisy(), 20, 4)[0] == "UNSTABLE CPU 3 upda…"
    assert screen(_noisy(), 44, 4)[0].rstrip() == " UNSTABLE  CPU 3 ◂ thread updatedb [334]"


def test_an_irq_is_named_without_its_device() -> None:
    irq = culprit("205 eth0 (Ethernet Controller)", 3, 9e8, kind=Kind.IRQ, pid=None, tid=None, irq=205)
    model = model_of(frame(_CPUS, (irq,), verdict="unstable"))
    assert screen(model, 20, 12)[2].rstrip() == "◂ irq 205 eth0"


def test_which_snapshot_is_shown_stands_above() -> None:
    model = _noisy(origin="replay of x.nw")
    model.cursor = 1
    assert screen(model, 40, 12)[0].startswith(" STOPPED at ")
    assert " of " in screen(model, 20, 12)[0]


def test_what_went_wrong_comes_before_what_was_seen() -> None:
    model = _noisy()
    model.trouble = "the sampler ended: no space is left on the device"
    rows = screen(model, 20, 12)[:3]
    assert rows[0].startswith(" UNKNOWN")
    assert rows[1].rstrip() == "the sampler ended:"


def test_where_nobody_makes_noise_the_checks_are_named() -> None:
    model = model_of(frame(4, verdict="unstable", failed=("cpu-quota",)))
    assert [row.rstrip() for row in screen(model, 20, 12)[1:3]] == [" UNSTABLE", "cpu-quota"]


def test_a_wide_screen_says_it_in_one_row() -> None:
    rows = screen(_noisy(), 60, 12)
    assert "updatedb" in rows[1]
    assert rows[2].startswith("target")
