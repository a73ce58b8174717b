"""Whether a machine fact equals the expected one, is one of several, reaches a minimum, or cannot be compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.history.facts import FactClass
from noisewatch.model.wanted import WantedFact


def _exactly(name: str, *values: str) -> WantedFact:
    return WantedFact(FactClass.HARDWARE, name, values)


def _at_least(name: str, value: str) -> WantedFact:
    return WantedFact(FactClass.HARDWARE, name, at_least=value)


_CACHES = "L1d 32K, L2 1024K, L3 28160K"
_KINDS = "efficiency cores: L2 4096K, L3 30720K; performance cores: L2 2048K, L3 30720K"


@pytest.mark.parametrize(
    ("name", "wanted", "fact", "is_met"),
    [
        ("memory", "16 GiB", "16316412 kB", True),
        ("memory", "15.6 GB", "16316412 kB", True),
        ("memory", "17 GiB", "16316412 kB", False),
        ("memory", "15 GiB", "16316412 kB", True),
        ("CPUs present", "8", "0-7", True),
        ("CPUs present", "8", "0-3,8-11", True),
        ("CPUs present", "9", "0-7", False),
        ("CPUs present", "8", "none", False),
        ("packages", "2", "1", False),
        ("nodes", "2", "10", True),
        ("lowest clock", "3 GHz", "3000000 kHz", True),
        ("lowest clock", "3.1 GHz", "3000000 kHz", False),
        ("highest clock", "3 GHz", "3000000 kHz (CPU 0-2,5), 2000000 kHz (CPU 3)", False),
        ("highest clock", "2 GHz", "3000000 kHz (CPU 0-2,5), 2000000 kHz (CPU 3)", True),
        ("tick", "250 Hz", "1000 Hz", True),
        ("caches", "L3 27 MiB", _CACHES, True),
        ("caches", "L2 1 MiB, L3 28 MiB", _CACHES, False),
        ("caches", "L4 1 MiB", _CACHES, False),
        ("caches", "L2 2 MiB", _KINDS, True),
        ("caches", "L2 3 MiB", _KINDS, False),
        ("caches", "L2 3 MiB", "none", None),
        ("caches", "L3 32 MiB", f"CPU 0-7: {_CACHES}; CPU 8-15: L3 96M", False),
        ("caches", "L3 27 MiB", f"CPU 0-7: {_CACHES}; CPU 8-15: L3 96M", True),
        ("caches", "L2 3 MiB", "efficiency cores, CPU 8: L2 4096K; efficiency cores, CPU 9: L2 2048K", False),
        ("microcode", "0x8001227", "0x8001227 (CPU 0,2), 0x8001100 (CPU 1,3)", False),
        ("microcode", "0x8001100", "0x8001227 (package 0), 0x8001100 (package 1-2)", True),
        ("microcode", "0x8001100", "0x8001227 (CPU 0,2), rubbish (CPU 1,3)", None),
        ("kernel", "6.8", "6.14.0-36-generic", True),
        ("kernel", "6.14.0-37", "6.14.0-36-generic", False),
        ("kernel", "6.14", "6.14.0", True),
        ("kernel", "6.14", "6.14.0-rc3", False),
        ("kernel", "6.14.0-rc2", "6.14.0-rc3+", True),
        ("kernel", "6.14.0-rc4", "6.14.0-rc3+", False),
        ("kernel", "6.14", "custom", None),
        ("kernel", "4.18.0-513.el8.x86_64", "4.18.0-553.el8_10.x86_64", True),
        ("kernel", "6.6.31+rpt-rpi-v8", "6.6.20+rpt-rpi-v8", False),
        ("BIOS", "2.9", "2.19.1", True),
        ("BIOS", "2.9", "F12", None),
        ("microcode", "0x2b000590", "0x2b0005c0", True),
        ("microcode", "0x2b000590", "0xb000040", False),
        ("kernel.perf_event_paranoid", "2", "-1", False),
        ("isolated CPUs", "2", "2-3", True),
        ("isolated CPUs", "1", "none", False),
    ],
)
def test_fact_meets_a_wanted_minimum(name: str, wanted: str, fact: str, is_met: bool | None) -> None:
    assert _at_least(name, wanted).is_met_by(fact) is is_met


@pytest.mark.parametrize(
    ("name", "wanted", "fact", "is_met"),
    [
        ("CPU model", "A", "A", True),
        ("CPU model", "A", "a", False),
        ("CPU model", "A*", "A", True),
        ("CPU model", "Intel(R) Xeon(R) * 8375C*", "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", True),
        ("CPU model", "Intel(R) Xeon(R) * 8375C*", "Intel(R) Xeon(R) Platinum 8275CL CPU", False),
        ("CPU model", "A.C", "ABC", False),
        ("CPU model", "*", "", True),
        ("CPU model", "ab*ba", "aba", False),
        ("CPU model", "*a*", "bab", True),
        ("memory", "16 GiB", "16316412 kB", True),
        ("memory", "16 GiB", "33554432 kB", False),
        ("memory", "32 GiB", "16316412 kB", False),
        ("memory", "0 GiB", "16316412 kB", False),
        ("memory", "16316412 kB", "16316412 kB", True),
        ("memory", "lots", "16316412 kB", False),
        ("CPUs present", "4", "0-3", True),
        ("CPUs present", "4", "0-4", False),
        ("CPUs present", "0-3", "4-7", False),
        ("isolated CPUs", "2", "2-3", False),
        ("lowest clock", "3 GHz", "3000000 kHz", True),
        ("lowest clock", "3 GHz", "3000000 kHz (CPU 0), 4000000 kHz (CPU 1)", False),
        ("kernel", "6.14.0-36-generic", "6.14.0-36-lowlatency", False),
        ("kernel", "6.14.*", "6.14.0-36-generic", True),
        ("kernel", "6.14", "6.14.0", False),
    ],
)
def test_fact_meets_an_exact_value_or_pattern(name: str, wanted: str, fact: str, is_met: bool) -> None:
    assert _exactly(name, wanted).is_met_by(fact) is is_met
    assert _exactly(name, "another", wanted).is_met_by(fact) is is_met


def test_unordered_fact_does_not_compare_with_a_minimum() -> None:
    assert _at_least("CPU model", "A").is_met_by("A") is None


@given(st.lists(st.text(alphabet="ab"), min_size=1), st.text(alphabet="ab"))
def test_star_matches_any_text(parts: list[str], between: str) -> None:
    assert _exactly("board", "*".join(parts)).is_met_by(between.join(parts)) is True


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (_at_least("memory", "64 GiB"), 'at least "64 GiB"'),
        (_exactly("memory", "16316412 kB"), '"15.6 GiB"'),
        (_exactly("nodes", "2", "4"), '"2" or "4"'),
        (_exactly("highest clock", "3000000 kHz"), '"3 GHz"'),
        (_exactly("board", "x" * 500), f'"{"x" * 160}…"'),
    ],
)
def test_wanted_fact_reads_as_text(wanted: WantedFact, words: str) -> None:
    assert str(wanted) == words
