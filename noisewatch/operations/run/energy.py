"""Measures the energy of each repetition."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.frequency.energy import EnergyReading, read_energy, read_energy_domains
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Machine
from noisewatch.model.run.energy import UNMEASURED, RunEnergy, energy_between, longest_gap_ns


class EnergyMeter:
    """Reads the energy counters around a repetition, and within it before they may wrap a second time.

    If it is not requested, nothing is read.
    """

    def __init__(self, machine: Machine, is_requested: bool, topology: Mapping[int, CpuPlace]) -> None:
        """Find the counters of the machine's packages."""
        packages = {place.package for place in topology.values() if place.package is not None}
        domains = read_energy_domains(Reader(machine), packages) if is_requested else ()
        self._unmeasured = UNMEASURED
        if isinstance(domains, str):
            self._unmeasured, domains = RunEnergy(unknown=domains), ()
        self._machine, self._domains = machine, domains
        self._readings: list[EnergyReading] = []
        gaps_ns = [gap_ns for domain in domains if (gap_ns := longest_gap_ns(domain))]
        self._every_ns = min(gaps_ns, default=0) / 2

    def begin(self) -> None:
        """Read the counters; call it before the repetition's first edge, as it interrupts a CPU of each package."""
        self._readings = [self._read()] if self._domains else []

    def look(self) -> None:
        """Read the counters again if half of the shortest time in which one could wrap twice has passed."""
        if self._readings and self._machine.now_ns() - self._readings[-1].taken_at_ns >= self._every_ns > 0:
            self._readings.append(self._read())

    def end(self) -> RunEnergy:
        """Read the counters after the repetition's last edge, and return its energy."""
        if not self._readings:
            return self._unmeasured
        return energy_between([*self._readings, self._read()], self._domains)

    def _read(self) -> EnergyReading:
        return read_energy(Reader(self._machine), self._domains)
