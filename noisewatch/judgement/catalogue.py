"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import (
    clock,
    confinement,
    frequency,
    interrupts,
    irq_settings,
    isolation,
    kernel,
    kernel_build,
    kernel_observers,
    kernel_priorities,
    kernel_tracing,
    load,
    lock,
    memory,
    neighbours,
    noise,
    power,
    quota,
    scheduler,
    scheduler_policy,
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
    *lock.CHECKS,
    *frequency.CHECKS,
    *power.CHECKS,
    *clock.CHECKS,
    *memory.CHECKS,
    *scheduler.CHECKS,
    *scheduler_policy.CHECKS,
    *kernel.CHECKS,
    *kernel_observers.CHECKS,
    *kernel_tracing.CHECKS,
    *kernel_build.CHECKS,
    *kernel_priorities.CHECKS,
    *quota.CHECKS,
)
