"""The time of day at each moment of a session, as the frames tell it."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque

from noisewatch.operations.frame.frame import Frame

_NS_PER_S = 1_000_000_000
_STEPPED_NS = _NS_PER_S // 2  # by more: the clock was set, or the machine was suspended
_MOST_STEPS = 1000


class WallTimes:
    """How far local time was from the machine's CLOCK_MONOTONIC, and since when: it moves when the clock is set."""

    def __init__(self) -> None:
        self._since_ns: deque[int] = deque(maxlen=_MOST_STEPS)
        self._ahead_ns: deque[int] = deque(maxlen=_MOST_STEPS)

    def add(self, frame: Frame) -> None:
        """Takes in what the frame tells; frames come in their order."""
        if frame.wall_ns is None:
            return
        ahead_ns = frame.wall_ns + (frame.ahead_s or 0) * _NS_PER_S - frame.taken_at_ns
        if not self._ahead_ns or abs(ahead_ns - self._ahead_ns[-1]) > _STEPPED_NS:
            self._since_ns.append(
                frame.taken_at_ns - round(frame.seconds * _NS_PER_S) + 1
            )  # the frame before had its own
            self._ahead_ns.append(ahead_ns)

    def at(self, at_ns: int) -> str | None:
        """The machine's local time at that CLOCK_MONOTONIC: `14:02:31`; None where no frame told."""
        if not self._ahead_ns:
            return None
        step = max(bisect_right(self._since_ns, at_ns) - 1, 0)
        return _clock_face(at_ns + self._ahead_ns[step])


def wall_clock_of(frame: Frame | None) -> str | None:
    """The machine's local time at the end of the frame's interval; None where it does not tell, or there is none."""
    return (
        None
        if frame is None or frame.wall_ns is None
        else _clock_face(frame.wall_ns + (frame.ahead_s or 0) * _NS_PER_S)
    )


def _clock_face(local_ns: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(local_ns // _NS_PER_S % 86_400))
