"""Interrupts by source and CPU, and their affinities."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.kinds import Kind
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class IrqLine:
    """One row of /proc/interrupts that counted anything in the interval, and the CPUs on which it did."""

    label: str  # `205`, `LOC`
    cpus: tuple[int, ...]
    rates: tuple[float, ...]  # per second, in the order of the CPUs

    @property
    def rate_by_cpu(self) -> Mapping[int, float]:
        """The interrupts per second of each CPU that had any."""
        return dict(zip(self.cpus, self.rates, strict=False))

    @property
    def total(self) -> float:
        """The interrupts per second on all CPUs together."""
        return sum(self.rates)


@dataclass(frozen=True, slots=True)
class IrqSetting:
    """The source of one row of /proc/interrupts or /proc/irq, and its affinity. None is unknown.

    Affinities are CPU lists. `effective` is where the IRQ is delivered (Linux 4.15), `allowed` is where it may be.
    """

    label: str
    kind: Kind
    name: str  # the actions of a numbered row: `eth0-TxRx-5`; else `Local timer interrupts`. Empty if unused
    device: str | None = None  # by the name that people know it by
    allowed: str | None = None
    effective: str | None = None
    movable: bool | None = None
    is_managed: bool | None = None  # by the kernel: users cannot move it

    @property
    def irq(self) -> int | None:
        """The number of the IRQ; None for an interrupt of the architecture."""
        return int(self.label) if self.label.isdecimal() else None
