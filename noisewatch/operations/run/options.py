"""The options of a run, and the plan of a command by these options: its CPUs, its user and its memory nodes."""

from __future__ import annotations

import os
import pwd
import shutil

from msgspec import Struct, field

from noisewatch.cpus import CpuSet, format_cpu_list, parse_cpu_list
from noisewatch.errors import Malformed, UsageError
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Tracer
from noisewatch.machine.command.python_launching import FIXED_LAYOUT, INHERITED_LAYOUT, RANDOM_LAYOUT
from noisewatch.machine.command.start import CommandPlan, CommandUser, refused_layout_reason
from noisewatch.model.run.layout import RUNS_PER_LAYOUT, Layout
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.pinning import read_allowed_cpus


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a run.

    Commands are argument vectors; `against` is a second command, alternating with the first.
    """

    argv: tuple[str, ...]
    machine: MachineOptions = field(default_factory=MachineOptions)
    runs: int = 1  # of each command
    against: tuple[str, ...] | None = None
    is_aa: bool = False  # the command against itself
    wait_s: float = 0.0  # maximum wait before each repetition until the target CPUs are quiet
    membind: str = "none"  # the command's memory nodes: auto (of the target CPUs), none (any node) or a list
    varies_layout: bool = False  # run each command twice in each of `runs` memory layouts
    has_fixed_layout: bool = False  # without address randomization
    spreads: bool = False  # pin each busy thread of the command to its own target CPU
    is_as_user: bool = False  # run the command as the user who called sudo
    most_retries: int = 0  # maximum number of further repetitions, pairs or layouts, until enough are undisturbed
    warm_ups: int = 0  # repetitions of each command before the others, left out of the statistics
    prepare: tuple[str, ...] | None = None  # a side command before each repetition
    conclude: tuple[str, ...] | None = None  # a side command after each repetition
    shows_side_output: bool = False  # of the side commands
    load: int = 0  # busy processes on other CPUs during the series and its calibrations
    min_undisturbed: float = 0.5  # the minimum share of undisturbed runs for a result
    shows_output: bool = True
    stops_at_failure: bool = True  # an exit status other than 0 ends a series
    calibration_s: float = 0.0  # before the first repetition, and after the last
    tracer: Tracer = Tracer.NONE
    counts_events: bool = True  # instructions, cycles and cache misses of the command
    measures_energy: bool = False  # of the CPU packages, other processes included
    has_frequent_snapshots: bool = False  # take snapshots often within long repetitions, too, to judge their parts

    @property
    def is_series(self) -> bool:
        """Whether more than one repetition is requested, warm-ups included."""
        return self.requested_count > 1 or self.warm_ups > 0

    @property
    def requested_count(self) -> int:
        """The requested number of repetitions of all commands together, without warm-ups and retries."""
        return self.runs * self.runs_per_unit

    @property
    def runs_per_unit(self) -> int:
        """The number of repetitions that count as one: of both commands in a pair, twice in each layout."""
        return len(self.commands) * (RUNS_PER_LAYOUT if self.varies_layout else 1)

    @property
    def may_repeat(self) -> bool:
        """Whether more than one repetition may run."""
        return self.is_series or self.most_retries > 0

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The single command, or the two that alternate."""
        if self.is_aa:
            return self.argv, self.argv
        return (self.argv,) if self.against is None else (self.argv, self.against)


AUTO, NONE = "auto", "none"


def side_command_plan(options: RunOptions, argv: tuple[str, ...]) -> CommandPlan:
    """Return the plan of a side command, which runs on noisewatch's own CPUs and with its user."""
    return CommandPlan(argv=argv, cpus=read_allowed_cpus(), is_quiet=not options.shows_side_output)


def command_plan(
    options: RunOptions, argv: tuple[str, ...], snapshot: Snapshot, layout: Layout | None = None
) -> CommandPlan:
    """Return the plan of the command on the target CPUs, in their isolated partition if there is one.

    Raise UsageError for options that this machine cannot meet.
    """
    return CommandPlan(
        argv=argv if layout is None else (layout.padded(argv[0]), *argv[1:]),
        variables=() if layout is None else (layout.variable,),
        layout=_address_layout(options),
        cpus=snapshot.target.cpus,
        memory_nodes=_memory_nodes(options.membind, snapshot),
        cgroup=_partition_of(snapshot),
        user=_calling_user() if options.is_as_user else None,
        is_quiet=not options.shows_output,
    )


def refuse_impossible_layout(options: RunOptions) -> None:
    """Raise UsageError if the kernel refuses to fix or to randomize the layout of the command's addresses."""
    layout = _address_layout(options)
    reason = None if layout == INHERITED_LAYOUT else refused_layout_reason(layout)
    if reason is not None:
        option, change = ("--fixed", "off") if options.has_fixed_layout else ("--vary", "on")
        raise UsageError(
            f"{option} layout: cannot switch address randomization {change}: personality(2): {reason} (seccomp, for "
            "example Docker's default profile, may forbid it)"
        )


def _address_layout(options: RunOptions) -> int:
    if options.has_fixed_layout:
        return FIXED_LAYOUT
    return RANDOM_LAYOUT if options.varies_layout else INHERITED_LAYOUT


def usual_paths(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that the command usually reads: its working directory, program, absolute arguments, and `/`."""
    own = os.readlink("/proc/self/cwd")  # os.getcwd fails in a removed folder
    named = [path for path in (own, shutil.which(argv[0]), *argv[1:]) if path is not None and os.path.isabs(path)]
    return (*map(os.path.realpath, named), "/")


def _partition_of(snapshot: Snapshot) -> str | None:
    """Return the folder of a valid isolated partition that has all target CPUs, unless this process is in it already.

    Only tasks in the partition can use its CPUs.
    """
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
            raise UsageError("--membind auto: the memory nodes of the target CPUs are unknown; list the nodes")
        return frozenset(node for node in nodes if node is not None)
    known = snapshot.settings.memory_nodes
    try:
        named = parse_cpu_list(wanted, max(known or (), default=None))
    except Malformed as error:
        raise UsageError(f"--membind {wanted}: expected {AUTO}, {NONE} or a list of nodes: {error}") from error
    if not named:
        raise UsageError(f"--membind {wanted!r}: contains no node")
    if known is not None and not named <= known:  # the kernel silently accepts them if one node exists
        missing, has = format_cpu_list(named - known), format_cpu_list(known)
        raise UsageError(f"--membind {wanted}: there is no node {missing}; the machine has {has}")
    return named


def _calling_user() -> CommandUser:
    """Return the user who called sudo. Raise UsageError if it is unknown."""
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        raise UsageError("--as-user: the calling user is unknown (sudo sets SUDO_UID and SUDO_GID)") from None
    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    return CommandUser(uid=uid, gid=gid, groups=tuple(groups))
