"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import (
    clock,
    confinement,
    frequency,
    interrupts,
    irq_settings,
    isolation,
    jobs,
    kernel,
    load,
    memory,
    neighbours,
    noise,
    power,
    priority,
    process,
    quota,
    scheduled,
    target,
    throughput,
    virtual,
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
    *power.CHECKS,
    *clock.CHECKS,
    *memory.CHECKS,
    *kernel.CHECKS,
    *quota.CHECKS,
    *virtual.CHECKS,
    *priority.CHECKS,
    *process.CHECKS,
    *jobs.CHECKS,
    *scheduled.CHECKS,
)
