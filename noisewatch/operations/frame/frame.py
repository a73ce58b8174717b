"""Frames from the sampler to the screen, one each interval: some figures a CPU and the top culprits, no raw tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from noisewatch.judgement.terms import Counts, Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.model.idle_probe import ProbeState
from noisewatch.operations.frame.causes import CauseLine
from noisewatch.operations.frame.clock import ClockFigures
from noisewatch.operations.frame.irqs import IrqLine, IrqSetting
from noisewatch.operations.frame.places import PlaceLine
from noisewatch.operations.frame.runs import RunLine
from noisewatch.records import dataclass

MOST_CULPRITS = 64
_GRAVITIES = list(Gravity)
KINDS = (
    *(Kind.IRQ, Kind.TICK, Kind.TIMER, Kind.IPI, Kind.NMI, Kind.LOCAL, Kind.SOFTIRQ, Kind.THREAD, Kind.KERNEL_THREAD),
    *(Kind.QUOTA, Kind.OUTSIDE, Kind.UNATTRIBUTED),
)


@dataclass(frozen=True, slots=True)
class CpuLine:
    """One CPU in one interval. None is unknown, or not yet known."""

    cpu: int
    role: Role
    stolen_ns_per_s: float | None = None
    is_estimate: bool = False  # most of it is from counts, not measured
    interrupts_per_s: float | None = None
    softirqs_per_s: float | None = None
    busy_share: float | None = None
    current_khz: int | None = None
    governor: str | None = None
    taken_ns_per_s: tuple[int, ...] | None = None  # by each of KINDS; of target CPUs
    idle_probe: str = ProbeState.OFF  # or why it could not start
    measured_ns: int | None = None  # recent spinning time of the probe, and of that ...
    measured_stolen_share: float | None = None  # ... the share that others took
    gap_count: int | None = None
    longest_gap_ns: int | None = None


@dataclass(frozen=True, slots=True)
class CulpritLine:
    """One culprit on one CPU."""

    cpu: int
    role: Role
    kind: Kind
    name: str
    pid: int | None
    tid: int | None
    rate_per_s: float | None
    stolen_ns_per_s: float
    is_estimate: bool
    irq: int | None = None

    @property
    def process_mark(self) -> str:
        """The text after the name: ` [4711]`, or ` [4711/4715]` for a thread; empty for other sources."""
        if self.pid is None:
            return ""
        return f" [{self.pid}]" if self.tid in (None, self.pid) else f" [{self.pid}/{self.tid}]"


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A check that did not pass. `gravity` is its effect on the verdict, `fix` a command, or an action in words.

    `status` and `weight` are the finding's: the kind of answer, and its weight.
    """

    id: str
    status: str
    weight: str
    gravity: Gravity
    said: str
    fix: str | None = None
    is_command: bool = True
    cause: int | None = None  # the number of its cause, from 1

    @property
    def command(self) -> str | None:
        """The shell command against the finding, or None."""
        return self.fix if self.fix and self.is_command else None


@dataclass(frozen=True, slots=True)
class ClockLimits:
    """The limits of the clock of these CPUs."""

    cpus: str
    min_khz: int | None
    max_khz: int | None


@dataclass(frozen=True, slots=True)
class Throttled:
    """How often `heat`, or the `power` limit, slowed a core or a package of these target CPUs; None is unknown."""

    what: str
    cpus: str
    times: int | None
    by: str = "heat"


@dataclass(frozen=True, slots=True)
class CoolingLine:
    """The cooling devices of one kind that slow the processor down now; None if the state of one is unknown."""

    kind: str
    active: int | None
    highest_state: int | None


@dataclass(frozen=True, slots=True)
class Temperature:
    """One sensor of the processor that can be read without interrupting a target CPU."""

    name: str
    celsius: float | None
    critical_celsius: float | None


@dataclass(frozen=True, slots=True)
class Conditions:
    """Power, clock limits, throttling, cooling and heat. Normal values are left out; None is unknown."""

    mains_power: bool | str | None = None  # `none` if the machine does not report it
    clock_limits: tuple[ClockLimits, ...] = ()
    throttled: tuple[Throttled, ...] = ()  # in this interval
    cooling: tuple[CoolingLine, ...] | None = None
    temperatures: tuple[Temperature, ...] = ()


_UNKNOWN_CONDITIONS = Conditions()


@dataclass(frozen=True, slots=True)
class Frame:
    """One interval of one machine. `seconds` is 0 for the first look, which has no rates."""

    taken_at_ns: int
    seconds: float
    machine: str
    target: tuple[int, ...]
    target_chosen_by: str
    housekeeping: tuple[int, ...]
    online_count: int
    turbo: str | None
    verdict: str | None
    passed: int | None  # checks that did
    judged_s: float | None  # the time that was judged, up to this moment; None where there was no sample
    cpus: tuple[CpuLine, ...]
    culprits: tuple[CulpritLine, ...]
    sampler_cpu_s: float | None  # that the sampler has used so far; None in replay
    findings: tuple[FindingLine, ...] = ()  # of the checks that did not pass, the gravest first
    origin: str | None = None  # a replay or a copied tree; None is this host
    sampler_wakeups: int | None = None  # how often it has gone to sleep so far
    is_last: bool = False
    remark: str | None = None
    conditions: Conditions = _UNKNOWN_CONDITIONS
    has_idle_probe: bool = False  # whether it is on; the CPUs' lines show where it spins
    no_idle_probe_reason: str | None = None  # why it is off although it was requested
    counts: Counts | None = None  # of all checks that were judged, by their status
    causes: tuple[CauseLine, ...] = ()  # of the findings, the gravest first
    gravities: str = ""  # of all checks in the order of the catalogue, as their indices in Gravity
    answers: Mapping[str, str] | None = None  # of checks that pass or do not apply, by id; None while not shown
    wall_ns: int | None = None  # since 1970 in UTC, at `taken_at_ns`
    ahead_s: int | None = None  # that local time on the machine is ahead of UTC
    places: tuple[PlaceLine, ...] | None = None  # if they changed or were never sent; None: unchanged
    irqs: tuple[IrqLine, ...] | None = None  # None is unknown, as in the first look ...
    no_irqs_reason: str | None = None  # ... or for that reason
    irq_settings: tuple[IrqSetting, ...] | None = None  # all of them, if one changed; None: unchanged
    irq_balancer: str | None = None  # the running program that may have moved some: `irqbalance (pid 812)`
    clock: ClockFigures | None = None  # None while not shown
    runs: tuple[RunLine, ...] = ()  # of `noisewatch run`

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the checks that make the machine unstable."""
        return tuple(each.id for each in self.findings if each.gravity == Gravity.FAILED)

    @property
    def number_of(self) -> Mapping[Gravity, int]:
        """The number of checks of each gravity; of another version's verdict only its findings are counted."""
        if self.gravities:
            return Counter(_GRAVITIES[int(place)] for place in self.gravities)
        return Counter({Gravity.PASSED: self.passed or 0}) + Counter(each.gravity for each in self.findings)

    @property
    def leading(self) -> tuple[FindingLine, ...]:
        """The gravest finding of each cause, in the order of causes; then the findings without a cause."""
        first: dict[int, FindingLine] = {}
        for each in self.findings:
            if each.cause is not None:
                first.setdefault(each.cause, each)
        return (*(first[number] for number in sorted(first)), *(each for each in self.findings if each.cause is None))

    def cause_of(self, finding: FindingLine) -> CauseLine | None:
        """Return the cause of the finding, or None."""
        number = finding.cause
        return self.causes[number - 1] if number is not None and number <= len(self.causes) else None

    def command_against(self, finding: FindingLine) -> str | None:
        """Return the command of the finding's cause, or its own, or None."""
        cause = self.cause_of(finding)
        return finding.command if cause is None else cause.command

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of the checks without an answer, first those that leave the verdict open."""
        return tuple(each.id for each in self.findings if each.gravity in (Gravity.UNANSWERED, Gravity.OPEN))

    @property
    def is_cut(self) -> bool:
        """Whether there may be more culprits than in the frame, which has the costliest, target CPUs first."""
        return len(self.culprits) >= MOST_CULPRITS

    def tells_all_of(self, cpu: int) -> bool:
        """Return whether the frame has all culprits of the CPU; those of housekeeping CPUs are cut first."""
        line = next((line for line in self.cpus if line.cpu == cpu), None)
        return line is not None and self.tells_all_on(line)

    def tells_all_on(self, line: CpuLine) -> bool:
        """Return whether the frame has all culprits of the CPU with this line."""
        if line.stolen_ns_per_s is None:
            return False
        return not self.is_cut or (line.role != Role.HOUSEKEEPING and self.culprits[-1].role == Role.HOUSEKEEPING)
