"""All checks, in the order in which they are asked."""

from __future__ import annotations

from noisewatch.judgement.checks import calibration, clock, frequency, interrupts, isolation, load, power, quota, target
from noisewatch.judgement.declaration import Check

CATALOGUE: tuple[Check, ...] = (
    *calibration.CHECKS,
    *target.CHECKS,
    *isolation.CHECKS,
    *interrupts.CHECKS,
    *load.CHECKS,
    *frequency.CHECKS,
    *power.CHECKS,
    *clock.CHECKS,
    *quota.CHECKS,
)
