"""The machine that the options name, and the CPUs on it. Only the command line builds machines."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from noisewatch.errors import Malformed, UsageError
from noisewatch.machine import Machine
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording import Recording
from noisewatch.sources.cpulist import CpuSet, format_cpu_list, parse_cpu_list
from noisewatch.sources.online import read_online
from noisewatch.sources.reader import Reader
from noisewatch.surfaces.allowed import allowed_now

if TYPE_CHECKING:
    from noisewatch.sources.snapshot import Wish


def open_machine(arguments: Namespace, own_pids: Iterable[int] = ()) -> Machine:
    """This host, the copied tree or the recording. Raises UsageError."""
    if arguments.sysroot is not None and arguments.replay is not None:
        raise UsageError("--sysroot and --replay exclude each other")
    if arguments.sysroot is not None:
        return CopiedTree(arguments.sysroot)
    if arguments.replay is not None:
        return Recording(arguments.replay)
    return LiveMachine(own_pids)


def wish_of(arguments: Namespace, machine: Machine, allowed_at_start: CpuSet | None = None) -> Wish:
    """What the options ask for. Raises UsageError where the list names CPUs that the machine does not have."""
    from noisewatch.sources.snapshot import Wish  # all sources: the monitor's first picture comes first

    cpus = None if arguments.cpus is None else parse_cpus("--cpus", arguments.cpus, machine)
    return Wish(cpus, allowed_now() if allowed_at_start is None else allowed_at_start)


def parse_cpus(option: str, text: str, machine: Machine) -> CpuSet:
    """The CPUs that an option lists. Raises UsageError where it names none, or CPUs that the machine does not have."""
    reader = Reader(machine)
    online = read_online(reader)
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
        raise UsageError(f"{option} {text}: there is no CPU {format_cpu_list(missing)}, the machine has {has}")
    return cpus


def report_damage(machine: Machine) -> None:
    """Says on standard error where a replay ended before its recording did."""
    damage = getattr(machine, "damage", None)
    if damage is not None:
        print(f"noisewatch: {machine.name}: {damage}; replayed up to there", file=sys.stderr)
