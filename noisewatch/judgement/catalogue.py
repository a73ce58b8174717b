"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import (
    boot,
    clock,
    confinement,
    frequency,
    hardware_errors,
    interrupts,
    irq_settings,
    isolation,
    kernel,
    kernel_interrupts,
    load,
    memory,
    neighbours,
    noise,
    packet_steering,
    power,
    quota,
    target,
    target_choice,
    throughput,
    tick,
)
from noisewatch.judgement.declaration import Check

CATALOGUE: tuple[Check, ...] = (
    *noise.CHECKS,
    *throughput.CHECKS,
    *target.CHECKS,
    *target_choice.CHECKS,
    *neighbours.CHECKS,
    *isolation.CHECKS,
    *confinement.CHECKS,
    *interrupts.CHECKS,
    *irq_settings.CHECKS,
    *kernel_interrupts.CHECKS,
    *tick.CHECKS,
    *packet_steering.CHECKS,
    *load.CHECKS,
    *frequency.CHECKS,
    *power.CHECKS,
    *clock.CHECKS,
    *memory.CHECKS,
    *kernel.CHECKS,
    *quota.CHECKS,
    *hardware_errors.CHECKS,
    *boot.CHECKS,
)
