"""The changes that `noisewatch tune` makes for an action of a fix."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.fixes.actions import Action, MakePartition, Move, Run, StopEvents, Write
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.tuning import (
    Change,
    EventChange,
    FileChange,
    GroupChange,
    PropertyChange,
    ThreadChange,
    UnitChange,
    is_tunable,
)

_STOP = ("systemctl", "stop")
_SET = ("systemctl", "set-property", "--runtime", "--")


def changes_of(action: Action) -> Sequence[Change] | None:
    """Return the changes in order, or None for an action that tune leaves to the user.

    Tune stops systemd units, but does not suspend, reprioritize or move whole processes, switch swap off, take CPUs
    offline, or (unless requested with --set) change address randomization. Thread changes lack start times: these are
    filled in when the threads are read.
    """
    changes = _unchecked_changes(action)
    return changes if changes is not None and all(map(_is_fix, changes)) else None


def _is_fix(change: Change) -> bool:
    return is_tunable(change) and getattr(change, "path", None) != Knob.ADDRESS_RANDOMISATION


def _unchecked_changes(action: Action) -> Sequence[Change] | None:
    if isinstance(action, Write):
        return [FileChange(setting.path, setting.value) for setting in action.settings]
    if isinstance(action, StopEvents):
        return [EventChange(action.path, event) for event in action.events]
    if isinstance(action, Move) and action.process is None:
        return [ThreadChange(pin.tid, 0, "", format_cpu_list(pin.cpus)) for pin in action.pins]
    if isinstance(action, MakePartition):
        return _partition_changes(action)
    return _command_changes(action.commands) if isinstance(action, Run) else None


def _partition_changes(partition: MakePartition) -> Sequence[Change]:
    folder = partition.folder
    return [
        *([FileChange(partition.delegate_in, "+cpuset")] if partition.delegate_in is not None else []),
        *([GroupChange(folder)] if partition.earlier is None else []),
        FileChange(f"{folder}/cpuset.cpus", format_cpu_list(partition.cpus)),
        FileChange(f"{folder}/cpuset.cpus.partition", "isolated"),
    ]


def _command_changes(commands: Sequence[tuple[str, ...]]) -> Sequence[Change] | None:
    changes: list[Change] = []
    for command in commands:
        if command[:2] == _STOP:
            changes += map(UnitChange, command[2:])
        elif command[:4] == _SET and len(command) == 6:
            name, _, value = command[5].partition("=")
            changes.append(PropertyChange(command[4], name, value))
        else:
            return None
    return changes
