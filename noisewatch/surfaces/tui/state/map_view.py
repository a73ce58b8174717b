"""The state of the map: the shown quantity, and the selected CPU."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.surfaces.tui.state.filters import worst_cpu

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

T = TypeVar("T")


def next_of(values: Sequence[T], value: T, direction: int = 1) -> T:
    """Return the value after or before `value`, by `direction`; after the last value comes the first."""
    return values[(values.index(value) + direction) % len(values)]


class Quantity(StrEnum):
    """A quantity that the map can show for each CPU; a key steps through them in this order."""

    NOISE = "noise"
    INTERRUPTS = "interrupts"
    CLOCK = "clock"
    HEAT = "heat"


class MapView(Struct, frozen=True):
    """The state of the map; a `cpu` of None selects the worst target CPU of the shown interval."""

    quantity: Quantity = Quantity.NOISE
    cpu: int | None = None
    opens_part: bool = False  # whether only that CPU's cache or node is shown

    def with_next_quantity(self) -> MapView:
        return replace(self, quantity=next_of(tuple(Quantity), self.quantity))

    def with_part_toggled(self) -> MapView:
        return replace(self, opens_part=not self.opens_part)

    def moved(self, model: ScreenModel, rows: int) -> MapView:
        """Return the view with the selection moved down by this many CPUs of the map."""
        cpus = model.in_order(line.cpu for line in model.cpus)
        at = self.pointed(model)
        if at is None or at not in cpus:
            return self
        return replace(self, cpu=cpus[max(min(cpus.index(at) + rows, len(cpus) - 1), 0)])

    def pointed(self, model: ScreenModel) -> int | None:
        """Return the selected CPU or, if none is selected or it is gone, the worst CPU."""
        is_there = any(line.cpu == self.cpu for line in model.cpus)
        return self.cpu if is_there else worst_cpu(model.cpus)
