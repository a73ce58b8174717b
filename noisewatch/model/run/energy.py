"""The energy of a repetition by domain, as used by all processes of the machine, not only by the command."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.kernel.frequency.energy import UNNAMED, EnergyDomain, EnergyReading
from noisewatch.model.interval.clock import used_uj
from noisewatch.patterns import regex
from noisewatch.units import NS_PER_S, describe_ns

if TYPE_CHECKING:
    from noisewatch.model.run.repetition import Repetition

NOT_MEASURED = "not requested"
MOST_WATTS = 2000  # no domain uses more, so a counter cannot wrap before its range is used up at this power
_PACKAGE, _MEMORY = regex(r"package-\d+(-die-\d+)?|\?.*"), regex(r".*/(dram|\?.*)")  # `?`: an unknown name
_LEAST_NS = 10_000_000  # the counter advances in steps, so the power within a shorter time is not limited
_STOPPED = "the counter did not advance"
_RESTARTED = "the counter was reset"


class RunEnergy(Struct, frozen=True):
    """The energy (J) of a repetition by domain; a text is the reason why a domain's energy is unknown.

    `interval_ns` is the time between the first and the last reading: slightly longer than the repetition. `unknown` is
    the reason if there is no domain at all.
    """

    interval_ns: int = 0
    by_domain: Mapping[str, float | str] = {}
    unknown: str | None = NOT_MEASURED

    @property
    def is_requested(self) -> bool:
        return self.unknown != NOT_MEASURED

    @property
    def package_j(self) -> float | None:
        """The energy of all packages, without memory; None means unknown."""
        return self._sum_of(self._packages)

    @property
    def dram_j(self) -> float | None:
        """The energy of all memory; None means unknown, or not counted."""
        return self._sum_of([domain for domain in self.by_domain if _MEMORY.fullmatch(domain)])

    @property
    def watts(self) -> float | None:
        """The mean power of all packages, without memory; None means unknown."""
        joules = self.package_j
        return None if joules is None else joules * NS_PER_S / self.interval_ns

    @property
    def reason(self) -> str | None:
        """Why `package_j` is unknown, or None if it is known."""
        reasons = [value for domain in self._packages if isinstance(value := self.by_domain[domain], str)]
        if reasons or self.unknown is not None:
            return self.unknown or reasons[0]
        return None if self._packages else "no counter measures packages"

    @property
    def _packages(self) -> list[str]:
        return [domain for domain in self.by_domain if _PACKAGE.fullmatch(domain)]

    def _sum_of(self, domains: Sequence[str]) -> float | None:
        values = [self.by_domain[domain] for domain in domains]
        joules = [value for value in values if not isinstance(value, str)]
        return math.fsum(joules) if joules and len(joules) == len(values) else None


UNMEASURED = RunEnergy()


def longest_gap_ns(domain: EnergyDomain) -> float:
    """Return the time (ns) in which the domain's counter cannot wrap twice; 0 if its range is unknown."""
    return (domain.range_uj or 0) / 1e6 / MOST_WATTS * NS_PER_S


def energy_between(readings: Sequence[EnergyReading], domains: Sequence[EnergyDomain]) -> RunEnergy:
    """Return the energy from the first to the last of two or more readings, in order."""
    return RunEnergy(
        interval_ns=readings[-1].taken_at_ns - readings[0].taken_at_ns,
        by_domain={domain.name: _energy_of(domain, readings) for domain in domains},
        unknown=None,
    )


def _energy_of(domain: EnergyDomain, readings: Sequence[EnergyReading]) -> float | str:
    values = [reading.uj_by_domain[domain.name] for reading in readings]
    if reasons := [value for value in values if isinstance(value, str)]:
        return reasons[0]
    if UNNAMED in domain.name:
        return f"the name of {domain.path} is unknown"
    if domain.range_uj is None:
        return f"{domain.path}/max_energy_range_uj is unknown, so the counter may have wrapped"
    total_uj = 0
    for (before, after), (old, new) in zip(pairwise(readings), pairwise(map(int, values)), strict=True):
        gap_ns = after.taken_at_ns - before.taken_at_ns
        if gap_ns > longest_gap_ns(domain):
            return f"not read for {describe_ns(gap_ns)}, so the counter may have wrapped more than once"
        step_uj = used_uj(old, new, domain.range_uj)
        if step_uj > MOST_WATTS * 1e6 * max(gap_ns, _LEAST_NS) / NS_PER_S:
            return _RESTARTED
        total_uj += step_uj
    return total_uj / 1e6 if total_uj else _STOPPED


class EnergyStatistics(Struct, frozen=True):
    """The energy of a command's counted repetitions: mean and standard deviation of all packages, and the mean power.

    `count` is the number of repetitions with a known energy; the figures cover only these. `unknown` is the reason of
    the first repetition whose energy is unknown. `sd_j` is None for fewer than two repetitions, and `dram_mean_j` if
    the memory's energy is unknown in any. `excess_share` is by how much the measured intervals were longer than the
    repetitions.
    """

    count: int
    mean_j: float | None
    sd_j: float | None
    mean_w: float | None
    dram_mean_j: float | None
    excess_share: float | None
    unknown: str | None


def energy_statistics(repetitions: Sequence[Repetition]) -> EnergyStatistics | None:
    """Return the statistics, or None if the energy was not requested, or if there are no repetitions."""
    if not any(repetition.energy.is_requested for repetition in repetitions):
        return None
    known = [repetition for repetition in repetitions if repetition.energy.package_j is not None]
    values = [joules for repetition in known if (joules := repetition.energy.package_j) is not None]
    dram = [joules for repetition in known if (joules := repetition.energy.dram_j) is not None]
    measured_ns = sum(repetition.energy.interval_ns for repetition in known)
    return EnergyStatistics(
        count=len(known),
        mean_j=statistics.fmean(values) if values else None,
        sd_j=statistics.stdev(values) if len(values) > 1 else None,
        mean_w=math.fsum(values) * NS_PER_S / measured_ns if values else None,
        dram_mean_j=statistics.fmean(dram) if dram and len(dram) == len(known) else None,
        excess_share=measured_ns / sum(repetition.length_ns for repetition in known) - 1 if values else None,
        unknown=next((reason for repetition in repetitions if (reason := repetition.energy.reason) is not None), None),
    )
