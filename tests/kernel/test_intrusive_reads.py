"""Which files interrupt whom by being read; what each screen asks: tests/surfaces/test_discreet.py."""

from __future__ import annotations

import pytest

from noisewatch.errors import Unreadable
from noisewatch.kernel.reader import NOT_ASKED, Reader, Spared, may_interrupt
from tests.written import WrittenMachine

CPUS = "/sys/devices/system/cpu"
_OLD, _NEW = (5, 18), (5, 19)


@pytest.mark.parametrize("release", [_OLD, _NEW])
@pytest.mark.parametrize(
    "path",
    [
        f"{CPUS}/cpu2/cpufreq/cpuinfo_cur_freq",
        f"{CPUS}/cpu2/cpufreq/base_frequency",
        f"{CPUS}/cpu2/cpufreq/energy_performance_preference",
        f"{CPUS}/cpu2/acpi_cppc/nominal_freq",
        f"{CPUS}/cpu2/power/energy_perf_bias",
        "/dev/cpu/2/msr",
    ],
)
def test_what_the_cpu_itself_is_asked_for_interrupts_it_and_no_other(path: str, release: tuple[int, int]) -> None:
    assert may_interrupt(path, {2, 3}, release)
    assert may_interrupt(path, None, release)
    assert not may_interrupt(path, {3}, release)


@pytest.mark.parametrize(
    "path",
    [
        "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
        "/sys/class/powercap/intel-rapl:0/energy_uj",
        f"{CPUS}/intel_uncore_frequency/package_00_die_00/max_freq_khz",
        "/sys/class/thermal/thermal_zone0/temp",
    ],
)
def test_what_some_cpu_of_several_answers_may_interrupt_any(path: str) -> None:
    assert may_interrupt(path, {3}, _NEW)


@pytest.mark.parametrize("path", [f"{CPUS}/cpu2/cpufreq/scaling_cur_freq", "/proc/cpuinfo"])
def test_clocks_are_asked_for_without_an_interrupt_since_linux_5_19(path: str) -> None:
    assert may_interrupt(path, {2}, _OLD)
    assert may_interrupt(path, {2}, None)
    assert not may_interrupt(path, {2}, _NEW)


@pytest.mark.parametrize(
    "path", [f"{CPUS}/cpu2/cpufreq/scaling_max_freq", f"{CPUS}/online", "/proc/interrupts", "/sys/class/thermal/x/type"]
)
def test_what_the_kernel_remembers_interrupts_nobody(path: str) -> None:
    assert not may_interrupt(path, None, None)


def test_a_reader_that_spares_a_cpu_does_not_ask_and_says_why() -> None:
    path, other = (f"{CPUS}/cpu{cpu}/power/energy_perf_bias" for cpu in (2, 3))
    machine = WrittenMachine({path: "0\n", other: "0\n"})
    reader = Reader(machine)
    reader.spared = Spared(frozenset({2}), _NEW)
    assert reader.text(other) == "0\n"
    with pytest.raises(Unreadable, match="not read"):
        reader.text(path)
    assert machine.reads == [other]
    assert set(reader.reason_by_path.values()) == {NOT_ASKED}
