"""Whether what was measured may be trusted, in one word."""

from __future__ import annotations

from collections import Counter

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.results import MarkedResults
from noisewatch.operations.run.series import RunSeries


def gate_of_series(series: RunSeries) -> RunOutcome:
    """Undisturbed where as many repetitions as were wanted, of each command, were; disturbed where it is incomplete.

    A repetition that failed or was cut short is no measurement, so that the series is incomplete.
    """
    measured = [each for each in series.repetitions if each.repetition.is_measurement]
    outcomes = Counter((each.repetition.command, each.verdict.outcome) for each in measured)
    commands = range(len(series.options.commands))
    if all(outcomes[command, RunOutcome.UNDISTURBED] >= series.options.runs for command in commands):
        return RunOutcome.UNDISTURBED
    is_disturbed = any(outcomes[command, RunOutcome.DISTURBED] for command in commands)
    is_incomplete = series.has_ended_early or len(measured) < len(series.repetitions)
    return RunOutcome.DISTURBED if is_disturbed or is_incomplete else RunOutcome.UNKNOWN


def gate_of_results(results: MarkedResults) -> RunOutcome:
    """Undisturbed where all runs of the file were, and there are any; a known disturbance outranks what is unknown."""
    outcomes = {each.verdict.outcome for each in results.marked}
    if RunOutcome.DISTURBED in outcomes:
        return RunOutcome.DISTURBED
    return RunOutcome.UNDISTURBED if outcomes == {RunOutcome.UNDISTURBED} else RunOutcome.UNKNOWN
