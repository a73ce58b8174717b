"""The actions of a fix as data. Each action renders shell commands that do it, and others that undo it exactly.

Running any of these commands twice has the same effect as running it once.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from msgspec import Struct

from noisewatch.cpus import CpuSet, cpu_list_argument, format_taskset_list
from noisewatch.judgement.fixes.shell import run, write_values
from noisewatch.kernel.cpus.online import CPUS


class Setting(Struct, frozen=True):
    """A value to write to a kernel file. `before` is the file's current value; None: unknown, so there is no undo."""

    path: str
    value: str
    before: str | None = None


class Write(Struct, frozen=True):
    """Independent settings: if the kernel refuses one, the others are still written."""

    settings: tuple[Setting, ...]

    @property
    def do(self) -> str:
        return write_values({setting.path: setting.value for setting in self.settings})

    @property
    def undo(self) -> str | None:
        before = {setting.path: setting.before for setting in self.settings if setting.before is not None}
        return write_values(before) if len(before) == len(self.settings) else None


def write(path: str, value: str | int, before: str | int | None) -> Write:
    """Return the action that writes one file; `before` is its current value, or None."""
    return Write((Setting(path, str(value), None if before is None else str(before)),))


def write_all(value: str | int, before_by_path: Mapping[str, str | None]) -> Write:
    """Return the action that writes one value to several files."""
    return Write(tuple(Setting(path, str(value), before) for path, before in before_by_path.items()))


def write_cpus(value_by_cpu: Mapping[int, str | int], name: str, before: Mapping[int, str | int]) -> Write:
    """Return the action that writes each CPU's file `name`; `before` contains the current values that are known."""
    return Write(
        tuple(
            Setting(f"{CPUS}/cpu{cpu}/{name}", str(value), str(before[cpu]) if cpu in before else None)
            for cpu, value in sorted(value_by_cpu.items())
        )
    )


class Run(Struct, frozen=True):
    """Commands as lists of words. If `undone_by` is empty, no undo is known."""

    commands: tuple[tuple[str, ...], ...]
    undone_by: tuple[tuple[str, ...], ...] = ()
    as_root: bool = True

    @property
    def do(self) -> str:
        return run(self.commands, self.as_root)

    @property
    def undo(self) -> str | None:
        return run(self.undone_by, self.as_root) if self.undone_by else None


def run_command(command: str, undone_by: str = "") -> Run:
    """Return the action that runs one command as root. Its words must not contain blanks."""
    return Run((tuple(command.split()),), (tuple(undone_by.split()),) if undone_by else ())


class Pin(Struct, frozen=True):
    """A thread and its new CPUs. `before` is its current affinity, or None if unknown."""

    tid: int
    cpus: CpuSet
    before: CpuSet | None


class Move(Struct, frozen=True):
    """Threads to pin. If one of them has ended, the others are still pinned."""

    pins: tuple[Pin, ...]
    process: int | None = None  # if set, all threads of this process are pinned alike, including new ones

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """The commands that pin the threads, as lists of words."""
        if self.process is not None:
            return [_taskset(self.process, self.pins[0].cpus, "-apc")]
        return _pin_commands((pin.tid, pin.cpus) for pin in self.pins)

    @property
    def undone_by(self) -> list[tuple[str, ...]]:
        """The commands that restore the affinities, as lists of words; empty if an affinity is unknown."""
        pinned_before = [(pin.tid, pin.before) for pin in self.pins if pin.before]
        if len(pinned_before) < len(self.pins):
            return []
        allowed = {cpus for _, cpus in pinned_before}
        if self.process is not None and len(allowed) == 1:
            return [_taskset(self.process, allowed.pop(), "-apc")]
        return _pin_commands(pinned_before)

    @property
    def do(self) -> str:
        return run(self.commands, as_root=True)

    @property
    def undo(self) -> str | None:
        undone_by = self.undone_by
        return run(undone_by, as_root=True) if undone_by or not self.pins else None


def move(before_by_tid: Mapping[int, CpuSet | None], cpus: CpuSet, process: int | None = None) -> Move:
    """Return the action that pins all threads to the same CPUs."""
    return Move(tuple(Pin(tid, cpus, before) for tid, before in before_by_tid.items()), process)


class MoveProcesses(Struct, frozen=True):
    """Several processes to move. If one of them has ended, the others are still moved."""

    moves: tuple[Move, ...]

    @property
    def do(self) -> str:
        return run([command for move in self.moves for command in move.commands], as_root=True)

    @property
    def undo(self) -> str | None:
        undone_by = [move.undone_by for move in self.moves]
        return (
            run([command for commands in undone_by for command in commands], as_root=True) if all(undone_by) else None
        )


def _pin_commands(cpus_by_tid: Iterable[tuple[int, CpuSet]]) -> list[tuple[str, ...]]:
    ordered = sorted(cpus_by_tid, key=lambda item: sorted(item[1]))
    return [_taskset(tid, cpus, "-pc") for tid, cpus in ordered]


def _taskset(tid: int, cpus: CpuSet, options: str) -> tuple[str, ...]:
    return ("taskset", options, cpu_list_argument(cpus, format_taskset_list), str(tid))


class MakePartition(Struct, frozen=True):
    """An isolated cgroup partition (v2). `earlier` are the kind and CPUs of a partition that exists already."""

    folder: str
    cpus: CpuSet
    delegate_in: str | None = None  # the file in which cpuset must be delegated first; None if it is delegated already
    earlier: tuple[str, CpuSet | None] | None = None

    @property
    def do(self) -> str:
        return " && ".join(
            [
                *([write_values({self.delegate_in: "+cpuset"})] if self.delegate_in is not None else []),
                f"sudo mkdir -p {shlex.quote(self.folder)}",
                self._write("isolated", self.cpus),
            ]
        )

    @property
    def undo(self) -> str | None:
        if self.earlier is not None:
            kind, cpus = self.earlier
            return self._write(kind, cpus) if cpus else None
        folder = shlex.quote(self.folder)
        removed = f"{{ [ ! -d {folder} ] || sudo rmdir {folder}; }}"
        return (
            f"{removed} && {write_values({self.delegate_in: '-cpuset'})}" if self.delegate_in is not None else removed
        )

    def _write(self, kind: str, cpus: CpuSet) -> str:
        setting = write_values({f"{self.folder}/cpuset.cpus": cpu_list_argument(cpus)})
        return f"{setting} && {write_values({f'{self.folder}/cpuset.cpus.partition': kind})}"


class StopEvents(Struct, frozen=True):
    """Trace events to remove from the kernel's `set_event` file at `path`; undo adds them again.

    The shell appends a line for each event. `tee -a` would seek to the end first, which tracefs refuses.
    """

    path: str
    events: tuple[str, ...]

    @property
    def do(self) -> str:
        return self._append(f"!{event}" for event in self.events)

    @property
    def undo(self) -> str:
        return self._append(self.events)

    def _append(self, lines: Iterable[str]) -> str:
        command = f"printf '%s\\n' {' '.join(map(shlex.quote, lines))} >>{shlex.quote(self.path)}"
        return f"sudo sh -c {shlex.quote(command)}"


class SwitchSwapOff(Struct, frozen=True):
    """All swap to switch off; undo enables `areas` (path, priority) again.

    A priority below 0 was chosen by the kernel, so undo does not set it. Without areas, there is no undo.
    """

    areas: tuple[tuple[str, int], ...] = ()

    @property
    def do(self) -> str:
        return "sudo swapoff -a"

    @property
    def undo(self) -> str | None:
        return " && ".join(_switch_on(path, priority) for path, priority in self.areas) or None


def _switch_on(path: str, priority: int) -> str:
    """Return the command that enables a swap area unless it is enabled, because the kernel refuses to do it twice."""
    option = f"-p {priority} " if priority >= 0 else ""
    quoted = shlex.quote(path)
    return f"{{ sudo swapon --show=NAME --noheadings | grep -qxF -e {quoted} || sudo swapon {option}{quoted}; }}"


_ABOUT_PROCESSES = frozenset({"chrt", "kill", "renice"})


def pids_of(action: Action) -> frozenset[int]:
    """Return the PIDs and TIDs in the action's commands."""
    if isinstance(action, Move):
        process = () if action.process is None else (action.process,)
        return frozenset((*(pin.tid for pin in action.pins), *process))
    if isinstance(action, MoveProcesses):
        return frozenset().union(*map(pids_of, action.moves))
    if isinstance(action, Run):
        commands = (command for command in action.commands if command[0] in _ABOUT_PROCESSES)
        return frozenset(int(word) for command in commands for word in command if word.isdecimal() and int(word))
    return frozenset()


Action = Write | Run | Move | MoveProcesses | MakePartition | StopEvents | SwitchSwapOff
