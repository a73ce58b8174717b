"""The view of the map: its quantity, its selected CPU, and whether only that CPU's cache or node is shown."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from noisewatch.operations.frame.frame import CpuLine
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.collected import Collected
from noisewatch.surfaces.tui.state.filters import worst_cpu


class Quantity(StrEnum):
    """The quantity that the map shows for each CPU, in the order of the key that steps through them."""

    NOISE = "noise"
    INTERRUPTS = "interrupts"
    CLOCK = "clock"
    HEAT = "heat"


@dataclass(frozen=True, slots=True)
class MapView:
    """The state of the map; `cpu` None selects the worst target CPU of the shown interval."""

    quantity: Quantity = Quantity.NOISE
    cpu: int | None = None
    opens_part: bool = False  # whether only that CPU's cache or node is shown

    def with_next_quantity(self) -> MapView:
        quantities = tuple(Quantity)
        return replace(self, quantity=quantities[(quantities.index(self.quantity) + 1) % len(quantities)])

    def with_part_toggled(self) -> MapView:
        return replace(self, opens_part=not self.opens_part)

    def moved(self, model: Collected, rows: int) -> MapView:
        """Return the view with the selected CPU moved by this many places, in the order of the map."""
        cpus = model.in_order(line.cpu for line in model.frame.cpus) if model.frame is not None else []
        at = self.pointed(model)
        if at is None or at not in cpus:
            return self
        return replace(self, cpu=cpus[max(min(cpus.index(at) + rows, len(cpus) - 1), 0)])

    def pointed(self, model: Collected) -> int | None:
        """Return the selected CPU, or the worst CPU if the selected one is gone."""
        lines: tuple[CpuLine, ...] = model.frame.cpus if model.frame is not None else ()
        if any(line.cpu == self.cpu for line in lines):
            return self.cpu
        return worst_cpu(lines)
