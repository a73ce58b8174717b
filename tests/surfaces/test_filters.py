"""The filter of the sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.surfaces.frame import KINDS, CulpritLine
from noisewatch.surfaces.tui.filters import matching, unknown_kinds
from noisewatch.surfaces.tui.glyphs import UNICODE
from noisewatch.surfaces.tui.line_view import strip_of
from noisewatch.surfaces.tui.sources_screen import sources_rows
from tests.surfaces.framing import culprit, frame, model_of

_LINES = (
    culprit("kworker/2:1-events", cpu=2, lost_ns=150_000.0, kind="kernel-thread", pid=30),
    culprit("24 nvme0q1 (NVMe)", cpu=3, lost_ns=3_000_000.0, kind="irq", pid=None),
    culprit("RCU", cpu=5, lost_ns=900.0, kind="softirq", pid=None),
    culprit("Firefox", cpu=2, lost_ns=20_000.0),
)


def _named(text: str) -> list[str]:
    return [line.name.split()[0] for line in matching(_LINES, text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["kworker/2:1-events", "24", "RCU", "Firefox"]),
        ("KWORKER", ["kworker/2:1-events"]),
        ("cpu:2", ["kworker/2:1-events", "Firefox"]),
        ("cpu:2-4", ["kworker/2:1-events", "24", "Firefox"]),
        ("kind:irq", ["24"]),
        ("kind:thread", ["Firefox"]),
        ("kind:kernel", ["kworker/2:1-events"]),
        ("kind:soft", ["RCU"]),
        ("kind:t", []),
        ("kind:", []),
        ("kind:nothing", []),
        ("!kind:irq", ["kworker/2:1-events", "RCU", "Firefox"]),
        ("irq", ["24"]),
        ("thread", ["Firefox"]),
        (">100us", ["kworker/2:1-events", "24"]),
        (">0.1ms <1ms", ["kworker/2:1-events"]),
        ("<1000ns", ["RCU"]),
        ("!rcu !cpu:2", ["24"]),
        ("4711", ["Firefox"]),
        ("cpu:x", []),
        ("cpu:2 nothing", []),
        ("!", []),
    ],
)
def test_all_words_have_to_hold(text: str, names: list[str]) -> None:
    assert _named(text) == names


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_that_kind_and_no_other_that_has_its_name_in_it(kind: str) -> None:
    lines = [culprit("same", kind=each) for each in KINDS]
    assert [line.kind for line in matching(lines, f"kind:{kind}")] == [kind]
    assert [line.kind for line in matching(lines, f"!kind:{kind}")] == [each for each in KINDS if each != kind]


@pytest.mark.parametrize(("text", "told"), [("kind:t", "t"), ("!kind:irqs >1us", "irqs"), ("kind:", "")])
def test_a_kind_that_is_none_is_told_with_those_that_there_are(text: str, told: str) -> None:
    assert unknown_kinds(text) == [told]
    model = model_of(frame(4, _LINES))
    model.go_to("sources")
    model.filter = text
    said = "\n".join(strip_of(row, 100).text for row in sources_rows(model, 100, 30, UNICODE))
    assert f"no kind {told!r}" in said
    assert all(kind in said for kind in KINDS)


def test_a_kind_that_there_is_needs_no_words() -> None:
    assert unknown_kinds("kind:irq !kind:kernel rcu") == []


@given(st.text(max_size=40))
def test_any_text_is_a_filter(text: str) -> None:
    found: list[CulpritLine] = matching(_LINES, text)
    assert set(found) <= set(_LINES)
