"""The filter of the sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.operations.frame.frame import KINDS, CulpritLine
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.screens.culprits import culprits_rows
from noisewatch.surfaces.tui.state.filters import filter_culprits, mistakes
from tests.surfaces.tui.framing import culprit, frame, model_of

_LINES = (
    culprit("kworker/2:1-events", cpu=2, lost_ns=150_000.0, kind="kernel-thread", pid=30),
    culprit("24 nvme0q1 (NVMe)", cpu=3, lost_ns=3_000_000.0, kind="irq", pid=None),
    culprit("RCU", cpu=5, lost_ns=900.0, kind="softirq", pid=None),
    culprit("Firefox", cpu=2, lost_ns=20_000.0),
)


def _matching_names(text: str) -> list[str]:
    return [line.name.split()[0] for line in filter_culprits(_LINES, text)]


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
        ("!cpu:x rcu", ["RCU"]),
        ("cpu:2-", []),
        (">100parsec", []),
        (">10x", []),
        ("<1.2.3ms", []),
        (">=100us", []),
        ("cpu:2 nothing", []),
        ("!", []),
    ],
)
def test_a_culprit_must_match_all_words(text: str, names: list[str]) -> None:
    assert _matching_names(text) == names


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_does_not_match_kinds_that_contain_its_name(kind: str) -> None:
    lines = [culprit("same", kind=other) for other in KINDS]
    assert [line.kind for line in filter_culprits(lines, f"kind:{kind}")] == [kind]
    assert [line.kind for line in filter_culprits(lines, f"!kind:{kind}")] == [
        other for other in KINDS if other != kind
    ]


def _screen_text(text: str, is_typing: bool = False) -> str:
    model = model_of(frame(4, _LINES))
    model.go_to("culprits")
    model.filter, model.is_typing = text, is_typing
    return "\n".join(strip_of(row, 100).text for row in culprits_rows(model, 100, 30, UNICODE))


@pytest.mark.parametrize(("text", "invalid"), [("kind:t", "t"), ("!kind:irqs >1us", "irqs"), ("kind:", "")])
def test_an_unknown_kind_is_reported_with_all_valid_kinds(text: str, invalid: str) -> None:
    screen_text = _screen_text(text)
    assert f"unknown kind {invalid!r}" in screen_text
    assert all(kind in screen_text for kind in KINDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">100parsec", "not a duration: '100parsec'; write >100us, in ns, us, ms or s"),
        ("rcu >10x", "not a duration: '10x'"),
        ("!<.5ms", "not a duration: '.5ms'; write <100us"),
        (">=1ms", "not a duration: '=1ms'"),
        ("cpu:x", "not a CPU list: 'x'; write cpu:2-5,7"),
        ("cpu:", "not a CPU list: ''"),
        ("cpu:2-", "not a CPU list: '2-'"),
    ],
)
def test_an_invalid_duration_or_cpu_list_is_reported(text: str, expected: str) -> None:
    assert expected in _screen_text(text)


def test_a_missing_cpu_is_reported() -> None:
    assert "this machine has no CPU 99" in _screen_text("cpu:2,99")
    assert "no CPU" not in _screen_text("cpu:2-3")


@pytest.mark.parametrize("text", ["kind:irq !kind:kernel rcu", ">100us <1.5ms >7 cpu:2-3,5", "> <init> ->x a:b", "!"])
def test_a_valid_filter_has_no_mistakes(text: str) -> None:
    assert mistakes(text) == []


def test_no_mistake_is_reported_while_typing() -> None:
    assert "not a duration" not in _screen_text(">100m", is_typing=True)


@given(st.text(max_size=40))
def test_any_text_is_a_filter(text: str) -> None:
    matches: list[CulpritLine] = filter_culprits(_LINES, text)
    assert set(matches) <= set(_LINES)
