"""`noisewatch record FILE`"""

from __future__ import annotations

import sys
import time
from argparse import Namespace

from noisewatch.errors import UsageError
from noisewatch.kernel.calibration import CalibrationWish
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.machines import open_machine, snapshot_options
from noisewatch.operations.pinning import move_aside
from noisewatch.operations.sampling import TASK_BUDGET_SHARE
from noisewatch.surfaces.cli.live import LivePicture
from noisewatch.surfaces.cli.machines import machine_options
from noisewatch.surfaces.cli.terminal import Progress

_ROUNDING = 1e-6  # 0.3 / 0.1 is a little less than 3, and the last moment counts


def run(arguments: Namespace) -> int:
    """Records until the time is up, Ctrl-C or SIGTERM: either way the recording is whole.

    It is written where it belongs from the start, as a recorder that is killed must not take the frames with it.
    """
    machine = open_machine(machine_options(arguments))
    if not machine.is_live:
        raise UsageError("only this host can be recorded")
    wish = snapshot_options(machine_options(arguments), machine)
    try:
        with open(arguments.file, "wb") as output:
            recorder = Recorder(machine, output, arguments.interval, arguments.identify)
            began_s, is_whole = time.monotonic(), True
            try:
                snapshot = _record(recorder, wish, arguments.duration, arguments.interval)
                _calibrate(recorder, snapshot, arguments.calibration)
            except KeyboardInterrupt:
                Progress("recording").clear()
                is_whole = False
            finally:
                recorder.close()
            _tell(arguments.file, recorder.frame_count, time.monotonic() - began_s, output.tell(), is_whole)
    except OSError as error:
        raise UsageError(f"{arguments.file}: {(error.strerror or str(error)).lower()}") from error
    return 0


def _tell(file: str, moments: int, seconds: float, size_bytes: int, is_whole: bool) -> None:
    """What was written, to whom waits for it."""
    after = "" if is_whole else "interrupted: "
    said = f"{after}{moments} moment{'s' * (moments != 1)} in {seconds:.1f} s, {size_bytes / 1e3:.1f} kB"
    print(f"noisewatch: {file}: {said}", file=sys.stderr)


def _record(recorder: Recorder, wish: SnapshotOptions, duration_s: float, interval_s: float) -> Snapshot:
    """The first moment is read in full, the affinities of all threads included."""
    progress = Progress("recording")
    task_reader = TaskReader(asks_all_affinities=True)
    snapshot: Snapshot = read_snapshot(recorder, wish, task_reader)
    remark = move_aside(snapshot)
    if remark is not None:
        print(f"noisewatch: {remark}", file=sys.stderr)
    task_reader.limit(round(interval_s * TASK_BUDGET_SHARE * 1e9))
    started = time.monotonic()
    for number in range(1, int(duration_s / interval_s + _ROUNDING) + 1):
        time.sleep(max(started + number * interval_s - time.monotonic(), 0))
        snapshot = read_snapshot(recorder, wish, task_reader, snapshot)
        progress.show(time.monotonic() - started, duration_s)
    progress.clear()
    return snapshot


def _calibrate(recorder: Recorder, snapshot: Snapshot, seconds: float) -> None:
    """At the end, so that the microbenchmark does not show in what was recorded."""
    if seconds == 0:
        return
    picture = LivePicture()
    try:
        measured = calibrate_cpus(recorder, snapshot, snapshot.target.cpus, CalibrationWish(seconds), picture)
    finally:
        picture.clear()
    if isinstance(measured, str):
        print(f"noisewatch: no calibration: {measured}", file=sys.stderr)
