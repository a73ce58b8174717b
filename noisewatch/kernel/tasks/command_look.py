"""The threads of one command at one moment."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.tasks.files import parse_stat, thread_times
from noisewatch.records import dataclass

_READY = "R"
_TRACED = "t"
_STOPPED = "T"  # by a signal; with a debugger it is t


@dataclass(frozen=True, slots=True)
class ThreadLook:
    """One thread at one moment. Times are since it began; `waited_ns` is how long it was ready without a CPU.

    `migrations` is the kernel's count when it was last read; None if it was not, or is not reported.
    """

    tid: int
    pid: int
    name: str
    state: str
    cpu: int  # the one that it runs on, or ran on last
    ran_ns: int
    waited_ns: int | None
    started_ticks: int  # since boot: detects a reused number
    thread_count: int  # of its process
    migrations: int | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the thread has a CPU, or is ready to run."""
        return self.state == _READY

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped the thread."""
        return self.state == _STOPPED

    @property
    def is_held(self) -> bool:
        """Whether a debugger has stopped the thread."""
        return self.state == _TRACED


@dataclass(frozen=True, slots=True)
class CommandLook:
    """All known threads by tid. Threads without a turn are unchanged from an earlier look.

    `reason` is why some may be missing; None if all were listed. `debuggers`, as tid and name, trace some of the
    threads and are not the command's own.
    """

    taken_at_ns: int
    threads: Mapping[int, ThreadLook]
    without_turn: frozenset[int] = frozenset()
    reason: str | None = None
    debuggers: frozenset[tuple[int, str]] = frozenset()


def look_from(pid: int, stat: bytes, schedstat: bytes | None, folder: str, migrations: int | None = None) -> ThreadLook:
    """Return the thread of the process, from its files. Raise Unreadable if they are malformed."""
    try:
        said = parse_stat(stat.decode("utf-8", "replace"))
        ran_ns, waited_ns = thread_times(schedstat, said, folder)
    except Malformed as error:
        raise Unreadable(folder, error.reason) from error
    return ThreadLook(
        tid=said.pid,
        pid=pid,
        name=said.name,
        state=said.state,
        cpu=said.cpu,
        ran_ns=ran_ns,
        waited_ns=waited_ns,
        started_ticks=said.started_ticks,
        thread_count=said.thread_count,
        migrations=migrations,
    )
