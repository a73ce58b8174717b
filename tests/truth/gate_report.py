"""The accuracy of the gate: verdicts and chances compared with benchmarks. Pure functions of judged cases."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from noisewatch.judgement.terms import Outcome
from noisewatch.model.calibration.statistics import coefficient_of_variation
from tests.benchmark.shares import describe_trials

BUDGETS = (0.01, 0.02, 0.05, 0.10, 0.20)
FAR = 2.0  # a case whose effect differs from the budget by this factor or more is far from it
_BINS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_ALL_OUTCOMES = (Outcome.STABLE, Outcome.UNKNOWN, Outcome.UNSTABLE)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a condition does to a benchmark: the CV of its samples, and the shift of their mean (shares)."""

    cv: float
    shift: float  # against the statement's quiet time; negative: faster

    @property
    def size(self) -> float:
        """The smallest budget that the benchmark stays within. A shift counts only if it is a loss."""
        return max(self.cv, self.shift)


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A condition, a statement and a budget, with what was measured and what the gate answered."""

    condition: str
    statement: str
    budget: float
    effect: Effect
    outcome: Outcome
    chance: float | None  # None: the verdict contains no chance
    blocking: tuple[tuple[str, str], ...]  # ids of the checks that decided, with their sentences
    floor: str  # the sentence of the noise floor

    @property
    def is_quiet(self) -> bool:
        return self.effect.size <= self.budget

    @property
    def is_far(self) -> bool:
        return self.effect.size <= self.budget / FAR or self.effect.size >= self.budget * FAR


def quiet_time(samples: Sequence[float]) -> float:
    """Return the median of the quicker half of the samples: other load can only slow them down."""
    ordered = sorted(samples)
    return statistics.median(ordered[: (len(ordered) + 1) // 2])


def measure_effect(samples: Sequence[float], quiet: float) -> Effect:
    """Return the effect on samples, in comparison with the quiet time of the same work."""
    return Effect(coefficient_of_variation(samples) or 0.0, statistics.fmean(samples) / quiet - 1)


def quiet_line(statement: str, runs: Sequence[Sequence[float]]) -> str:
    """Render the quiet time and the effect on each quiet run: large ones show that the shifts are uncertain."""
    quiet = quiet_time([time for run in runs for time in run])
    effects = (measure_effect(run, quiet) for run in runs)
    texts = (f"CV {effect.cv:.2%} shift {effect.shift:+.2%}" for effect in effects)
    return f"quiet {statement}: {quiet * 1e3:.2f} ms; its runs: {', '.join(texts)}"


def choose_budgets(size: float) -> list[float]:
    """Return the budgets at which an effect of this size is judged, at most two on either side of it.

    On each side they are the nearest budget, and the nearest one that differs from the effect by a factor of at least
    two. As both sides follow one rule, about half of the cases are quiet wherever effects of all sizes occur; an
    effect far below or above all budgets has one case.
    """
    kept_sizes = (size, size * FAR)
    exceeded_sizes = (size, size / FAR)
    budgets = {min((budget for budget in BUDGETS if budget >= least), default=None) for least in kept_sizes}
    budgets |= {
        max((budget for budget in BUDGETS if budget < size and budget <= most), default=None) for most in exceeded_sizes
    }
    return sorted(budget for budget in budgets if budget is not None)


def case_lines(case: JudgedCase) -> Iterator[str]:
    """Render a case in one line, and below a wrong verdict the noise floor that passed, or the checks that blocked."""
    is_false_calm = not case.is_quiet and case.outcome == Outcome.STABLE
    is_false_alarm = case.is_quiet and case.outcome != Outcome.STABLE
    mark = "✗" if is_false_calm else "·" if is_false_alarm else " "
    chance = "–" if case.chance is None else f"{case.chance:.0%}"
    yield (
        f"{mark} {case.condition:<18} {case.statement:<15} budget {case.budget:4.0%}  CV {case.effect.cv:8.2%}  "
        f"shift {case.effect.shift:+8.2%}  {'quiet' if case.is_quiet else 'noisy'}{' ×2' if case.is_far else '   '}  "
        f"{case.outcome:<8}  chance {chance:>4}"
    )
    if is_false_calm:
        yield f"      passed: {case.floor}"
    if is_false_alarm:
        yield from (f"      {name}: {sentence}" for name, sentence in case.blocking)


def summary_lines(cases: Sequence[JudgedCase]) -> Iterator[str]:
    """Render the table of verdicts, the aims, the chance's scores and the checks that blocked quiet cases."""
    quiet, noisy = [case for case in cases if case.is_quiet], [case for case in cases if not case.is_quiet]
    groups = {
        "quiet": quiet,
        "noisy": noisy,
        "quiet, twice away": [case for case in quiet if case.is_far],
        "noisy, twice away": [case for case in noisy if case.is_far],
        "all": cases,
    }
    yield f"{'':<20}{'stable':>9}{'unknown':>9}{'unstable':>10}{'cases':>7}"
    for name, group in groups.items():
        stable, unknown, unstable = (_count(group, outcome) for outcome in _ALL_OUTCOMES)
        yield f"{name:<20}{stable:>9}{unknown:>9}{unstable:>10}{len(group):>7}"
    yield ""
    for title, group, outcome, aim in (
        ("quiet, cleared", groups["quiet"], Outcome.STABLE, "≥ 60 %"),
        ("quiet and twice away, cleared", groups["quiet, twice away"], Outcome.STABLE, "≥ 90 %"),
        ("noisy, passed", groups["noisy"], Outcome.STABLE, "≤ 5 %"),
        ("noisy and twice away, refused", groups["noisy, twice away"], Outcome.UNSTABLE, "≥ 95 %"),
        ("unknown, of all", groups["all"], Outcome.UNKNOWN, "≤ 25 %"),
    ):
        yield f"{title:<32}{describe_trials(_count(group, outcome), len(group)):<36} aim {aim}"
    yield from _chance_lines(cases)
    refused = [case for case in quiet if case.outcome != Outcome.STABLE]
    yield f"\nwhat blocked the {len(refused)} quiet cases that were not cleared:"
    blockers = Counter(name for case in refused for name in {name for name, _ in case.blocking})
    alone = Counter(case.blocking[0][0] for case in refused if len(case.blocking) == 1)
    yield from (f"  {count:>4}  {name} (alone in {alone[name]})" for name, count in blockers.most_common())


def brier_score(forecasts: Sequence[tuple[float, bool]]) -> float:
    """Return the mean squared distance between chances and what happened: 0 is best. At least one forecast."""
    return statistics.fmean((chance - happened) ** 2 for chance, happened in forecasts)


def base_rate_score(forecasts: Sequence[tuple[float, bool]]) -> float:
    """Return the Brier score of a forecaster that always names the overall share."""
    rate = statistics.fmean(happened for _, happened in forecasts)
    return rate * (1 - rate)


def reliability_lines(forecasts: Sequence[tuple[float, bool]]) -> Iterator[str]:
    """Render how often chances held, by bins of the chance; a bin contains its lower end, the last both ends."""
    yield f"{'chance':<14}{'mean chance':>12}{'held':>14}"
    for low, high in pairwise(_BINS):
        in_bin = [pair for pair in forecasts if low <= pair[0] < high or pair[0] == high == _BINS[-1]]
        if in_bin:
            count = sum(happened for _, happened in in_bin)
            mean = statistics.fmean(chance for chance, _ in in_bin)
            yield f"{low:4.0%} to {high:4.0%}  {mean:>12.0%}{f'{count} of {len(in_bin)}':>14}"


def _chance_lines(cases: Sequence[JudgedCase]) -> Iterator[str]:
    """Render how well the chance predicts the CV, which it is about, and CV and shift, by which cases are judged."""
    chances = [(case, case.chance) for case in cases if case.chance is not None]
    if not chances:
        yield f"{'Brier score of the chance':<32}{'the verdicts contain no chance':<36} aim ≤ 0.6 of the base rate's"
        return
    judgements: dict[str, Callable[[JudgedCase], bool]] = {
        "CV": lambda case: case.effect.cv <= case.budget,
        "CV and shift": lambda case: case.is_quiet,
    }
    for name, is_quiet in judgements.items():
        forecasts = [(chance, is_quiet(case)) for case, chance in chances]
        score, base = brier_score(forecasts), base_rate_score(forecasts)
        ratio = f" = {score / base:.2f}" if base else ""
        text = f"{score:.3f} / {base:.3f}{ratio} ({len(forecasts)} cases)"
        yield f"{'Brier score, by ' + name:<32}{text:<36} aim ≤ 0.6"
    for name, is_quiet in judgements.items():
        yield f"\nhow often the chance held, by {name}:"
        yield from (f"  {line}" for line in reliability_lines([(chance, is_quiet(case)) for case, chance in chances]))


def _count(cases: Sequence[JudgedCase], outcome: Outcome) -> int:
    return sum(case.outcome == outcome for case in cases)
