"""Recordings that a test makes, complete or damaged."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from noisewatch.errors import UsageError
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS

HEADER: dict[str, Any] = {"noisewatch_recording": 1, "made_by": "0", "own_pids": [], "interval_s": 1.0}


def record(
    *moments: Files,
    identify: bool = False,
    answers: Mapping[str, Any] | None = None,
    machine_of: Callable[..., WrittenMachine] = WrittenMachine,
) -> tuple[bytes, list[Snapshot]]:
    """Return the recording of a machine's moments, and the snapshots that were taken meanwhile."""
    machine = machine_of(*moments, answers={**ANSWERS, **(answers or {})}, own_pids=[700], seconds_between=1.0)
    sink = io.BytesIO()
    recorder = Recorder(machine, sink, interval_s=1.0, identify=identify)
    task_reader = TaskReader(asks_all_affinities=True)
    snapshots: list[Snapshot] = []
    for _ in moments:
        snapshots.append(
            read_snapshot(recorder, SnapshotOptions(), task_reader, snapshots[-1] if snapshots else None),
        )
        machine.advance()
    recorder.close()
    return sink.getvalue(), snapshots


def lines_of(content: bytes) -> list[dict[str, Any]]:
    """Return the header and the frames."""
    return [json.loads(line) for line in gzip.decompress(content).splitlines()]


def pack(lines: Iterable[Any]) -> bytes:
    """Return a recording with these lines."""
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines), mtime=0)


def frame(now_ns: int = 1, key: bool = True, **parts: Any) -> dict[str, Any]:
    """Return a frame with nothing but `parts`."""
    return {"now_ns": now_ns, "key": key, "read": {}, "rows": {}, "failed": {}, **parts}


def write_recording(root: Path, content: bytes) -> str:
    """Write a recording with this content, and return its path."""
    path = root / "recording.nwr"
    path.write_bytes(content)
    return str(path)


def replay(recording: Recording) -> list[Snapshot]:
    """Return a snapshot of each moment."""
    task_reader = TaskReader(asks_all_affinities=True)
    snapshots = [read_snapshot(recording, SnapshotOptions(), task_reader)]
    while recording.advance():
        snapshots.append(read_snapshot(recording, SnapshotOptions(), task_reader, snapshots[-1]))
    return snapshots


def outcome(root: Path, content: bytes) -> tuple[int, str | None]:
    """Return the number of moments that can be replayed, and the damage or the refusal."""
    try:
        recording = Recording(write_recording(root, content))
    except UsageError as error:
        return 0, str(error)
    return len(replay(recording)), recording.damage
