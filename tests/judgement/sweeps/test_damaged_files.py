"""Files that were cut off, blanked or damaged, and mounts that hide them: none of them proves a quiet machine."""

from __future__ import annotations

import pytest

from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.judging import answered, finding_on
from tests.written import WrittenMachine, without
from tests.written.quiet.frequency import CHIP, ZONE
from tests.written.quiet.system import TRACING
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files


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
def test_damaged_mounts_make_answers_about_proc_unknown(mounts: str) -> None:
    files = {"/proc/self/mounts": mounts}
    assert answered("target-cpu-busy", files).status == "unknown"
    assert answered("tasks-on-target", files).status == "unknown"
    assert answered("profiler-runs", files).status == "unknown"


def test_mounts_without_proc_do_not_show_whether_it_hides_processes() -> None:
    files = {"/proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n", "/proc/mounts": "/dev/sda1 / ext4 rw 0 0\n"}
    assert (answered("tasks-on-target", files).status, answered("profiler-runs", files).status) == ("warn", "unknown")


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
def test_a_number_or_word_that_no_kernel_prints_is_unknown(check_id: str, path: str, text: str) -> None:
    assert path in quiet_files()
    answer, shown = answered(check_id, {path: text}), (text.split() or [""])[-1][:40]
    assert (answer.status, shown in str(answer.reason)) == ("unknown", True), answer.reason


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
    assert finding_on(machine, "privileges-limited").status == "pass"
