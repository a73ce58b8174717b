"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import (
    clock,
    confinement,
    energy,
    frequency,
    frequency_limits,
    heat,
    idle,
    interrupts,
    irq_settings,
    isolation,
    kernel,
    load,
    memory,
    neighbours,
    noise,
    power,
    quota,
    target,
    temperature,
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
    *frequency.CHECKS,
    *energy.CHECKS,
    *frequency_limits.CHECKS,
    *idle.CHECKS,
    *heat.CHECKS,
    *temperature.CHECKS,
    *power.CHECKS,
    *clock.CHECKS,
    *memory.CHECKS,
    *kernel.CHECKS,
    *quota.CHECKS,
)
