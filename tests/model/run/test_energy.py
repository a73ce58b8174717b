"""The energy between readings of the counters."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.kernel.frequency.energy import EnergyDomain, EnergyReading
from noisewatch.model.run.energy import (
    UNMEASURED,
    EnergyStatistics,
    RunEnergy,
    energy_between,
    energy_statistics,
    longest_gap_ns,
)
from noisewatch.units import NS_PER_S
from tests.written.repetitions import ran, repeat

_RANGE = 65_532_610_987
_NAMES = ("package-0", "package-0/dram", "package-1", "package-1/dram", "psys")
_DOMAINS = [EnergyDomain(f"/zone{number}", name, _RANGE) for number, name in enumerate(_NAMES)]
_BEFORE: dict[str, int | str] = dict.fromkeys(_NAMES, 1000000)
_AFTER: dict[str, int | str] = {
    "package-0": 51_000_000,
    "package-0/dram": 3_000_000,
    "package-1": 31_000_000,
    "package-1/dram": 2_500_000,
    "psys": 201_000_000,
}


def _between(
    after: Mapping[str, int | str], before: Mapping[str, int | str] = _BEFORE, seconds: float = 2
) -> RunEnergy:
    readings = [EnergyReading(0, {**_BEFORE, **before}), EnergyReading(round(seconds * NS_PER_S), {**_AFTER, **after})]
    return energy_between(readings, _DOMAINS)


def test_packages_are_added_without_memory_and_psys() -> None:
    energy = _between({})
    assert (energy.package_j, energy.dram_j, energy.watts, energy.reason) == (80.0, 3.5, 40.0, None)
    assert energy.by_domain["psys"] == 200.0


def test_a_counter_that_wrapped_goes_on_at_zero() -> None:
    energy = _between({"package-0": 9_000_000}, {"package-0": _RANGE - 41_000_000 + 1})
    assert energy.by_domain["package-0"] == 50.0


@pytest.mark.parametrize(
    ("after", "before", "reason"),
    [
        ("permission denied", 1_000_000, "permission denied"),
        (51_000_000, "no such file", "no such file"),
        (1_000_000, 1_000_000, "the counter did not advance"),
        (100, 1_000_000, "the counter was reset"),
    ],
)
def test_one_unknown_package_makes_the_sum_unknown(after: int | str, before: int | str, reason: str) -> None:
    energy = _between({"package-1": after}, {"package-1": before})
    assert (energy.package_j, energy.watts, energy.reason) == (None, None, reason)
    assert energy.by_domain["package-0"] == 50.0


def test_unknown_memory_does_not_affect_the_packages() -> None:
    energy = _between({"package-1/dram": 1_000_000})
    assert (energy.package_j, energy.dram_j) == (80.0, None)


def test_a_counter_that_may_have_wrapped_twice_is_unknown() -> None:
    assert _between({}, seconds=32).reason is None
    assert _between({}, seconds=33).reason == "not read for 33 s, so the counter may have wrapped more than once"
    readings = [
        EnergyReading(second * NS_PER_S, dict.fromkeys(_NAMES, 40000000000 * turn % (_RANGE + 1)))
        for turn, second in enumerate(range(0, 90, 30))
    ]
    energy = energy_between(readings, _DOMAINS[:1])
    assert (energy.package_j, energy.interval_ns) == (80_000.0, 60 * NS_PER_S)


@pytest.mark.parametrize(("joules", "energy"), [(19, 19.0), (21, "the counter was reset")])
def test_a_step_of_the_counter_is_not_a_reset(joules: int, energy: float | str) -> None:
    """The counter advances in steps, so 19 J within 1 ms may be the energy of a longer time."""
    between = _between({"package-0": 1_000_000 * (1 + joules)}, seconds=0.001)
    assert between.by_domain["package-0"] == energy


def test_the_whole_computer_is_no_package() -> None:
    readings = [EnergyReading(second * NS_PER_S, {"psys": 1_000_000 * second}) for second in range(2)]
    energy = energy_between(readings, _DOMAINS[4:])
    assert (energy.package_j, energy.reason) == (None, "no counter measures packages")


def test_domains_without_a_range_or_a_name_are_unknown() -> None:
    readings = [EnergyReading(0, {"package-0": 1, "?1": 1}), EnergyReading(NS_PER_S, {"package-0": 9, "?1": 9})]
    ranged, unnamed = EnergyDomain("/zone0", "package-0", _RANGE), EnergyDomain("/zone1", "?1", _RANGE)
    energy = energy_between(readings, [replace(ranged, range_uj=None)])
    assert energy.reason == "/zone0/max_energy_range_uj is unknown, so the counter may have wrapped"
    assert longest_gap_ns(replace(ranged, range_uj=None)) == 0
    energy = energy_between(readings, [ranged, unnamed])
    assert (energy.package_j, energy.reason) == (None, "the name of /zone1 is unknown")


def test_statistics_have_the_runs_with_a_known_energy() -> None:
    run = repeat(ran(), ran(seconds=1.0))
    energies = [_between({}), _between({"package-0": 61_000_000}), _between({"package-0": "denied"})]
    statistics = energy_statistics([replace(run, energy=energy) for energy in energies])
    assert statistics is not None
    assert (statistics.count, statistics.mean_j, statistics.mean_w) == (2, 85.0, 42.5)
    assert statistics.sd_j == pytest.approx(7.071, abs=1e-3)
    assert (statistics.dram_mean_j, statistics.unknown) == (3.5, "denied")
    assert statistics.excess_share == pytest.approx(2 * NS_PER_S / run.length_ns - 1)


@pytest.mark.parametrize("domains", [("package-1/dram",), ("package-0/dram", "package-1/dram")])
def test_memory_has_a_mean_only_if_it_was_counted_in_all_runs(domains: tuple[str, ...]) -> None:
    run = repeat(ran(), ran(seconds=1.0))
    energies = [_between({}), _between(dict.fromkeys(domains, "denied"))]
    for measured in (energies, energies[1:]):
        statistics = energy_statistics([replace(run, energy=energy) for energy in measured])
        assert statistics is not None
        assert (statistics.count, statistics.dram_mean_j, statistics.unknown) == (len(measured), None, None)


def test_unknown_energy_has_only_its_reason() -> None:
    run = replace(repeat(ran(), ran(seconds=1.0)), energy=_between({"package-0": "denied"}))
    assert energy_statistics([run]) == EnergyStatistics(0, None, None, None, None, None, "denied")


def test_energy_that_was_not_requested_has_no_statistics() -> None:
    assert repeat(ran(), ran()).energy == UNMEASURED
    assert energy_statistics([repeat(ran(), ran())]) is None
    assert energy_statistics([]) is None
