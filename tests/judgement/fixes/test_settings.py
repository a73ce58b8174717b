"""Fixes that write one setting: the new value, and the undo that restores the old one."""

from __future__ import annotations

import pytest

from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import STATUS
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import example_named, fix_of_example
from tests.written.quiet.cpus import WORKQUEUES
from tests.written.quiet.frequency import UNCORE
from tests.written.quiet.interrupts import QUEUE
from tests.written.quiet.memory import vmstat
from tests.written.quiet.tasks import own_status
from tests.written.quiet_machine import CPUS

_OLD = {"/proc/sys/kernel/osrelease": "6.1.0\n"}
_BIAS = f"{CPUS}/cpu3/power/energy_perf_bias"
_DEADLINE = "250 timer interrupts per busy second; the deadline server, which has 50 ms of CPU 2 in each period"
_GROUPS = "/sys/fs/cgroup"
_NODES = {f"/sys/devices/system/node/node{node}/cpulist": f"{2 * node}-{2 * node + 1}\n" for node in (0, 1)}
_COLLAPSED = {"/proc/vmstat": vmstat(thp_collapse_alloc=41)}
_COMPACTED = {"/proc/vmstat": vmstat(compact_stall=8)}


@pytest.mark.parametrize(
    ("check_id", "path", "value", "before", "others"),
    [
        ("lockup-watchdog-on-target", Knob.WATCHDOG_CPUS, "0-1", "0,2-3", {}),
        ("timers-migrate-to-target", Knob.TIMER_MIGRATION, "0", "1", {f"{CPUS}/nohz_full": "\n"}),
        ("memory-statistics-updated-often", Knob.STAT_INTERVAL, "120", "2", _OLD),
        ("machine-checks-polled-often", Knob.MACHINE_CHECK_INTERVAL, "86400", "30", {}),
        ("real-time-work-throttled", Knob.REALTIME_RUNTIME, "-1", "950000", _OLD),
        ("console-cursor-blinks", Knob.CURSOR_BLINK, "0", "1", {}),
        ("layout-not-random", Knob.ADDRESS_RANDOMISATION, "2", "1", {}),
        ("hardware-counters-unusable", Knob.PERF_PARANOID, "2", "4", {STATUS: own_status(capabilities="0" * 16)}),
        ("turbo-enabled", f"{CPUS}/cpufreq/boost", "0", "1", {}),
        ("turbo-enabled", f"{CPUS}/intel_pstate/no_turbo", "1", "0", {}),
        ("energy-bias-not-performance", _BIAS, "0", "6", {}),
        ("platform-profile-saves-power", Knob.PLATFORM_PROFILE, "performance", "balanced", {}),
        ("clock-capped", Knob.PSTATE_MAX_PERF, "100", "70", {}),
        ("uncore-frequency-moves", f"{UNCORE}/min_freq_khz", "2400000", "800000", {}),
        ("default-irq-affinity-includes-target", "/proc/irq/default_smp_affinity", "3", "f", {}),
        ("packets-steered-to-target", Knob.RPS_DEFAULT, "0", "c", {}),
        ("ksm-scans", Knob.KSM_RUN, "0", "1", {}),
        ("numa-balancing-runs", Knob.NUMA_BALANCING, "0", "2", _NODES),
    ],
)
def test_a_setting_is_written_and_restored(
    check_id: str, path: str, value: str, before: str, others: dict[str, str]
) -> None:
    fix = fix_of_example(Example(check_id, "fail", {path: f"{before}\n", **others}))
    assert (fix.now, fix.undo) == (f"echo {value} | sudo tee {path}", f"echo {before} | sudo tee {path}")


@pytest.mark.parametrize(
    ("example", "path", "value", "before"),
    [
        (Example("console-prints-everything", "fail", {Knob.PRINTK: "7\t4\t1\t7\n"}), Knob.PRINTK, "4", "'7 4 1 7'"),
        (
            Example(
                "workqueues-on-target",
                "fail",
                {f"{WORKQUEUES}/cpumask": "f\n", f"{WORKQUEUES}/cpumask_requested": "ff\n"},
            ),
            *(f"{WORKQUEUES}/cpumask", "3", "ff"),
        ),
        (
            Example("packets-steered-to-target", "fail", {f"{QUEUE}/rps_cpus": "0000000f\n"}),
            *(f"{QUEUE}/rps_cpus", "3", "f"),
        ),
        (
            example_named("tick-not-stopped", "fail", _DEADLINE),
            *("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "0", "50000000"),
        ),
        (
            Example("khugepaged-collapses-pages", "fail", after=_COLLAPSED),
            *(Knob.KHUGEPAGED_SLEEP, "3600000", "10000"),
        ),
        (Example("memory-compacted", "fail", after=_COMPACTED), Knob.COMPACTION, "0", "20"),
        (
            Example(
                "cpu-quota", "fail", {f"{_GROUPS}/cpu.max": "50000 100000\n", f"{_GROUPS}/cpu.stat": "nr_throttled 0\n"}
            ),
            *(f"{_GROUPS}/cpu.max", "max", "'50000 100000'"),
        ),
        (
            example_named("priority-lowered", "warn", "/ci has cpu.weight 99 (default 100)"),
            *(f"{_GROUPS}/ci/cpu.weight", "100", "99"),
        ),
        (
            example_named("priority-lowered", "warn", "clamped to 45%"),
            *(f"{_GROUPS}/ci/cpu.uclamp.max", "max", "45.00"),
        ),
        (example_named("priority-lowered", "fail", "/ci is idle"), f"{_GROUPS}/ci/cpu.idle", "0", "1"),
        (
            example_named("priority-lowered", "warn", "cpu.shares 512 (default 1024)"),
            *(f"{_GROUPS}/cpu/ci/cpu.shares", "1024", "512"),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Example) else "",
)
def test_the_undo_restores_the_value_that_was_read_or_the_default(
    example: Example, path: str, value: str, before: str
) -> None:
    fix = fix_of_example(example)
    assert (fix.now, fix.undo) == (f"echo {value} | sudo tee {path}", f"echo {before} | sudo tee {path}")


_SYSCTL = "echo '{0} = {1}' | sudo tee /etc/sysctl.d/90-noisewatch-{0}.conf"
_TMPFILE = "echo 'w {0} - - - - {1}' | sudo tee /etc/tmpfiles.d/noisewatch-{2}.conf"


@pytest.mark.parametrize(
    ("check_id", "changed", "persist"),
    [
        (
            "lockup-watchdog-on-target",
            {Knob.WATCHDOG_CPUS: "0,2-3\n"},
            _SYSCTL.format("kernel.watchdog_cpumask", "0-1"),
        ),
        (
            "hardware-counters-unusable",
            {Knob.PERF_PARANOID: "4\n", STATUS: own_status(capabilities="0" * 16)},
            _SYSCTL.format("kernel.perf_event_paranoid", "2"),
        ),
        (
            "numa-balancing-runs",
            _NODES | {Knob.NUMA_BALANCING: "2\n"},
            _SYSCTL.format("kernel.numa_balancing", "0"),
        ),
        (
            "packets-steered-to-target",
            {Knob.RPS_DEFAULT: "c\n"},
            _SYSCTL.format("net.core.rps_default_mask", "0"),
        ),
        ("ksm-scans", {Knob.KSM_RUN: "1\n"}, _TMPFILE.format(Knob.KSM_RUN, "0", "kernel.mm.ksm.run")),
        (
            "console-cursor-blinks",
            {Knob.CURSOR_BLINK: "1\n"},
            _TMPFILE.format(Knob.CURSOR_BLINK, "0", "graphics.fbcon.cursor_blink"),
        ),
        (
            "energy-bias-not-performance",
            {_BIAS: "6\n"},
            _TMPFILE.format(_BIAS, "0", "cpu3.power.energy_perf_bias"),
        ),
        (
            "packets-steered-to-target",
            {f"{QUEUE}/rps_cpus": "0000000f\n"},
            _TMPFILE.format(f"{QUEUE}/rps_cpus", "3", "net.eth0.queues.rx-0.rps_cpus"),
        ),
    ],
)
def test_a_persistent_setting_has_a_file_of_its_own(check_id: str, changed: dict[str, str], persist: str) -> None:
    assert fix_of_example(Example(check_id, "fail", changed)).persist == persist
