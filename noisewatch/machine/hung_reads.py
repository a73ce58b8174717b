"""Which reads of this host gave no answer: each keeps a thread until it comes back, and is tried again seldom."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread

AGAIN_AFTER = 60.0  # deadlines: a file that goes on hanging keeps us waiting for a sixtieth of the time at most
_GROWS_BY = 2.0  # each time that it hangs again
_LONGEST_WAIT_S = 3600.0  # so that a machine that recovers is seen whole within the hour
MOST_STUCK = 32  # threads; where more files hang it is the machine that does, and each costs another deadline


@dataclass(frozen=True, slots=True)
class _Hung:
    thread: Thread
    wait_s: float
    again_at_s: float


class HungReads:
    """By path, the thread that was left behind in it. Times are those of CLOCK_MONOTONIC."""

    def __init__(self, again_after: float = AGAIN_AFTER) -> None:
        self._again_after = again_after
        self._by_path: dict[str, _Hung] = {}

    def add(self, path: str, thread: Thread, deadline_s: float, now_s: float) -> None:
        """Notes that the thread got no answer from `path` in time."""
        earlier = self._by_path.get(path)
        wait_s = earlier.wait_s * _GROWS_BY if earlier is not None else self._again_after * deadline_s
        wait_s = min(wait_s, _LONGEST_WAIT_S)
        self._by_path[path] = _Hung(thread, wait_s, now_s + wait_s)

    def __contains__(self, path: str) -> bool:
        return path in self._by_path

    def may_try(self, path: str, now_s: float) -> bool:
        """Whether the last read has come back after all, and long enough ago: no two threads hang in one file."""
        hung = self._by_path.get(path)
        return hung is None or (now_s >= hung.again_at_s and not hung.thread.is_alive())

    def answered(self, path: str) -> None:
        """Forgets that `path` ever hung."""
        self._by_path.pop(path, None)

    @property
    def stuck(self) -> list[str]:
        """The paths whose reads have not come back."""
        return sorted(path for path, hung in self._by_path.items() if hung.thread.is_alive())
