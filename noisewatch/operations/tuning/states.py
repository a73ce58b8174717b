"""The state that a change replaces: how it is read from the machine, and how it is set.

A state is a text, such as `60`, `0-3`, `active` or `-cpuset`; setting the state that was read restores it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from noisewatch.cpus import CpuSet, format_cpu_list, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.tuning import (
    Change,
    EventChange,
    FileChange,
    GroupChange,
    PropertyChange,
    ThreadChange,
    UnitChange,
    writable_value,
)
from noisewatch.machine.tuning import Settings
from noisewatch.patterns import regex

ON, OFF = "on", "off"  # states of a trace event
PRESENT, ABSENT = "present", "absent"  # states of a control group
ACTIVE, INACTIVE = "active", "inactive"  # states of a unit of systemd
_OF_CPU = regex(r"/sys/devices/system/(?:cpu|machinecheck)/(?:cpu|machinecheck)(\d+)/")
_SETTLING = ("/scaling_min_freq", "/scaling_max_freq")  # cpufreq_notifier_min in drivers/cpufreq/cpufreq.c
_SETTLING_S, _PAUSE_S = 0.5, 0.001
_PARTITION = "/cpuset.cpus.partition"
_DELEGATES = "/cgroup.subtree_control"  # contains names, but accepts `+name` and `-name`


class ExitedError(OSError):
    """The thread of a change has exited."""


def read_state(settings: Settings, change: Change) -> str:
    """Return the current state. Raise OSError."""
    match change:
        case FileChange(path=path, value=value) if path.endswith(_DELEGATES):
            return f"{'+' if value[1:] in settings.read(path).split() else '-'}{value[1:]}"
        case FileChange(path=path):
            return settings.read(path)
        case ThreadChange(tid=tid, started=started):
            _require_same(settings, tid, started)
            return format_cpu_list(settings.affinity(tid))
        case GroupChange(path=path):
            return PRESENT if settings.has_group(path) else ABSENT
        case EventChange(path=path, event=event):
            return ON if event in settings.read(path).split() else OFF
        case UnitChange(unit=unit):
            return ACTIVE if settings.unit_state(unit) in ("active", "activating", "reloading") else INACTIVE
        case PropertyChange(unit=unit, name=name):
            return settings.property_of(unit, name)


def settles_late(change: Change) -> bool:
    """Return whether the kernel sets the state after the write returns: clock limits are set by a kworker."""
    return isinstance(change, FileChange) and change.path.endswith(_SETTLING)


def read_settled_state(settings: Settings, change: Change, is_settled: Callable[[str], bool]) -> str:
    """Return the state after a write; if it settles late, wait up to 0.5 s until `is_settled`. Raise OSError."""
    end_s = time.monotonic() + _SETTLING_S
    while True:
        state = read_state(settings, change)
        if not settles_late(change) or is_settled(state) or time.monotonic() >= end_s:
            return state
        time.sleep(_PAUSE_S)


def makes_partition(change: Change) -> bool:
    return isinstance(change, FileChange) and change.path.endswith(_PARTITION)


def usable_cpus(settings: Settings, group: str) -> CpuSet:
    """Return the CPUs that the group's threads may use, partitions below it excluded; none if that is unreadable."""
    try:
        return parse_cpu_list(settings.read(f"{group}/cpuset.cpus.effective"))
    except (OSError, Malformed):
        return frozenset()


def confined_threads(settings: Settings, parent: str) -> list[tuple[ThreadChange, str]]:
    """Return the threads whose affinity differs from the CPUs of the group `parent`, with the affinities (CPU lists).

    The kernel resets these affinities when a group below `parent` becomes a partition or ceases to be one. Threads
    that cannot be pinned are left out, because their affinity cannot be restored.
    """
    cpus_by_thread: dict[ThreadChange, frozenset[int]] = {}
    for tid in settings.tids():
        try:
            thread = settings.thread(tid)
            if not thread.is_fixed:
                cpus_by_thread[ThreadChange(tid, thread.started, thread.name, "")] = settings.affinity(tid)
        except OSError:
            continue  # it has exited
    usable = usable_cpus(settings, parent)
    return [(thread, format_cpu_list(cpus)) for thread, cpus in cpus_by_thread.items() if cpus != usable]


def is_side_effect(change: Change) -> bool:
    """Return whether the kernel, not tune, has made the change: it resets affinities for a partition."""
    return isinstance(change, ThreadChange) and not change.value


def is_widened(before: str, now: str) -> bool:
    """Return whether an affinity has more CPUs than before, as after the kernel has removed a partition."""
    try:
        return parse_cpu_list(before) < parse_cpu_list(now)
    except Malformed:
        return False


def is_of_offline_cpu(settings: Settings, change: Change) -> bool:
    """Return whether the change is to a file of an offline CPU, which is missing or busy until the CPU is online."""
    match = _OF_CPU.match(change.path) if isinstance(change, FileChange) else None
    try:
        return match is not None and settings.read(f"{CPUS}/cpu{match[1]}/online") == "0"
    except OSError:
        return False  # it does not exist, or cannot be taken offline


def change_key(change: Change) -> tuple[str, ...]:
    """Return a key of the setting that is changed: two changes of one setting have the same key."""
    match change:
        case FileChange(path=path, value=value) if path.endswith(_DELEGATES):
            return ("file", path, value)
        case FileChange(path=path):
            return ("file", path)
        case ThreadChange(tid=tid):
            return ("thread", str(tid))
        case GroupChange(path=path):
            return ("group", path)
        case EventChange(path=path, event=event):
            return ("event", path, event)
        case UnitChange(unit=unit):
            return ("unit", unit)
        case PropertyChange(unit=unit, name=name):
            return ("property", unit, name)


def requested_state(change: Change) -> str:
    """Return the state that the change asks for; the kernel may round or format it differently."""
    match change:
        case GroupChange():
            return PRESENT
        case EventChange():
            return OFF
        case UnitChange():
            return INACTIVE
        case _:
            return change.value


def set_state(settings: Settings, change: Change, state: str) -> None:
    """Set the state that is requested, or one that was read. Raise OSError if the kernel or systemd refuses it."""
    match change:
        case FileChange(path=path):
            settings.write(path, writable_value(state))
        case ThreadChange(tid=tid, started=started):
            _require_same(settings, tid, started)
            settings.set_affinity(tid, _cpus(state))
        case GroupChange(path=path):
            (settings.make_group if state == PRESENT else settings.remove_group)(path)
        case EventChange(path=path, event=event):
            settings.write(path, event if state == ON else f"!{event}")
        case UnitChange(unit=unit):
            settings.set_unit("start" if state == ACTIVE else "stop", unit)
        case PropertyChange(unit=unit, name=name):
            settings.set_property(unit, name, state)


def are_equal(left: str, right: str) -> bool:
    """Return whether two texts are the same state, apart from blanks: `04` is `4`, and `always [never]` is `never`."""
    return _plain(left) == _plain(right)


def _plain(text: str) -> str:
    words = writable_value(text).split()
    return " ".join(word.lstrip("0") or "0" if word.isalnum() else word for word in words)


def _cpus(text: str) -> frozenset[int]:
    try:
        return frozenset(parse_cpu_list(text))
    except Malformed as error:
        raise OSError(str(error)) from error


def _require_same(settings: Settings, tid: int, started: int) -> None:
    try:
        is_same = settings.thread(tid).started == started
    except (FileNotFoundError, ProcessLookupError):
        is_same = False
    if not is_same:
        raise ExitedError("the thread has exited")
