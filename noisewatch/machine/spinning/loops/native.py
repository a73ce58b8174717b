"""The compiled core; its import fails if it was not built. `python_loops` documents the functions."""

from noisewatch.machine.spinning.loops._native import (
    additions_ns,
    chain,
    chase,
    clock_readings_ns,
    dense,
    fill_ring,
    lock_memory,
    multiplications_ns,
    spin,
    stream,
)

__all__ = [
    "additions_ns",
    "chain",
    "chase",
    "chase_memory",
    "clock_readings_ns",
    "dense",
    "lock_memory",
    "multiplications_ns",
    "spin",
    "stream",
]

NAME = "native"
# About 0.2 ms each; a shared cache may be ten times slower than a private one, and no sample may last as long as
# another task's turn:
DENSE_ROUNDS = 300
CHAIN_LENGTH = 220_000  # multiplications
CHASE_STEPS, FAR_STEPS = 1 << 12, 1 << 10  # links followed, within a cache and beyond it
STREAM_LINES = 1 << 14  # cache lines copied


def chase_memory(size: int) -> bytearray:
    """Return the memory with the links that `chase` follows: `size` bytes, a power of two."""
    ring = bytearray(size)
    fill_ring(ring)
    return ring
