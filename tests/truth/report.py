"""Predicted and measured noise, and how often predictions were right."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.drift import USUAL_DRIFT
from noisewatch.judgement.noise.floor import floors_by_cpu, worst_floors
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kinds import Work
from noisewatch.model.calibration.statistics import coefficient_of_variation

BUDGETS = (0.01, 0.02, 0.05, 0.20)  # relative standard deviations, with about half of the cases on either side
PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
_INSIDE = 0.90  # share of cases inside the interval, to which a margin is fitted


class Row(Struct, frozen=True):
    """One benchmark of one case, in samples of one length."""

    condition: str
    work: Work
    workload: str
    sample_ms: int
    measured_cv: float
    measured_max: float
    floor: NoiseFloor

    @property
    def is_inside(self) -> bool:
        return self.badness <= 1

    @property
    def badness(self) -> float:
        """The factor by which the measurement is outside the interval; 1 or less is inside."""
        below = self.floor.cv_low / self.measured_cv if self.measured_cv > 0 else math.inf
        above = self.measured_cv / self.floor.cv_high if self.floor.cv_high > 0 else math.inf
        return max(below, above)

    def answer(self, budget: float) -> str:
        """Return the status of the noise-floor finding with this budget."""
        if self.floor.cv_low > budget:
            return FAIL
        return PASS if self.floor.cv_high <= budget and not self.floor.extrapolated else UNKNOWN

    @property
    def line(self) -> str:
        floor = self.floor
        mark = "  " if self.is_inside else "✗ "
        return (
            f"{mark}{self.condition:<18} {self.work:<11} {self.workload:<15} {self.sample_ms:>4} ms  "
            f"measured {self.measured_cv:8.2%}  predicted {floor.cv_expected:8.2%} "
            f"({floor.cv_low:8.2%} to {floor.cv_high:8.2%}){'*' if floor.extrapolated else ' '} "
            f"worst ×{self.measured_max:5.2f}, predicted ×{floor.max_expected:5.2f}"
        )


def case_rows(case: dict[str, Any]) -> list[Row]:
    """Return a row for each sample length, predicted only from the calibration before the benchmark."""
    before, work = parse_calibration(case["before"]), Work(case["work"])
    rows = []
    for text, samples in case["samples_s"].items():
        at_ns = int(text) * 1_000_000
        floors = worst_floors(floors_by_cpu([before], Budget(at_ns, len(samples), work=work)))
        floor = next(floor for floor in floors if floor.sample_ns == at_ns)
        cv, worst = coefficient_of_variation(samples) or 0.0, max(samples) / statistics.median(samples)
        rows.append(Row(case["condition"], work, case["workload"], int(text), cv, worst, floor))
    return rows


def summary_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Render how often predictions were right: by sample length, kind of work, condition and budget; and the margins
    fitted on one half of the conditions, judged on the other half.
    """
    for title, key in (
        ("by length", lambda row: f"{row.sample_ms:>4} ms"),
        ("by kind of work", lambda row: row.work.value),
        ("by condition", lambda row: row.condition),
    ):
        yield f"\n{title}:"
        yield from (f"  {name:<18} {_fit_line(group)}" for name, group in _group(rows, key))
    yield "\nby budget:"
    yield from (f"  {budget:4.0%} {_judgement_line(rows, budget)}" for budget in BUDGETS)
    yield "\nmargins fitted on one half of the conditions, judged on the other:"
    yield from _cross_validation(rows)


def _group(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[tuple[Any, list[Row]]]:
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())


def _fit_line(rows: Sequence[Row]) -> str:
    inside = sum(row.is_inside for row in rows) / len(rows)
    ratios = [row.floor.cv_high / row.floor.cv_low for row in rows if row.floor.cv_low > 0]
    usable = [row for row in rows if row.floor.cv_expected > 0 < row.measured_cv]
    bias = (
        statistics.geometric_mean([row.measured_cv / row.floor.cv_expected for row in usable]) if usable else math.nan
    )
    worst = statistics.geometric_mean([row.measured_max / row.floor.max_expected for row in rows])
    return (
        f"{inside:4.0%} of {len(rows):>3} inside, ends ×{statistics.median(ratios) if ratios else math.nan:5.2f} apart "
        f"(median); measured by expected ×{bias:.2f}, worst sample by predicted ×{worst:.2f}"
    )


def _judgement_line(rows: Sequence[Row], budget: float) -> str:
    decided = [row for row in rows if row.answer(budget) != UNKNOWN]
    right = [row for row in decided if (row.answer(budget) == FAIL) == (row.measured_cv > budget)]
    noisy = [row for row in decided if row.measured_cv > budget]
    quiet = [row for row in decided if row.measured_cv <= budget]
    above = sum(row.measured_cv > budget for row in rows)
    detected = sum(row.answer(budget) == FAIL for row in noisy)
    cleared = sum(row.answer(budget) == PASS for row in quiet)
    return (
        f"right in {len(right) / max(len(decided), 1):4.0%} of {len(decided)} decided, unknown in "
        f"{1 - len(decided) / len(rows):4.0%}; noisy found {detected} of {len(noisy)}, quiet cleared {cleared} of "
        f"{len(quiet)} ({above} of {len(rows)} are above)"
    )


def _cross_validation(rows: Sequence[Row]) -> Iterator[str]:
    conditions = list(dict.fromkeys(row.condition for row in rows))
    halves = (frozenset(conditions[::2]), frozenset(conditions[1::2]))
    for ms, group in _group(rows, lambda row: row.sample_ms):
        for fitted, tested in (halves, halves[::-1]):
            margin = _margin_for([row for row in group if row.condition in fitted])
            others = [_with_margin(row, margin) for row in group if row.condition in tested]
            if others:
                yield f"  {ms:>4} ms: ×{margin:.2f} from {len(fitted)} conditions; on the others {_fit_line(others)}"
    for ms, group in _group(rows, lambda row: row.sample_ms):
        yield f"  {ms:>4} ms: ×{_margin_for(group):.2f} from all"


def _margin_for(rows: Sequence[Row]) -> float:
    """Return the smallest margin with which enough of the cases are inside the interval."""
    margins = sorted(_with_margin(row, 1.0).badness for row in rows)
    return max(margins[min(math.ceil(len(margins) * _INSIDE), len(margins)) - 1], 1.0) if margins else math.nan


def _with_margin(row: Row, margin: float) -> Row:
    """Return the row with this margin in place of noisewatch's own."""
    factor = margin / USUAL_DRIFT.margin_at(row.floor.sample_ns)
    return replace(row, floor=replace(row.floor, cv_low=row.floor.cv_low / factor, cv_high=row.floor.cv_high * factor))
