"""What a command is started with, and what it would have had without us."""

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
    """Whom the command runs as: numbers, and all supplementary groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """A command, and where it runs. None leaves it as noisewatch was started.

    `memory_nodes` are the only ones that it gets memory of. `cgroup` is a folder of cgroup v2, to which it is moved
    before it is pinned: CPUs of an isolated partition can be used from within only. `is_quiet` gives it /dev/null as
    standard input, output and error; otherwise its descriptors are those that noisewatch was given.
    """

    argv: tuple[str, ...]
    cpus: CpuSet | None = None
    memory_nodes: frozenset[int] | None = None
    cgroup: str | None = None
    user: CommandUser | None = None
    is_quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedState:
    """How this process was started, before it changed anything. Signals are bits, 1 << (number - 1).

    Whether SIGPIPE and SIGXFSZ were ignored nobody knows any more, as Python has set them: they count as not ignored.
    """

    cpus: CpuSet
    environment: tuple[bytes, ...]
    blocked_signals: int
    ignored_signals: int
    children: frozenset[int] = frozenset()  # a shell's, for which this process was put


def inherited_state() -> InheritedState:
    """What a command is to inherit. To be asked before this process is pinned, blocks signals or handles them."""
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
    """As /proc/PID/status has them: 1 << (number - 1)."""
    return sum(1 << (number - 1) for number in numbers)


def _environment() -> tuple[bytes, ...]:
    """As the kernel was given it: Python adds LC_CTYPE to what it finds itself in the locale C."""
    try:
        with open("/proc/self/environ", "rb") as file:
            content = file.read()
    except OSError:
        return tuple(name + b"=" + value for name, value in os.environb.items())
    return tuple(content.removesuffix(b"\0").split(b"\0")) if content else ()
