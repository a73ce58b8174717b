"""What is proposed about the kernel and its scheduler, and how it is undone."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from tests.judgement.example import Example
from tests.judgement.judging import answered, finding, judged, quiet_calibration
from tests.written import Files, WrittenMachine
from tests.written.quiet.cpus import SYSTEM, USER, WORKQUEUES
from tests.written.quiet.system import TRACING
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files

_OPEN = {"/proc/1/status": "Cpus_allowed_list:\t0-3\n"}


def _fix(check_id: str, changed: dict[str, str]) -> Fix:
    fix = answered(check_id, changed).fix
    assert fix is not None
    return fix


def test_the_watchdog_goes_to_the_housekeeping_cpus_and_back_to_those_it_had() -> None:
    fix = _fix("lockup-watchdog-on-target", {Knob.WATCHDOG_CPUS: "0,2-3\n"})
    assert fix.now == "echo 0-1 | sudo tee /proc/sys/kernel/watchdog_cpumask"
    assert (
        fix.persist
        == "echo 'kernel.watchdog_cpumask = 0-1' | sudo tee /etc/sysctl.d/90-noisewatch-kernel.watchdog_cpumask.conf"
    )
    assert fix.undo == "echo 0,2-3 | sudo tee /proc/sys/kernel/watchdog_cpumask"


def test_without_housekeeping_cpus_the_watchdog_is_switched_off() -> None:
    files = quiet_files() | {Knob.WATCHDOG_CPUS: "0-3\n"}
    fix = _found(files, frozenset(range(4)))["lockup-watchdog-on-target"]
    assert fix is not None
    assert (fix.now, fix.undo) == (
        "echo 0 | sudo tee /proc/sys/kernel/watchdog",
        "echo 1 | sudo tee /proc/sys/kernel/watchdog",
    )


def _found(files: Files, target: frozenset[int] = frozenset({2, 3})) -> dict[str, Fix | None]:
    verdict = judged(WrittenMachine(files, files, answers=ANSWERS), target)
    return {each.check.id: each.answer.fix for each in verdict.findings}


@pytest.mark.parametrize(
    ("check_id", "changed", "now", "undo"),
    [
        (
            "timers-migrate-to-target",
            {Knob.TIMER_MIGRATION: "1\n", f"{CPUS}/nohz_full": "\n"},
            "echo 0 | sudo tee /proc/sys/kernel/timer_migration",
            "echo 1 | sudo tee /proc/sys/kernel/timer_migration",
        ),
        (
            "memory-statistics-updated-often",
            {Knob.STAT_INTERVAL: "2\n", "/proc/sys/kernel/osrelease": "6.1.0\n"},
            "echo 120 | sudo tee /proc/sys/vm/stat_interval",
            "echo 2 | sudo tee /proc/sys/vm/stat_interval",
        ),
        (
            "machine-checks-polled-often",
            {Knob.MACHINE_CHECK_INTERVAL: "30\n"},
            f"echo 86400 | sudo tee {Knob.MACHINE_CHECK_INTERVAL}",
            f"echo 30 | sudo tee {Knob.MACHINE_CHECK_INTERVAL}",
        ),
        (
            "real-time-work-throttled",
            {Knob.REALTIME_RUNTIME: "950000\n", "/proc/sys/kernel/osrelease": "6.1.0\n"},
            "echo -1 | sudo tee /proc/sys/kernel/sched_rt_runtime_us",
            "echo 950000 | sudo tee /proc/sys/kernel/sched_rt_runtime_us",
        ),
        (
            "kernel-statistics-collected",
            {Knob.BPF_STATISTICS: "1\n", Knob.DELAY_ACCOUNTING: "1\n"},
            'for n in task_delayacct bpf_stats_enabled; do echo 0 | sudo tee "/proc/sys/kernel/$n"; done',
            'for n in task_delayacct bpf_stats_enabled; do echo 1 | sudo tee "/proc/sys/kernel/$n"; done',
        ),
        (
            "console-prints-everything",
            {Knob.PRINTK: "7\t4\t1\t7\n"},
            "echo 4 | sudo tee /proc/sys/kernel/printk",
            "echo '7 4 1 7' | sudo tee /proc/sys/kernel/printk",
        ),
        (
            "console-cursor-blinks",
            {Knob.CURSOR_BLINK: "1\n"},
            "echo 0 | sudo tee /sys/class/graphics/fbcon/cursor_blink",
            "echo 1 | sudo tee /sys/class/graphics/fbcon/cursor_blink",
        ),
        (
            "workqueues-on-target",
            {f"{WORKQUEUES}/cpumask": "f\n", f"{WORKQUEUES}/cpumask_requested": "ff\n"},
            f"echo 3 | sudo tee {WORKQUEUES}/cpumask",
            f"echo ff | sudo tee {WORKQUEUES}/cpumask",
        ),
    ],
)
def test_a_setting_is_brought_back_as_it_was_read(check_id: str, changed: dict[str, str], now: str, undo: str) -> None:
    fix = _fix(check_id, changed)
    assert (fix.now, fix.undo) == (now, undo)


def test_a_knob_that_was_read_is_written_at_boot_too() -> None:
    persist = _fix("console-cursor-blinks", {Knob.CURSOR_BLINK: "1\n"}).persist
    assert persist is not None
    assert "'w /sys/class/graphics/fbcon/cursor_blink - - - - 0'" in persist


def test_only_the_events_that_cost_are_switched_off_and_on_again() -> None:
    own = f"{TRACING}/instances/rasdaemon"
    changed = {f"{own}/set_event": "ras:mc_event\nirq:softirq_entry\nirq:softirq_exit\n"}
    fix = _fix("kernel-traced", changed | {f"{TRACING}/current_tracer": "function\n"})
    assert fix.now == (
        f"echo nop | sudo tee {TRACING}/current_tracer && "
        + _in_a_shell(f"printf '%s\\n' '!irq:softirq_entry' '!irq:softirq_exit' >>{own}/set_event")
    )
    assert fix.undo == (
        _in_a_shell(f"printf '%s\\n' irq:softirq_entry irq:softirq_exit >>{own}/set_event")
        + f"; echo function | sudo tee {TRACING}/current_tracer"
    )


def test_the_tracers_beside_the_tracer_are_switched_off_and_on_again() -> None:
    profile = f"{TRACING}/function_profile_enabled"
    fix = _fix("kernel-traced", {profile: "1\n", Knob.STACK_TRACER: "1\n"})
    assert fix.now == f"echo 0 | sudo tee {profile}; echo 0 | sudo tee {Knob.STACK_TRACER}"
    assert fix.undo == f"echo 1 | sudo tee {profile}; echo 1 | sudo tee {Knob.STACK_TRACER}"


def _in_a_shell(command: str) -> str:
    """As tracefs does not let `tee -a` seek the end."""
    return f"sudo sh -c {shlex.quote(command)}"


def test_the_folder_of_an_instance_is_quoted() -> None:
    own = f"{TRACING}/instances/a b;reboot"
    fix = _fix("kernel-traced", {f"{own}/current_tracer": "nop\n", f"{own}/set_event": "a:b\n"})
    words = shlex.split(fix.now or "")
    assert words[:3] == ["sudo", "sh", "-c"]
    assert f"'{own}/set_event'" in words[3]


def test_more_cpus_become_tickless_than_were_before_and_never_the_boot_cpu() -> None:
    fix = _fix("target-not-tickless", {f"{CPUS}/nohz_full": "1\n"})
    assert (fix.now, fix.persist) == (None, "add to the kernel command line and reboot: nohz_full=1-3")
    assert _found(quiet_files() | {f"{CPUS}/nohz_full": "\n"}, frozenset({0}))["target-not-tickless"] is None


def test_offloading_keeps_what_was_offloaded() -> None:
    fix = _fix("rcu-callbacks-on-target", {"/proc/cmdline": "rcu_nocbs=1\n", f"{CPUS}/nohz_full": "\n"})
    assert fix.persist == "add to the kernel command line and reboot: rcu_nocbs=1-3"


def test_offloading_threads_move_away_and_back() -> None:
    changed = {"/proc/cmdline": "rcu_nocbs=2-3\n", f"{CPUS}/isolated": "\n"}
    fix = _fix("rcu-callbacks-on-target", changed | process(50, "rcuop/2", 0, 0, allowed="0-3", flags=0x0020_0000))
    assert (fix.now, fix.undo) == ("sudo taskset -pc 0-1 50", "sudo taskset -pc 0-3 50")


def test_slices_are_confined_and_get_back_what_they_were_allowed() -> None:
    limited = {f"{SYSTEM}/cpuset.cpus.effective": "1-3\n", f"{SYSTEM}/cpuset.cpus": "1-3\n"}
    fix = _fix("services-on-target", _OPEN | limited)
    command = "sudo systemctl set-property {}-- {} AllowedCPUs={}"
    for line, how_long in ((fix.now, "--runtime "), (fix.persist, "")):
        each = command.format(how_long, '"$n"', "0-1")
        assert line == f"for n in system.slice user.slice; do {each}; done"
    assert fix.undo == "; ".join(
        [command.format("--runtime ", "system.slice", "1-3"), command.format("--runtime ", "user.slice", "")]
    )


def test_a_limit_that_could_not_be_read_is_not_guessed() -> None:
    assert _fix("services-on-target", _OPEN | {f"{USER}/cpuset.cpus.effective": "0-3\n"}).undo is None


def test_a_governor_that_waits_for_the_tick_goes_back_to_powersave() -> None:
    own = f"{CPUS}/cpu{{}}/cpufreq"
    files = {f"{own.format(cpu)}/scaling_driver": "intel_pstate\n" for cpu in (2, 3)}
    files |= {f"{own.format(3)}/scaling_governor": "powersave\n", f"{own.format(3)}/scaling_min_freq": "800000\n"}
    gone = tuple(f"{own.format(cpu)}/energy_performance_preference" for cpu in (2, 3))
    fix = Example("clock-waits-for-tick", "fail", files, gone=gone).found().answer.fix
    assert fix is not None
    assert fix.now == f"echo performance | sudo tee {own.format(3)}/scaling_governor"
    assert fix.undo == f"echo powersave | sudo tee {own.format(3)}/scaling_governor"


_ALL_FAULTS = {
    **_OPEN,
    f"{CPUS}/isolated": "\n",
    f"{CPUS}/nohz_full": "\n",
    f"{WORKQUEUES}/cpumask": "f\n",
    f"{TRACING}/set_event": "sched:sched_switch\n",
    f"{TRACING}/current_tracer": "function\n",
    Knob.SCHED_EXT_STATE: "enabled\n",
    Knob.WATCHDOG_CPUS: "0-3\n",
    Knob.TIMER_MIGRATION: "1\n",
    Knob.STAT_INTERVAL: "1\n",
    Knob.MACHINE_CHECK_INTERVAL: "1\n",
    Knob.REALTIME_RUNTIME: "950000\n",
    Knob.PRINTK: "7\t4\t1\t7\n",
    Knob.CURSOR_BLINK: "1\n",
    Knob.BPF_STATISTICS: "1\n",
    "/proc/sys/kernel/osrelease": "6.1.0\n",
}


@pytest.mark.parametrize("name", ["now", "undo"])
def test_every_command_about_the_kernel_is_valid_shell(name: str) -> None:
    fixes = [fix for fix in _found(quiet_files() | _ALL_FAULTS).values() if fix is not None]
    commands = [command for fix in fixes if (command := getattr(fix, name)) is not None]
    refused = [command for command in commands if subprocess.run(["sh", "-n", "-c", command], check=False).returncode]
    assert len(commands) >= 10
    assert refused == []


def test_a_calibration_in_real_time_makes_the_throttle_a_warning() -> None:
    files = quiet_files() | {Knob.REALTIME_RUNTIME: "950000\n", "/proc/sys/kernel/osrelease": "6.1.0\n"}
    quiet = quiet_calibration()
    samples = replace(quiet.calibration.samples, is_realtime=True)
    calibrated = replace(quiet, calibration=replace(quiet.calibration, samples=samples))
    snapshot = read_snapshot(WrittenMachine(files, answers=ANSWERS), SnapshotOptions())
    severities = [
        finding(judge(Case(snapshot, calibrated=each)), "real-time-work-throttled").severity
        for each in (quiet, calibrated)
    ]
    assert severities == ["information", "warning"]
