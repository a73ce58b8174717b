"""What was predicted against what was measured, and how often that was right."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from noisewatch.judgement.noise.floor import Budget, NoiseFloor, floors_by_cpu, worst_floors
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.model.calibration.statistics import coefficient_of_variation

_BUDGET = 0.05  # relative standard deviation
PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark of one case."""

    condition: str
    repetition: int
    sample_ms: int
    measured_cv: float
    measured_max: float
    floor: NoiseFloor

    @property
    def is_inside(self) -> bool:
        return self.floor.cv_low <= self.measured_cv <= self.floor.cv_high

    @property
    def badness(self) -> float:
        """How far outside the interval it lies, as a factor; 1 or less is inside."""
        below = self.floor.cv_low / self.measured_cv if self.measured_cv > 0 else math.inf
        above = self.measured_cv / self.floor.cv_high if self.floor.cv_high > 0 else math.inf
        return max(below, above)

    @property
    def said(self) -> str:
        """What the noise-floor finding would say with the budget."""
        if self.floor.cv_low > _BUDGET:
            return FAIL
        return PASS if self.floor.cv_high <= _BUDGET and not self.floor.extrapolated else UNKNOWN

    @property
    def is_above_budget(self) -> bool:
        return self.measured_cv > _BUDGET

    @property
    def line(self) -> str:
        floor = self.floor
        mark = "  " if self.is_inside else "✗ "
        return (
            f"{mark}{self.condition:<18} {self.repetition} {self.sample_ms:>4} ms  measured {self.measured_cv:8.2%}  "
            f"predicted {floor.cv_expected:8.2%} ({floor.cv_low:8.2%} to {floor.cv_high:8.2%})  "
            f"worst ×{self.measured_max:5.2f}, predicted ×{floor.max_inflation:5.2f}  {self.said}"
        )


def case_rows(case: dict[str, Any]) -> list[Row]:
    """A row for each length of samples."""
    calibrations = [parse_calibration(case[when]) for when in ("before", "after")]
    rows = []
    for text, samples in case["samples_s"].items():
        at_ns = int(text) * 1_000_000
        floors = worst_floors(floors_by_cpu(calibrations, Budget(at_ns, len(samples))))
        floor = next(each for each in floors if each.sample_ns == at_ns)
        cv = coefficient_of_variation(samples) or 0.0
        worst = max(samples) / statistics.median(samples)
        rows.append(Row(case["condition"], case["repetition"], int(text), cv, worst, floor))
    return rows


def summary_lines(rows: list[Row]) -> list[str]:
    """How often it was right, by length of samples and altogether."""
    lines = []
    for ms in sorted({row.sample_ms for row in rows}):
        mine = [row for row in rows if row.sample_ms == ms]
        inside = sum(row.is_inside for row in mine) / len(mine)
        ratios = [row.floor.cv_high / row.floor.cv_low for row in mine if row.floor.cv_low > 0]
        bias = statistics.geometric_mean(
            [row.measured_cv / row.floor.cv_expected for row in mine if row.floor.cv_expected > 0 < row.measured_cv]
        )
        worst = statistics.geometric_mean([row.measured_max / row.floor.max_inflation for row in mine])
        lines.append(
            f"{ms:>4} ms: {inside:.0%} of {len(mine)} inside the interval, its ends ×{statistics.median(ratios):.2f} "
            f"apart (median); measured by expected ×{bias:.2f}, worst sample by predicted ×{worst:.2f}"
        )
    return [*lines, _judgement_line(rows)]


def _judgement_line(rows: list[Row]) -> str:
    decided = [row for row in rows if row.said != UNKNOWN]
    right = [row for row in decided if (row.said == FAIL) == row.is_above_budget]
    noisy = [row for row in decided if row.is_above_budget]
    quiet = [row for row in decided if not row.is_above_budget]
    found = sum(row.said == FAIL for row in noisy) / len(noisy) if noisy else math.nan
    cleared = sum(row.said == PASS for row in quiet) / len(quiet) if quiet else math.nan
    return (
        f"budget {_BUDGET:.0%}: right in {len(right) / max(len(decided), 1):.0%} of {len(decided)} decided, "
        f"unknown in {1 - len(decided) / len(rows):.0%}, balanced accuracy {(found + cleared) / 2:.0%} "
        f"(noisy found {found:.0%}, quiet cleared {cleared:.0%})"
    )
