"""What a frame tells only when it changed: read every ten seconds, it is mostly as it was."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.interrupts.routing import irq_balancer
from noisewatch.kernel.cpus.topology import CpuPlace, cache_names
from noisewatch.kernel.snapshot.settings import Settings
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.operations.frame.irqs import IrqSetting
from noisewatch.operations.frame.making_irqs import irq_settings
from noisewatch.operations.frame.places import PlaceLine, place_lines


class News:
    """Remembers what was told last."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._topology: Mapping[int, CpuPlace] = {}
        self._places: tuple[PlaceLine, ...] | None = None
        self._irqs: tuple[IrqSetting, ...] | None = None

    def of(self, snapshot: Snapshot) -> dict[str, object]:
        """The fields of the frame that have something new to tell."""
        if snapshot.settings is self._settings:
            return {}
        self._settings = snapshot.settings
        found: dict[str, object] = {}
        if snapshot.topology is not self._topology:
            self._topology = snapshot.topology
            places = place_lines(snapshot.topology, cache_names(snapshot.topology))
            if places != self._places:
                found["places"] = self._places = places
        irqs = irq_settings(snapshot)
        if irqs != self._irqs:
            found["irq_settings"], found["irq_balancer"] = irqs, irq_balancer(Case(snapshot))
            self._irqs = irqs
        return found
