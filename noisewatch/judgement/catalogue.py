"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import (
    clock,
    frequency,
    interrupts,
    isolation,
    load,
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
    *isolation.CHECKS,
    *interrupts.CHECKS,
    *load.CHECKS,
    *frequency.CHECKS,
    *power.CHECKS,
    *clock.CHECKS,
    *quota.CHECKS,
)
