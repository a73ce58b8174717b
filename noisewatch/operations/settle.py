"""Settling: fixed work on the CPUs until their clocks are level, so that no turbo budget ends in the calibration."""

from __future__ import annotations

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure, Malformed, Unreadable
from noisewatch.kernel.settling import read_settling
from noisewatch.machine import Json, Machine
from noisewatch.model.calibration.settling import Settling, are_level, settling_of
from noisewatch.operations.progress import ProgressListener

_DOING = "settling, until the clocks are level:"


def settled(machine: Machine, cpus: CpuSet, most_s: float | None, listener: ProgressListener) -> Settling | None:
    """How the clocks came to a level, within so many seconds; of a recording what was measured then.

    None where nobody asked for it. Raises CannotMeasure where it was asked for, and could not be done.
    """
    if most_s is None and machine.is_live:
        return None
    at_most_s = most_s or 0.0

    def answer() -> Json:
        from noisewatch.machine.spinning.settling import settle  # what spins

        return settle(cpus, at_most_s, are_level, lambda done_s, of_s: listener.on_sampling(_DOING, done_s, of_s))

    try:
        return settling_of(read_settling(machine, answer))
    except (Unreadable, Malformed) as error:
        if most_s is None:
            return None  # nor had anybody when it was recorded
        raise CannotMeasure(f"--settle: {error.reason}") from error
    finally:
        listener.on_done()
