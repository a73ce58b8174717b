"""The energy counters of RAPL."""

from __future__ import annotations

import pytest

from noisewatch.errors import Unreadable
from noisewatch.kernel.frequency.energy import EnergyDomain, read_energy, read_energy_domains
from noisewatch.kernel.frequency.powercap import FOLDER
from noisewatch.kernel.reader import Reader
from tests.written import BARE, WrittenMachine, reading

_INTEL = {"/sys/devices/system/cpu/modalias": "cpu:type:x86,ven0000fam0006mod008F\n"}
_AMD = {"/sys/devices/system/cpu/modalias": "cpu:type:x86,ven0002fam0019mod0001\n"}
_RANGE = 65_532_610_987


def zone(number: str, name: str, uj: int = 0) -> dict[str, str]:
    folder = f"{FOLDER}/intel-rapl:{number}"
    return {
        f"{folder}/name": f"{name}\n",
        f"{folder}/energy_uj": f"{uj}\n",
        f"{folder}/max_energy_range_uj": f"{_RANGE}\n",
    }


_ONE = zone("0", "package-0", 7) | zone("0:0", "core", 5) | zone("0:1", "dram", 2)
_TWO = _ONE | zone("1", "package-1", 9) | zone("1:0", "dram", 3) | zone("2", "psys", 50)


def _names(files: dict[str, str], packages: set[int]) -> list[str] | str:
    domains = read_energy_domains(reading(files), packages)
    return domains if isinstance(domains, str) else [domain.name for domain in domains]


def test_each_zone_is_a_domain_of_its_package() -> None:
    names = ["package-0", "package-0/core", "package-0/dram", "package-1", "package-1/dram", "psys"]
    assert _names(_INTEL | _TWO, {0, 1}) == names
    domains = read_energy_domains(reading(_INTEL | _TWO), {0, 1})
    assert not isinstance(domains, str)
    assert domains[0] == EnergyDomain(f"{FOLDER}/intel-rapl:0", "package-0", _RANGE)
    assert list(read_energy(reading(_INTEL | _TWO), domains).uj_by_domain.values()) == [7, 5, 2, 9, 3, 50]


def test_the_counter_of_a_single_core_is_left_out() -> None:
    assert _names(_AMD | _ONE, {0}) == ["package-0", "package-0/dram"]


def test_the_firmware_zone_of_a_package_is_left_out() -> None:
    mmio = {path.replace("intel-rapl", "intel-rapl-mmio"): text for path, text in zone("0", "package-0").items()}
    assert _names(_INTEL | _ONE | mmio, {0}) == ["package-0", "package-0/core", "package-0/dram"]


def test_a_package_without_a_counter_makes_the_energy_unknown() -> None:
    assert _names(_INTEL | _ONE, {0, 1}) == f"{FOLDER}: no energy counter of package 1"


@pytest.mark.parametrize("files", [{}, {f"{FOLDER}/dtpm/enabled": "1\n"}])
def test_absent_counters_are_explained(files: dict[str, str]) -> None:
    reason = _names(files, {0})
    assert isinstance(reason, str)
    assert "virtual machines have none" in reason
    assert "sudo modprobe intel_rapl_msr" in reason


def test_a_zone_without_a_name_may_be_a_package() -> None:
    files = _INTEL | _ONE | zone("1", "pack")
    assert _names(files, {0, 1}) == ["package-0", "package-0/core", "package-0/dram", "?1"]


class _Denying(WrittenMachine):
    """A machine on which only root may read the energy."""

    def read_bytes(self, path: str) -> bytes:
        if path.endswith("/energy_uj"):
            raise Unreadable(path, "permission denied")
        return super().read_bytes(path)


def test_a_denied_counter_is_unknown_with_the_command_that_allows_it() -> None:
    reader = Reader(_Denying({**BARE, **_INTEL, **_ONE}))
    domains = read_energy_domains(reader, {0})
    assert not isinstance(domains, str)
    reason = read_energy(reader, domains).uj_by_domain["package-0"]
    assert isinstance(reason, str)
    assert reason.startswith(f"{FOLDER}/intel-rapl:0/energy_uj: permission denied: only root may read it")
    assert "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj" in reason
