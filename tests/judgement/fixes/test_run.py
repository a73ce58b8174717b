"""Every command of every fix, run by a shell below a folder: it is idempotent, and its undo is complete."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.fixes.actions import Action, MakePartition, Move, Write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example, all_examples
from tests.judgement.fixes.fake_root import sh, tree_of
from tests.judgement.judging import judged
from tests.written import WrittenMachine, write_tree
from tests.written.quiet.cpus import WORKQUEUES
from tests.written.quiet.system import TRACING
from tests.written.quiet_machine import ANSWERS, CPUS, TARGET, quiet_files

# Files of the kernel that no check reads.
_NEVER_READ = {
    f"{CPUS}/cpu1/online": "1\n",
    f"{CPUS}/cpu3/online": "0\n",
    "/sys/block/md0/md/sync_action": "check\n",
}
_CHOSEN = re.compile(r".*\[(\S+)\].*", re.DOTALL)


@cache
def _fixes() -> dict[Fix, Example]:
    """Return all different fixes of the examples' findings."""
    fixes = ((example, example.found().answer.fix) for example in all_examples() if example.status in ("fail", "warn"))
    return {fix: example for example, fix in fixes if fix is not None}


def _normalize(tree: dict[str, str]) -> dict[str, str]:
    """Return the texts as written values: `madvise` for `always [madvise] never`, and masks without leading zeros."""
    words = {path: _CHOSEN.sub(r"\1", text).partition(" invalid")[0].split() for path, text in tree.items()}
    return {path: " ".join(word.lstrip("0") or "0" for word in values) for path, values in words.items()}


def _differences(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    both = {path: (before.get(path), after.get(path)) for path in before.keys() | after.keys()}
    return {path: texts for path, texts in both.items() if texts[0] != texts[1]}


def _initial_files(fix: Fix, example: Example) -> dict[str, str]:
    """Return the files of the machine that the actions may write."""
    files = quiet_files(3.0) | dict(example.changed) | dict(example.after) | _NEVER_READ
    mask = f"{WORKQUEUES}/cpumask"  # shows the effective part of the written mask
    files[mask] = files.get(f"{mask}_requested", files[mask])
    paths = {path for action in fix.actions for path in _paths_of(action)}
    pins = [pin for action in fix.actions if isinstance(action, Move) for pin in action.pins]
    threads = {f"/threads/{pin.tid}": f"{format_cpu_list(pin.before or ())}\n" for pin in pins}
    return {path: text for path, text in files.items() if path in paths} | threads


def _paths_of(action: Action) -> list[str]:
    if isinstance(action, Write):
        return [setting.path for setting in action.settings]
    if isinstance(action, MakePartition):
        return [f"{action.folder}/{name}" for name in ("cpuset.cpus", "cpuset.cpus.partition")]
    return []


def test_the_examples_have_fixes_of_all_kinds() -> None:
    commands = " ".join(f"{fix.now} {fix.persist}" for fix in _fixes())
    kinds = ("tmpfiles.d", "sysctl.d", "for c in", "mkdir", "taskset", "systemctl", "kill", "swapoff")
    assert [kind for kind in kinds if kind not in commands] == []
    assert len([fix for fix in _fixes() if fix.persist_is_command]) > 25


def test_every_persistent_command_has_an_undo() -> None:
    """Commands without `undo` are exempt: the former limit of a service group may be unknown."""
    lasting = [fix for fix in _fixes() if fix.persist_is_command]
    assert [fix.persist for fix in lasting if fix.undo is not None and fix.undo_persist is None] == []
    assert [fix.persist for fix in _fixes() if fix not in lasting and fix.undo_persist is not None] == []


def test_advice_by_hand_is_not_a_command() -> None:
    by_hand = [fix.persist for fix in _fixes() if fix.persist and not fix.persist_is_command]
    assert [advice for advice in by_hand if "sudo tee" in advice or advice.startswith("sudo")] == []
    assert [advice for advice in by_hand if advice.startswith("add to the kernel command line")]


def test_no_command_appends() -> None:
    commands = [
        command for fix in _fixes() for command in (fix.now, fix.persist, fix.undo, fix.undo_persist) if command
    ]
    appending = [command for command in commands if "tee -a" in command or ">>" in command]
    # `set_event` is a set: an event that is appended twice is in it once.
    assert [command for command in appending if "/set_event" not in command] == []


@pytest.mark.parametrize("number", range(8))
def test_every_fix_is_idempotent_and_its_undo_is_complete(number: int, tmp_path: Path) -> None:
    wrong = {}
    share = list(_fixes().items())[number::8]
    for at, (fix, example) in enumerate(share):
        root = write_tree(tmp_path / str(at), _initial_files(fix, example))
        root.mkdir(exist_ok=True)
        persist = fix.persist if fix.persist_is_command else None
        before = tree_of(root)
        now = fix.now if fix.now is None or "sudo" in fix.now else None
        first, second = sh(root, now, persist), sh(root, now, persist)
        undone, again = sh(root, fix.undo, fix.undo_persist), sh(root, fix.undo, fix.undo_persist)
        is_restored = _normalize(undone) == _normalize(before) or (now is not None and fix.undo is None)
        if (first, undone, is_restored) != (second, again, True):
            wrong[example.name] = [
                _differences(before, first),
                _differences(first, second),
                _differences(before, undone),
            ]
    assert len(share) > 5
    assert wrong == {}


@pytest.mark.parametrize(
    ("check_id", "name", "text"),
    [
        ("governor-not-performance", "cpufreq/scaling_governor", "schedutil\n"),
        ("frequency-window-open", "cpufreq/scaling_min_freq", "1200000\n"),
        ("energy-bias-not-performance", "power/energy_perf_bias", "6\n"),
        ("deep-idle-states", "cpuidle/state3/disable", "0\n"),
    ],
)
def test_undoing_a_persistent_setting_keeps_that_of_other_cpus(
    check_id: str, name: str, text: str, tmp_path: Path
) -> None:
    changed = {f"{CPUS}/cpu{cpu}/{name}": text for cpu in (2, 3)} | {f"{CPUS}/cpufreq/boost": "1\n"}
    targets = (frozenset({2, 3}), frozenset({3}))
    first, second = (Example(check_id, "fail", changed, target=cpus).found().answer.fix or Fix() for cpus in targets)
    earlier = sh(tmp_path / "machine", first.persist)
    both = sh(tmp_path / "machine", second.persist)
    assert (len(earlier), len(both), first.undo_persist == second.undo_persist) == (1, 2, False)
    assert sh(tmp_path / "machine", second.undo_persist, second.undo_persist) == earlier


_FAULTS_OF_SETTINGS: dict[str, str] = {
    f"{CPUS}/isolated": "\n",
    f"{CPUS}/cpufreq/boost": "1\n",
    f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
    f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "3600000\n",
    f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n",
    "/proc/irq/default_smp_affinity": "f\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
    "/proc/irq/25/effective_affinity_list": "3\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "/sys/fs/cgroup/cpu.max": "50000 100000\n",
    "/sys/fs/cgroup/cpu.stat": "nr_throttled 0\n",
}
_FAULTS_OF_THE_KERNEL: dict[str, str] = {
    "/proc/1/status": "Cpus_allowed_list:\t0-3\n",
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
@pytest.mark.parametrize(
    ("faults", "fewest"), [(_FAULTS_OF_SETTINGS, 7), (_FAULTS_OF_THE_KERNEL, 10)], ids=["settings", "kernel"]
)
def test_with_many_faults_at_once_every_command_is_valid_shell(faults: dict[str, str], fewest: int, name: str) -> None:
    verdict = judged(WrittenMachine(quiet_files() | faults, quiet_files(3.0) | faults, answers=ANSWERS), TARGET)
    fixes = [finding.answer.fix for finding in verdict.findings if finding.answer.fix is not None]
    commands = [command for fix in fixes if (command := getattr(fix, name)) is not None]
    refused = [command for command in commands if subprocess.run(["sh", "-n", "-c", command], check=False).returncode]
    assert len(commands) >= fewest
    assert refused == []
