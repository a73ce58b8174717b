"""Facts of two moments: changes are named, unknown facts are not changes, and volatile values are not facts.

Limits of the processor are facts, so that a lowered limit can explain a slower machine.
"""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, bias_path, read_snapshot
from noisewatch.model.history.fact_table import facts_of, paths_of
from noisewatch.model.history.facts import FactClass, Facts, differences, unknown_on_one_side
from tests.written import Files, without
from tests.written.quiet.frequency import UNCORE, ZONE
from tests.written.quiet_machine import quiet_files, quiet_machine

_MEMINFO = "/proc/meminfo"


def _facts(changed: dict[str, str] | None = None, missing: str | None = None) -> Facts:
    files = quiet_files() | (changed or {})
    if missing is not None:
        del files[missing]
    return facts_of(read_snapshot(quiet_machine(files, is_copy=True), SnapshotOptions(asks_inventory=True)))


def _memory(kb: int) -> dict[str, str]:
    old = quiet_files()[_MEMINFO]
    return {
        _MEMINFO: "\n".join(f"MemTotal: {kb} kB" if "MemTotal" in line else line for line in old.splitlines()) + "\n"
    }


_KB = 16_316_412


@pytest.mark.parametrize(
    ("changed", "of_class", "expected"),
    [
        (
            {f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in range(4)},
            FactClass.SETTINGS,
            "governor: performance → powersave",
        ),
        (
            {f"{CPUS}/cpu3/cpufreq/scaling_governor": "powersave\n"},
            FactClass.SETTINGS,
            "governor: performance → performance (CPU 0-2), powersave (CPU 3)",
        ),
        (
            {"/proc/version": "Linux version 6.14.0 (somebody@builder) #2 SMP PREEMPT_RT\n"},
            FactClass.KERNEL,
            "kernel build: #1 SMP → #2 SMP PREEMPT_RT",
        ),
        (
            {"/proc/cmdline": "root=UUID=1234 isolcpus=managed_irq,domain,2-3 nohz_full=2-3 nosmt\n"},
            FactClass.KERNEL,
            "kernel options: isolcpus=managed_irq,domain,2-3 nohz_full=2-3 → "
            "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 nosmt",
        ),
        ({f"{CPUS}/online": "0-2\n"}, FactClass.SETTINGS, "CPUs online: 0-3 → 0-2"),
        (_memory(_KB // 2), FactClass.HARDWARE, f"memory: {_KB} kB → {_KB // 2} kB"),
        ({Knob.NUMA_BALANCING: "1\n"}, FactClass.SETTINGS, "kernel.numa_balancing: 0 → 1"),
    ],
    ids=["governor", "governor of one CPU", "kernel build", "kernel option", "CPU count", "memory", "knob"],
)
def test_difference_of_facts_is_named(changed: dict[str, str], of_class: FactClass, expected: str) -> None:
    changes = differences(_facts(), _facts(changed))
    assert (of_class, expected) in [(change.of_class, str(change)) for change in changes]


def _processors(*revisions: str) -> dict[str, str]:
    """Return files with the microcode revision of each CPU, two CPUs in a package."""
    packages = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(len(revisions))}
    blocks = (f"processor\t: {cpu}\nmicrocode\t: {revision}\n" for cpu, revision in enumerate(revisions))
    return packages | {"/proc/cpuinfo": "\n".join(blocks)}


@pytest.mark.parametrize(
    ("revisions", "expected"),
    [
        (("0x11", "0x11", "0x10", "0x10"), "0x11 (package 0), 0x10 (package 1)"),
        (("0x11", "0x10", "0x11", "0x11"), "0x11 (CPU 0,2-3), 0x10 (CPU 1)"),
        (("0x10", "0x10", "0x10", "0x10"), "0x10"),
    ],
)
def test_differing_processors_are_listed_separately(revisions: tuple[str, ...], expected: str) -> None:
    assert _facts(_processors(*revisions))[FactClass.FIRMWARE]["microcode"] == expected


_SIZES = {
    f"{CPUS}/cpu{cpu}/cache/index3/{name}": f"{text}\n"
    for cpu in range(4)
    for name, text in {"level": 3, "type": "Unified", "size": ("98304K", "32768K")[cpu // 2]}.items()
} | {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": f"{('0-1', '2-3')[cpu // 2]}\n" for cpu in range(4)}


def test_differing_caches_are_listed_separately() -> None:
    caches = _facts(_SIZES)[FactClass.HARDWARE]["caches"] or ""
    assert [cache.partition(": ")[0] for cache in caches.split("; ")] == ["CPU 0-1", "CPU 2-3"]
    assert [cache.rpartition("L3 ")[2] for cache in caches.split("; ")] == ["98304K", "32768K"]


def test_each_fact_changes_independently() -> None:
    package = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": "1\n" for cpu in (2, 3)}
    assert [str(change) for change in differences(_facts(), _facts(package))] == ["packages: 1 → 2"]
    without_callbacks = {"/proc/cmdline": quiet_files()["/proc/cmdline"].strip() + " rcu_nocbs=1\n"}
    names = [change.name for change in differences(_facts(), _facts(without_callbacks))]
    assert names == ["kernel options", "CPUs without RCU callbacks"]


def test_package_count_is_unknown_if_one_cpu_reports_none() -> None:
    facts = _facts(missing=f"{CPUS}/cpu3/topology/physical_package_id")
    assert facts[FactClass.HARDWARE]["packages"] is None


def test_facts_of_an_inventory_that_was_not_read_are_unknown_or_missing() -> None:
    facts = facts_of(read_snapshot(quiet_machine(), SnapshotOptions()))
    assert facts[FactClass.FIRMWARE] == {}
    assert (facts[FactClass.HARDWARE]["stepping"], facts[FactClass.HARDWARE]["caches"]) == (None, None)


def test_equal_facts_have_no_differences() -> None:
    assert differences(_facts(), _facts()) == ()


def test_memory_reserved_by_the_kernel_is_not_a_change() -> None:
    assert differences(_facts(_memory(_KB)), _facts(_memory(round(_KB * 0.995)))) == ()


def test_fact_known_at_one_moment_only_is_not_a_change_but_listed_as_unknown() -> None:
    before, after = _facts(), _facts(missing=Knob.NUMA_BALANCING)
    assert differences(before, after) == ()
    assert unknown_on_one_side(before, after) == ("kernel.numa_balancing",)


def test_volatile_values_are_not_facts() -> None:
    later = quiet_machine(quiet_files(60.0), is_copy=True)
    assert differences(_facts(), facts_of(read_snapshot(later, SnapshotOptions(asks_inventory=True)))) == ()


_LIMIT = f"{ZONE}/constraint_0_power_limit_uw"
_MMIO = {
    path.replace("intel-rapl:0", "intel-rapl-mmio:0"): text for path, text in quiet_files().items() if ZONE in path
}
_CAPS = [f"{CPUS}/cpu{cpu}/cpufreq/bios_limit" for cpu in range(4)]


def _target_facts(changed: Files, *missing: str) -> dict[str, str | None]:
    files = without(quiet_files() | dict(changed), *missing)
    snapshot = read_snapshot(quiet_machine(files), SnapshotOptions(frozenset({2, 3}), asks_inventory=True))
    return {name: fact for fact_by_name in facts_of(snapshot).values() for name, fact in fact_by_name.items()}


@pytest.mark.parametrize(
    ("changed", "name", "expected"),
    [
        ({}, "power limits", "125 W"),
        ({_LIMIT: "90000000\n"}, "power limits", "90 W"),
        ({f"{ZONE}/enabled": "0\n"}, "power limits", "off"),
        (_MMIO | {_LIMIT: "90000000\n"}, "power limits", "125 W (intel-rapl-mmio:0), 90 W (intel-rapl:0)"),
        ({}, "uncore clock", "2400000 to 2400000 kHz"),
        ({f"{UNCORE}/min_freq_khz": "800000\n"}, "uncore clock", "800000 to 2400000 kHz"),
        ({}, "energy bias", "0"),
        ({bias_path(3): "6\n"}, "energy bias", "0 (CPU 2), 6 (CPU 3)"),
        ({bias_path(1): "6\n"}, "energy bias", "0"),
        ({}, "clock limit of the firmware", "3000000 kHz"),
        ({_CAPS[2]: "2100000\n"}, "clock limit of the firmware", "2100000 kHz (CPU 2), 3000000 kHz (CPU 3)"),
    ],
)
def test_each_limit_is_a_fact_by_name(changed: Files, name: str, expected: str) -> None:
    assert _target_facts(changed)[name] == expected


@pytest.mark.parametrize(
    ("missing", "name", "expected"),
    [
        (_CAPS, "clock limit of the firmware", "none"),
        ([UNCORE.rpartition("/")[0]], "uncore clock", "none"),
        ([bias_path(cpu) for cpu in range(4)], "energy bias", "none"),
        ([_LIMIT], "power limits", None),
        ([f"{UNCORE}/max_freq_khz"], "uncore clock", None),
    ],
)
def test_missing_limit_is_none_and_unreadable_limit_is_unknown(
    missing: list[str], name: str, expected: str | None
) -> None:
    assert _target_facts({}, *missing)[name] == expected


def test_lowered_power_limit_is_the_only_difference() -> None:
    before, after = (
        facts_of(read_snapshot(quiet_machine(quiet_files() | changed), SnapshotOptions(frozenset({2, 3}))))
        for changed in ({}, {_LIMIT: "90000000\n"})
    )
    assert [str(change) for change in differences(before, after)] == ["power limits: 125 W → 90 W"]


@pytest.mark.parametrize(("quota", "fact"), [("max 100000", "none"), ("150000 100000", "1.5 CPUs"), ("rubbish", None)])
def test_quota_of_the_parent_cgroups_is_a_fact(quota: str, fact: str | None) -> None:
    folder = "/sys/fs/cgroup/ci"
    files = {
        "/proc/self/cgroup": "0::/ci\n",
        f"{folder}/cgroup.controllers": "cpu\n",
        f"{folder}/cgroup.events": "populated 1\n",
        f"{folder}/cpu.max": f"{quota}\n",
        f"{folder}/cpu.stat": "nr_throttled 0\n",
    }
    assert _target_facts(files)["CPU quota"] == fact


def test_each_fact_has_its_files_and_each_kernel_its_own_vulnerabilities() -> None:
    assert all(paths_of(of_class, name) for of_class, facts in _facts().items() for name in facts)
    assert paths_of(FactClass.KERNEL, "vulnerability mds") == ("/sys/devices/system/cpu/vulnerabilities/mds",)
    assert paths_of(FactClass.HARDWARE, "vulnerability mds") is None
    assert paths_of(FactClass.HARDWARE, "memry") is None
