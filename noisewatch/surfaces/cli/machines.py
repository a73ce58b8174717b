"""The machine that the options name, for the commands."""

from __future__ import annotations

import sys
from argparse import Namespace

from noisewatch.machine import Machine
from noisewatch.operations.machines import MachineOptions


def machine_options(arguments: Namespace) -> MachineOptions:
    """Which machine, and which CPUs on it, the command line names."""
    return MachineOptions(sysroot=arguments.sysroot, replay=arguments.replay, cpus=arguments.cpus)


def report_damage(machine: Machine) -> None:
    """Says on standard error where a replay ended before its recording did."""
    damage = getattr(machine, "damage", None)
    if damage is not None:
        print(f"noisewatch: {machine.name}: {damage}; replayed up to there", file=sys.stderr)
