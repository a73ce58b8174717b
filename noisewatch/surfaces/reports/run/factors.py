"""Sentences on why runs take different times: instructions, cycles per instruction, clock, or time off the CPU."""

from __future__ import annotations

import math

from noisewatch.machine.command.counting import NOT_COUNTED
from noisewatch.model.run.decomposition import Decomposition, Factor, Outlier
from noisewatch.text import printable
from noisewatch.units import share_text

_NAMES = {
    Factor.INSTRUCTIONS: "instructions",
    Factor.CYCLES_PER_INSTRUCTION: "cycles per instruction",
    Factor.CLOCK: "the clock",
    Factor.CLOCK_AND_KERNEL: "the clock and kernel code",
    Factor.CPU_TIME: "CPU time",
    Factor.OFF_CPU: "time off the CPU",
}
_CONCLUSIONS = {
    Factor.INSTRUCTIONS: "the program did different work",
    Factor.CYCLES_PER_INSTRUCTION: "the same instructions took more cycles (caches, memory, sibling CPU, layout)",
    Factor.CLOCK: "the CPUs' clock changed",
    Factor.CLOCK_AND_KERNEL: "the CPUs' clock changed, or the kernel did more",
    Factor.CPU_TIME: "the command computed for longer",
    Factor.OFF_CPU: "the command waited longer (for a CPU, a device, a lock or a timer), or used fewer CPUs at once",
}
_NO_MAIN = "no single cause"
_COLD = "its caches were cold, or it did more work"
_RATIO_NAMES = {
    **_NAMES,
    Factor.CLOCK: "CPU time per cycle",
    Factor.CLOCK_AND_KERNEL: "CPU time per cycle of user code",
    Factor.OFF_CPU: "time per CPU time",
}
_AS_FACTOR, _WHOLE = 2, 100  # from these ratios on: as a factor, and without decimals


def spread_words(spread: Decomposition) -> str:
    """Return how much each factor contributes to the CV, and what that means."""
    clauses = [f"of the {share_text(spread.total)}, {_parts(spread)}: {_conclusion(spread)}"]
    if spread.is_same_work is False and spread.instruction_spread is not None:
        amount = share_text(spread.instruction_spread)
        clauses.append(f"instructions vary by {amount}, which a quieter machine does not change")
    return "; ".join(clauses + _doubts(spread))


def difference_parts_words(difference: Decomposition) -> str:
    """Return how much each factor contributes to the difference between two commands."""
    return "; ".join([f"of the difference, {_parts(difference)}", *_doubts(difference)])


def outlier_words(outlier: Outlier) -> str:
    """Return how long the run took, that no disturbance was seen, and which factor differs from the other runs."""
    factors = ", ".join(f"{_RATIO_NAMES[factor]} ×{_ratio(ratio)}" for factor, ratio in outlier.factors.items())
    main = outlier.main
    conclusion = _COLD if main == Factor.CPU_TIME else _NO_MAIN if main is None else _CONCLUSIONS[main]
    took = f"run {outlier.number} took {_times_as_long(outlier.ratio)} the others: no disturbance was seen"
    answer = f"{factors}: {conclusion}" if outlier.ratio > 1 else factors
    return f"{took}; {answer}"


def _times_as_long(ratio: float) -> str:
    if ratio >= _AS_FACTOR:
        return f"{_ratio(ratio)} times as long as"
    return f"{share_text(abs(ratio - 1))} {'longer' if ratio > 1 else 'less'} than"


def _ratio(ratio: float) -> str:
    return f"{ratio:.{0 if ratio >= _WHOLE else 1 if ratio >= _AS_FACTOR else 2}f}"


def _parts(decomposition: Decomposition) -> str:
    """Return `3.1% by cycles per instruction, 0.2% by the clock`: the largest part first."""
    ranked = sorted(decomposition.parts.items(), key=lambda item: -abs(item[1]))
    return ", ".join(f"{_signed(share, decomposition)} by {_NAMES[factor]}" for factor, share in ranked)


def _signed(share: float, decomposition: Decomposition) -> str:
    """Format a part, with as many decimals as two significant digits of the total need."""
    decimals = max(1 - math.floor(math.log10(abs(decomposition.total) * 100)), 0)
    text = f"{share:.{decimals}%}"
    return text.removeprefix("-") if not float(text.removesuffix("%")) else text


def _conclusion(spread: Decomposition) -> str:
    return _NO_MAIN if spread.main is None else _CONCLUSIONS[spread.main]


def _doubts(decomposition: Decomposition) -> list[str]:
    if decomposition.unknown is None:
        return []
    reason = printable(decomposition.unknown) if decomposition.unknown != NOT_COUNTED else "--counters none"
    return [f"instructions and cycles were not counted: {reason}"]
