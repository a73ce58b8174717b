"""Kinds of cores, and what does not suffice to distinguish them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.kernel.cpus.cpuinfo import designs_of
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import CpuPlace, kinds_by_strength, read_topology
from tests.kernel.cpus.test_topology import cpu_files
from tests.written import Files, reading

_DESIGNS = {0: 0x410FD050, 1: 0x410FD0B0}  # midr_el1 of a Cortex-A55 and of a Cortex-A76
_CACHES = {"big": (("Data", 1, "48K"), ("Unified", 2, "512K")), "small": (("Data", 1, "32K"), ("Unified", 2, "1536K"))}


def _kinds(
    *, capacity: str = "", frequency: str = "", more: Files | None = None, designs: str = "a a a a a a"
) -> list[str | None]:
    """Return the kinds of CPUs with the given capacities or highest frequencies, by number."""
    files = dict(more or {})
    for cpu, value in enumerate(capacity.split()):
        files |= cpu_files(cpu, {"cpu_capacity": f"{value}\n"})
    for cpu, value in enumerate(frequency.split()):
        files |= cpu_files(cpu, {"cpufreq/cpuinfo_max_freq": f"{value}\n"})
    design_by_cpu = {cpu: f"0x41/{design}" for cpu, design in enumerate(designs.split())}
    return [place.kind for _, place in sorted(read_topology(reading(files), None, design_by_cpu).items())]


@pytest.mark.parametrize("frequency", ["2000000 2000000", ""])
def test_cores_of_two_designs_are_not_equal(frequency: str) -> None:
    registers = {f"{CPUS}/cpu{cpu}/regs/identification/midr_el1": f"0x{value:x}\n" for cpu, value in _DESIGNS.items()}
    assert _kinds(frequency=frequency, more=registers) == [None, None]
    places = read_topology(reading(registers), None)
    assert {cpu: place.design for cpu, place in places.items()} == {0: "0x41/0xd05", 1: "0x41/0xd0b"}


def test_kinds_of_two_designs_are_derived_from_capacity() -> None:
    registers = {f"{CPUS}/cpu{cpu}/regs/identification/midr_el1": f"0x{value:x}\n" for cpu, value in _DESIGNS.items()}
    assert _kinds(capacity="446 1024", more=registers) == ["efficiency", "performance"]


def test_design_is_read_from_cpuinfo_without_a_register() -> None:
    files = cpu_files(0, {"uevent": ""}) | cpu_files(1, {"regs/identification/midr_el1": "0x410fd0b0\n"})
    places = read_topology(reading(files), None, {0: "0x41/0xd05", 1: "0x41/0xd05"})
    assert {cpu: place.design for cpu, place in places.items()} == {0: "0x41/0xd05", 1: "0x41/0xd0b"}


def test_kinds_are_derived_from_frequencies_of_policies_without_links() -> None:
    policies = f"{CPUS}/cpufreq"
    files = {f"{CPUS}/cpu{cpu}/uevent": "" for cpu in range(4)} | {
        f"{policies}/policy0/related_cpus": "0 1\n",
        f"{policies}/policy0/cpuinfo_max_freq": "1800000\n",
        f"{policies}/policy2/affected_cpus": "2 3\n",
        f"{policies}/policy2/cpuinfo_max_freq": "2800000\n",
    }
    kinds = [place.kind for _, place in sorted(read_topology(reading(files), None).items())]
    assert kinds == ["efficiency", "efficiency", "performance", "performance"]


_BIG, _SMALL, _ALIKE = "performance", "efficiency", "none"


def _devices(**cpus_by_name: str) -> dict[str, str]:
    """Return the devices in which hybrid Intel lists the CPUs of each kind."""
    return {f"/sys/devices/cpu_{name}/cpus": f"{cpus}\n" for name, cpus in cpus_by_name.items()}


@pytest.mark.parametrize(
    ("machine", "kinds"),
    [
        ({"frequency": "1 1 1", "more": _devices(core="0-1", atom="2")}, [_BIG, _BIG, _SMALL]),
        ({"frequency": "1 1 1", "more": _devices(core="0", atom="1", lowpower="2")}, [_BIG, _SMALL, _SMALL]),
        ({"capacity": "1024 1024", "more": _devices(core="0-1")}, [_ALIKE, _ALIKE]),  # one kind: strength decides
        ({"capacity": "1024 446", "frequency": "3000000 3000000"}, [_BIG, _SMALL]),  # capacity comes first
        ({"frequency": "5000000 5000000 3800000"}, [_BIG, _BIG, _SMALL]),
        ({"frequency": "5800000 5700000 5500000"}, [_ALIKE] * 3),  # favoured cores
        ({"capacity": "250 905 1024"}, [_SMALL, _BIG, _BIG]),  # divided at the widest step
        ({"frequency": "5100000 4800000 3800000 2500000", "designs": ""}, [_BIG, _BIG, _SMALL, _SMALL]),
        ({"capacity": "1024 446", "more": cpu_files(2, {"uevent": ""})}, [None, _SMALL, None]),  # it may be the fastest
    ],
    ids=lambda value: str(value)[:60],
)
def test_kinds_are_derived_from_devices_and_strengths(machine: dict[str, Any], kinds: list[str | None]) -> None:
    assert _kinds(**machine) == kinds


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 10**7), max_size=10))
def test_strongest_core_is_never_an_efficiency_core(strengths: dict[int, int]) -> None:
    kinds = kinds_by_strength(strengths)
    assert kinds.keys() == strengths.keys()
    strongest = {cpu for cpu, strength in strengths.items() if strength == max(strengths.values())}
    assert {kinds[cpu] for cpu in strongest} <= {"performance", "none"}


@pytest.mark.parametrize("capacity", ["0 0", "0 5", "-5 0", "-5 5"])
def test_impossible_capacity_is_accepted(capacity: str) -> None:
    assert len(_kinds(capacity=capacity)) == 2


def test_cpu_of_unknown_design_has_an_unknown_kind() -> None:
    assert _kinds(capacity="1024 1024", designs="") == [None, None]
    assert _kinds(capacity="1024 1024", designs="a") == [None, None]


def _hybrid(sizes: tuple[str, ...], vendor: str = "GenuineIntel", more: Files | None = None) -> dict[int, CpuPlace]:
    """Return the places of x86 CPUs of one model and one frequency, with the given caches."""
    files = dict(more or {})
    cpuinfo = ""
    for cpu, size in enumerate(sizes):
        cpuinfo += f"processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: 6\nmodel\t\t: 138\n\n"
        files |= cpu_files(cpu, {"cpufreq/cpuinfo_max_freq": "3000000\n"})
        for index, (kind, level, text) in enumerate(_CACHES.get(size, ())):
            values = {"type": kind, "level": level, "size": text}
            files |= cpu_files(cpu, {f"cache/index{index}/{name}": f"{value}\n" for name, value in values.items()})
    return dict(read_topology(reading(files), None, designs_of(cpuinfo)))


@pytest.mark.parametrize(
    ("sizes", "kind"), [(("big", "big"), "none"), (("big", "small"), None), (("big", ""), None), (("", ""), None)]
)
def test_x86_cores_of_one_model_are_one_kind_only_with_equal_caches(sizes: tuple[str, ...], kind: str | None) -> None:
    assert [place.kind for place in _hybrid(sizes).values()] == [kind, kind]


def test_caches_are_part_of_an_x86_design() -> None:
    assert _hybrid(("big",))[0].design == "GenuineIntel, 6, 138, L1d 48K, L2 512K"


@pytest.mark.parametrize(
    ("vendor", "kinds"), [("GenuineIntel", ["performance", "efficiency"]), ("AuthenticAMD", ["none", "none"])]
)
def test_kinds_are_derived_from_the_firmwares_scale_except_on_amd(vendor: str, kinds: list[str]) -> None:
    """AMD's firmware also ranks cores that are equal."""
    scale = {f"{CPUS}/cpu{cpu}/acpi_cppc/highest_perf": f"{value}\n" for cpu, value in enumerate((61, 35))}
    assert [place.kind for place in _hybrid(("big", "big"), vendor, scale).values()] == kinds
