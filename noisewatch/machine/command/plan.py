"""The parameters of a command, and the state it would have inherited without noisewatch."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from noisewatch.cpus import CpuSet
from noisewatch.machine.command.adopted import living_children
from noisewatch.records import dataclass

_SET_BY_PYTHON = frozenset({signal.SIGPIPE, signal.SIGXFSZ})  # ignored, before any of our lines runs


@dataclass(frozen=True, slots=True)
class CommandUser:
    """The user of a command: uid, gid and all supplementary groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """A command, and where it runs. None keeps what noisewatch was started with.

    `memory_nodes` are the only nodes that its memory comes from. `cgroup` is a folder of cgroup v2; the command is
    moved there before it is pinned, as CPUs of an isolated partition can only be used from within. `is_quiet` gives it
    /dev/null as standard input, output and error; otherwise it has noisewatch's descriptors.
    """

    argv: tuple[str, ...]
    cpus: CpuSet | None = None
    memory_nodes: frozenset[int] | None = None
    cgroup: str | None = None
    user: CommandUser | None = None
    is_quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedState:
    """The state in which this process was started, before it changed anything. Signals are bits, 1 << (number - 1).

    SIGPIPE and SIGXFSZ count as not ignored: Python has set both, so their original handling is unknown.
    """

    cpus: CpuSet
    environment: tuple[bytes, ...]
    blocked_signals: int
    ignored_signals: int
    children: frozenset[int] = frozenset()  # a shell's, for which this process was put


def inherited_state() -> InheritedState:
    """Return the state for a command to inherit.

    Call it before this process is pinned, or blocks or handles signals.
    """
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
    """Return the environment as the kernel received it: in the locale C Python adds LC_CTYPE to its own copy."""
    try:
        with open("/proc/self/environ", "rb") as file:
            content = file.read()
    except OSError:
        return tuple(name + b"=" + value for name, value in os.environb.items())
    return tuple(content.removesuffix(b"\0").split(b"\0")) if content else ()
