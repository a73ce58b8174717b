"""Sentences on the factors of a spread and of a difference."""

from __future__ import annotations

from noisewatch.machine.command.counting import NOT_COUNTED
from noisewatch.model.run.decomposition import Decomposition, Factor
from noisewatch.surfaces.reports.run.factors import difference_parts_words, spread_words

_PARTS = {
    Factor.CLOCK: 0.002,
    Factor.CYCLES_PER_INSTRUCTION: 0.0312,
    Factor.INSTRUCTIONS: -0.00001,
    Factor.OFF_CPU: -0.0002,
}


def test_largest_part_is_first_and_says_what_happened() -> None:
    assert spread_words(Decomposition(0.033, _PARTS, 0.0001, None)) == (
        "of the 3.3%, cycles per instruction cause 3.1%, the clock 0.2%, time off the CPU 0.0%, instructions 0.0%: "
        "the same instructions took more cycles (caches, memory, sibling CPU, layout)"
    )


def test_different_work_needs_no_quieter_machine() -> None:
    words = spread_words(Decomposition(0.02, {Factor.INSTRUCTIONS: 0.019, Factor.CLOCK: 0.001}, 0.021, None))
    assert words == (
        "of the 2%, instructions cause 1.9%, the clock 0.1%: the program did different work; instructions vary by 2.1%,"
        " which a quieter machine does not change"
    )


def test_missing_counters_are_named() -> None:
    parts = {Factor.CPU_TIME: 0.1, Factor.OFF_CPU: 0.1}
    words = spread_words(Decomposition(0.2, parts, None, "no\x1b PMU"))
    assert words.startswith("of the 20%, CPU time causes 10%, time off the CPU 10%: no single cause; instructions and")
    assert words.endswith("were not counted: no· PMU")
    assert spread_words(Decomposition(0.2, parts, None, NOT_COUNTED)).endswith("not counted: --counters none")


def test_difference_names_the_factors() -> None:
    words = difference_parts_words(Decomposition(-0.1, {Factor.CLOCK: -0.09, Factor.OFF_CPU: -0.01}, None, None))
    assert words == "of the difference, -9% by the clock, -1% by time off the CPU"
