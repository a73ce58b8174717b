"""Fields of a frame that are only sent after a change: they are read every ten seconds, and mostly unchanged."""

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
    """The rarely changing fields of frames, as they were sent last."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._topology: Mapping[int, CpuPlace] = {}
        self._places: tuple[PlaceLine, ...] | None = None
        self._irqs: tuple[IrqSetting, ...] | None = None

    def of(self, snapshot: Snapshot) -> dict[str, object]:
        """Return the fields of the frame that have changed."""
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
