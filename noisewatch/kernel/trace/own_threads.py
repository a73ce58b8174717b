"""Which threads of a trace are a command's own at each time: its first one, and all its descendants.

A tid may be reused while the command runs, by one of its own or by a foreign thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.kernel.trace.sends import Birth


class OwnThreads:
    """The own threads of one command, whose births are added in order of time."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.group = {pid}  # all threads that the command's first process has had
        self._now = {pid}
        self._then: dict[int, list[tuple[int, bool]]] = {}  # by thread: since when it was one, or none
        self.has_begun = False  # its own birth has been seen

    def take_in(self, births: Iterable[Birth]) -> None:
        """Add the births of all threads since the last call; older states are forgotten."""
        self._then = {}
        for at_ns, tid, parent, is_thread in births:
            is_own = tid == self._pid or parent in self._now
            self.has_begun = self.has_begun or tid == self._pid
            if is_own != (tid in self._now):
                self._then.setdefault(tid, [(0, not is_own)]).append((at_ns, is_own))
            (self._now.add if is_own else self._now.discard)(tid)
            if is_thread and parent in self.group:
                self.group.add(tid)

    def had(self, tid: int, at_ns: int) -> bool:
        """Return whether the tid was the command's own at the time."""
        changes = self._then.get(tid)
        if changes is None:
            return tid in self._now
        return next(is_own for since_ns, is_own in reversed(changes) if since_ns <= at_ns)
