"""The gate of a run: whether its measurements may be trusted, as one outcome."""

from __future__ import annotations

from collections import Counter

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.conclusion import conclude, speed_change_in, why_speed_unknown
from noisewatch.operations.run.results import MarkedResults
from noisewatch.operations.run.series import RunSeries

_GRAVITY = (RunOutcome.UNDISTURBED, RunOutcome.UNKNOWN, RunOutcome.DISTURBED)


def gate_of_run(series: RunSeries, has_results: bool = False, results: MarkedResults | None = None) -> RunOutcome:
    """Return the gravest outcome of the machine, the series and the runs in a file.

    If the run `has_results`, None means that the file could not be read. For a single run the runs in the file are the
    measurements; in a series the repetitions count as well.
    """
    outcomes = [gate_of_machine(series)]
    if series.options.is_series or not has_results:
        outcomes.append(gate_of_series(series))
    if has_results:
        outcomes.append(RunOutcome.UNKNOWN if results is None else gate_of_results(results))
    return max(outcomes, key=_GRAVITY.index)


def gate_of_series(series: RunSeries) -> RunOutcome:
    """Return undisturbed if enough repetitions of each command were; disturbed if the series is incomplete.

    A repetition that failed or was cut short is not a measurement, so that the series is incomplete. So is a series
    whose report refuses a result, because too small a share was undisturbed.
    """
    measured = [each for each in series.repetitions if each.repetition.is_measurement]
    outcomes = Counter((each.repetition.command, each.verdict.outcome) for each in measured)
    commands = range(len(series.options.commands))
    is_enough = all(outcomes[command, RunOutcome.UNDISTURBED] >= series.options.runs for command in commands)
    if is_enough and not conclude(series).is_refused:
        return RunOutcome.UNDISTURBED
    is_disturbed = any(outcomes[command, RunOutcome.DISTURBED] for command in commands)
    is_incomplete = series.has_ended_early or len(measured) < len(series.repetitions)
    return RunOutcome.DISTURBED if is_disturbed or is_incomplete else RunOutcome.UNKNOWN


def gate_of_machine(series: RunSeries) -> RunOutcome:
    """Return disturbed if the machine's speed changed during the series.

    Undisturbed if that was not to be measured.
    """
    change = speed_change_in(series)
    if change is not None and change.is_too_much:
        return RunOutcome.DISTURBED
    return RunOutcome.UNDISTURBED if why_speed_unknown(series) is None else RunOutcome.UNKNOWN


def gate_of_results(results: MarkedResults) -> RunOutcome:
    """Return undisturbed if all runs of the file were, and there are any; disturbed outranks unknown."""
    outcomes = {each.verdict.outcome for each in results.marked}
    if RunOutcome.DISTURBED in outcomes:
        return RunOutcome.DISTURBED
    return RunOutcome.UNDISTURBED if outcomes == {RunOutcome.UNDISTURBED} else RunOutcome.UNKNOWN
