"""Clock limits of the firmware for each CPU."""

from __future__ import annotations

from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.limits import FrequencyCap, read_frequency_caps
from tests.written import reading

_FOLDER = f"{CPUS}/cpu1/cpufreq"


def test_cap_is_read_with_the_highest_available_frequency() -> None:
    files = {f"{_FOLDER}/bios_limit": "2100000\n", f"{_FOLDER}/scaling_available_frequencies": "2101000 1400000 \n"}
    assert read_frequency_caps(reading(files), frozenset({0, 1})) == {1: FrequencyCap(2_100_000, 2_101_000)}


def test_cap_missing_from_a_copy_is_unknown() -> None:
    assert read_frequency_caps(reading({}, is_copy=True), frozenset({1})) == {1: FrequencyCap(None, None)}
