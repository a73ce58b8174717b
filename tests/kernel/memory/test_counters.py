"""Swap areas."""

from __future__ import annotations

from noisewatch.kernel.memory.counters import Swap, parse_swaps

_HEAD = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


def test_machine_without_swap_has_no_areas() -> None:
    assert parse_swaps(_HEAD) == ()


def test_path_may_contain_blanks_and_a_default_priority_is_negative() -> None:
    text = _HEAD + "/dev/dm-1 partition\t999996\t\t0\t\t-2\n/var/swap\\040file\\134 file\t4096\t8\t5\n"
    assert parse_swaps(text) == (Swap("/dev/dm-1", -2, 999996, 0), Swap("/var/swap file\\", 5, 4096, 8))
