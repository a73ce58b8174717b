"""Fixes of steered packets and of options that wait for a reboot."""

from __future__ import annotations

import subprocess

import pytest

from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.judging import answered, finding, judged_by_settings
from tests.written import WrittenMachine, without
from tests.written.quiet.interrupts import QUEUE
from tests.written.quiet_machine import ANSWERS, quiet_files

_NET = "/sys/class/net"


def _fix(check_id: str, changed: dict[str, str]) -> Fix:
    fix = answered(check_id, changed).fix
    assert fix is not None
    return fix


def test_a_mask_loses_the_target_cpus_and_gets_them_back() -> None:
    fix = _fix("packets-steered-to-target", {f"{QUEUE}/rps_cpus": "0000000f\n"})
    assert fix.now == f"echo 3 | sudo tee {QUEUE}/rps_cpus"
    assert fix.undo == f"echo f | sudo tee {QUEUE}/rps_cpus"
    assert (
        fix.persist == f"echo 'w {QUEUE}/rps_cpus - - - - 3' "
        "| sudo tee /etc/tmpfiles.d/noisewatch-net.eth0.queues.rx-0.rps_cpus.conf"
    )


def test_queues_with_one_mask_share_a_command() -> None:
    masks = {"rx-0": "c", "rx-1": "c", "rx-2": "6", "rx-3": "3"}
    fix = _fix(
        "packets-steered-to-target", {f"{_NET}/eth0/queues/{name}/rps_cpus": f"{m}\n" for name, m in masks.items()}
    )
    both, third = f"{_NET}/eth0/queues/rx-$r/rps_cpus", f"{_NET}/eth0/queues/rx-2/rps_cpus"
    assert fix.now == f'for r in 0 1; do echo 0 | sudo tee "{both}"; done; echo 2 | sudo tee {third}'
    assert fix.undo == f'for r in 0 1; do echo c | sudo tee "{both}"; done; echo 6 | sudo tee {third}'


def test_an_interface_may_have_any_name() -> None:
    names = ["a b", "$(reboot)", "it's", "eth0;reboot"]
    fix = _fix("packets-steered-to-target", {f"{_NET}/{name}/queues/rx-0/rps_cpus": "c\n" for name in names})
    for command in (fix.now, fix.undo):
        assert command is not None
        assert subprocess.run(["sh", "-n", "-c", command], check=False).returncode == 0
    assert "for n in '$(reboot)' 'a b' 'eth0;reboot'" in (fix.now or "")
    assert f'sudo tee "{_NET}/$n/queues/rx-0/rps_cpus"' in (fix.now or "")


def test_the_mask_of_new_interfaces_is_a_sysctl() -> None:
    fix = _fix("packets-steered-to-target", {Knob.RPS_DEFAULT: "c\n"})
    assert fix.now == f"echo 0 | sudo tee {Knob.RPS_DEFAULT}"
    assert fix.undo == f"echo c | sudo tee {Knob.RPS_DEFAULT}"
    assert (
        fix.persist
        == "echo 'net.core.rps_default_mask = 0' | sudo tee /etc/sysctl.d/90-noisewatch-net.core.rps_default_mask.conf"
    )


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
