"""Draws the conclusion of a series: statistics, the machine's influence, and whether the measurements can be trusted.

Each command has statistics, and two commands have a difference. The gate is the gravest of three outcomes: of
the machine, of the series, and of the runs in a benchmark tool's file.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated, Case
from noisewatch.judgement.noise.comparison import (
    BandwidthChange,
    SpeedChange,
    bandwidth_change,
    speed_changes,
    unknown_change_reason,
)
from noisewatch.judgement.remedies import Remedy
from noisewatch.judgement.run.placement import PlacementAdvice, placement_advice
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.judgement.run.run_culprits import RunCulprit, rank_culprits, remedy_of_run
from noisewatch.model.run.decomposition import Decomposition, Outlier, difference_of_factors, outlier_of, spread_of
from noisewatch.model.run.energy import EnergyStatistics, energy_statistics
from noisewatch.model.run.layout import RUNS_PER_LAYOUT, Layout, LayoutEffect, layout_effect
from noisewatch.model.run.mean_difference import MeanDifference, RunPair, difference_of
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.repetition import Repetition
from noisewatch.model.run.series import Bounds, SelectedByCause, VarianceParts, parts_of, select_by_cause
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.results import MarkedResults
from noisewatch.operations.run.series import RunSeries, undisturbed_count

_IS_UNDISTURBED = {RunOutcome.UNDISTURBED: True, RunOutcome.DISTURBED: False, RunOutcome.UNKNOWN: None}


class CommandConclusion(Struct, frozen=True):
    """The conclusion on one command (0 or 1): its runs, selected by cause, and why they vary."""

    command: int
    numbers: tuple[int, ...]  # numbers of its repetitions
    counted: tuple[int, ...]  # numbers of the undisturbed repetitions, or of all measured ones if none was undisturbed
    selected: SelectedByCause
    variances: VarianceParts
    decomposition: Decomposition | None  # of the CV of the counted runs; None if they do not vary
    energy: EnergyStatistics | None  # of the counted runs; None if it was not requested
    layout_effect: LayoutEffect | None  # on the counted runs; None unless the layouts vary
    placement: Placement  # of its longest run, whose threads were looked at most often
    advice: tuple[PlacementAdvice, ...]  # how to place its threads better
    outliers: tuple[Outlier, ...] = ()  # undisturbed runs far from the others
    advises_warm_up: bool = False  # its first run took longer than all others without a cause, and there was no warm-up


class RunConclusion(Struct, frozen=True):
    """The conclusion of a series.

    `difference` compares two commands in their undisturbed pairs, `of_all_pairs` in all measured pairs; None without
    a pair. `is_refused`: too few of the `pairs`, or of one command's runs, were undisturbed, so neither difference
    is a result. `speed_change` is of the CPU that changed most between the two calibrations, or None if unknown.
    `change_unknown` is the reason why the change of a CPU is unknown. The costliest `culprits` come first.
    """

    commands: tuple[CommandConclusion, ...]
    difference: MeanDifference | None
    of_all_pairs: MeanDifference | None
    speed_change: SpeedChange | None
    change_unknown: str | None
    culprits: tuple[RunCulprit, ...]
    pairs: int = 0  # of two commands, begun so far; layouts count as pairs
    is_refused: bool = False
    decomposition: Decomposition | None = None  # of the difference; None if the pairs show none
    energy_difference: MeanDifference | None = None  # in the same pairs as the difference that reports show
    bandwidth_change: BandwidthChange | None = None  # of the CPU where it changed most; None: unknown


def conclude(series: RunSeries) -> RunConclusion:
    """Return the conclusion of the series; commands without a repetition are left out."""
    of_commands = [series.of_command(number) for number in range(len(series.options.commands))]
    commands = tuple(_command(series, judged) for judged in of_commands if judged)
    undisturbed, measured = (_pairs(series, undisturbed_only=only) for only in (True, False))
    difference = _difference(undisturbed)
    layouts = _layouts(series.repetitions) if series.options.varies_layout else range(-(-len(series.repetitions) // 2))
    pairs = len(set(layouts)) if len(of_commands) > 1 else 0
    least = series.options.min_undisturbed * pairs
    return RunConclusion(
        commands=commands,
        difference=difference,
        of_all_pairs=_difference(measured),
        speed_change=speed_change_in(series),
        change_unknown=unknown_speed_reason(series),
        culprits=tuple(rank_culprits((judged.repetition.number, judged.verdict) for judged in series.repetitions)),
        pairs=pairs,
        is_refused=(0 if difference is None else difference.pairs) < least
        or any(command.selected.is_refused for command in commands),
        decomposition=_difference_parts(undisturbed, difference),
        energy_difference=_energy_difference(undisturbed or measured),
        bandwidth_change=_bandwidth_change_in(series),
    )


def _bandwidth_change_in(series: RunSeries) -> BandwidthChange | None:
    return bandwidth_change(series.opening, series.closing) if series.opening and series.closing else None


def speed_change_in(series: RunSeries) -> SpeedChange | None:
    """Return the largest speed change of a CPU between the two calibrations, or None if unknown."""
    changes = speed_changes(series.opening, series.closing) if series.opening and series.closing else []
    return changes[0] if changes else None


def unknown_speed_reason(series: RunSeries) -> str | None:
    """Return why the machine's speed change is unknown, or None if it is known or was not requested.

    Also return None for a series that ended early: reports then name the early end.
    """
    if not series.options.calibration_s or series.has_ended_early:
        return None
    if series.opening is None or series.closing is None:
        return f"not calibrated {series.not_calibrated}"
    return unknown_change_reason(series.opening, series.closing, series.machine.target.cpus)


def remedy_in(series: RunSeries, culprit: RunCulprit) -> Remedy | None:
    """Return the remedy against the culprit; None if there is none, or if the last repetition has no window."""
    windows = {judged.repetition.number: judged.repetition.windows for judged in series.repetitions}
    hit, last = windows[culprit.numbers[-1]], windows[series.repetitions[-1].repetition.number]
    if not last:
        return None
    return remedy_of_run(culprit, hit[-1].after.tasks if hit else None, Case(last[-1].after))


def _command(series: RunSeries, judged: Sequence[JudgedRepetition]) -> CommandConclusion:
    measured = [one for one in judged if one.repetition.is_measurement]
    cut_short = [one for one in judged if one.repetition.is_cut_short]
    selected = select_by_cause(
        [one.repetition.seconds for one in measured],
        [_IS_UNDISTURBED[one.verdict.outcome] for one in measured],
        series.options.min_undisturbed,
        [one.repetition.status for one in judged if one.repetition.status and not one.repetition.is_cut_short],
        len(cut_short),
        _layouts(measured),
    )
    counted = [one for one in measured if selected.of_undisturbed is None or _IS_UNDISTURBED[one.verdict.outcome]]
    main = selected.of_undisturbed or selected.of_all
    longest = max(measured or judged, key=lambda one: one.repetition.length_ns)
    advice = placement_advice(
        longest.placement,
        longest.repetition.length_ns,
        series.machine.topology,
        series.machine.isolation.isolated or frozenset(),
    )
    return CommandConclusion(
        command=judged[0].repetition.command,
        numbers=tuple(one.repetition.number for one in judged),
        counted=tuple(one.repetition.number for one in counted),
        selected=selected,
        variances=parts_of(main, None if main is None else _machine_cv(series.opening, main.mean_s)),
        decomposition=spread_of([one.repetition for one in counted]),
        energy=energy_statistics([one.repetition for one in counted]),
        layout_effect=_layout_effect(counted) if series.options.varies_layout else None,
        placement=longest.placement,
        advice=tuple(advice),
        outliers=(outliers := tuple(_outliers(counted, () if main is None else main.far_runs))),
        advises_warm_up=not series.options.warm_ups and _is_slowest(judged[0].repetition.number, outliers),
    )


def _is_slowest(number: int, outliers: Sequence[Outlier]) -> bool:
    slowest = max(outliers, key=lambda outlier: outlier.ratio, default=None)
    return slowest is not None and slowest.number == number and slowest.ratio > 1


def _outliers(counted: Sequence[JudgedRepetition], far: Sequence[int]) -> Iterator[Outlier]:
    """Yield the undisturbed runs at the positions `far`, compared with all runs at other positions."""
    others = [one.repetition for at, one in enumerate(counted) if at not in far]
    for at in far:
        if counted[at].is_undisturbed:
            yield outlier_of(counted[at].repetition, others)


def _layouts(measured: Sequence[JudgedRepetition]) -> list[int]:
    """Return the number of each repetition's layout; an empty list unless the layouts vary."""
    layouts = [one.repetition.layout for one in measured]
    return [layout.number for layout in layouts if layout is not None]


def _layout_effect(counted: Sequence[JudgedRepetition]) -> LayoutEffect:
    """Return the effect of the layouts with two counted repetitions."""
    times_by_layout: dict[int, list[float]] = defaultdict(list)
    for layout, one in zip(_layouts(counted), counted, strict=True):
        times_by_layout[layout].append(one.repetition.seconds)
    return layout_effect([(times[0], times[1]) for times in times_by_layout.values() if len(times) == RUNS_PER_LAYOUT])


def _machine_cv(opening: Calibrated | None, seconds: float) -> Bounds | None:
    """Return the machine's CV for samples of this length, or of the next shorter length in the noise floor."""
    floors = [floor for floor in opening.floors if floor.sample_ns <= seconds * 1e9] if opening is not None else []
    return Bounds(floors[-1].cv_low, floors[-1].cv_high) if floors else None


class _Pair(NamedTuple):
    """Two neighbouring repetitions, one of each command, and whether the first command's ran first."""

    a: Repetition
    b: Repetition
    is_a_first: bool


def _pairs(series: RunSeries, undisturbed_only: bool) -> list[_Pair]:
    """Return the pairs of two commands in which both repetitions are (undisturbed) measurements."""
    if len(series.options.commands) < 2:
        return []
    pairs = []
    for first, second in zip(series.repetitions[::2], series.repetitions[1::2], strict=False):
        if all(one.is_undisturbed if undisturbed_only else one.repetition.is_measurement for one in (first, second)):
            a, b = sorted((first.repetition, second.repetition), key=lambda repetition: repetition.command)
            pairs.append(_Pair(a, b, a is first.repetition))
    return pairs


def _difference(pairs: Sequence[_Pair]) -> MeanDifference | None:
    return _mean_difference(
        [(pair.a.layout, RunPair(pair.a.seconds, pair.b.seconds, pair.is_a_first)) for pair in pairs]
    )


def _energy_difference(pairs: Sequence[_Pair]) -> MeanDifference | None:
    """Return the difference in the packages' energy, in the pairs in which it is known."""
    return _mean_difference(
        [
            (pair.a.layout, RunPair(a_j, b_j, pair.is_a_first))
            for pair in pairs
            if (a_j := pair.a.energy.package_j) is not None and (b_j := pair.b.energy.package_j) is not None
        ]
    )


def _mean_difference(pairs: Sequence[tuple[Layout | None, RunPair]]) -> MeanDifference | None:
    """Return the difference between two commands; pairs that share a layout are averaged, because they are alike.

    The effect of the order cancels in a layout's mean of two pairs, so that the mean has no order of its own.
    """
    pairs_by_layout: dict[Layout, list[RunPair]] = defaultdict(list)
    for layout, pair in pairs:
        if layout is not None:
            pairs_by_layout[layout].append(pair)
    if not pairs_by_layout:
        return difference_of([pair for _, pair in pairs]) if pairs else None
    means = [
        RunPair(
            a_s=statistics.fmean(pair.a_s for pair in of_layout),
            b_s=statistics.fmean(pair.b_s for pair in of_layout),
            is_a_first=of_layout[0].is_a_first if len(of_layout) == 1 else at % 2 == 0,
        )
        for at, of_layout in enumerate(pairs_by_layout.values())
    ]
    return replace(difference_of(means), second_share=None)


def _difference_parts(pairs: Sequence[_Pair], difference: MeanDifference | None) -> Decomposition | None:
    if difference is None or not difference.is_shown:
        return None
    return difference_of_factors([pair.a for pair in pairs], [pair.b for pair in pairs], difference.share)


_GRAVITY = (RunOutcome.UNDISTURBED, RunOutcome.UNKNOWN, RunOutcome.DISTURBED)


def gate_of_run(series: RunSeries, has_results: bool = False, results: MarkedResults | None = None) -> RunOutcome:
    """Return the gravest outcome of the machine, the series and the runs in a file.

    `has_results`: whether the command writes such a file; if so, `results` is None if it could not be read. For a
    single repetition, only the runs in the file are measurements; in a series, the repetitions count as well.
    """
    outcomes = [gate_of_machine(series)]
    if series.options.is_series or not has_results:
        outcomes.append(gate_of_series(series))
    if has_results:
        outcomes.append(RunOutcome.UNKNOWN if results is None else gate_of_results(results))
    return max(outcomes, key=_GRAVITY.index)


def gate_of_series(series: RunSeries) -> RunOutcome:
    """Return `undisturbed` if enough repetitions, pairs or layouts were undisturbed, by number and by share.

    Otherwise return `disturbed` if a repetition was disturbed, failed, was cut short or is missing, else `unknown`.
    """
    measured = [judged for judged in series.repetitions if judged.repetition.is_measurement]
    is_enough = undisturbed_count(series.options, series.repetitions) >= series.options.runs
    if is_enough and not conclude(series).is_refused:
        return RunOutcome.UNDISTURBED
    is_disturbed = any(judged.verdict.outcome == RunOutcome.DISTURBED for judged in measured)
    is_incomplete = series.has_ended_early or len(measured) < len(series.repetitions)
    return RunOutcome.DISTURBED if is_disturbed or is_incomplete else RunOutcome.UNKNOWN


def gate_of_machine(series: RunSeries) -> RunOutcome:
    """Return `disturbed` if the machine's speed changed too much during the series, `unknown` if the change is unknown.

    Also return `unknown` if the load may have been smaller than requested.

    Return `undisturbed` otherwise, also if no calibration was requested.
    """
    change = speed_change_in(series)
    if change is not None and change.is_too_much:
        return RunOutcome.DISTURBED
    if series.load is not None and series.load.trouble is not None:
        return RunOutcome.UNKNOWN
    if series.options.calibration_s and series.closing is None:  # the series may have ended before it
        return RunOutcome.UNKNOWN
    return RunOutcome.UNDISTURBED if unknown_speed_reason(series) is None else RunOutcome.UNKNOWN


def gate_of_results(results: MarkedResults) -> RunOutcome:
    """Return `undisturbed` if the file has runs and all were undisturbed; `disturbed` outranks `unknown`."""
    outcomes = {run.verdict.outcome for run in results.marked}
    if RunOutcome.DISTURBED in outcomes:
        return RunOutcome.DISTURBED
    return RunOutcome.UNDISTURBED if outcomes == {RunOutcome.UNDISTURBED} else RunOutcome.UNKNOWN
