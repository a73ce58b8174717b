"""The compiled core; importing this fails where it was not built. `python_loops` says what each function does."""

from noisewatch.machine.spinning.loops._native import (
    additions_ns,
    changed_lines,
    chase,
    clock_readings_ns,
    fill_ring,
    lock_memory,
    multiplications_ns,
    spin,
    work,
)

__all__ = [
    "additions_ns",
    "changed_lines",
    "chase",
    "chase_memory",
    "clock_readings_ns",
    "lock_memory",
    "multiplications_ns",
    "spin",
    "work",
]

NAME = "native"
WORK_ROUNDS = 300  # about 0.2 ms
CHASE_STEPS = 1 << 14  # links followed, about 0.2 ms


def chase_memory(size: int) -> bytearray:
    """What `chase` follows links through: `size` bytes, a power of two."""
    ring = bytearray(size)
    fill_ring(ring)
    return ring
