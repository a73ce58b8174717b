"""`noisewatch tune` changes a real machine, and `restore` restores it exactly, whatever happened in between."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.lab.lab import Lab
from tests.lab.machine_state import differences
from tests.lab.tuning import NOISE, noise_statuses, noisy_settings

_ROOT = "/sys/fs/cgroup"
_BALANCING = "/proc/sys/kernel/numa_balancing"
_RECLAIM = "/proc/sys/vm/zone_reclaim_mode"
_CPU = "/sys/devices/system/cpu/cpu{}"
_GOVERNOR = f"{_CPU}/cpufreq/scaling_governor"
_OPTIONS = "--profile micro --config tune.toml --cpus 2-3"
_TUNE = f"noisewatch tune --yes {_OPTIONS}"
_NOT_TUNED = "not tuned: no change made by noisewatch tune is in effect\n"
_SELECTED = (
    *(check_id for check_id in NOISE if check_id != "layout-not-random"),
    *("governor-not-performance", "frequency-window-open", "irq-routed-to-target", "numa-balancing-runs"),
    "target-not-isolated",
)


@pytest.fixture(scope="module")
def noisy(plain: Lab) -> Iterator[Lab]:
    """The machine with noisy settings, which delegates cpuset already, as systemd does on request."""
    (plain.scratch / "tune.toml").write_text(
        "[severity]\n" + "".join(f'{check_id} = "warning"\n' for check_id in NOISE)
    )
    plain.do(f"echo +cpuset > {_ROOT}/cgroup.subtree_control")
    with noisy_settings(plain):
        yield plain
    plain.do(f"echo -cpuset > {_ROOT}/cgroup.subtree_control")


def _state(lab: Lab) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings, and the affinities of all threads."""
    state = json.loads(lab.do("python -m tests.lab.machine_state"))
    return state["settings"], state["affinities"]


def _wait_until(lab: Lab, path: str, value: str) -> None:
    """Wait until the file has the value. Fail after a minute."""
    lab.do(f"timeout 60 sh -c 'until grep -qx {value} {path}; do sleep 0.1; done'")


def test_a_tuned_machine_passes_its_checks_and_is_restored(noisy: Lab) -> None:
    before, _ = _state(noisy)
    noisy.do(_TUNE)
    status = noisy.do("noisewatch tune --status").splitlines()
    assert status[0].startswith("tuned since ")
    assert f"  {_GOVERNOR.format('[23]')}: schedutil -> performance" in status
    # Address randomization is left to the user.
    assert noise_statuses(noisy, "--cpus 2-3") == dict.fromkeys(NOISE, "pass") | {"layout-not-random": "warn"}
    changed = differences(before, _state(noisy)[0])
    assert {path for path, _ in NOISE.values()} - changed.keys() == {NOISE["layout-not-random"][0]}
    assert changed[_GOVERNOR.format(2)] == ("schedutil", "performance")
    noisy.do("noisewatch restore")
    assert differences(before, _state(noisy)[0]) == {}
    assert noisy.do("noisewatch tune --status") == _NOT_TUNED


def test_a_setting_that_another_program_changed_is_left_unless_forced(noisy: Lab) -> None:
    before, _ = _state(noisy)
    noisy.do(_TUNE)
    noisy.write(_RECLAIM, 2)
    result = noisy.run("noisewatch restore")
    assert result.status == 3
    assert f"  {_RECLAIM}: changed by another program to 2 (tune had set 0)" in result.out.splitlines()
    assert differences(before, _state(noisy)[0]) == {_RECLAIM: ("1", "2")}
    noisy.do("noisewatch restore --force")
    assert differences(before, _state(noisy)[0]) == {}
    assert noisy.do("noisewatch tune --status") == _NOT_TUNED


def test_a_tune_or_restore_killed_at_any_change_leaves_nothing_behind(noisy: Lab) -> None:
    pinned = noisy.start("taskset -c 1-3 sleep 600")
    try:
        rounds = json.loads(noisy.do(f"python -m tests.lab.tune_kills {_OPTIONS} --select {','.join(_SELECTED)}"))
    finally:
        noisy.stop(pinned)
    assert {name: result["differences"] for name, result in rounds.items() if result["differences"]} == {}
    assert rounds["after each change"]["kills"] > len(_SELECTED) + 3  # IRQs, CPUs, and the partition's parts
    assert all(result["kills"] for result in rounds.values())


def test_a_partition_is_removed_and_all_affinities_are_as_before(noisy: Lab) -> None:
    pids = [noisy.start("taskset -c 1-3 sleep 600"), noisy.start("taskset -c 2 sleep 600")]
    try:
        settings, affinities = _state(noisy)
        noisy.do(f"{_TUNE} --select target-not-isolated")
        assert noisy.read(f"{_ROOT}/benchmark/cpuset.cpus.partition") == "isolated"
        pids += [noisy.start("taskset -c 0,4 sleep 600"), noisy.start("sleep 600")]
        assert noisy.do(f"taskset -pc {pids[-1]}").endswith(": 0,1,4-7\n")
        noisy.do("noisewatch restore")
        settings_after, affinities_after = _state(noisy)
        assert differences(settings, settings_after) == {}
        assert differences(affinities, affinities_after, of_both=True) == {}
        assert noisy.do(f"taskset -pc {pids[-2]}; taskset -pc {pids[-1]}").split()[5::6] == ["0,4", "0-7"]
    finally:
        for pid in pids:
            noisy.stop(pid)


def test_a_killed_tune_is_restored_by_its_guardian_and_no_other_session(noisy: Lab) -> None:
    before, _ = _state(noisy)
    command = "noisewatch tune --yes --no-config --profile micro --cpus 2-3 --until-exit --select {} -- sleep 1000"
    pids = [noisy.start(command.format("numa-balancing-runs"))]
    try:
        _wait_until(noisy, _BALANCING, "0")
        pids.append(noisy.start(command.format("governor-not-performance")))
        _wait_until(noisy, _GOVERNOR.format(3), "performance")
        noisy.do(f"kill -KILL {pids[0]}")  # noisewatch alone
        _wait_until(noisy, _BALANCING, "1")
        assert noisy.read(_GOVERNOR.format(3)) == "performance"
        noisy.stop(pids[1])  # the process group
        _wait_until(noisy, _GOVERNOR.format(3), "schedutil")
    finally:
        for pid in pids:
            noisy.stop(pid)
    assert noisy.do("noisewatch tune --status") == _NOT_TUNED
    assert differences(before, _state(noisy)[0]) == {}


def test_a_run_is_tuned_and_the_machine_restored_afterwards(noisy: Lab) -> None:
    before, _ = _state(noisy)
    result = noisy.run(f"noisewatch run --tune --calibration 0 --cpus 2-3 -- cat {_BALANCING} {_GOVERNOR.format(2)}")
    assert (result.status, result.out) == (0, "0\nperformance\n")
    assert "restored" in result.err
    assert differences(before, _state(noisy)[0]) == {}


def test_reserved_cpus_are_given_back_also_after_a_kill(plain: Lab) -> None:
    before, _ = _state(plain)
    reserve = "noisewatch run --reserve --calibration 0 --cpus 2-3 --"
    for_others = "/sys/fs/cgroup/cpuset.cpus.effective"
    result = plain.run(f"{reserve} cat /proc/self/cgroup {for_others}")
    assert result.out.splitlines()[-2:] == ["0::/benchmark", "0-1,4-7"]
    assert differences(before, _state(plain)[0]) == {}
    pid = plain.start(f"{reserve} sleep 1000")
    _wait_until(plain, for_others, "0-1,4-7")
    plain.do(f"kill -KILL -{pid}")
    _wait_until(plain, for_others, "0-7")
    plain.do("for try in $(seq 100); do ! [ -d /sys/fs/cgroup/benchmark ] || sleep 0.2; done")
    assert plain.do("noisewatch tune --status") == _NOT_TUNED
    assert differences(before, _state(plain)[0]) == {}


def test_settings_of_an_offline_cpu_are_restored_when_it_is_online_again(noisy: Lab) -> None:
    before, _ = _state(noisy)
    online = f"{_CPU.format(3)}/online"
    noisy.do(f"{_TUNE} --select governor-not-performance,frequency-window-open,numa-balancing-runs")
    noisy.write(online, 0)
    try:
        result = noisy.run("noisewatch restore")
    finally:
        noisy.write(online, 1)
    assert result.status == 3
    files = f"{_CPU.format(3)}/cpufreq/{{scaling_min_freq,scaling_governor}}"
    assert result.out.splitlines()[0] == f"  {files}: the CPU is offline (device or resource busy)"
    assert differences(before, _state(noisy)[0]).keys() == {
        _GOVERNOR.format(3),
        f"{_CPU.format(3)}/cpufreq/scaling_min_freq",
    }
    noisy.do("noisewatch restore")
    assert differences(before, _state(noisy)[0]) == {}
    assert noisy.do("noisewatch tune --status") == _NOT_TUNED
