"""Files that were cut off, blanked or damaged, and places that hide them: none of them is a sign of calm."""

from __future__ import annotations

import pytest

from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.judging import answered, finding, judged
from tests.written import PROC_MOUNT, WrittenMachine, mounted, without
from tests.written.quiet.heat import CHIP, ZONE
from tests.written.quiet.kernel import TRACING
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files, stat_file

_IRQ = "/proc/irq/24"
_ROOT = "/sys/fs/cgroup"


def _device_rows(seconds: float) -> str:
    rows = quiet_files(seconds)["/proc/interrupts"].splitlines(keepends=True)
    return "".join(row for row in rows if not row.split(":")[0].strip().isalpha())


@pytest.mark.parametrize("check_id", ["device-interrupts-on-target", "irq-routed-to-target", "profiler-runs"])
def test_a_table_that_ends_among_the_devices_may_lack_some(check_id: str) -> None:
    answer = answered(check_id, {"/proc/interrupts": _device_rows(0.0)}, {"/proc/interrupts": _device_rows(3.0)})
    assert (answer.status, "cut off" in str(answer.reason)) == ("unknown", True)


@pytest.mark.parametrize(
    "mounts",
    [
        "\n",
        "\0" * 80,
        "rubbish\n",
        "/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw,nosuid,nodev,hidep",
        "/dev/sda1 / ext4 rw 0 0\nlxcfs /proc/stat fuse.lx",
    ],
    ids=["blank", "NULs", "rubbish", "cut within an option", "cut within a type"],
)
def test_mounts_that_do_not_tell_of_proc_hide_what_they_should_tell(mounts: str) -> None:
    files = {"/proc/self/mounts": mounts}
    assert answered("target-cpu-busy", files).status == "unknown"
    assert answered("tasks-on-target", files).status == "unknown"
    assert answered("profiler-runs", files).status == "unknown"


def test_mounts_without_proc_do_not_tell_whether_it_hides_processes() -> None:
    files = {"/proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n", "/proc/mounts": "/dev/sda1 / ext4 rw 0 0\n"}
    assert (answered("tasks-on-target", files).status, answered("profiler-runs", files).status) == ("warn", "unknown")


@pytest.mark.parametrize(
    ("membership", "status"),
    [
        ("0::/user.slice\n", "unknown"),
        ("3:cpu:/\n0::/\n", "unknown"),
        ("4:cpuset:/\n0::/\n", "not-applicable"),
        ("4:cpuset:/\n", "not-applicable"),
        ("rubbish\n", "unknown"),
    ],
)
def test_partitions_are_unknown_where_a_hierarchy_in_use_cannot_be_seen(membership: str, status: str) -> None:
    """As in a chroot, or in a mount namespace without /sys/fs/cgroup."""
    assert answered("partition-invalid", mounted("") | {"/proc/self/cgroup": membership}).status == status


@pytest.mark.parametrize("said", ["rubbish\n", "\n", "-1\n"])
def test_an_irq_may_move_anywhere_where_nobody_can_say_how_far(said: str) -> None:
    assert answered("irq-routed-to-target", {f"{_IRQ}/smp_affinity_list": said}).status == "unknown"


def test_an_irq_goes_nobody_knows_where_if_that_is_told_and_cannot_be_read() -> None:
    answer = answered("irq-routed-to-target", {f"{_IRQ}/effective_affinity_list": "rubbish\n"})
    assert (answer.status, "effective_affinity_list" in str(answer.reason)) == ("unknown", True)


def test_no_task_may_run_on_no_cpu() -> None:
    status = {"/proc/900/status": "Name:\thog\nCpus_allowed:\t\nCpus_allowed_list:\t\n"}
    assert answered("tasks-on-target", process(900, "hog", 0, 5) | status).status == "warn"


@pytest.mark.parametrize(
    ("check_id", "path", "text"),
    [
        ("frequency-window-open", f"{CPUS}/cpu2/cpufreq/scaling_max_freq", "-3000000\n"),
        ("busy-cache-neighbour", f"{CPUS}/cpu2/cache/index3/level", "-3\n"),
        ("deep-idle-states", f"{CPUS}/cpu2/cpuidle/state1/latency", "-1\n"),
        ("throttled", f"{CPUS}/cpu2/thermal_throttle/core_throttle_count", "-7\n"),
        ("cooling-active", "/sys/class/thermal/cooling_device1/cur_state", "-2\n"),
        ("governor-not-performance", f"{CPUS}/cpu2/cpufreq/scaling_governor", "performance" * 400_000 + "\n"),
        (
            "slow-clock-source",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc" * 10_000 + "\n",
        ),
        ("on-battery", "/sys/class/power_supply/AC/online", "18446744073709551615\n"),
        ("swapping", "/proc/meminfo", "MemTotal: 16316412 kB\nSwapTotal: ٤٤ kB\nSwapFree: ٤٤ kB\n"),
        ("real-time-work-throttled", Knob.REALTIME_PERIOD, "-1000000\n"),
        ("real-time-work-throttled", Knob.REALTIME_RUNTIME, "-2\n"),
        ("real-time-work-throttled", Knob.REALTIME_RUNTIME, "1000001\n"),
        ("lockup-watchdog-on-target", Knob.WATCHDOG_CPUS, "\n"),
        ("lockup-watchdog-on-target", Knob.WATCHDOG, "7\n"),
        ("layout-not-random", Knob.ADDRESS_RANDOMISATION, "3\n"),
        ("nmi-watchdog-runs", Knob.NMI_WATCHDOG, "-7\n"),
        ("kernel-statistics-collected", Knob.BPF_STATISTICS, "-7\n"),
        ("nice-value-confined-to-session", Knob.AUTOGROUP, "-7\n"),
        ("numa-balancing-runs", Knob.NUMA_BALANCING, "-7\n"),
        ("ksm-scans", Knob.KSM_RUN, "-7\n"),
        ("console-prints-everything", Knob.PRINTK, "-7\n"),
        ("console-cursor-blinks", Knob.CURSOR_BLINK, "-7\n"),
        ("machine-checks-polled-often", Knob.MACHINE_CHECK_INTERVAL, "18446744073709551615\n"),
        ("clock-capped", Knob.PSTATE_MAX_PERF, "101\n"),
        ("clock-capped", f"{CPUS}/cpu2/cpufreq/bios_limit", "18446744073709551615\n"),
        ("clock-boosted-after-io", Knob.PSTATE_DYNAMIC_BOOST, "-1\n"),
        ("energy-bias-not-performance", f"{CPUS}/cpu2/power/energy_perf_bias", "16\n"),
        ("energy-preference-not-performance", f"{CPUS}/cpu2/cpufreq/energy_performance_preference", "-1\n"),
        ("governor-not-performance", f"{CPUS}/cpu2/cpufreq/scaling_governor", "-7\n"),
        ("turbo-enabled", f"{CPUS}/cpufreq/boost", "7\n"),
        ("frequency-window-open", f"{CPUS}/cpu2/cpufreq/scaling_max_freq", "18446744073709551615\n"),
        ("uncore-frequency-moves", f"{CPUS}/intel_uncore_frequency/package_00_die_00/max_freq_khz", "-1\n"),
        ("deep-idle-states", f"{CPUS}/cpu2/cpuidle/state1/disable", "7\n"),
        ("deep-idle-states", f"{CPUS}/cpu2/cpuidle/state1/latency", "18446744073709551615\n"),
        ("deep-idle-states", f"{CPUS}/cpu2/power/pm_qos_resume_latency_us", "18446744073709551615\n"),
        ("processor-hot", f"{CHIP}/temp1_input", "-95000\n"),
        ("processor-hot", f"{CHIP}/temp1_crit", "18446744073709551615\n"),
        ("power-limit-lowered", f"{ZONE}/constraint_0_power_limit_uw", "18446744073709551615\n"),
        ("memory-errors", "/sys/devices/system/edac/mc/mc0/ce_count", "18446744073709551615\n"),
        ("kernel-traced", f"{TRACING}/set_event", "-7\n"),
        ("mitigations-chosen-by-hand", f"{CPUS}/vulnerabilities/meltdown", "rubbish\n"),
    ],
)
def test_a_number_or_word_that_no_kernel_says_tells_nothing(check_id: str, path: str, text: str) -> None:
    assert path in quiet_files()
    answer, shown = answered(check_id, {path: text}), (text.split() or [""])[-1][:40]
    assert (answer.status, shown in str(answer.reason)) == ("unknown", True), answer.reason


def test_a_switch_of_turbo_that_says_neither_is_not_outvoted_by_an_older_one() -> None:
    assert answered("turbo-enabled", {f"{CPUS}/intel_pstate/no_turbo": "7\n"}).status == "unknown"
    assert answered("turbo-enabled", {f"{CPUS}/cpu2/cpufreq/boost": "7\n"}).status == "unknown"


_KINDS = ("/sys/devices/cpu_core/cpus", "/sys/devices/cpu_atom/cpus")


@pytest.mark.parametrize("lists", [("x\n", "x\n"), ("\n", "\n"), ("0-3\n", "2\n"), ("0-1\n", "x\n")])
def test_of_two_kinds_of_core_each_cpu_is_of_exactly_one(lists: tuple[str, str]) -> None:
    """That all of them did the same work in the same time is no proof: a sibling slows a fast core down."""
    answer = answered("target-cores-differ", dict(zip(_KINDS, lists, strict=True)))
    assert (answer.status, "/sys/devices/cpu_" in str(answer.reason)) == ("unknown", True)


def test_a_device_that_began_to_cool_under_load_is_unknown_where_its_kind_is() -> None:
    device = "/sys/class/thermal/cooling_device1"
    assert answered("cooling-active", {f"{device}/type": "rubbish\n"}).status == "pass"
    assert (
        answered("cooling-active", {f"{device}/type": "rubbish\n"}, {f"{device}/cur_state": "1\n"}).status == "unknown"
    )


def _beside_a_busy_cpu_1(online: str, shared: str) -> dict[str, str]:
    caches = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": shared.format(cpu=cpu) for cpu in range(4)}
    packages = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)}
    return {f"{CPUS}/online": online, **caches, **(packages if "-" in shared else {})}


@pytest.mark.parametrize(
    ("check_id", "shared", "status"),
    [("busy-cache-neighbour", "{cpu}\n", "unknown"), ("other-cpus-busy", "2-3\n", "fail")],
)
def test_a_cpu_whose_time_is_counted_runs_whatever_the_list_says(check_id: str, shared: str, status: str) -> None:
    after = {"/proc/stat": stat_file({1: 290}, 300)}
    assert answered(check_id, _beside_a_busy_cpu_1("0-3\n", shared), after).status == "fail"
    assert answered(check_id, _beside_a_busy_cpu_1("2-3\n", shared), after).status == status


def test_a_cpu_that_is_the_only_one_in_a_damaged_list_has_others_to_call_it() -> None:
    assert answered("ipis-on-target", {f"{CPUS}/online": "0\n"}).status == "pass"


def test_a_quota_below_none_is_no_quota_that_can_be_known() -> None:
    files = {
        "/proc/self/mounts": f"{PROC_MOUNT}cgroup {_ROOT}/cpu cgroup rw,cpu 0 0\n",
        "/proc/self/mountinfo": f"3 1 0:3 / {_ROOT}/cpu rw - cgroup cgroup rw,cpu\n",
        "/proc/self/cgroup": "1:cpu:/\n",
        f"{_ROOT}/cpu/release_agent": "\n",
        f"{_ROOT}/cpu/cpu.stat": "nr_throttled 0\nthrottled_time 0\n",
        f"{_ROOT}/cpu/cpu.cfs_period_us": "100000\n",
    }
    for quota, status in (("-1\n", "pass"), ("-50000\n", "unknown")):
        assert answered("cpu-quota", files | {f"{_ROOT}/cpu/cpu.cfs_quota_us": quota}).status == status


def test_of_cpus_whose_packages_are_not_told_each_is_asked_for_its_package() -> None:
    unnamed = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": "\n" for cpu in (2, 3)}
    count = f"{CPUS}/cpu3/thermal_throttle/package_throttle_count"
    assert answered("throttled", unnamed | {count: "0\n"}, {count: "9\n"}).status == "fail"


@pytest.mark.parametrize("check_id", ["target-cpu-busy", "tasks-on-target", "busy-cache-neighbour"])
@pytest.mark.parametrize("said", ["\n", "rubbish\n", "version 15\ncpu0 0 0 0 0 0 0 5 0 5\n"])
def test_work_between_two_ticks_is_unknown_where_what_tells_of_it_is_damaged(check_id: str, said: str) -> None:
    assert answered(check_id, {"/proc/schedstat": said}).status == "unknown"


@pytest.mark.parametrize(
    ("check_id", "path", "text"),
    [
        ("processor-hot", f"{CHIP}/temp1_input", "41"),
        ("frequency-window-open", f"{CPUS}/cpu2/cpufreq/scaling_min_freq", "3000"),
        ("governor-not-performance", f"{CPUS}/cpu2/cpufreq/scaling_governor", "perfor"),
        ("real-time-work-throttled", Knob.REALTIME_PERIOD, "1000"),
        ("mitigations-chosen-by-hand", "/proc/cmdline", "root=UUID=1234 mitig"),
        ("services-on-target", "/proc/1/comm", "syst"),
        ("console-prints-everything", "/proc/consoles", "tty0                 -WU (EC p  )    4:1"),
    ],
)
def test_a_value_without_its_line_end_was_cut_off(check_id: str, path: str, text: str) -> None:
    answer = answered(check_id, {path: text})
    assert (answer.status, "cut off after" in str(answer.reason)) == ("unknown", True), answer.reason


def test_the_list_of_security_modules_ends_without_a_line_end() -> None:
    files = without(quiet_files() | {Knob.SECURITY_MODULES: "capability,yama"}, Knob.LOCKDOWN)
    machine = WrittenMachine(files, files, answers=ANSWERS)
    assert finding(judged(machine), "privileges-limited").status == "pass"
