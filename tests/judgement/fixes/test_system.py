"""Fixes of the kernel, disk and boot option checks, and their undo."""

from __future__ import annotations

import pytest

from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import fix_of
from tests.judgement.judging import finding, judged_by_settings
from tests.written import WrittenMachine, without
from tests.written.quiet.system import MDSTAT
from tests.written.quiet_machine import ANSWERS, quiet_files


def test_without_housekeeping_cpus_the_watchdog_is_switched_off() -> None:
    fix = fix_of("lockup-watchdog-on-target", {Knob.WATCHDOG_CPUS: "0-3\n"}, frozenset(range(4)))
    assert (fix.now, fix.undo) == (
        "echo 0 | sudo tee /proc/sys/kernel/watchdog",
        "echo 1 | sudo tee /proc/sys/kernel/watchdog",
    )


def test_settings_in_one_folder_are_written_in_a_loop() -> None:
    fix = fix_of("kernel-statistics-collected", {Knob.BPF_STATISTICS: "1\n", Knob.DELAY_ACCOUNTING: "1\n"})
    loop = 'for n in task_delayacct bpf_stats_enabled; do echo {} | sudo tee "/proc/sys/kernel/$n"; done'
    assert (fix.now, fix.undo) == (loop.format(0), loop.format(1))


@pytest.mark.parametrize("work", ["resync", "recovery", "reshape"])
def test_a_rebuild_of_an_array_is_not_stopped(work: str) -> None:
    assert _fix_of_array(work) is None


def test_a_check_of_an_array_is_stopped_and_restarted() -> None:
    path = "/sys/block/md0/md/sync_action"
    fix = _fix_of_array("check")
    assert fix is not None
    assert (fix.now, fix.undo) == (f"echo idle | sudo tee {path}", f"echo check | sudo tee {path}")


def _fix_of_array(work: str) -> Fix | None:
    row = f"[UU]\n      [>...]  {work} = 2.0% (1/50) finish=1.0min speed=1K/sec\n"
    array_finding = Example("disk-array-rebuilds", "fail", {"/proc/mdstat": MDSTAT.replace("[UU]\n", row)}).found()
    assert array_finding.status == "fail"
    return array_finding.answer.fix


@pytest.mark.parametrize(
    ("path", "text", "command"),
    [
        ("/etc/default/grub", 'GRUB_CMDLINE_LINUX="nosmt"\n', "sudo update-grub"),
        ("/etc/kernel/cmdline", "nosmt\n", "sudo kernel-install add"),
    ],
)
def test_a_pending_boot_option_needs_the_boot_loaders_command(path: str, text: str, command: str) -> None:
    machine = WrittenMachine(without(quiet_files(), "/etc") | {path: text}, answers=ANSWERS)
    fix = finding(judged_by_settings(machine), "boot-options-pending").answer.fix
    assert fix is not None
    assert (fix.now, command in (fix.persist or ""), fix.needs_reboot, fix.persist_is_command) == (
        None,
        True,
        True,
        False,
    )
