"""Starts a command in the state that it would have inherited without noisewatch.

Everything is prepared here, so that the compiled core's child only makes system calls.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable
from mmap import mmap
from types import ModuleType

from msgspec import Struct

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import CannotStart
from noisewatch.machine.command.adopted import living_children
from noisewatch.machine.command.ending import ResourceUsage
from noisewatch.machine.command.python_launching import (
    AFFINITY,
    CGROUP,
    EXEC,
    INHERITED_LAYOUT,
    LAYOUT,
    MEMORY,
    QUIET,
    USER,
    try_layout,
)
from noisewatch.text import clean

_SET_BY_PYTHON = frozenset({signal.SIGPIPE, signal.SIGXFSZ})  # ignored by Python before our code runs


class CommandUser(Struct, frozen=True):
    """The user of a command: uid, gid, and all supplementary groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


class CommandPlan(Struct, frozen=True, kw_only=True):
    """A command and its placement. A field that is None keeps the state in which noisewatch was started.

    The command's memory only comes from `memory_nodes`. `cgroup` is a folder of cgroup v2; the command is moved there
    before it is pinned, because an isolated partition's CPUs are only usable from within. `is_quiet` gives it /dev/null
    as standard input, output and error; otherwise it has noisewatch's descriptors. `variables` (`NAME=value`) are
    added to its environment. `layout` is the layout of its addresses, a constant of python_launching.py.
    """

    argv: tuple[str, ...]
    cpus: CpuSet | None = None
    memory_nodes: frozenset[int] | None = None
    cgroup: str | None = None
    user: CommandUser | None = None
    is_quiet: bool = False
    variables: tuple[bytes, ...] = ()
    layout: int = INHERITED_LAYOUT


class InheritedState(Struct, frozen=True, kw_only=True):
    """The state in which this process was started. Signals are bits, 1 << (number - 1).

    SIGPIPE and SIGXFSZ count as not ignored: Python sets both, so their original handling is unknown.
    """

    cpus: CpuSet
    environment: tuple[bytes, ...]
    blocked_signals: int
    ignored_signals: int
    children: frozenset[int] = frozenset()  # left by the shell that this process replaced


def inherited_state() -> InheritedState:
    """Return the state for commands to inherit. Call it before this process is pinned, or changes signal handling."""
    signals = signal.valid_signals()
    ignored = {number for number in signals if signal.getsignal(number) is signal.SIG_IGN}
    return InheritedState(
        cpus=frozenset(os.sched_getaffinity(0)),
        environment=_environment(),
        blocked_signals=signal_bits(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        ignored_signals=signal_bits(ignored - _SET_BY_PYTHON),
        children=living_children(),
    )


def signal_bits(numbers: Iterable[int]) -> int:
    """Return the signals as bits, 1 << (number - 1), as in /proc/PID/status."""
    return sum(1 << (number - 1) for number in numbers)


def _environment() -> tuple[bytes, ...]:
    """Return the environment as the kernel received it: in locale C, Python adds LC_CTYPE to its own copy."""
    try:
        with open("/proc/self/environ", "rb") as file:
            content = file.read()
    except OSError:
        return tuple(name + b"=" + value for name, value in os.environb.items())
    return tuple(content.removesuffix(b"\0").split(b"\0")) if content else ()


_NO_USER = (False, 0, 0, ())


class LaunchedProcess(Struct, frozen=True):
    """A child that runs the command. `launch` is its usage before execve, mostly not on the command's CPUs."""

    pid: int
    began_ns: int  # CLOCK_MONOTONIC just before execve
    launch: ResourceUsage


def launch_command(core: ModuleType, plan: CommandPlan, inherited: InheritedState, guarded: mmap) -> LaunchedProcess:
    """Start the command in a child of this thread. Raise CannotStart.

    The child writes its PID into `guarded`, which it shares with the guard, before it runs the command.
    """
    _check_plan(plan)
    argv = tuple(map(os.fsencode, plan.argv))
    paths = _paths(argv[0], inherited.environment)
    if not paths:
        raise _run_error(plan, errno.ENOENT)
    cgroup = _open_cgroup(plan)
    user = plan.user
    try:
        pid, stage, error, began_ns, used = core.launch(
            paths,
            argv,
            _with_variables(inherited.environment, plan.variables),
            _cpus(plan, inherited),
            plan.cpus is not None,
            tuple(plan.memory_nodes or ()),
            cgroup,
            *(_NO_USER if user is None else (True, user.uid, user.gid, user.groups)),
            plan.is_quiet,
            inherited.blocked_signals,
            inherited.ignored_signals,
            plan.layout,
            guarded,
        )
    except OSError as failed:
        raise CannotStart(CannotStart.OURS, f"cannot start a process: {_reason(failed.errno or 0)}") from failed
    finally:
        if cgroup >= 0:
            os.close(cgroup)
    if error:
        raise _run_error(plan, error) if stage == EXEC else _preparation_error(plan, stage, error)
    user_us, system_us, *counts = used
    return LaunchedProcess(pid, began_ns, ResourceUsage(user_us * 1000, system_us * 1000, *counts))


def _check_plan(plan: CommandPlan) -> None:
    """Raise CannotStart for a plan that the kernel would ignore or misunderstand."""
    for chosen, what in ((plan.cpus, "CPU to pin it to"), (plan.memory_nodes, "node to bind its memory to")):
        if chosen is not None and not chosen:
            raise CannotStart(CannotStart.OURS, f"{_name_of(plan)} was not started: there is no {what}")
    if any("\0" in argument for argument in plan.argv):
        raise CannotStart(CannotStart.OURS, f"{_name_of(plan)} was not started: an argument has a NUL character")


def _with_variables(environment: tuple[bytes, ...], variables: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the environment with the variables added; they replace variables of the same names."""
    names = tuple(variable.partition(b"=")[0] + b"=" for variable in variables)
    return (*(variable for variable in environment if not variable.startswith(names)), *variables)


def refused_layout_reason(layout: int) -> str | None:
    """Return why the kernel refuses to start programs with this layout, or None if it does not."""
    try:
        try_layout(layout)
    except OSError as error:
        return _reason(error.errno or 0)
    return None


def _paths(name: bytes, environment: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the existing paths that execvp(3) would try for the name, so that the child need not search."""
    if b"/" in name:
        return (name,)
    if not name:
        return ()
    listed = next((variable[5:] for variable in environment if variable.startswith(b"PATH=")), None)
    folders = (listed if listed is not None else os.fsencode(os.confstr("CS_PATH") or "/bin:/usr/bin")).split(b":")
    return tuple(path for path in (os.path.join(folder, name) for folder in folders) if _may_exist(path))


def _may_exist(path: bytes) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # execve decides, perhaps as another user
    return True


def _cpus(plan: CommandPlan, inherited: InheritedState) -> tuple[int, ...]:
    """Return the CPUs to which to pin the command; none if its affinity is right already or left to the cgroup."""
    if plan.cpus is not None:
        return tuple(sorted(plan.cpus))
    if plan.cgroup is not None or os.sched_getaffinity(0) == inherited.cpus:
        return ()
    return tuple(sorted(inherited.cpus))


def _open_cgroup(plan: CommandPlan) -> int:
    """Return the open `cgroup.procs` of the plan's cgroup; -1 without one. Raise CannotStart."""
    if plan.cgroup is None:
        return -1
    try:
        return os.open(os.path.join(plan.cgroup, "cgroup.procs"), os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _preparation_error(plan, CGROUP, error.errno or 0) from error


def _run_error(plan: CommandPlan, number: int) -> CannotStart:
    status = CannotStart.NOT_FOUND if number == errno.ENOENT else CannotStart.NOT_EXECUTABLE
    hint = " (the interpreter in its first line)" if number == errno.ENOENT and os.path.isfile(plan.argv[0]) else ""
    return CannotStart(status, f"cannot run {_name_of(plan)}: {_reason(number)}{hint}")


def _preparation_error(plan: CommandPlan, stage: int, number: int) -> CannotStart:
    user = plan.user
    action = {
        QUIET: "give it /dev/null",
        CGROUP: f"move it to the cgroup {clean(plan.cgroup or '')}",
        MEMORY: f"bind its memory to node {format_cpu_list(plan.memory_nodes or frozenset())}",
        LAYOUT: "set the layout of its addresses",
        USER: f"run it as user {user.uid}, group {user.gid}" if user is not None else "",
        AFFINITY: f"pin it to CPU {format_cpu_list(plan.cpus or frozenset())}",
    }[stage]
    is_pinning = stage == AFFINITY and number == errno.EINVAL
    reason = "not all of them are online and allowed" if is_pinning else _reason(number)
    return CannotStart(CannotStart.OURS, f"{_name_of(plan)} was not started: cannot {action}: {reason}")


def _name_of(plan: CommandPlan) -> str:
    return f"'{clean(plan.argv[0])}'"


def _reason(number: int) -> str:
    return os.strerror(number).lower()
