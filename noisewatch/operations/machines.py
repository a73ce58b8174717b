"""Opens the machine to observe and selects its CPUs, as options request."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list, parse_cpu_list
from noisewatch.errors import Malformed, UsageError
from noisewatch.machine import Machine
from noisewatch.operations.pinning import read_allowed_cpus

if TYPE_CHECKING:
    from noisewatch.kernel.cpus.online import Online
    from noisewatch.kernel.reader import Reader
    from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions

FASTEST = "fast"  # instead of a list: the CPUs of the fastest kind


class MachineOptions(Struct, frozen=True, kw_only=True):
    """The machine to observe, and its target CPUs; by default this host and its default target CPUs."""

    sysroot: str | None = None  # a copied tree
    replay: str | None = None  # a recording
    cpus: str | None = None  # a list, or FASTEST, as the user wrote it


def open_machine(options: MachineOptions, own_pids: Iterable[int] = ()) -> Machine:
    """Open this host, the copied tree or the recording. Raise UsageError if it cannot be opened."""
    if options.sysroot is not None and options.replay is not None:
        raise UsageError("--sysroot and --replay exclude each other")
    if options.sysroot is not None:
        from noisewatch.machine.copied import CopiedTree  # only the needed one is imported

        return CopiedTree(options.sysroot)
    if options.replay is not None:
        from noisewatch.machine.recording.replay import Recording

        return Recording(options.replay)
    from noisewatch.machine.live import LiveMachine

    return LiveMachine(own_pids)


def require_free(path: str) -> None:
    """Raise UsageError for a non-empty file that is not a recording, so that no recording overwrites it."""
    from noisewatch.machine.recording.replay import is_recording

    if os.path.isfile(path) and os.path.getsize(path) and not is_recording(path):
        raise UsageError(f"{path}: not a recording of noisewatch, so it is not overwritten; name another file")


def snapshot_options(
    options: MachineOptions, machine: Machine, allowed_at_start: CpuSet | None = None
) -> SnapshotOptions:
    """Return the options for reading snapshots. Raise UsageError for listed CPUs that the machine does not have."""
    from noisewatch.kernel.snapshot.snapshot import (
        SnapshotOptions,
    )  # imported late, because it imports all readers, and the monitor's first picture comes first

    allowed = read_allowed_cpus() if allowed_at_start is None else allowed_at_start
    cpus = None if options.cpus is None else parse_cpus("--cpus", options.cpus, machine, allowed)
    return SnapshotOptions(cpus, allowed)


def last_snapshot(machine: Machine, options: MachineOptions, asks_inventory: bool = False) -> Snapshot:
    """Read a snapshot without threads: now, or the last one of a recording. Raise UsageError for invalid options."""
    from noisewatch.kernel.snapshot.snapshot import read_snapshot  # imported late, because it imports all readers
    from noisewatch.machine.recording.replay import Recording

    asked = replace(snapshot_options(options, machine), asks_inventory=asks_inventory)
    if isinstance(machine, Recording):
        machine.go_to_end()
    return read_snapshot(machine, asked)


def parse_cpus(option: str, text: str, machine: Machine, allowed_at_start: CpuSet | None = None) -> CpuSet:
    """Parse the CPUs of an option. Raise UsageError if the list is invalid or empty, or has a CPU that is missing."""
    from noisewatch.kernel.cpus.online import read_online
    from noisewatch.kernel.reader import Reader

    reader = Reader(machine)
    online = read_online(reader)
    if text.strip() == FASTEST:
        return _fastest_cpus(option, reader, online, allowed_at_start or read_allowed_cpus())
    present = (online.online or frozenset()) | (online.present or online.offline or frozenset())
    try:
        cpus = parse_cpu_list(text, max(present, default=None))
    except Malformed as error:
        raise UsageError(f"{option} {text}: {error}") from error
    if not cpus:
        raise UsageError(f"{option} {text!r}: contains no CPU")
    missing = cpus - present
    if online.online is not None and missing:
        has = format_cpu_list(present)
        raise UsageError(f"{option} {text}: there is no CPU {format_cpu_list(missing)}; the machine has {has}")
    return cpus


def _fastest_cpus(option: str, reader: Reader, online: Online, allowed_at_start: CpuSet) -> CpuSet:
    """Return the allowed CPUs of the fastest kind of core.

    Raise UsageError if the kinds of core are unknown, or if no such CPU is allowed.
    """
    from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
    from noisewatch.kernel.cpus.cpuinfo import designs_of
    from noisewatch.kernel.cpus.isolation import (
        read_isolation,
    )  # rarely needed: most users list CPUs or omit the option
    from noisewatch.kernel.cpus.target import fastest_target, read_own_affinity
    from noisewatch.kernel.cpus.topology import read_topology
    from noisewatch.kernel.system.mounts import cover_of

    last_cpu = max((online.online or frozenset()) | (online.offline or frozenset()), default=None)
    isolation = read_isolation(reader, last_cpu, online.online, config=None)
    allowed = allowed_at_start if reader.machine.is_live else read_own_affinity(reader, None, online)
    cpuinfo = None if cover_of(reader, CPUINFO) is not None else reader.text_or_none(CPUINFO, expected=False)
    topology = read_topology(reader, online.online, designs_of(cpuinfo))
    cpus = fastest_target(isolation, online.online, allowed, topology)
    if cpus is None:
        raise UsageError(f"{option} {FASTEST}: the kinds of core are unknown here; list the CPUs")
    if not cpus:
        raise UsageError(f"{option} {FASTEST}: none of the fastest CPUs is allowed; list others")
    return cpus
