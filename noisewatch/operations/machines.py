"""The machine that is looked at, and the CPUs on it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, format_cpu_list, parse_cpu_list
from noisewatch.errors import Malformed, UsageError
from noisewatch.machine import Machine
from noisewatch.operations.pinning import allowed_now
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Which machine, and which of its CPUs: by default this host, and the CPUs that it isolates."""

    sysroot: str | None = None  # a copied tree
    replay: str | None = None  # a recording
    cpus: str | None = None  # a list, as the user wrote it


def open_machine(options: MachineOptions, own_pids: Iterable[int] = ()) -> Machine:
    """This host, the copied tree or the recording. Raises UsageError."""
    if options.sysroot is not None and options.replay is not None:
        raise UsageError("--sysroot and --replay exclude each other")
    if options.sysroot is not None:
        from noisewatch.machine.copied import CopiedTree  # each imported where it is opened

        return CopiedTree(options.sysroot)
    if options.replay is not None:
        from noisewatch.machine.recording.replay import Recording

        return Recording(options.replay)
    from noisewatch.machine.live import LiveMachine

    return LiveMachine(own_pids)


def require_free(path: str) -> None:
    """Raises UsageError where a recording would take the place of a file that is none, and holds something."""
    from noisewatch.machine.recording.replay import is_recording

    if os.path.isfile(path) and os.path.getsize(path) and not is_recording(path):
        raise UsageError(f"{path}: not a recording of noisewatch, so it is not overwritten; name another file")


def snapshot_options(
    options: MachineOptions, machine: Machine, allowed_at_start: CpuSet | None = None
) -> SnapshotOptions:
    """What is to be read. Raises UsageError where the list names CPUs that the machine does not have."""
    from noisewatch.kernel.snapshot.snapshot import SnapshotOptions  # all readers: the first picture comes first

    cpus = None if options.cpus is None else parse_cpus("--cpus", options.cpus, machine)
    return SnapshotOptions(cpus, allowed_now() if allowed_at_start is None else allowed_at_start)


def last_snapshot(machine: Machine, options: MachineOptions) -> Snapshot:
    """The machine now, without its threads; of a recording its last snapshot. Raises UsageError."""
    from noisewatch.kernel.snapshot.snapshot import read_snapshot  # all readers, here too
    from noisewatch.machine.recording.replay import Recording

    asked = snapshot_options(options, machine)
    if isinstance(machine, Recording):
        machine.go_to_end()
    return read_snapshot(machine, asked)


def parse_cpus(option: str, text: str, machine: Machine) -> CpuSet:
    """The CPUs that an option lists. Raises UsageError where it names none, or CPUs that the machine does not have."""
    from noisewatch.kernel.cpus.online import read_online
    from noisewatch.kernel.reader import Reader

    online = read_online(Reader(machine))
    present = (online.online or frozenset()) | (online.present or online.offline or frozenset())
    try:
        cpus = parse_cpu_list(text, max(present, default=None))
    except Malformed as error:
        raise UsageError(f"{option} {text}: {error}") from error
    if not cpus:
        raise UsageError(f"{option} {text!r}: names no CPU")
    missing = cpus - present
    if online.online is not None and missing:
        has = format_cpu_list(present)
        raise UsageError(f"{option} {text}: there is no CPU {format_cpu_list(missing)}; the machine has {has}")
    return cpus
