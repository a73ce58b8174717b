"""Start a command: everything is prepared here, so that the child only makes system calls."""

from __future__ import annotations

import errno
import os
from types import ModuleType

from noisewatch.cpus import format_cpu_list
from noisewatch.errors import CannotStart
from noisewatch.machine.command.plan import CommandPlan, InheritedState
from noisewatch.machine.command.python_launching import AFFINITY, CGROUP, EXEC, MEMORY, QUIET, USER
from noisewatch.machine.command.usage import ResourceUsage
from noisewatch.records import dataclass
from noisewatch.text import clean

_NO_USER = (False, 0, 0, ())


@dataclass(frozen=True, slots=True)
class LaunchedProcess:
    """A child that runs the command. `launch` is its usage before execve, mostly not on the command's CPUs."""

    pid: int
    began_ns: int  # CLOCK_MONOTONIC just before execve
    launch: ResourceUsage


def launch_command(core: ModuleType, plan: CommandPlan, inherited: InheritedState) -> LaunchedProcess:
    """Start the command from this thread; it ends with the thread. Raise CannotStart."""
    _check(plan)
    argv = tuple(map(os.fsencode, plan.argv))
    paths = _paths(argv[0], inherited.environment)
    if not paths:
        raise _not_run(plan, errno.ENOENT)
    cgroup = _opened_cgroup(plan)
    user = plan.user
    try:
        pid, stage, error, began_ns, used = core.launch(
            paths,
            argv,
            inherited.environment,
            _cpus(plan, inherited),
            plan.cpus is not None,
            tuple(plan.memory_nodes or ()),
            cgroup,
            *(_NO_USER if user is None else (True, user.uid, user.gid, user.groups)),
            plan.is_quiet,
            inherited.blocked_signals,
            inherited.ignored_signals,
        )
    except OSError as failed:
        raise CannotStart(CannotStart.OURS, f"cannot start a process: {_reason(failed.errno or 0)}") from failed
    finally:
        if cgroup >= 0:
            os.close(cgroup)
    if error:
        raise _not_run(plan, error) if stage == EXEC else _not_prepared(plan, stage, error)
    user_us, system_us, *counts = used
    return LaunchedProcess(pid, began_ns, ResourceUsage(user_us * 1000, system_us * 1000, *counts))


def _check(plan: CommandPlan) -> None:
    """Raise CannotStart for an option that would be silently ignored, or mean something else."""
    for wanted, what in ((plan.cpus, "CPU to pin it to"), (plan.memory_nodes, "node to bind its memory to")):
        if wanted is not None and not wanted:
            raise CannotStart(CannotStart.OURS, f"{_name_of(plan)} was not started: there is no {what}")
    if any("\0" in each for each in plan.argv):
        raise CannotStart(CannotStart.OURS, f"{_name_of(plan)} was not started: an argument has a NUL character")


def _paths(name: bytes, environment: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the existing paths that the name may refer to, as execvp(3) searches: the child need not search."""
    if b"/" in name:
        return (name,)
    if not name:
        return ()
    listed = next((each[5:] for each in environment if each.startswith(b"PATH=")), None)
    folders = (listed if listed is not None else os.fsencode(os.confstr("CS_PATH") or "/bin:/usr/bin")).split(b":")
    return tuple(path for path in (os.path.join(folder, name) for folder in folders) if _may_be(path))


def _may_be(path: bytes) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # execve has the answer, perhaps for another user
    return True


def _cpus(plan: CommandPlan, inherited: InheritedState) -> tuple[int, ...]:
    """Return the CPUs to pin to; none if the affinity is right already, or left to the cgroup."""
    if plan.cpus is not None:
        return tuple(sorted(plan.cpus))
    if plan.cgroup is not None or os.sched_getaffinity(0) == inherited.cpus:
        return ()
    return tuple(sorted(inherited.cpus))


def _opened_cgroup(plan: CommandPlan) -> int:
    """Return the open `cgroup.procs` of the plan's cgroup; -1 without one. Raise CannotStart."""
    if plan.cgroup is None:
        return -1
    try:
        return os.open(os.path.join(plan.cgroup, "cgroup.procs"), os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _not_prepared(plan, CGROUP, error.errno or 0) from error


def _not_run(plan: CommandPlan, number: int) -> CannotStart:
    status = CannotStart.NOT_FOUND if number == errno.ENOENT else CannotStart.NOT_EXECUTABLE
    hint = " (the interpreter in its first line)" if number == errno.ENOENT and os.path.isfile(plan.argv[0]) else ""
    return CannotStart(status, f"cannot run {_name_of(plan)}: {_reason(number)}{hint}")


def _not_prepared(plan: CommandPlan, stage: int, number: int) -> CannotStart:
    user = plan.user
    wanted = {
        QUIET: "give it /dev/null",
        CGROUP: f"move it to the cgroup {clean(plan.cgroup or '')}",
        MEMORY: f"bind its memory to node {format_cpu_list(plan.memory_nodes or frozenset())}",
        USER: f"run it as user {user.uid}, group {user.gid}" if user is not None else "",
        AFFINITY: f"pin it to CPU {format_cpu_list(plan.cpus or frozenset())}",
    }[stage]
    is_pinning = stage == AFFINITY and number == errno.EINVAL
    reason = "not all of them are online and allowed to it" if is_pinning else _reason(number)
    return CannotStart(CannotStart.OURS, f"{_name_of(plan)} was not started: cannot {wanted}: {reason}")


def _name_of(plan: CommandPlan) -> str:
    return f"'{clean(plan.argv[0])}'"


def _reason(number: int) -> str:
    return os.strerror(number).lower()
