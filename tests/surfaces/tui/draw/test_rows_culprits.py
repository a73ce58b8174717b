"""The culprits: their names, order and alignment."""

from __future__ import annotations

from itertools import takewhile

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from noisewatch.kinds import Role
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from tests.surfaces.tui.framing import culprit, frame, model_of, screen, text_of

_THREE = (
    culprit("cheap", cpu=1, lost_ns=1e5, rate_per_s=900.0),
    culprit("dear", cpu=3, lost_ns=9e7, rate_per_s=None),
    culprit("middle", cpu=2, lost_ns=5e6, rate_per_s=30.0),
)


def _culprit_names(model: ScreenModel, width: int = 100, height: int = 30) -> list[str]:
    """Return the names in the culprits' panel, in order."""
    lines = screen(model, width, height)
    first = next(number for number, line in enumerate(lines) if line.startswith(" CPU kind"))
    rows = takewhile(lambda line: line[:5].strip().isdigit(), lines[first + 1 :])
    return [line.split()[2] for line in rows]


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (SortOrder.COST, ["dear", "middle", "cheap"]),
        (SortOrder.RATE, ["cheap", "middle", "dear"]),
        (SortOrder.CPU, ["cheap", "middle", "dear"]),
    ],
)
def test_culprits_are_sorted_as_requested(sort: SortOrder, names: list[str]) -> None:
    model = model_of(frame(4, _THREE))
    model.sort = sort
    assert _culprit_names(model) == names
    assert f"by {sort}" in "".join(screen(model))


def test_culprits_of_housekeeping_cpus_are_shown_on_request() -> None:
    model = model_of(
        frame(4, (culprit("here"), culprit("beside", role=Role.SIBLING), culprit("away", role=Role.HOUSEKEEPING)))
    )
    assert sorted(_culprit_names(model)) == ["beside", "here"]
    model.shows_all_cpus = True
    assert sorted(_culprit_names(model)) == ["away", "beside", "here"]


def test_no_culprit_seen_is_shown_only_where_there_are_rates() -> None:
    assert "no culprit seen" in "".join(screen(model_of(frame(4))))
    assert "no culprit seen" not in "".join(screen(model_of(frame(4, seconds=0.0))))


@pytest.mark.parametrize(
    "name",
    ["数据库服务器", "ｆｕｌｌ", "한국어", "e\u0301tude", "👩‍💻 code", "x" * 300, "[bold red]x[/]", "[/foo]", ""],
)
@pytest.mark.parametrize("width", [60, 80, 200])
def test_any_name_keeps_the_columns_in_line(name: str, width: int) -> None:
    lines = screen(model_of(frame(4, (culprit("plain", pid=None), culprit(name, pid=None)))), width)
    rows = [line.rstrip() for line in lines if "4.0 ms" in line and line[:5].strip().isdigit()]
    assert len(rows) == 2
    assert {cell_len(row[: row.index("4.0 ms")]) for row in rows} == {cell_len(rows[0][: rows[0].index("4.0 ms")])}
    assert {cell_len(row) for row in rows} == {cell_len(rows[0])}


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (80, "   2 thread        tokio-rt-worker [12345/12346]              –   9.0 ms   0.9%"),
        (60, "   2 thread        tokio-rt-worker [12345]        –   9.0 ms"),
        (50, "   2 tokio-rt-worker [12345]            –   9.0 ms"),
        (40, "   2 tokio-rt-worker [12345]      9.0 ms"),
        (30, "   2 tokio-rt-worker    9.0 ms"),
        (20, "tokio-rt-w…   9.0 ms"),
        (15, "tokio-rt-worker"),
        (8, "tokio-r…"),
    ],
)
def test_on_a_narrow_screen_the_other_columns_give_way_to_the_name(width: int, row: str) -> None:
    worker = culprit("tokio-rt-worker", cpu=2, lost_ns=9e6, pid=12345, tid=12346)
    listing = Listing((culprit("first"), worker), 0)
    rows = culprit_table(listing, "culprits on target CPUs, by cost", width, 3, UNICODE)
    assert text_of(rows[2]).rstrip() == row
    assert {cell_len(text_of(line)) for line in rows[1:]} <= {width, width - 1}


@pytest.mark.parametrize("width", [15, 20, 40, 60, 80])
def test_the_heading_is_above_its_columns_and_a_gone_source_keeps_its_name(width: int) -> None:
    listing = Listing((culprit("gone", pid=None),), 0, is_gone=True)
    heading, row = map(text_of, culprit_table(listing, "who", width, 2, UNICODE))
    assert "gone" in row
    assert heading.index("who") == row.index("gone")
    assert ("noise/s" in heading) == ("not seen" in row) == (width >= 20)


def test_the_change_since_a_baseline_gives_way_before_the_cpu() -> None:
    model = model_of(frame(4, (culprit("hog"),)), frame(4, (culprit("hog"),), 2))
    model.mark_baseline()
    tables = [culprit_table(model.listing(), "who", width, 2, UNICODE, model.baseline) for width in (20, 30, 40, 60)]
    assert ["change" in text_of(table[0]) for table in tables] == [False, False, True, True]
    assert [" CPU" in text_of(table[0]) for table in tables] == [False, True, True, True]


@pytest.mark.parametrize("name", ["[bold red]x[/]", "[/foo]", "[link=x]y", "\\[x]"])
def test_markup_in_a_name_is_text(name: str) -> None:
    assert f"{name} [4711]" in "".join(screen(model_of(frame(4, (culprit(name),)))))


def test_an_estimated_loss_is_marked() -> None:
    model = model_of(frame(4, (culprit("36 eth0", kind="irq", pid=None, is_estimate=True),)))
    assert "~4.0 ms" in "".join(screen(model))


def test_the_screen_names_failed_checks_or_else_unknown_ones() -> None:
    failing = frame(4, verdict="unstable", failed=("tasks-on-target",), unknown=("cpu-quota",))
    unknown = frame(4, verdict="unknown", unknown=("cpu-quota",))
    assert "failing (5 s): tasks-on-target" in screen(model_of(failing))[2]
    assert "failing (0.2 s): tasks-on-target" in screen(model_of(replace(failing, judged_s=0.21)))[2]
    assert "failing (60 s): tasks-on-target" in screen(model_of(replace(failing, judged_s=60.1)))[2]
    assert "failing: tasks-on-target" in screen(model_of(replace(failing, judged_s=None)))[2]
    assert "unknown: cpu-quota" in screen(model_of(unknown))[2]


def test_more_failures_than_fit_end_in_an_ellipsis() -> None:
    row = screen(model_of(frame(4, verdict="unstable", failed=("one", "two", "three", "four"))))[2]
    assert "one, two, three …" in row
    assert "four" not in row


@pytest.mark.parametrize(("verdict", "word"), [("stable", "STABLE"), ("unstable", "UNSTABLE"), ("unknown", "UNKNOWN")])
def test_the_verdict_is_a_word(verdict: str, word: str) -> None:
    assert screen(model_of(frame(4, verdict=verdict)))[1].split()[0] == word
