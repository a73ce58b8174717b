"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import (
    clock,
    confinement,
    disks,
    frequency,
    interrupts,
    irq_settings,
    isolation,
    kernel,
    load,
    machine_load,
    memory,
    memory_daemons,
    memory_reclaim,
    memory_room,
    neighbours,
    noise,
    power,
    quota,
    target,
    throughput,
)
from noisewatch.judgement.declaration import Check

CATALOGUE: tuple[Check, ...] = (
    *noise.CHECKS,
    *throughput.CHECKS,
    *target.CHECKS,
    *neighbours.CHECKS,
    *isolation.CHECKS,
    *confinement.CHECKS,
    *interrupts.CHECKS,
    *irq_settings.CHECKS,
    *load.CHECKS,
    *machine_load.CHECKS,
    *disks.CHECKS,
    *frequency.CHECKS,
    *power.CHECKS,
    *clock.CHECKS,
    *memory.CHECKS,
    *memory_room.CHECKS,
    *memory_reclaim.CHECKS,
    *memory_daemons.CHECKS,
    *kernel.CHECKS,
    *quota.CHECKS,
)
