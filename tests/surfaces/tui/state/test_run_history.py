"""Tests for the repetitions that overlap a span of time."""

from __future__ import annotations

from noisewatch.operations.frame.frame import RepetitionLine
from noisewatch.surfaces.tui.state.run_history import latest_ends_ns, overlapping_repetitions


def _repetition(number: int, began_ns: int, ended_ns: int) -> RepetitionLine:
    return RepetitionLine(number, number, 0, began_ns, ended_ns, "undisturbed", "")


def test_repetition_that_spans_those_of_another_run_is_not_lost() -> None:
    repetitions = [_repetition(1, 0, 100), _repetition(2, 10, 20), _repetition(3, 30, 40), _repetition(4, 70, 80)]
    ends_ns = latest_ends_ns(repetitions)
    spans = {(50, 60): [1], (35, 36): [1, 3], (75, 200): [1, 4], (100, 110): []}
    for (begin_ns, end_ns), numbers in spans.items():
        overlapping = overlapping_repetitions(repetitions, ends_ns, begin_ns, end_ns)
        assert [repetition.number for repetition in overlapping] == numbers
