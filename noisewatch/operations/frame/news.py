"""What a frame tells only when it changed: read every ten seconds, it is mostly as it was."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.interrupts.routing import irq_balancer
from noisewatch.kernel.cpus.topology import cache_names
from noisewatch.kernel.snapshot.settings import Settings
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.operations.frame.irqs import IrqSetting
from noisewatch.operations.frame.making_irqs import irq_settings
from noisewatch.operations.frame.places import PlaceLine, place_lines


class News:
    """Remembers what was told last."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._places: tuple[PlaceLine, ...] | None = None
        self._irqs: tuple[IrqSetting, ...] | None = None

    def of(self, snapshot: Snapshot) -> dict[str, object]:
        """The fields of the frame that have something new to tell."""
        if snapshot.settings is self._settings:
            return {}
        self._settings = snapshot.settings
        places, irqs = place_lines(snapshot.topology, cache_names(snapshot.topology)), irq_settings(snapshot)
        found: dict[str, object] = {}
        if places != self._places:
            found["places"] = self._places = places
        if irqs != self._irqs:
            found["irq_settings"], found["irq_balancer"] = irqs, irq_balancer(Case(snapshot))
            self._irqs = irqs
        return found
