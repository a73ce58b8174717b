"""Noisy settings, and the scripts that fix and restore them."""

from __future__ import annotations

import pytest

from noisewatch.judgement.fixes.actions import (
    Action,
    MakePartition,
    StopEvents,
    SwitchSwapOff,
    move,
    run_command,
    write_cpus,
)
from noisewatch.judgement.fixes.fix import Fix, at_boot
from tests import CHECKOUT
from tests.lab.lab import Lab
from tests.lab.tuning import NOISE, NOISE_STATUSES, noise_statuses, noisy_settings, settings

_TRACING = "/sys/kernel/tracing"


def test_scripts_fix_and_restore_all_settings_also_when_run_twice(isolated: Lab) -> None:
    with noisy_settings(isolated):
        noisy = settings(isolated)
        assert noise_statuses(isolated, "--fix-script fix.sh --undo-script undo.sh") == NOISE_STATUSES
        for _ in range(2):
            isolated.do("sh fix.sh")
        assert noise_statuses(isolated) == dict.fromkeys(NOISE, "pass")
        assert settings(isolated) != noisy
        for _ in range(2):
            isolated.do("sh undo.sh")
        assert settings(isolated) == noisy


_GOVERNOR = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
_GROUPS = "/sys/fs/cgroup"


def _state(lab: Lab, pids: list[int]) -> list[str]:
    """Return the settings, and the state of threads, swap areas and partitions."""
    threads = "; ".join(["true", *(f"taskset -pc {pid}; ps -o ni= -p {pid}" for pid in pids)])
    groups = f"cat /proc/swaps {_GROUPS}/cgroup.subtree_control; ls -d {_GROUPS}/*/"
    text = settings(lab) + lab.do(f"{threads}; {groups}; grep -s '' {_GROUPS}/benchmark/cpuset.cpus*; true")
    return text.splitlines()


def _create_swap_area(lab: Lab) -> str:
    """Create a swap area in memory, because the guest's files are those of the host."""
    modules = CHECKOUT / ".lab" / lab.variant.kernel / "lib/modules"
    lab.do(f"insmod {modules}/$(uname -r)/kernel/drivers/block/brd.ko rd_nr=1 rd_size=65536")
    lab.do("mkswap /dev/ram0 && swapon -p 7 /dev/ram0")
    return "/dev/ram0"


def test_each_kind_of_action_may_be_done_twice_and_is_undone_exactly(isolated: Lab) -> None:
    pids = [isolated.start("nice -n 7 sleep 600"), isolated.start("sleep 600")]
    isolated.do(f"taskset -pc 0,4 {pids[1]}; echo performance > {_GOVERNOR.format(3)}")
    governors = {cpu: isolated.read(_GOVERNOR.format(cpu)) for cpu in (2, 3, 6, 7)}
    isolated.do(f"echo sched:sched_switch > {_TRACING}/set_event")
    actions: dict[str, Action] = {
        "write": write_cpus(dict.fromkeys(governors, "powersave"), "cpufreq/scaling_governor", governors),
        "run": run_command(f"renice -n 0 -p {pids[0]}", f"renice -n 7 -p {pids[0]}"),
        "move": move({pids[0]: frozenset({0, 1, 4, 5}), pids[1]: frozenset({0, 4})}, frozenset({1})),
        "process": move({pids[1]: frozenset({0, 4})}, frozenset({5}), process=pids[1]),
        "partition": MakePartition(f"{_GROUPS}/benchmark", frozenset({2, 3}), f"{_GROUPS}/cgroup.subtree_control"),
        "events": StopEvents(f"{_TRACING}/set_event", ("sched:sched_switch",)),
        "swap": SwitchSwapOff(((_create_swap_area(isolated), 7),)),
    }
    try:
        differences = {}
        for kind, action in actions.items():
            # Before Linux 6.2 all affinities are lost when the root begins to delegate cpuset.
            visible = pids if kind != "partition" else []
            fix, before = Fix((action,)), _state(isolated, visible)
            states_after = [_after(isolated, fix.now, visible) for _ in range(2)]
            states_restored = [_after(isolated, fix.undo, visible) for _ in range(2)]
            if before in states_after or states_after[0] != states_after[1] or states_restored != [before, before]:
                differences[kind] = [sorted(set(state) ^ set(before)) for state in (*states_after, *states_restored)]
        assert differences == {}
    finally:
        for pid in pids:
            isolated.stop(pid)
        isolated.run(f"swapoff -a; echo > {_TRACING}/set_event; echo schedutil > {_GOVERNOR.format(3)}")


def _after(lab: Lab, command: str | None, pids: list[int]) -> list[str]:
    assert command is not None
    lab.do(command)
    return _state(lab, pids)


def test_persistent_settings_are_applied_by_systemd_to_their_cpus_only(isolated: Lab) -> None:
    if isolated.run("command -v systemd-tmpfiles").status != 0:
        pytest.skip("there is no systemd-tmpfiles")
    before = {cpu: isolated.read(_GOVERNOR.format(cpu)) for cpu in range(8)}
    action = write_cpus(dict.fromkeys((2, 3, 6), "powersave"), "cpufreq/scaling_governor", before)
    command = at_boot(action).do.replace("/etc/tmpfiles.d/", f"{isolated.scratch}/")
    try:
        isolated.do(f"{command}; systemd-tmpfiles --create {command.rsplit(' ', 1)[1]}")
        after = {cpu: isolated.read(_GOVERNOR.format(cpu)) for cpu in range(8)}
        assert after == before | dict.fromkeys((2, 3, 6), "powersave")
    finally:
        isolated.do(action.undo or "false")
