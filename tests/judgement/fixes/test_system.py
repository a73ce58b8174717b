"""What the checks of the kernel, of disks and of boot options propose, and how it is undone."""

from __future__ import annotations

import pytest

from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import fix_of
from tests.judgement.judging import finding, judged_by_settings
from tests.written import WrittenMachine, without
from tests.written.quiet.cpus import WORKQUEUES
from tests.written.quiet.system import MDSTAT
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files


def test_the_watchdog_goes_to_the_housekeeping_cpus_and_back_to_those_it_had() -> None:
    fix = fix_of("lockup-watchdog-on-target", {Knob.WATCHDOG_CPUS: "0,2-3\n"})
    assert fix.now == "echo 0-1 | sudo tee /proc/sys/kernel/watchdog_cpumask"
    assert (
        fix.persist
        == "echo 'kernel.watchdog_cpumask = 0-1' | sudo tee /etc/sysctl.d/90-noisewatch-kernel.watchdog_cpumask.conf"
    )
    assert fix.undo == "echo 0,2-3 | sudo tee /proc/sys/kernel/watchdog_cpumask"


def test_without_housekeeping_cpus_the_watchdog_is_switched_off() -> None:
    fix = fix_of("lockup-watchdog-on-target", {Knob.WATCHDOG_CPUS: "0-3\n"}, frozenset(range(4)))
    assert (fix.now, fix.undo) == (
        "echo 0 | sudo tee /proc/sys/kernel/watchdog",
        "echo 1 | sudo tee /proc/sys/kernel/watchdog",
    )


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
    fix = fix_of(check_id, changed)
    assert (fix.now, fix.undo) == (now, undo)


def test_a_knob_that_was_read_is_written_at_boot_too() -> None:
    persist = fix_of("console-cursor-blinks", {Knob.CURSOR_BLINK: "1\n"}).persist
    assert persist is not None
    assert "'w /sys/class/graphics/fbcon/cursor_blink - - - - 0'" in persist


@pytest.mark.parametrize("work", ["resync", "recovery", "reshape"])
def test_what_makes_an_array_whole_is_not_stopped(work: str) -> None:
    assert _fix_of_array(work) is None


def test_a_check_of_an_array_is_stopped_and_begun_again() -> None:
    path = "/sys/block/md0/md/sync_action"
    fix = _fix_of_array("check")
    assert fix is not None
    assert (fix.now, fix.undo) == (f"echo idle | sudo tee {path}", f"echo check | sudo tee {path}")


def _fix_of_array(work: str) -> Fix | None:
    row = f"[UU]\n      [>...]  {work} = 2.0% (1/50) finish=1.0min speed=1K/sec\n"
    found = Example("disk-array-rebuilds", "fail", {"/proc/mdstat": MDSTAT.replace("[UU]\n", row)}).found()
    assert found.status == "fail"
    return found.answer.fix


@pytest.mark.parametrize(
    ("path", "text", "command"),
    [
        ("/etc/default/grub", 'GRUB_CMDLINE_LINUX="nosmt"\n', "sudo update-grub"),
        ("/etc/kernel/cmdline", "nosmt\n", "sudo kernel-install add"),
    ],
)
def test_an_option_that_waits_needs_the_boot_loaders_own_command(path: str, text: str, command: str) -> None:
    machine = WrittenMachine(without(quiet_files(), "/etc") | {path: text}, answers=ANSWERS)
    fix = finding(judged_by_settings(machine), "boot-options-pending").answer.fix
    assert fix is not None
    assert (fix.now, command in (fix.persist or ""), fix.needs_reboot, fix.persist_is_command) == (
        None,
        True,
        True,
        False,
    )
