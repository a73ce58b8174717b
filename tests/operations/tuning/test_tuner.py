"""Changes are made with a journal, and restored from it, even after the process was killed at any moment."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.judgement.fixes.actions import MakePartition, Run, StopEvents, move, write, write_all
from noisewatch.judgement.fixes.changes import changes_of
from noisewatch.kernel.system.tuning import LARGEST, Change, GroupChange, Journal, Session, ThreadChange, parse_journal
from noisewatch.machine.tuning import LiveThread, opened_journal
from noisewatch.operations.tuning.tuner import Changed, Outcome, Tuner, preview, restore
from tests.operations.tuning.host import Killed, WrittenHost

_THP = "/sys/kernel/mm/transparent_hugepage/enabled"
_SWAPPINESS, _PRINTK = "/proc/sys/vm/swappiness", "/proc/sys/kernel/printk"
_IRQS = {f"/proc/irq/{number}/smp_affinity": "f" for number in range(24, 30)}
_GROUPS = "/sys/fs/cgroup"
_EVENTS = "/sys/kernel/tracing/set_event"
_CPU = "/sys/devices/system/cpu/cpu3"
_GOVERNOR = f"{_CPU}/cpufreq/scaling_governor"
_LIMIT = f"{_CPU}/cpufreq/scaling_min_freq"
_FILES = {
    _THP: "always [madvise] never",
    _SWAPPINESS: "60",
    _PRINTK: "7\t4\t1\t7",
    f"{_GROUPS}/cgroup.subtree_control": "cpu io",
    f"{_GROUPS}/cpuset.cpus.effective": "0-7",
    _EVENTS: "sched:sched_switch\nirq:irq_handler_entry",
    **_IRQS,
}
_SESSION = Session(boot_id="this-boot", machine="this-machine", began_s=0.0, owner="1 1 1 init", cpus="2-3")
_ACTIONS = (
    write(_THP, "never", None),
    write_all("3", dict.fromkeys(_IRQS, "f")),
    MakePartition(f"{_GROUPS}/benchmark", frozenset({2, 3}), f"{_GROUPS}/cgroup.subtree_control"),
    move({11: None, 12: None}, frozenset({0, 1})),
    Run((("systemctl", "stop", "irqbalance.service", "cron.timer"),)),
    Run((("systemctl", "set-property", "--runtime", "--", "user.slice", "AllowedCPUs=0-1"),)),
    StopEvents(_EVENTS, ("sched:sched_switch",)),
    write(_PRINTK, "4", None),
)
_CHANGES = 17  # made by the actions; settings that already have the value do not count


@pytest.fixture
def host(tmp_path: Path) -> WrittenHost:
    host = WrittenHost(tmp_path / "root", _FILES)
    host.threads = {
        11: LiveThread("kworker/u8:1", 500, True),
        12: LiveThread("kswapd0", 90, True),
        13: LiveThread("bash", 7, False),
        14: LiveThread("ksoftirqd/1", 8, True, is_fixed=True),
        15: LiveThread("init", 1, False),
    }
    node = frozenset(range(4))
    host.affinities = {11: node, 12: node, 13: frozenset({2}), 14: frozenset({1}), 15: host.all_cpus}
    host.units = {"irqbalance.service": "active"}
    return host


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tune.jsonl"


def _changes() -> list[Sequence[Change]]:
    changes = [changes_of(action) for action in _ACTIONS]
    return [of_action for of_action in changes if of_action is not None]


def _tune(host: WrittenHost, path: Path, changes: Sequence[Sequence[Change]] | None = None) -> list[Changed]:
    with opened_journal(path) as file:
        tuner = Tuner(host, file, parse_journal(file.read(LARGEST)).last_seq)
        tuner.begin(_SESSION)
        return [
            changed for of_action in (_changes() if changes is None else changes) for changed in tuner.make(of_action)
        ]


def _journal(path: Path) -> Journal:
    return parse_journal(path.read_bytes())


def _restore(host: WrittenHost, path: Path, is_forced: bool = False) -> list[Changed]:
    with opened_journal(path) as file:
        entries = parse_journal(file.read(LARGEST)).of_boot("this-boot")
        return restore(host, file, entries, is_forced)


def test_all_actions_are_made_and_restored(host: WrittenHost, path: Path) -> None:
    before = host.state()
    made = _tune(host, path)
    assert {changed.outcome for changed in made} == {Outcome.DONE, Outcome.UNCHANGED}
    assert [changed.change for changed in made if changed.outcome == Outcome.UNCHANGED] == [
        change for of_action in _changes() for change in of_action if getattr(change, "unit", "") == "cron.timer"
    ]
    assert host.read(_THP) == "always madvise [never]"
    assert host.affinities[11] == host.affinities[12] == {0, 1}
    assert host.units["irqbalance.service"] == "inactive"
    assert host.read(_EVENTS) == "irq:irq_handler_entry"
    assert host.read(f"{_GROUPS}/benchmark/cpuset.cpus.partition") == "isolated"
    assert path.stat().st_mode & 0o777 == 0o600
    outcomes = _restore(host, path)
    assert {changed.outcome for changed in outcomes} == {Outcome.DONE}
    assert host.state() == before
    assert _journal(path).entries == ()
    assert _restore(host, path) == []


@pytest.mark.parametrize("dies_at", range(1, _CHANGES + 3))
def test_a_process_killed_at_any_change_leaves_nothing_behind(host: WrittenHost, path: Path, dies_at: int) -> None:
    before = host.state()
    host.dies_at = dies_at
    with suppress(Killed):
        _tune(host, path)
    has_died = host.calls == dies_at
    host.dies_at = None
    _restore(host, path)
    assert host.state() == before
    assert has_died == (dies_at <= _CHANGES)


@pytest.mark.parametrize("dies_at", range(1, _CHANGES + 1))
def test_a_restore_killed_at_any_change_is_completed_by_the_next(host: WrittenHost, path: Path, dies_at: int) -> None:
    before = host.state()
    _tune(host, path)
    host.calls, host.dies_at = 0, dies_at
    with pytest.raises(Killed):
        _restore(host, path)
    host.dies_at = None
    _restore(host, path)
    assert host.state() == before


def test_a_change_by_another_program_is_left_unless_forced(host: WrittenHost, path: Path) -> None:
    before = host.state()
    _tune(host, path)
    host.write(_THP, "always")
    foreign = [changed for changed in _restore(host, path) if changed.outcome != Outcome.DONE]
    assert [(changed.change, changed.outcome, changed.now) for changed in foreign] == [
        (_changes()[0][0], Outcome.FOREIGN, "[always] madvise never")
    ]
    assert [path for path, value in host.state().items() if before.get(path) != value] == [_THP]
    (entry,) = _journal(path).entries
    assert preview(host, [entry], is_forced=True)[0].outcome == Outcome.DONE
    _restore(host, path, is_forced=True)
    assert host.read(_THP) == "always [madvise] never"


def test_a_second_tune_adds_and_never_replaces_what_was_before(host: WrittenHost, path: Path) -> None:
    _tune(host, path, [[*(changes_of(write(_SWAPPINESS, 1, None)) or ())]])
    _tune(host, path, [[*(changes_of(write(_SWAPPINESS, 1, None)) or ())]])
    _tune(host, path, [[*(changes_of(write(_SWAPPINESS, 10, None)) or ())]])
    assert [entry.intent.before for entry in _journal(path).entries] == ["60", "1"]
    assert [entry.intent.seq for entry in _journal(path).entries] == [1, 2]
    _restore(host, path)
    assert host.read(_SWAPPINESS) == "60"


def test_changes_of_an_earlier_boot_are_not_restored(host: WrittenHost, path: Path) -> None:
    _tune(host, path)
    assert _journal(path).of_boot("another boot") == ()


def test_refused_and_vanished_settings_do_not_stop_the_others(host: WrittenHost, path: Path) -> None:
    host.refused = {"/proc/irq/25/smp_affinity": "Input/output error"}
    (host.root / "proc/irq/26/smp_affinity").unlink()
    host.threads.pop(12)
    made = _tune(host, path)
    wrong = {str(getattr(changed.change, "path", changed.change)): changed for changed in made}
    assert wrong["/proc/irq/25/smp_affinity"].outcome == Outcome.REFUSED
    assert wrong["/proc/irq/25/smp_affinity"].reason == "input/output error"
    assert wrong["/proc/irq/26/smp_affinity"].outcome == Outcome.MISSING
    assert wrong["/proc/irq/27/smp_affinity"].outcome == Outcome.DONE
    assert [changed.outcome for changed in made if getattr(changed.change, "tid", None) == 12] == [Outcome.MISSING]
    (host.root / "proc/irq/27/smp_affinity").unlink()
    host.threads[11] = LiveThread("kworker/u8:1", 501, True)  # another thread of that number
    missing = [changed.change for changed in _restore(host, path) if changed.outcome == Outcome.MISSING]
    assert [getattr(change, "tid", None) or getattr(change, "path", None) for change in missing] == [
        *(11, 11),  # moved by tune, and reset by the partition
        "/proc/irq/27/smp_affinity",
    ]
    assert host.affinities[11] == {0, 1}
    assert _journal(path).entries == ()


@pytest.mark.parametrize("wait_s", [0.5, 0.0])
def test_a_clock_limit_that_the_kernel_sets_later_is_restored(
    tmp_path: Path, path: Path, wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisewatch.operations.tuning.states._SETTLING_S", wait_s)
    host = WrittenHost(tmp_path / "root", {_LIMIT: "1600000"})
    host.reads_until_set = 2
    (made,) = _tune(host, path, [changes_of(write(_LIMIT, 3400000, None)) or []])
    assert (made.outcome, made.now) == (Outcome.DONE, "3400000" if wait_s else "1600000")
    host.reads_until_set = 0
    assert [host.read(_LIMIT) for _ in range(2)][1] == "3400000"
    host.reads_until_set = 2 if wait_s else 0
    (restored,) = _restore(host, path)
    assert (restored.outcome, restored.now) == (Outcome.DONE, "1600000")
    assert _journal(path).entries == ()


def test_a_clock_limit_is_restored_while_the_kernel_is_setting_it(tmp_path: Path, path: Path) -> None:
    host = WrittenHost(tmp_path / "root", {_LIMIT: "1600000"})
    host.reads_until_set = 2
    _tune(host, path, [changes_of(write(_LIMIT, 3400000, None)) or []])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))  # killed right after the write
    (host.root / _LIMIT.lstrip("/")).write_text("1600000\n")
    host.write(_LIMIT, "3400000")
    _restore(host, path)
    assert [host.read(_LIMIT) for _ in range(3)][2] == "1600000"


def test_settings_of_an_offline_cpu_stay_in_the_journal_until_it_is_online(tmp_path: Path, path: Path) -> None:
    host = WrittenHost(tmp_path / "root", {f"{_CPU}/online": "1", _GOVERNOR: "powersave", _SWAPPINESS: "60"})
    _tune(host, path, [changes_of(write(_GOVERNOR, "performance", None)) or []])
    _tune(host, path, [changes_of(write(_SWAPPINESS, 1, None)) or []])
    host.write(f"{_CPU}/online", "0")
    governor = host.root / _GOVERNOR.lstrip("/")
    governor.rename(governor.with_name("away"))
    assert [changed.outcome for changed in _restore(host, path)] == [Outcome.DONE, Outcome.OFFLINE]
    assert host.read(_SWAPPINESS) == "60"
    assert [changed.outcome for changed in _restore(host, path, is_forced=True)] == [Outcome.OFFLINE]
    governor.with_name("away").rename(governor)
    host.write(f"{_CPU}/online", "1")
    assert [changed.outcome for changed in _restore(host, path)] == [Outcome.DONE]
    assert host.read(_GOVERNOR) == "powersave"
    assert _journal(path).entries == ()


def test_a_vanished_file_of_an_online_cpu_is_missing(tmp_path: Path, path: Path) -> None:
    host = WrittenHost(tmp_path / "root", {f"{_CPU}/online": "1", _GOVERNOR: "powersave"})
    _tune(host, path, [changes_of(write(_GOVERNOR, "performance", None)) or []])
    (host.root / _GOVERNOR.lstrip("/")).unlink()
    assert [changed.outcome for changed in _restore(host, path)] == [Outcome.MISSING]
    assert _journal(path).entries == ()


def test_threads_of_processes_are_not_moved(host: WrittenHost, path: Path) -> None:
    (changed,) = _tune(host, path, [changes_of(move({13: None}, frozenset({0}))) or []])
    assert (changed.outcome, changed.reason) == (Outcome.REFUSED, "a thread of a process, not of the kernel")
    assert host.affinities[13] == {2}


def test_affinities_that_a_partition_resets_are_restored_after_it(host: WrittenHost, path: Path) -> None:
    before = dict(host.affinities)
    made = _tune(host, path, [_changes()[2]])
    assert [(changed.before, changed.now) for changed in made if isinstance(changed.change, ThreadChange)] == [
        ("0-3", "0-1,4-7"),
        ("0-3", "0-1,4-7"),
        ("2", "0-1,4-7"),
    ]
    assert host.affinities[13] == {0, 1, 4, 5, 6, 7}
    host.threads |= {16: LiveThread("late", 900, False), 17: LiveThread("pinned", 900, False)}
    host.affinities |= {16: host.affinities[13], 17: frozenset({4})}
    _restore(host, path)
    assert host.affinities == before | {16: host.all_cpus, 17: {4}}
    assert _journal(path).entries == ()


def test_a_group_that_is_still_in_use_is_removed_later(
    host: WrittenHost, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: str) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    before = host.state()
    _tune(host, path, [_changes()[2]])
    with monkeypatch.context() as patch:
        patch.setattr(host, "remove_group", refuse)
        (left,) = [changed for changed in _restore(host, path) if changed.outcome.is_failure]
    assert left.change == GroupChange(f"{_GROUPS}/benchmark")
    assert left.reason == "processes are still in it: end them, and restore again"
    _restore(host, path)
    assert host.state() == before


def test_an_affinity_that_was_set_after_a_partition_reset_it_is_left(host: WrittenHost, path: Path) -> None:
    _tune(host, path, [_changes()[2]])
    with opened_journal(path) as file:
        entries = parse_journal(file.read(LARGEST)).entries
        restore(host, file, [entry for entry in entries if not isinstance(entry.intent.change, ThreadChange)])
    host.affinities[13] = frozenset({5})
    assert [(changed.outcome, changed.before, changed.now) for changed in _restore(host, path)] == [
        (Outcome.UNCHANGED, "2", "5"),
        (Outcome.DONE, "0-3", "0-3"),
        (Outcome.DONE, "0-3", "0-3"),
    ]
    assert host.affinities[13] == {5}
    assert _journal(path).entries == ()


def test_a_refused_part_of_a_partition_takes_the_others_back(host: WrittenHost, path: Path) -> None:
    before = host.state()
    host.refused = {f"{_GROUPS}/benchmark/cpuset.cpus.partition": "Invalid argument"}
    made = _tune(host, path, [_changes()[2]])
    outcomes = [changed.outcome for changed in made if not isinstance(changed.change, ThreadChange)]
    assert outcomes == [Outcome.DONE, Outcome.DONE, Outcome.DONE, Outcome.REFUSED]
    assert host.state() == before
    _restore(host, path)
    assert host.state() == before


def test_nothing_is_changed_that_cannot_be_journalled(
    host: WrittenHost, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = host.state()
    with opened_journal(path) as file:
        tuner = Tuner(host, file, 0)
        tuner.begin(_SESSION)

        def refuse(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", refuse)
        with pytest.raises(UsageError, match="no space left on device; nothing is changed without a journal"):
            tuner.make(_changes()[0])
    assert host.state() == before
    assert _journal(path).entries == ()


def test_only_one_process_tunes_at_a_time(path: Path) -> None:
    with opened_journal(path), pytest.raises(UsageError, match="another noisewatch is tuning or restoring"):  # noqa: SIM117
        with opened_journal(path):
            pass


def test_a_journal_that_others_could_write_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.touch(mode=0o600)
    path.chmod(0o666)
    path.write_text("{}\n")
    with pytest.raises(UsageError, match="other users may write to it"), opened_journal(path):
        pass
    path.chmod(0o600)
    path.parent.chmod(0o777)
    with pytest.raises(UsageError, match="other users may write to it"), opened_journal(path):
        pass


def test_a_link_to_a_file_outside_of_the_kernel_is_not_followed(host: WrittenHost, path: Path) -> None:
    target = host.root / "etc" / "passwd"
    target.parent.mkdir()
    target.write_text("root\n")
    swappiness = host.root / _SWAPPINESS.lstrip("/")
    swappiness.unlink()
    swappiness.symlink_to(target)
    (changed,) = _tune(host, path, [changes_of(write(_SWAPPINESS, 1, None)) or []])
    assert changed.outcome == Outcome.REFUSED
    assert "not a setting of the kernel" in changed.reason
    assert target.read_text() == "root\n"
