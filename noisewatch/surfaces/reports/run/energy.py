"""Sentences on the energy that the CPU packages used during runs, other processes included."""

from __future__ import annotations

from noisewatch.model.run.energy import EnergyStatistics, energy_statistics
from noisewatch.model.run.repetition import Repetition
from noisewatch.surfaces.reports.run.quantities import quantity_text
from noisewatch.text import printable
from noisewatch.units import describe_count, share_text

_UNITS = (("kJ", 1e3), ("J", 1.0), ("mJ", 1e-3), ("µJ", 1e-6))
_MOST_EXCESS = 0.02  # share of the time; reading the counters takes about a millisecond


def energy_sentences(energy: EnergyStatistics | None) -> list[str]:
    """Return a sentence on the energy, if it was requested."""
    return [] if energy is None else [energy_words(energy)]


def energy_words(energy: EnergyStatistics) -> str:
    """Return `energy 12.31 J ± 0.25 J per run, 45.2 W on average (…)`, or why it is unknown."""
    if energy.mean_j is None or energy.mean_w is None:
        return f"energy unknown: {printable(energy.unknown or '')}"
    mean = quantity_text([energy.mean_j], energy.sd_j, units=_UNITS)
    spread = "" if energy.sd_j is None else f" ± {quantity_text([energy.sd_j], energy.sd_j, energy.mean_j, _UNITS)}"
    remarks = ["of the CPU packages, other processes included"]
    if energy.dram_mean_j is not None:
        remarks.append(f"memory used another {quantity_text([energy.dram_mean_j], None, units=_UNITS)}")
    if energy.excess_share is not None and energy.excess_share > _MOST_EXCESS:
        remarks.append(f"measured for {share_text(energy.excess_share)} longer than the run")
    if energy.unknown is not None:
        remarks.append(
            f"known in {describe_count(energy.count, 'run')}, unknown in others: {printable(energy.unknown)}"
        )
    return f"energy {mean}{spread} per run, {energy.mean_w:.3g} W on average ({'; '.join(remarks)})"


def words_on_energy_of(repetition: Repetition) -> str | None:
    """Return the energy of a single run, or why it is unknown; None if it was not requested."""
    energy = energy_statistics([repetition])
    return None if energy is None else energy_words(energy)
