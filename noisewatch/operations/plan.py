"""Makes plans of target CPUs from options and readings of the machine."""

from __future__ import annotations

from msgspec import Struct, field

from noisewatch.errors import UsageError
from noisewatch.judgement.case import Case
from noisewatch.judgement.plan.cores import online_of
from noisewatch.judgement.plan.plan import Plan, plan_of
from noisewatch.judgement.plan.proposal import proposal_of, propose
from noisewatch.kernel.snapshot.placement import DevicePlace, find_device, read_placement
from noisewatch.kernel.snapshot.snapshot import read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.machines import MachineOptions, snapshot_options
from noisewatch.text import clean

DEFAULT_COUNT = 1  # for a benchmark with one thread; most CPUs are left to other work
_MOST_NAMED = 12


class PlanOptions(Struct, frozen=True, kw_only=True):
    """The number of cores (None: use the CPUs of the machine options), and the device that they should be near."""

    machine: MachineOptions = field(default_factory=MachineOptions)
    count: int | None = None
    near: str | None = None


def make_plan(machine: Machine, options: PlanOptions) -> Plan:
    """Make a plan for the machine as it is now, or at the end of a recording.

    Raise UsageError for invalid options.
    """
    if options.count is not None and options.machine.cpus is not None:
        raise UsageError("COUNT and --cpus exclude each other")
    asked = snapshot_options(options.machine, machine)
    if isinstance(machine, Recording):
        machine.go_to_end()
    snapshot = read_snapshot(machine, asked, TaskReader())
    device = None if options.near is None else _device(machine, options.near)
    case = Case(snapshot)
    readings = read_placement(machine, online_of(case), device)
    if asked.cpus is not None:
        return plan_of(proposal_of(case, readings, asked.cpus))
    return plan_of(propose(case, readings, DEFAULT_COUNT if options.count is None else options.count))


def _device(machine: Machine, name: str) -> DevicePlace:
    device = find_device(machine, name)
    if isinstance(device, DevicePlace):
        return device
    names = ", ".join(device.names[:_MOST_NAMED]) + (", …" if len(device.names) > _MOST_NAMED else "")
    hint = f"available: {names}, and PCI addresses such as 0000:3b:00.0" if names else "no device is visible here"
    unlisted = f"; {device.unlisted}" if device.unlisted is not None else ""
    raise UsageError(f"--near {clean(name)!r}: no such network interface, disk or PCI device; {hint}{unlisted}")
