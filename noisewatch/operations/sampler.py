"""The sampler: a separate process, so that drawing does not delay it.

`python -m noisewatch.operations.sampler OPTIONS` writes frames to standard output, one per line, until its reader is
gone. It accepts requests on standard input, each a line of JSON: {"idle_probe": true}, or {"clock": true} while the
clock screen is open, or {"answers": true} for the preflight screen.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.faults import contain_faults
from noisewatch.operations.machines import MachineOptions

if TYPE_CHECKING:
    import subprocess

    from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions
    from noisewatch.kernel.tasks.threads import TaskReader
    from noisewatch.machine import Machine

_LONGEST = 1 << 16  # most bytes of a request without a line end


class SamplerOptions(Struct, frozen=True, kw_only=True):
    """The machine to sample, the interval, and the monitor that reads the frames."""

    machine: MachineOptions
    interval_s: float = 1.0
    idle_probe: bool = False  # whether the idle probe is on from the start
    allowed: CpuSet  # CPUs that the monitor could use before it was pinned
    observer: int  # the pid of the monitor

    def command(self) -> list[str]:
        """Return the command line that starts the sampler."""
        return [sys.executable, "-m", "noisewatch.operations.sampler", msgspec.json.encode(self).decode()]

    @classmethod
    def parse(cls, text: str) -> SamplerOptions:
        """Parse the options from the last argument of `command`."""
        return msgspec.json.decode(text, type=cls)


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a sampler's command line, with pipes for frames and requests."""
    import subprocess  # only the monitor needs it

    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


class Inbox:
    """Handles requests while the sampler waits for its next interval; unknown requests are ignored."""

    def __init__(self, descriptor: int, take_by_name: Mapping[str, Callable[[object], None]]) -> None:
        self._descriptor: int | None = descriptor
        self._take_by_name = take_by_name
        self._unfinished = b""
        self.is_abandoned = False  # whether the other end, the screen's, is closed

    def wait(self, seconds: float) -> None:
        """Handle requests for this time, or until the other end is closed."""
        until_s = time.monotonic() + seconds
        while not self.is_abandoned and (left_s := until_s - time.monotonic()) > 0:
            if self._descriptor is None:
                time.sleep(left_s)
            elif select.select([self._descriptor], [], [], left_s)[0]:
                self._read(self._descriptor)

    def _read(self, descriptor: int) -> None:
        received = os.read(descriptor, _LONGEST)
        if not received:
            kind = os.fstat(descriptor).st_mode
            self.is_abandoned = stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)  # neither /dev/null nor a file
            self._descriptor = None
        *lines, rest = (self._unfinished + received).split(b"\n")
        self._unfinished = rest[-_LONGEST:]
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        asked: object = None
        with suppress(ValueError):
            asked = json.loads(line)
        for name, wanted in asked.items() if isinstance(asked, dict) else ():
            if name in self._take_by_name:
                self._take_by_name[name](wanted)


def main() -> int:
    """Sample until the reader is gone."""
    # Ctrl-C signals the whole process group, but only the screen reacts to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return contain_faults(lambda: _sample(SamplerOptions.parse(sys.argv[1])), _report_exit)


def _report_exit(reason: str) -> int:
    """Write why the sampler exits, for the screen to show."""
    sys.stderr.write(f"{reason}\n")
    return 2


def _sample(options: SamplerOptions) -> int:
    # Imported here because the monitor imports this module, too, and its first picture comes first.
    from noisewatch.machine.status_files import StatusFiles
    from noisewatch.operations.machines import open_machine, snapshot_options

    machine = open_machine(options.machine, own_pids=[options.observer])
    read_options = replace(snapshot_options(options.machine, machine, options.allowed), asks_runs=StatusFiles().texts)
    begun = _take_first_snapshot(machine, read_options) if machine.is_live else None

    from noisewatch.operations.frame.frame import NO_FIELDS, encode_frame, stable_fields
    from noisewatch.operations.idle_probe import IdleProbe
    from noisewatch.operations.sampling import Request, sample_frames, spare_collector

    try:
        idle_probe = IdleProbe(options.interval_s)
        idle_probe.set_enabled(options.idle_probe)
        clock, answers = Request(), Request()
        switches = {"idle_probe": idle_probe.set_enabled, "clock": clock.set_enabled, "answers": answers.set_enabled}
        inbox = Inbox(sys.stdin.fileno(), switches)
        spare_collector()
        sent = NO_FIELDS
        pace = (options.interval_s, inbox.wait)
        for frame in sample_frames(machine, read_options, *pace, idle_probe, clock, answers, begun):
            if inbox.is_abandoned:
                break
            sys.stdout.buffer.write(encode_frame(frame, sent))
            sys.stdout.buffer.flush()
            sent = stable_fields(frame)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _take_first_snapshot(machine: Machine, options: SnapshotOptions) -> tuple[TaskReader, Snapshot]:
    """Take the first snapshot before the judging modules are imported, so that the first interval begins early."""
    from noisewatch.kernel.snapshot.snapshot import read_snapshot
    from noisewatch.kernel.tasks.threads import TaskReader
    from noisewatch.machine.tracefs.watcher import remove_stale_where_mounted

    remove_stale_where_mounted()
    task_reader = TaskReader()
    return task_reader, read_snapshot(machine, options, task_reader)


if __name__ == "__main__":
    raise SystemExit(main())
