"""The sampler's cost of a frame on other machines, measured with recordings."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine import Json, T
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import NO_FIELDS, encode_frame, stable_fields
from noisewatch.operations.sampling import sample_frames, spare_collector

_FIRST = 3  # frames with files that are read once or rarely


class _AsIfLive:
    """A recording replayed second by second as if it were this host, with neither clock figures nor passed checks."""

    is_live = True

    def __init__(self, path: Path) -> None:
        self._recording = Recording(str(path))
        self.name, self.own_pids = self._recording.name, self._recording.own_pids
        self.has_ended = False

    def sleep(self, _seconds: float) -> None:
        self.has_ended = not self._recording.advance()

    def now_ns(self) -> int:
        return self._recording.now_ns()

    def read_bytes(self, path: str) -> bytes:
        return self._recording.read_bytes(path)

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> Iterable[tuple[int, bytes | None]]:
        return self._recording.reread(files)

    def list_names(self, path: str) -> list[str]:
        return self._recording.list_names(path)

    def mode(self, path: str) -> int:
        return self._recording.mode(path)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        return self._recording.ask(question, answer)

    def begin_snapshot(self) -> None:
        """Do nothing: a replay has no snapshots to mark."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        return work()


def sampler_ms(recording: Path) -> float:
    """Return the CPU time of a frame in ms.

    It includes the look-up of files in the recording, in place of the kernel's work, but not the recording's decoding.
    """
    machine = _AsIfLive(recording)
    allowed, thresholds = os.sched_getaffinity(0), gc.get_threshold()
    spare_collector()  # as the sampler does
    advancing_s, count, previous = 0.0, 0, NO_FIELDS

    def advance(seconds: float) -> None:
        nonlocal advancing_s
        began_s = time.process_time()
        machine.sleep(seconds)
        advancing_s += time.process_time() - began_s

    try:
        frames = sample_frames(machine, SnapshotOptions(), interval_s=1.0, sleep=advance)
        for frame in islice(frames, _FIRST):
            previous = stable_fields(frame)
        advancing_s, started_s = 0.0, time.process_time()
        for frame in frames:
            if machine.has_ended:
                break
            encode_frame(frame, previous)
            previous, count = stable_fields(frame), count + 1
        return (time.process_time() - started_s - advancing_s) / count * 1e3
    finally:
        os.sched_setaffinity(0, allowed)
        gc.unfreeze()
        gc.set_threshold(*thresholds)
