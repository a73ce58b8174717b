"""Sentences on the factors of a spread and of a difference."""

from __future__ import annotations

import pytest

from noisewatch.machine.command.counting import NOT_COUNTED
from noisewatch.model.run.decomposition import Decomposition, Factor, Outlier
from noisewatch.surfaces.reports.run.factors import difference_parts_words, outlier_words, spread_words

_PARTS = {
    Factor.CLOCK: 0.002,
    Factor.CYCLES_PER_INSTRUCTION: 0.0312,
    Factor.INSTRUCTIONS: -0.00001,
    Factor.OFF_CPU: -0.0002,
}


def test_largest_part_is_first_and_says_what_happened() -> None:
    assert spread_words(Decomposition(0.033, _PARTS, 0.0001, None)) == (
        "of the 3.3%, 3.1% by cycles per instruction, 0.2% by the clock, 0.0% by time off the CPU, "
        "0.0% by instructions: "
        "the same instructions took more cycles (caches, memory, sibling CPU, layout)"
    )


def test_different_work_needs_no_quieter_machine() -> None:
    words = spread_words(Decomposition(0.02, {Factor.INSTRUCTIONS: 0.019, Factor.CLOCK: 0.001}, 0.021, None))
    assert words == (
        "of the 2%, 1.9% by instructions, 0.1% by the clock: the program did different work; instructions vary by 2.1%,"
        " which a quieter machine does not change"
    )


def test_missing_counters_are_named() -> None:
    parts = {Factor.CPU_TIME: 0.1, Factor.OFF_CPU: 0.1}
    words = spread_words(Decomposition(0.2, parts, None, "no\x1b PMU"))
    assert words.startswith("of the 20%, 10% by CPU time, 10% by time off the CPU: no single cause; instructions and")
    assert words.endswith("were not counted: no· PMU")
    assert spread_words(Decomposition(0.2, parts, None, NOT_COUNTED)).endswith("not counted: --counters none")


@pytest.mark.parametrize(
    ("factor", "name", "conclusion"),
    [
        (Factor.INSTRUCTIONS, "instructions", "the program did different work"),
        (Factor.CYCLES_PER_INSTRUCTION, "cycles per instruction", "the same instructions took more cycles"),
        (Factor.CLOCK, "the clock", "the CPUs' clock changed"),
        (Factor.CLOCK_AND_KERNEL, "the clock and kernel code", "the CPUs' clock changed, or the kernel did more"),
        (Factor.CPU_TIME, "CPU time", "the command computed for longer"),
        (Factor.OFF_CPU, "time off the CPU", "the command waited longer"),
    ],
)
def test_each_factor_has_a_name_and_a_conclusion(factor: Factor, name: str, conclusion: str) -> None:
    words = spread_words(Decomposition(0.06, {factor: 0.055}, None, None))
    assert words.startswith(f"of the 6%, 5.5% by {name}: {conclusion}")


def test_parts_of_a_large_spread_have_no_decimals() -> None:
    words = spread_words(Decomposition(2.5, {Factor.OFF_CPU: 2.4, Factor.CLOCK: 0.1}, None, None))
    assert "240% by time off the CPU, 10% by the clock: the command waited longer" in words


def test_difference_names_the_factors() -> None:
    words = difference_parts_words(Decomposition(-0.1, {Factor.CLOCK: -0.09, Factor.OFF_CPU: -0.01}, None, None))
    assert words == "of the difference, -9% by the clock, -1% by time off the CPU"
    words = difference_parts_words(Decomposition(0.1, {Factor.CPU_TIME: 0.1}, None, "no PMU"))
    assert words == "of the difference, 10% by CPU time; instructions and cycles were not counted: no PMU"


def _outlier(ratio: float, **factors: float) -> str:
    ratios = {Factor(name.replace("_", "-")): value for name, value in factors.items()}
    return outlier_words(Outlier(7, ratio, ratios, None))


def test_outlier_has_the_answer_of_the_counters() -> None:
    assert _outlier(6.6, instructions=1.0, cycles_per_instruction=6.5, clock=1.01, off_cpu=1.005) == (
        "run 7 took 6.6 times as long as the others: no disturbance was seen; instructions ×1.00, cycles per "
        "instruction ×6.5, CPU time per cycle ×1.01, time per CPU time ×1.00: the same instructions took more cycles "
        "(caches, memory, sibling CPU, layout)"
    )
    assert _outlier(1.33, instructions=1.1, clock=1.1, off_cpu=1.1).endswith("time per CPU time ×1.10: no single cause")
    assert "instructions ×1.00, CPU time per cycle of user code ×1.40: the" in _outlier(
        1.4, instructions=1.0, clock_and_kernel=1.4
    )
    assert _outlier(1.21, instructions=1.2, clock=1.008).endswith("the program did different work")


def test_outlier_without_counters_has_the_likely_causes() -> None:
    assert _outlier(6.6, cpu_time=6.6, off_cpu=1.0) == (
        "run 7 took 6.6 times as long as the others: no disturbance was seen; CPU time ×6.6, time per CPU time ×1.00: "
        "its caches were cold, or it did more work"
    )
    words = _outlier(150, cpu_time=1.0, off_cpu=150)
    assert words.startswith("run 7 took 150 times as long as the others: no disturbance was seen; CPU time ×1.00, ")
    assert "time per CPU time ×150: the command waited longer (for a CPU" in words
    assert "×99.6" in _outlier(99.6, cpu_time=1.0, off_cpu=99.6)


def test_outlier_that_took_less_has_no_cause() -> None:
    assert _outlier(0.8, cpu_time=0.8, off_cpu=1.0) == (
        "run 7 took 20% less than the others: no disturbance was seen; CPU time ×0.80, time per CPU time ×1.00"
    )
