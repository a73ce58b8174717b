"""Clocks of CPUs and turbo, and CPUs whose clock is not read."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import NO_DRIVER, NO_PREFERENCE, CpuFrequency, Frequency, read_frequency
from noisewatch.kernel.reader import Reader
from tests.written import Files, WrittenMachine, reading

NO_TURBO = f"{CPUS}/intel_pstate/no_turbo"
BOOST = f"{CPUS}/cpufreq/boost"
CLOCK = {
    "scaling_driver": "acpi-cpufreq",
    "scaling_governor": "performance",
    "scaling_cur_freq": "2900000",
    "scaling_min_freq": "1200000",
    "scaling_max_freq": "3000000",
    "cpuinfo_min_freq": "800000",
    "cpuinfo_max_freq": "3100000",
}


class LiveWrittenMachine(WrittenMachine):
    """A written machine that poses as this host."""

    is_live = True


def _cpufreq(*cpus: int, **more: str) -> dict[str, str]:
    return {f"{CPUS}/cpu{cpu}/cpufreq/{name}": f"{text}\n" for cpu in cpus for name, text in (CLOCK | more).items()} | {
        f"{CPUS}/cpu{cpu}/topology/core_id": "0\n" for cpu in cpus
    }


def _read(files: Files, *cpus: int, is_copy: bool = False) -> Frequency:
    return read_frequency(reading(files, is_copy=is_copy), frozenset(cpus), frozenset(), "6.1")


def _read_live(release: str | None) -> tuple[Frequency, WrittenMachine, Reader]:
    """Return the clocks of CPUs 0 and 1 of this host; CPU 1 is a target."""
    machine = LiveWrittenMachine(_cpufreq(0, 1))
    reader = Reader(machine)
    return read_frequency(reader, frozenset({0, 1}), frozenset({1}), release), machine, reader


def test_cpu_has_a_governor_a_clock_and_its_limits() -> None:
    (clock,) = _read(_cpufreq(3, base_frequency="2400000", energy_performance_preference="power"), 3).cpus.values()
    expected = CpuFrequency(
        cpu=3,
        governor="performance",
        current_khz=2900000,
        min_khz=1200000,
        max_khz=3000000,
        hardware_min_khz=800000,
        hardware_max_khz=3100000,
        base_khz=2400000,
        energy_preference="power",
        driver=clock.driver,
    )
    assert clock == expected


@pytest.mark.parametrize("name", ["related_cpus", "affected_cpus"])
def test_policy_lists_its_cpus_where_they_have_no_link_to_it(name: str) -> None:
    folder = f"{CPUS}/cpufreq/policy2"
    files = {f"{folder}/{key}": f"{text}\n" for key, text in (CLOCK | {"boost": "1", name: "2 3"}).items()}
    frequency = _read(files | {f"{CPUS}/cpu{cpu}/topology/core_id": "0\n" for cpu in (2, 3)}, 2, 3)
    assert (frequency.driver, frequency.turbo, set(frequency.turbo_by_cpu)) == ("acpi-cpufreq", "on", {2, 3})
    clocks = frequency.cpus.values()
    assert {(clock.governor, clock.min_khz, clock.max_khz) for clock in clocks} == {("performance", 1200000, 3000000)}


def test_clock_of_a_cpu_in_no_policy_is_unknown() -> None:
    files = {f"{CPUS}/cpufreq/policy2/scaling_governor": "performance\n", f"{CPUS}/cpufreq/policy2/related_cpus": "2\n"}
    frequency = _read(files, 2, 3)
    assert [frequency.cpus[cpu].governor for cpu in (2, 3)] == ["performance", None]


def test_driver_is_that_of_the_first_cpu_with_one() -> None:
    assert _read(_cpufreq(0, 1), 0, 1).driver == "acpi-cpufreq"


def test_kernel_without_cpufreq_has_no_driver() -> None:
    frequency = _read({f"{CPUS}/cpu0/topology/core_id": "0\n"}, 0)
    assert frequency.driver == NO_DRIVER
    assert frequency.cpus == {0: CpuFrequency(0)}


@pytest.mark.parametrize("files", [{}, {f"{CPUS}/cpu0/uevent": ""}], ids=["no sysfs", "no topology"])
def test_driver_is_unknown_without_files_of_the_cpu(files: Files) -> None:
    assert _read(files, 0).driver is None


def test_driver_missing_from_a_copy_is_unknown() -> None:
    assert _read({f"{CPUS}/cpu0/topology/core_id": "0\n"}, 0, is_copy=True).driver is None


def test_driver_is_unknown_without_cpus() -> None:
    assert _read({}).driver is None


@pytest.mark.parametrize("name", ["scaling_cur_freq", "scaling_governor", "cpuinfo_max_freq"])
def test_unreadable_clock_is_unknown_with_its_reason(name: str) -> None:
    reader = reading(_cpufreq(0, **{name: ""}))
    frequency = read_frequency(reader, frozenset({0}), frozenset(), "6.1")
    assert None in (frequency.cpus[0].current_khz, frequency.cpus[0].governor, frequency.cpus[0].hardware_max_khz)
    assert list(reader.reason_by_path) == [f"{CPUS}/cpu0/cpufreq/{name}"]


@pytest.mark.parametrize(("text", "turbo"), [("0\n", "on"), ("1\n", "off")])
def test_no_turbo_is_inverted_and_comes_first(text: str, turbo: str) -> None:
    frequency = _read(_cpufreq(0) | {NO_TURBO: text, BOOST: "1\n"}, 0)
    assert (frequency.turbo, frequency.turbo_path) == (turbo, NO_TURBO)


@pytest.mark.parametrize(("text", "turbo"), [("1\n", "on"), ("0\n", "off")])
def test_boost_of_the_whole_machine_comes_next(text: str, turbo: str) -> None:
    frequency = _read(_cpufreq(0) | {BOOST: text}, 0)
    assert (frequency.turbo, frequency.turbo_path) == (turbo, BOOST)


def test_boost_of_a_cpu_outranks_that_of_the_whole_machine() -> None:
    frequency = _read(_cpufreq(0, boost="1") | _cpufreq(1, boost="0") | {BOOST: "0\n"}, 0, 1)
    assert (frequency.turbo, dict(frequency.turbo_by_cpu)) == ("on", {0: True, 1: False})


@pytest.mark.parametrize("name", ["boost", "cpb"])
@pytest.mark.parametrize(("first", "second", "turbo"), [("0", "0", "off"), ("0", "1", "on"), ("1", "1", "on")])
def test_turbo_is_off_if_it_is_off_on_all_cpus(name: str, first: str, second: str, turbo: str) -> None:
    frequency = _read(_cpufreq(0, **{name: first}) | _cpufreq(1, **{name: second}), 0, 1)
    assert (frequency.turbo, frequency.turbo_path) == (turbo, f"{CPUS}/cpuN/cpufreq/{name}")


def test_turbo_of_other_cpus_does_not_matter() -> None:
    assert _read(_cpufreq(0, boost="0") | _cpufreq(1, boost="1"), 0).turbo == "off"


def test_turbo_is_unknown_if_one_cpu_has_no_file() -> None:
    assert _read(_cpufreq(0, boost="0") | _cpufreq(1), 0, 1).turbo is None


@pytest.mark.parametrize("text", ["", "2\n", "rubbish\n"])
def test_turbo_is_unknown_without_a_valid_file(text: str) -> None:
    frequency = _read(_cpufreq(0) | {NO_TURBO: text}, 0)
    assert (frequency.turbo, frequency.turbo_path) == (None, None)


@pytest.mark.parametrize("release", ["5.18.0", "4.4", None])
def test_clock_of_a_target_is_not_read_where_this_interrupts_it(release: str | None) -> None:
    frequency, machine, reader = _read_live(release)
    path = f"{CPUS}/cpu1/cpufreq/scaling_cur_freq"
    assert (frequency.cpus[0].current_khz, frequency.cpus[1].current_khz) == (2900000, None)
    assert path not in machine.reads
    assert "interrupt the CPU" in reader.reason_by_path[path]


@pytest.mark.parametrize("release", ["5.19.0", "6.1.0-18-amd64"])
def test_clock_of_a_target_is_read_where_this_does_not_interrupt_it(release: str) -> None:
    frequency, _, reader = _read_live(release)
    assert frequency.cpus[1].current_khz == 2900000
    assert reader.reason_by_path == {}


def test_clock_in_a_copy_of_an_old_kernel_is_read() -> None:
    frequency = read_frequency(reading(_cpufreq(1)), frozenset({1}), frozenset({1}), "4.4")
    assert frequency.cpus[1].current_khz == 2900000


def test_limits_are_kept_and_volatile_values_are_read_again() -> None:
    before = _read(_cpufreq(0), 0)
    machine = WrittenMachine(_cpufreq(0, scaling_governor="powersave", scaling_cur_freq="1000000"))
    after = read_frequency(Reader(machine), frozenset({0}), frozenset(), "6.1", before)
    assert (after.cpus[0].governor, after.cpus[0].current_khz, after.cpus[0].max_khz) == ("powersave", 1000000, 3000000)
    assert [path for path in machine.reads if path.endswith(("max_freq", "min_freq", "driver"))] == []


@pytest.mark.parametrize(
    ("files", "is_copy", "preference"),
    [
        (_cpufreq(0, energy_performance_preference="power"), False, "power"),
        (_cpufreq(0), False, NO_PREFERENCE),
        (_cpufreq(0), True, None),
        (_cpufreq(0, energy_performance_preference="a; b"), False, None),
    ],
)
def test_preference_is_absent_only_on_a_live_machine(files: Files, is_copy: bool, preference: str | None) -> None:
    assert _read(files, 0, is_copy=is_copy).cpus[0].energy_preference == preference


@pytest.mark.parametrize(("undisturbed", "preference"), [(frozenset({0}), "power"), (frozenset(), "performance")])
def test_preference_of_a_target_is_read_once(undisturbed: frozenset[int], preference: str) -> None:
    first = _read(_cpufreq(0, energy_performance_preference="power"), 0)
    reader = reading(_cpufreq(0, energy_performance_preference="performance"))
    after = read_frequency(reader, frozenset({0}), undisturbed, "6.1", None, first)
    assert after.cpus[0].energy_preference == preference
