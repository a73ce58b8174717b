"""Records this host: snapshot after snapshot, into a file that can be replayed anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.errors import UsageError
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.snapshot.placement import read_for_replays
from noisewatch.kernel.snapshot.snapshot import Snapshot, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.status_files import StatusFiles
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.machines import MachineOptions, snapshot_options
from noisewatch.operations.pinning import pin_with_remark
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.sampling import TASK_BUDGET_SHARE

_NOT_THIS_HOST = "only this host can be recorded"
_NO_INTERVAL_S = (
    1.0  # how long a replay shows each snapshot in recordings of other operations, which have only one or two
)
# Maximum number of CPUs whose idle counters are recorded; more of these counters, which change with each sleep, would
# fill half of the recording.
_MOST_IDLE_STATES = 6
_ROUNDING = 1e-6  # 0.3 / 0.1 is a little less than 3, and the last snapshot counts


class RecordOptions(Struct, frozen=True, kw_only=True):
    """The content, the interval and the duration of a recording."""

    machine: MachineOptions = field(default_factory=MachineOptions)
    interval_s: float = 1.0
    duration_s: float = 60.0
    # Length of a calibration after the snapshots, so that these do not show the microbenchmark.
    calibration_s: float = 0.0
    identifies: bool = False  # keep the host's name, the whole kernel command line, and the arguments of processes


class RecordingMade(Struct, frozen=True):
    """A summary of a finished recording."""

    snapshot_count: int
    seconds: float
    is_whole: bool  # False if Ctrl-C or SIGTERM ended it early


def record(machine: Machine, output: BinaryIO, options: RecordOptions, listener: ProgressListener) -> RecordingMade:
    """Record until the time is up, or until Ctrl-C or SIGTERM; the recording can be replayed in any case.

    Raise UsageError if the machine is not this host.
    """
    _require_this_host(machine)
    read_options = replace(
        snapshot_options(options.machine, machine),
        asks_clock=True,
        most_idle_states=_MOST_IDLE_STATES,
        asks_runs=StatusFiles().texts,
        asks_inventory=True,
    )
    recorder = Recorder(machine, output, options.interval_s, options.identifies, read_for_replays)
    task_reader = TaskReader(asks_all_affinities=True)

    def look(previous: Snapshot | None = None) -> Snapshot:
        return read_snapshot(recorder, read_options, task_reader, previous)

    began_s, is_whole = time.monotonic(), True
    try:
        snapshot = _record(look, task_reader, options, listener)
        if options.calibration_s:
            _calibrate(recorder, snapshot, options.calibration_s, listener, lambda: look(snapshot))
    except KeyboardInterrupt:
        is_whole = False
    finally:
        listener.on_done()
        recorder.close()
    return RecordingMade(recorder.frame_count, time.monotonic() - began_s, is_whole)


@contextmanager
def recording_machine(machine: Machine, output: BinaryIO) -> Iterator[Machine]:
    """Return a context with a machine that writes all that an operation reads from it to `output`.

    Raise UsageError if the machine is not this host. If writing fails, the recording ends, but the operation continues;
    OSError is raised at the end of the context.
    """
    _require_this_host(machine)
    sink = _PatientSink(output)
    recorder = Recorder(machine, cast(BinaryIO, sink), _NO_INTERVAL_S, read_more=read_for_replays)
    yield recorder
    recorder.close()
    if sink.error is not None:
        raise sink.error


class _PatientSink:
    """A sink that passes writes on to the output until one fails; it keeps this error."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self.error: OSError | None = None

    def write(self, content: bytes) -> int:
        self._try(lambda: self._output.write(content))
        return len(content)

    def flush(self) -> None:
        self._try(self._output.flush)

    def _try(self, work: Callable[[], object]) -> None:
        if self.error is None:
            try:
                work()
            except OSError as error:
                self.error = error


def _require_this_host(machine: Machine) -> None:
    if not machine.is_live:
        raise UsageError(_NOT_THIS_HOST)


def _record(
    look: Callable[..., Snapshot], task_reader: TaskReader, options: RecordOptions, listener: ProgressListener
) -> Snapshot:
    """Record the snapshots and return the last one. The first one includes the affinities of all threads."""
    snapshot = look()
    pin_with_remark(snapshot, listener)
    interval_s, duration_s = options.interval_s, options.duration_s
    task_reader.limit(round(interval_s * TASK_BUDGET_SHARE * 1e9))
    started = time.monotonic()
    for number in range(1, int(duration_s / interval_s + _ROUNDING) + 1):
        time.sleep(max(started + number * interval_s - time.monotonic(), 0))
        snapshot = look(snapshot)
        listener.on_sampling("recording", time.monotonic() - started, duration_s)
    listener.on_done()
    return snapshot


def _calibrate(
    recorder: Recorder,
    snapshot: Snapshot,
    seconds: float,
    listener: ProgressListener,
    look_again: Callable[[], Snapshot],
) -> None:
    """Calibrate; `look_again` then takes a snapshot, whose counters include the time of the calibration."""
    asked = CalibrationOptions(seconds)
    measured = calibrate_cpus(recorder, snapshot, snapshot.target.cpus, asked, listener.on_calibrating, look_again)
    if isinstance(measured, str):
        listener.on_done()
        listener.on_remark(f"no calibration: {measured}")
