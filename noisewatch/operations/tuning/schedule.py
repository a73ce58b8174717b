"""What `tune --measure` measures, in which order and for how long: decided before anything is changed.

A candidate is measured in blocks of four periods: off, on, on, off, or the mirror image. So a linear drift within
a block cancels out. Each block is one of the two at random: noise that recurs in every fourth period would show a false
difference in 9 of 10 series of equal blocks, but in fewer than 1 of 20 series of random blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from noisewatch.errors import UsageError
from noisewatch.model.run.mean_difference import draw_order
from noisewatch.operations.tuning.plan import TuningPlan, name_of_request

FEWEST_BLOCKS, MOST_BLOCKS = 3, 20  # two blocks would give an interval, but one too wide to show anything
PERIODS = 4  # periods of a block
SWITCHING_S = 0.5  # per period: the change, its settling, and the start of the measuring processes
_SHORTEST_S = 1.0  # shortest length of a period
_SHORTEST_PER_CPU_S = 0.1  # CPUs that share a cache take turns; in less time some work would not be measured


class Candidate(Struct, frozen=True):
    """Changes that are switched on and off together: the fix of a finding, or one change that the user requested."""

    name: str
    plan: TuningPlan

    @property
    def settings(self) -> int:
        return sum(len(changes) for changes in self.plan.actions)


def candidates_of(plan: TuningPlan) -> tuple[Candidate, ...]:
    """Return the plan's candidates: fixes of the gravest findings first, requested changes last."""
    verdict = plan.verdict
    rank = {finding.check.id: at for at, finding in enumerate([*verdict.failures, *verdict.warnings])}
    steps = sorted(plan.steps, key=lambda step: rank[step.finding.check.id])
    return (
        *(Candidate(step.finding.check.id, TuningPlan(verdict, (step,), ())) for step in steps),
        *(
            Candidate(name_of_request(planned.change), TuningPlan(verdict, (), (), (planned,)))
            for planned in plan.requested
        ),
    )


class Schedule(Struct, frozen=True):
    """The division of `total_s` seconds: measured candidates have equal shares; there is no time for the `rest`."""

    total_s: float
    measured: tuple[Candidate, ...]
    rest: tuple[Candidate, ...]
    blocks: int  # per candidate
    period_s: float

    @property
    def expected_s(self) -> float:
        """How long the measurement will take."""
        return len(self.measured) * self.blocks * PERIODS * (self.period_s + SWITCHING_S)

    def share_of(self, number: int, left_s: float) -> float:
        """Return how long candidate `number` (from 0) may take, if it and all later ones have `left_s` seconds."""
        return left_s / (len(self.measured) - number)


def plan_schedule(candidates: tuple[Candidate, ...], total_s: float, cpus: int) -> Schedule:
    """Divide the time. Raise UsageError if it is too short for a single candidate."""
    shortest_s = max(_SHORTEST_S, _SHORTEST_PER_CPU_S * cpus)
    block_s = PERIODS * (shortest_s + SWITCHING_S)
    count = min(int(total_s / (FEWEST_BLOCKS * block_s) + _ROUNDING), len(candidates))
    if candidates and not count:
        needed = FEWEST_BLOCKS * block_s / 60
        raise UsageError(
            f"--minutes {total_s / 60:.3g} is too short: one check takes {needed:.2g} minutes here, all of them "
            f"{needed * len(candidates):.2g}"
        )
    share_s = total_s / max(count, 1)
    blocks = max(min(int(share_s / block_s + _ROUNDING), MOST_BLOCKS), FEWEST_BLOCKS)
    period_s = max(share_s / blocks / PERIODS - SWITCHING_S, shortest_s)
    return Schedule(total_s, candidates[:count], candidates[count:], blocks, period_s)


_ROUNDING = 1e-9


def order_of(blocks: int, seed: int) -> Iterator[bool]:
    """Yield for each period whether the candidate is on."""
    for is_off_first in draw_order(blocks, seed):
        yield from (False, True, True, False) if is_off_first else (True, False, False, True)
