"""Limits of the processor are facts, so that a lowered limit can explain a slower machine."""

from __future__ import annotations

import pytest

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, bias_path, read_snapshot
from noisewatch.model.history.facts import (
    CPU_QUOTA,
    ENERGY_BIAS,
    FIRMWARE_CLOCK,
    POWER_LIMITS,
    UNCORE_CLOCK,
    differences,
    facts_of,
)
from tests.written import Files, without
from tests.written.quiet.frequency import CPUS, UNCORE, ZONE
from tests.written.quiet_machine import quiet_files, quiet_machine

_LIMIT = f"{ZONE}/constraint_0_power_limit_uw"
_MMIO = {
    path.replace("intel-rapl:0", "intel-rapl-mmio:0"): text for path, text in quiet_files().items() if ZONE in path
}
_CAPS = [f"{CPUS}/cpu{cpu}/cpufreq/bios_limit" for cpu in range(4)]


def _facts(changed: Files | None = None, *gone: str) -> dict[str, str | None]:
    files = without(quiet_files() | dict(changed or {}), *gone)
    snapshot = read_snapshot(quiet_machine(files), SnapshotOptions(frozenset({2, 3}), asks_inventory=True))
    return {name: fact for named in facts_of(snapshot).values() for name, fact in named.items()}


@pytest.mark.parametrize(
    ("changed", "name", "told"),
    [
        ({}, POWER_LIMITS, "125 W"),
        ({_LIMIT: "90000000\n"}, POWER_LIMITS, "90 W"),
        ({f"{ZONE}/enabled": "0\n"}, POWER_LIMITS, "off"),
        (_MMIO | {_LIMIT: "90000000\n"}, POWER_LIMITS, "125 W (intel-rapl-mmio:0), 90 W (intel-rapl:0)"),
        ({}, UNCORE_CLOCK, "2400000 to 2400000 kHz"),
        ({f"{UNCORE}/min_freq_khz": "800000\n"}, UNCORE_CLOCK, "800000 to 2400000 kHz"),
        ({}, ENERGY_BIAS, "0"),
        ({bias_path(3): "6\n"}, ENERGY_BIAS, "0 (CPU 2), 6 (CPU 3)"),
        ({bias_path(1): "6\n"}, ENERGY_BIAS, "0"),
        ({}, FIRMWARE_CLOCK, "3000000 kHz"),
        ({_CAPS[2]: "2100000\n"}, FIRMWARE_CLOCK, "2100000 kHz (CPU 2), 3000000 kHz (CPU 3)"),
    ],
)
def test_each_limit_is_a_fact_by_name(changed: Files, name: str, told: str) -> None:
    assert _facts(changed)[name] == told


@pytest.mark.parametrize(
    ("gone", "name", "told"),
    [
        (_CAPS, FIRMWARE_CLOCK, "none"),
        ([UNCORE.rpartition("/")[0]], UNCORE_CLOCK, "none"),
        ([bias_path(cpu) for cpu in range(4)], ENERGY_BIAS, "none"),
        ([_LIMIT], POWER_LIMITS, None),
        ([f"{UNCORE}/max_freq_khz"], UNCORE_CLOCK, None),
    ],
)
def test_what_is_not_there_is_none_and_what_cannot_be_read_is_unknown(
    gone: list[str], name: str, told: str | None
) -> None:
    assert _facts(None, *gone)[name] == told


def test_a_lowered_power_limit_is_what_differs() -> None:
    before, after = (
        facts_of(read_snapshot(quiet_machine(quiet_files() | changed), SnapshotOptions(frozenset({2, 3}))))
        for changed in ({}, {_LIMIT: "90000000\n"})
    )
    assert [str(each) for each in differences(before, after)] == ["power limits: 125 W → 90 W"]


@pytest.mark.parametrize(("quota", "told"), [("max 100000", "none"), ("150000 100000", "1.5 CPUs"), ("rubbish", None)])
def test_the_quota_of_the_cgroups_above_is_a_fact(quota: str, told: str | None) -> None:
    folder = "/sys/fs/cgroup/ci"
    files = {
        "/proc/self/cgroup": "0::/ci\n",
        f"{folder}/cgroup.controllers": "cpu\n",
        f"{folder}/cgroup.events": "populated 1\n",
        f"{folder}/cpu.max": f"{quota}\n",
        f"{folder}/cpu.stat": "nr_throttled 0\n",
    }
    assert _facts(files)[CPU_QUOTA] == told
