"""What a frame costs the sampler, on machines that are not at hand: from recordings, as fast as they are read."""

from __future__ import annotations

import time
from pathlib import Path

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.line import encode_frame
from noisewatch.operations.sampling import sample_frames

_FIRST = 3  # what is read once, and later only now and then


def sampler_ms(recording: Path) -> float:
    """CPU time of a frame, in ms, the reading of the recording included, which stands in for that of the files."""
    frames = sample_frames(Recording(str(recording)), SnapshotOptions(), interval_s=1.0)
    for _ in range(_FIRST):
        next(frames)
    started_s, count = time.process_time(), 0
    for frame in frames:
        encode_frame(frame)
        count += 1
    return (time.process_time() - started_s) / count * 1e3
