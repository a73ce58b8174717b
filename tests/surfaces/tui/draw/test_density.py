"""The density of the CPUs on the screen, for any number of CPUs and any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.tui.screens.overview import LABEL_WIDTH, Form, density
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen, screen_of

_NOISY_NS = 200_000_000.0


@given(st.integers(1, 2048), st.integers(20, 400), st.integers(2, 60))
def test_all_cpus_fit_and_the_worst_have_rows(count: int, width: int, rows: int) -> None:
    layout = density(count, width, rows)
    assert layout.across * layout.cpus_per_cell * layout.rows >= count
    assert layout.rows <= rows
    if layout.form not in (Form.ROWS, Form.COLUMNS):
        assert layout.rows <= rows // 2
        gaps = layout.across // 16
        assert LABEL_WIDTH + layout.across * layout.cell_width + gaps - 1 <= max(width, LABEL_WIDTH + 1)


@given(st.integers(1, 2047), st.integers(20, 400), st.integers(2, 60))
def test_one_more_cpu_never_gives_a_wider_form(count: int, width: int, rows: int) -> None:
    forms = [list(Form).index(density(cpu_count, width, rows).form) for cpu_count in (count, count + 1)]
    assert forms == sorted(forms)


@pytest.mark.parametrize(
    ("count", "width", "rows", "form"),
    [
        (8, 80, 8, "rows"),
        (16, 80, 8, "columns"),
        (64, 80, 8, "cells"),
        (64, 140, 16, "columns"),
        (256, 80, 8, "marks"),
        (512, 140, 16, "marks"),
        (512, 80, 8, "pairs"),
        (2048, 140, 16, "pairs"),
        (2048, 80, 8, "groups"),
        (4, 20, 1, "rows"),
    ],
)
def test_the_form_depends_on_the_number_of_cpus_and_the_room(count: int, width: int, rows: int, form: str) -> None:
    assert density(count, width, rows).form == form


def _screen(count: int, noisy_cpu: int, width: int = 80, height: int = 25) -> list[str]:
    lines = tuple(cpu_line(cpu, "target", _NOISY_NS if cpu == noisy_cpu else 0.0) for cpu in range(count))
    return screen(model_of(frame(lines)), width, height)


def test_in_columns_each_cpu_has_its_loss_and_its_history() -> None:
    rows = [line for line in _screen(16, 9) if "200 ms" in line]
    assert any("T   9   200 ms" in row and "█" in row for row in rows)


def test_a_noisy_cpu_is_visible_as_a_cell_and_has_the_first_row() -> None:
    lines = _screen(64, 37)
    cells = next(line for line in lines if line.startswith("  32 "))
    assert cells[5 + 3 * 5 :].startswith("T█ ")
    assert cells.count("█") == 1
    first = next(number for number, line in enumerate(lines) if line.startswith("   CPU "))
    assert lines[first + 1].startswith(" T  37   200 ms")


def test_a_mark_of_several_cpus_shows_the_worst() -> None:
    lines = _screen(2048, 1999)
    assert sum(line.count("█") for line in lines if line[:5].strip().isdecimal()) >= 1
    assert any(line.startswith(" T1999   200 ms") for line in lines)


def _pairs(*lines: CpuLine, glyphs: Glyphs = UNICODE) -> str:
    """Return the marks of the given CPUs, the first ones of a machine with 300."""
    numbered = (replace(line, cpu=cpu) for cpu, line in enumerate(lines))
    cpus = (*numbered, *(cpu_line(cpu, "target", 0.0) for cpu in range(len(lines), 300)))
    rows = screen_of(model_of(frame(cpus)), Screen.OVERVIEW, 80, 24, glyphs)
    return next(line for line in rows if line.startswith("   0 "))[5:][: -(-len(lines) // 2)]


def test_two_cpus_that_share_a_mark_have_a_column_of_dots_each() -> None:
    losses = (0.0, 0.0, 2_000.0, 0.0, 0.0, 300_000.0, 4e6, 20e6, _NOISY_NS, 0.0, 0.0, _NOISY_NS, _NOISY_NS, _NOISY_NS)
    lines = [cpu_line(cpu, "target", lost_ns) for cpu, lost_ns in enumerate(losses)]
    assert _pairs(*lines) == "·⡀⢠⣶⡇⢸⣿"
    assert _pairs(*lines, glyphs=ASCII) == "|.-*@@@"


def test_a_pair_hides_neither_an_offline_nor_an_unknown_cpu() -> None:
    quiet, unknown, offline = cpu_line(0, "target", 0.0), cpu_line(1, "target", None), CpuLine(2, Role.OFFLINE)
    assert _pairs(quiet, unknown) == "?"
    assert _pairs(offline, offline) == "x"
    assert _pairs(offline, quiet) == "·"
    assert _pairs(offline, unknown) == "?"
    assert _pairs(cpu_line(0, "target", _NOISY_NS), unknown) == "█"


def test_a_cell_of_several_cpus_shows_the_target_and_not_the_housekeeping_cpu() -> None:
    cpus = tuple(
        cpu_line(cpu, "housekeeping" if cpu % 2 else "target", _NOISY_NS if cpu % 2 else 0.0) for cpu in range(512)
    )
    cells = next(line for line in screen(model_of(frame(cpus)), 80, 24) if line.startswith("   0 "))
    assert "█" not in cells


def test_the_heading_of_the_cells_explains_them() -> None:
    assert any("noise/s now, two CPUs per cell, side by side" in line for line in _screen(512, 0))
    assert any("noise/s now, each cell: the worst of 8 CPUs" in line for line in _screen(2048, 0))
    assert any("one CPU per cell   T target" in line for line in _screen(64, 0))


def test_an_offline_cpu_and_an_unknown_one_are_not_shown_as_calm() -> None:
    cpus = tuple(
        CpuLine(cpu, Role.OFFLINE) if cpu == 3 else cpu_line(cpu, lost_ns=None if cpu == 5 else 0.0)
        for cpu in range(64)
    )
    cells = next(line for line in screen(model_of(frame(cpus)), 80, 25) if line.startswith("   0 "))
    assert cells[5:].split()[:6] == ["·", "·", "·", "xx", "·", "?"]
