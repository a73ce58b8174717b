"""How the map is looked at: which quantity, which CPU is pointed at, and whether its cache or node is alone."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from noisewatch.operations.frame.frame import CpuLine
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.collected import Collected
from noisewatch.surfaces.tui.state.filters import worst_cpu


class Quantity(StrEnum):
    """What the map shows of each CPU, in the order in which a key steps through them."""

    NOISE = "noise"
    INTERRUPTS = "interrupts"
    CLOCK = "clock"
    HEAT = "heat"


@dataclass(frozen=True, slots=True)
class MapView:
    """`cpu` is None while the worst target CPU of the interval that is shown is pointed at."""

    quantity: Quantity = Quantity.NOISE
    cpu: int | None = None
    opens_part: bool = False  # only the cache, or node, of that CPU is shown

    def with_next_quantity(self) -> MapView:
        quantities = tuple(Quantity)
        return replace(self, quantity=quantities[(quantities.index(self.quantity) + 1) % len(quantities)])

    def with_part_toggled(self) -> MapView:
        return replace(self, opens_part=not self.opens_part)

    def moved(self, model: Collected, rows: int) -> MapView:
        """Points at the CPU so many places further on, in the order of the map."""
        cpus = model.in_order(line.cpu for line in model.frame.cpus) if model.frame is not None else []
        at = self.pointed(model)
        if at is None or at not in cpus:
            return self
        return replace(self, cpu=cpus[max(min(cpus.index(at) + rows, len(cpus) - 1), 0)])

    def pointed(self, model: Collected) -> int | None:
        """The CPU that a key is about; one that is gone gives way to the worst."""
        lines: tuple[CpuLine, ...] = model.frame.cpus if model.frame is not None else ()
        if any(line.cpu == self.cpu for line in lines):
            return self.cpu
        return worst_cpu(lines)
