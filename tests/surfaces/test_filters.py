"""The filter of the sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.surfaces.frame import CulpritLine
from noisewatch.surfaces.tui.filters import matching
from tests.surfaces.framing import culprit

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
        ("kind:irq", ["24", "RCU"]),
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


@given(st.text(max_size=40))
def test_any_text_is_a_filter(text: str) -> None:
    found: list[CulpritLine] = matching(_LINES, text)
    assert set(found) <= set(_LINES)
