"""The plan of a command: its CPUs, its user and its memory nodes."""

from __future__ import annotations

import os
import pwd
import shutil

from noisewatch.cpus import CpuSet, format_cpu_list, parse_cpu_list
from noisewatch.errors import Malformed, UsageError
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine.command.plan import CommandPlan, CommandUser
from noisewatch.operations.run.options import RunOptions

AUTO, NONE = "auto", "none"


def command_plan(options: RunOptions, argv: tuple[str, ...], snapshot: Snapshot) -> CommandPlan:
    """Return the plan of the command on the target CPUs, in their isolated partition if there is one.

    Raise UsageError for options that cannot be met.
    """
    return CommandPlan(
        argv=argv,
        cpus=snapshot.target.cpus,
        memory_nodes=_memory_nodes(options.membind, snapshot),
        cgroup=_partition_of(snapshot),
        user=_calling_user() if options.is_as_user else None,
        is_quiet=not options.shows_output,
    )


def folders_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders from which the command reads as a rule: of its program, its arguments, and its own."""
    own = os.readlink("/proc/self/cwd")  # os.getcwd fails in a removed folder
    named = [each for each in (own, shutil.which(argv[0]), *argv[1:]) if each is not None and os.path.isabs(each)]
    return (*map(os.path.realpath, named), "/")


def _partition_of(snapshot: Snapshot) -> str | None:
    """Return the folder of the valid isolated partition with all target CPUs: only its tasks can use them."""
    own = set(snapshot.cgroup.folders)
    for partition in snapshot.isolation.partitions.all:
        is_valid = partition.invalid_reason is None and partition.has is not None
        if is_valid and partition.folder not in own and snapshot.target.cpus <= (partition.has or frozenset()):
            return partition.folder
    return None


def _memory_nodes(wanted: str, snapshot: Snapshot) -> CpuSet | None:
    """Return the nodes of the target CPUs, or the named nodes. Raise UsageError for unknown nodes."""
    if wanted == NONE:
        return None
    if wanted == AUTO:
        places = [snapshot.topology.get(cpu) for cpu in snapshot.target.cpus]
        nodes = [place.node if place is not None else None for place in places]
        if None in nodes or not nodes:
            raise UsageError("--membind auto: the memory nodes of the target CPUs are not known; name them")
        return frozenset(node for node in nodes if node is not None)
    known = snapshot.settings.memory_nodes
    try:
        named = parse_cpu_list(wanted, max(known or (), default=None))
    except Malformed as error:
        raise UsageError(f"--membind {wanted}: wanted {AUTO}, {NONE} or a list of nodes: {error}") from error
    if not named:
        raise UsageError(f"--membind {wanted!r}: names no node")
    if known is not None and not named <= known:  # the kernel silently accepts them if one node exists
        missing, has = format_cpu_list(named - known), format_cpu_list(known)
        raise UsageError(f"--membind {wanted}: there is no node {missing}; the machine has {has}")
    return named


def _calling_user() -> CommandUser:
    """Return the user who called sudo. Raise UsageError if it is unknown."""
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        raise UsageError("--as-user: who called is not known (sudo says it in SUDO_UID and SUDO_GID)") from None
    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    return CommandUser(uid=uid, gid=gid, groups=tuple(groups))
