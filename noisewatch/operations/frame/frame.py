"""Frames from the sampler to the screen: the part of an interval that a screen shows.

A frame contains a few figures per CPU, the interrupts by source and CPU, the top culprits, and the findings with their
causes. It contains the figures of the clock screen only while that screen is open, and in replays. None means unknown.
The sampler sends each frame as a line of JSON, and omits rarely changing fields that have the previous line's values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from noisewatch.judgement.terms import FOR_GOOD, NOW, TRY, UNDO, Counts, Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.model.idle_probe import ProbeState

if TYPE_CHECKING:
    from noisewatch.kernel.cpus.topology import CpuPlace


class Line(Struct, frozen=True, array_like=True):
    """A record that a frame contains many times, so it is encoded as an array of its fields, without their names."""


class RepetitionLine(Line, frozen=True):
    """One repetition, or several short ones (`number` to `last`), as judged by its run; times in ns."""

    number: int
    last: int
    command: int | None  # 0 or 1, the first or second command; None: both
    began_ns: int
    ended_ns: int
    outcome: str  # undisturbed, disturbed, unknown, failed or cut short
    reason: str  # for the outcome of the first repetition; empty if undisturbed


class RunLine(Line, frozen=True):
    """The status of one run. If `stage` is running, repetition `number` has been running since `since_ns`.

    `repetitions` are the ones that no earlier frame contained.
    """

    id: str
    stage: str  # a RunStage, such as waiting or running
    programs: tuple[str, ...]
    cpus: tuple[int, ...]
    number: int | None
    wanted: int
    since_ns: int
    counts: tuple[int, ...]  # number of repetitions with each outcome, in the order of OUTCOMES
    share_by_cpu: tuple[tuple[int, float], ...]  # the command's share of each CPU, if it used the CPU
    repetitions: tuple[RepetitionLine, ...] = ()


class PlaceLine(Line, frozen=True):
    """One CPU's place in the topology. None means unknown; `siblings` are the CPUs of its core, itself included."""

    cpu: int
    node: int | None = None
    package: int | None = None
    core: int | None = None  # number of the core within the package; numbers may be missing
    cache: str | None = None  # the last-level cache: `L3#0`
    siblings: tuple[int, ...] | None = None


def place_lines(topology: Mapping[int, CpuPlace], cache_by_cpu: Mapping[int, str]) -> tuple[PlaceLine, ...] | None:
    """Return a line for each online CPU, in order of number, or None if no CPU's place is known."""
    lines = tuple(
        PlaceLine(
            cpu=cpu,
            node=place.node,
            package=place.package,
            core=place.core,
            cache=cache_by_cpu.get(cpu),
            siblings=None if place.siblings is None else tuple(sorted(place.siblings)),
        )
        for cpu, place in sorted(topology.items())
    )
    return lines if any(line != PlaceLine(line.cpu) for line in lines) else None


class IrqLine(Line, frozen=True):
    """One row of /proc/interrupts whose counts grew in the interval, with the CPUs on which they grew."""

    label: str  # `205`, `LOC`
    cpus: tuple[int, ...]
    rates: tuple[float, ...]  # per second, in the order of `cpus`

    @property
    def rate_by_cpu(self) -> Mapping[int, float]:
        """The interrupts per second on each CPU that had any."""
        return dict(zip(self.cpus, self.rates, strict=False))

    @property
    def total(self) -> float:
        """The interrupts per second on all CPUs together."""
        return sum(self.rates)


class IrqSetting(Line, frozen=True):
    """The source of one row of /proc/interrupts or /proc/irq, and its affinity. None means unknown.

    Affinities are CPU lists: the IRQ may be delivered to `allowed`, and is delivered to `effective` (Linux 4.13).
    """

    label: str
    kind: Kind
    name: str  # the actions of a numbered row (`eth0-TxRx-5`), otherwise the row's description; empty if unused
    device: str | None = None  # the device's common name
    allowed: str | None = None
    effective: str | None = None
    movable: bool | None = None
    is_managed: bool | None = None  # whether the kernel manages it, so that users cannot move it

    @property
    def irq(self) -> int | None:
        """The number of the IRQ; None for the architecture's own rows, such as `LOC`."""
        return int(self.label) if self.label.isdecimal() else None


class ClockGroup(Line, frozen=True):
    """CPUs with the same cpufreq settings. None means unknown; `none` means that the driver has no such setting.

    CpuLine has each CPU's current clock and governor.
    """

    cpus: str  # a list: `0-3,8`
    driver: str | None
    governor: str | None
    min_khz: int | None  # scaling_min_freq
    max_khz: int | None  # scaling_max_freq
    hardware_min_khz: int | None  # cpuinfo_min_freq
    hardware_max_khz: int | None  # cpuinfo_max_freq, with turbo
    base_khz: int | None  # without turbo
    preference: str | None  # energy_performance_preference


class ClockCpu(Struct, frozen=True, omit_defaults=True):
    """One CPU's figures except for its clock. Heat and slowdowns are its core's. None means unknown."""

    cpu: int
    awake_share: float | None = None  # share of the interval in no idle state (in C0)
    idle_shares: tuple[float | None, ...] | None = None  # in the order of `idle_names`; None if the CPU lacks the state
    celsius: float | None = None
    critical_celsius: float | None = None
    throttles: int | None = None  # how often heat slowed the core, since boot
    slowed_ms: int | None = None  # since boot
    power_limit_count: int | None = None  # how often the power limit was reached, since boot


class ClockPackage(Struct, frozen=True, omit_defaults=True):
    """One package; `cpus` are its online CPUs. None means unknown."""

    package: int
    cpus: str
    celsius: float | None = None
    critical_celsius: float | None = None
    watts: float | None = None  # the mean of the last five seconds or more, by RAPL
    long_limit_w: float | None = None  # the lowest enabled PL1
    short_limit_w: float | None = None  # PL2
    rated_w: float | None = None  # rated power
    throttles: int | None = None  # how often heat slowed the package, since boot
    slowed_ms: int | None = None
    power_limit_count: int | None = None
    uncore_khz: int | None = None  # clock of the slowest uncore domain
    uncore_min_khz: int | None = None
    uncore_max_khz: int | None = None


class ClockFigures(Line, frozen=True):
    """The figures of the clock screen, except for the CPUs' clocks and governors, which CpuLine has.

    `reasons` contains, by figure, why it is unknown for the first target CPU or its package.
    """

    groups: tuple[ClockGroup, ...] = ()
    cpus: tuple[ClockCpu, ...] = ()
    packages: tuple[ClockPackage, ...] = ()
    sensors: tuple[Temperature, ...] = ()
    idle_names: tuple[str, ...] = ()  # names of the idle states, the lightest first: POLL, C1 …
    # Time since cores and packages were last read, which happens every five seconds.
    packages_age_s: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


class CauseLine(Line, frozen=True):
    """One cause; its findings refer to it by number, from 1.

    `steps` are the actions, each with its purpose: `now`, `undo`, `for good`, `try`; a line without purpose continues
    the previous one. `names` are the tids and names of threads that the steps mention only by tid. `settles` are the
    ids of the checks that will pass afterwards. `said` is None if the findings explain enough.
    """

    steps: tuple[tuple[str, str], ...] = ()
    settles: tuple[str, ...] = ()
    said: str | None = None
    is_open: bool = False  # whether its checks have no answer
    names: tuple[tuple[int, str], ...] = ()

    @property
    def command(self) -> str | None:
        """The shell command that removes the cause now, or None."""
        return self.lines_of(NOW)

    @property
    def undo(self) -> str | None:
        """The shell command that restores the current setting, or None."""
        return self.lines_of(UNDO)

    def lines_of(self, wanted: str) -> str | None:
        """Return the lines with this purpose, or None if there are none."""
        purposes = [purpose for purpose, _ in self.steps]
        if wanted not in purposes:
            return None
        first = purposes.index(wanted)
        lines = [self.steps[first][1]]
        for purpose, line in self.steps[first + 1 :]:
            if purpose:
                break
            lines.append(line)
        return "\n".join(lines)

    @property
    def by_hand(self) -> str | None:
        """The first advice, or permanent step (a command or prose), or None. It is for a cause without a `command`."""
        return next((line for purpose, line in self.steps if purpose in (TRY, FOR_GOOD)), None)


MOST_CULPRITS = 64
_GRAVITIES = list(Gravity)
KINDS = (
    *(Kind.IRQ, Kind.TICK, Kind.TIMER, Kind.IPI, Kind.NMI, Kind.LOCAL, Kind.SOFTIRQ, Kind.THREAD, Kind.KERNEL_THREAD),
    *(Kind.QUOTA, Kind.OUTSIDE, Kind.UNATTRIBUTED),
)


class CpuLine(Line, frozen=True):
    """One CPU in one interval. None means unknown, or not measured yet."""

    cpu: int
    role: Role
    stolen_ns_per_s: float | None = None
    is_estimate: bool = False  # mostly estimated from counts, not measured
    interrupts_per_s: float | None = None
    softirqs_per_s: float | None = None
    busy_share: float | None = None
    current_khz: int | None = None
    governor: str | None = None
    taken_ns_per_s: tuple[int, ...] | None = None  # stolen time in the order of KINDS; only for target CPUs
    idle_probe: str = ProbeState.OFF  # a ProbeState, or why the probe could not start
    measured_ns: int | None = None  # recent spinning time of the probe
    measured_stolen_share: float | None = None  # the share of the spinning time that was lost in gaps
    gap_count: int | None = None
    longest_gap_ns: int | None = None


class CulpritLine(Line, frozen=True):
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
    program: str | None = None  # the process's name, if the culprit is a thread with another name

    @property
    def label(self) -> str:
        """The name with its numbers: `hog [4711]`, or `java [4711/4715], thread GC` for a thread; `RCU`."""
        if self.program is not None:
            return f"{self.program}{self.process_mark}, thread {self.name}"
        return self.name + self.process_mark

    @property
    def label_with_kind(self) -> str:
        """The label with the kind: `thread hog [4711]`, `softirq RCU`."""
        return self.label if self.program is not None else self.kind.with_name(self.label)

    @property
    def process_mark(self) -> str:
        """The label's suffix: ` [4711]` for a process, ` [4711/4715]` for one of its threads; empty without a PID."""
        if self.pid is None:
            return ""
        return f" [{self.pid}]" if self.tid in (None, self.pid) else f" [{self.pid}/{self.tid}]"


class ProcessLine(Line, frozen=True):
    """The identity of a process that is a culprit; texts are empty if unknown."""

    pid: int
    command: str  # with arguments
    surroundings: str  # systemd unit, container and pod
    details: str  # both, in one line, without the program's folder and what only repeats the name


class FindingLine(Line, frozen=True):
    """A check that did not pass. `gravity` is its effect on the verdict, `fix` a command or an action in words."""

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


class ClockLimits(Line, frozen=True):
    """The clock limits of a group of CPUs."""

    cpus: str
    min_khz: int | None
    max_khz: int | None


class Throttled(Line, frozen=True):
    """How often heat or the power limit slowed these target CPUs' core or package; None means unknown."""

    what: str
    cpus: str
    times: int | None
    by: str = "heat"


class CoolingLine(Line, frozen=True):
    """Active cooling devices of one kind that slow down the processor; None if unknown whether any is active."""

    kind: str
    active: int | None
    highest_state: int | None


class Temperature(Line, frozen=True):
    """A sensor of the processor, by chip and label: `k10temp Tctl`. None means unknown."""

    name: str
    celsius: float | None
    critical_celsius: float | None


class Conditions(Line, frozen=True):
    """Power, clock limits, heat, and throttling and cooling that are active or unknown. None means unknown."""

    mains_power: bool | str | None = None  # `none` if the machine does not report it
    clock_limits: tuple[ClockLimits, ...] = ()
    throttled: tuple[Throttled, ...] = ()  # in this interval
    cooling: tuple[CoolingLine, ...] | None = None
    temperatures: tuple[Temperature, ...] = ()  # sensors that can be read without interrupting a target CPU


_UNKNOWN_CONDITIONS = Conditions()


class Frame(Struct, frozen=True):
    """One interval of one machine. The first frame has no rates, and its `seconds` are 0."""

    taken_at_ns: int
    seconds: float
    machine: str
    target: tuple[int, ...]
    target_chosen_by: str
    housekeeping: tuple[int, ...]
    online_count: int
    turbo: str | None
    verdict: str | None
    passed: int | None  # number of checks that passed
    judged_s: float | None  # length of the sample that was judged; None without a sample
    cpus: tuple[CpuLine, ...]
    culprits: tuple[CulpritLine, ...]
    sampler_cpu_s: float | None  # CPU time of the sampler so far; None for another machine
    findings: tuple[FindingLine, ...] = ()  # the checks that did not pass, the gravest first
    origin: str | None = None  # name of the replay or the copied tree; None: this host
    sampler_wakeups: int | None = None  # how often the sampler has gone to sleep so far
    is_last: bool = False
    remark: str | None = None
    conditions: Conditions = _UNKNOWN_CONDITIONS
    has_idle_probe: bool = False  # whether the probe is on; the CPUs' lines show where it spins
    no_idle_probe_reason: str | None = None  # why the probe is off although it was requested
    counts: Counts | None = None  # numbers of judged checks, by status
    causes: tuple[CauseLine, ...] = ()  # causes of the findings, the gravest first
    gravities: str = ""  # gravity of each check, in the order of the catalogue, as an index in Gravity
    answers: Mapping[str, str] | None = None  # answers of checks that pass or do not apply, by id; None while hidden
    wall_ns: int | None = None  # time of day at `taken_at_ns`, in ns since 1970 (UTC)
    ahead_s: int | None = None  # how far the machine's local time is ahead of UTC
    # Places of the CPUs, if they changed or were never sent; None: unchanged.
    places: tuple[PlaceLine, ...] | None = None
    irqs: tuple[IrqLine, ...] | None = None  # unknown in the first frame
    no_irqs_reason: str | None = None  # why `irqs` is unknown in a later frame
    irq_settings: tuple[IrqSetting, ...] | None = None  # all settings if any has changed; None: unchanged
    irq_balancer: str | None = None  # the running program that may have moved interrupts: `irqbalance (pid 812)`
    clock: ClockFigures | None = None  # None on this host while the clock screen is closed
    runs: tuple[RunLine, ...] = ()  # running and ended runs of `noisewatch run`
    processes: tuple[ProcessLine, ...] = ()  # processes of the culprits, as far as they were read
    hypervisor: str | None = None  # the hypervisor's name, such as `kvm`; None on bare metal, or if unknown
    tuned: str | None = None  # what `noisewatch tune` has changed and since when, if any change is in effect

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the checks that make the machine unstable."""
        return tuple(finding.id for finding in self.findings if finding.gravity == Gravity.FAILED)

    @property
    def number_of(self) -> Mapping[Gravity, int]:
        """The number of checks of each gravity; without `gravities`, from `passed` and the findings."""
        if self.gravities:
            return Counter(_GRAVITIES[int(place)] for place in self.gravities)
        return Counter({Gravity.PASSED: self.passed or 0}) + Counter(finding.gravity for finding in self.findings)

    @property
    def leading(self) -> tuple[FindingLine, ...]:
        """The gravest finding of each cause, in the order of causes, then the findings without a cause."""
        first: dict[int, FindingLine] = {}
        for finding in self.findings:
            if finding.cause is not None:
                first.setdefault(finding.cause, finding)
        return (
            *(first[number] for number in sorted(first)),
            *(finding for finding in self.findings if finding.cause is None),
        )

    def process_of(self, line: CulpritLine) -> ProcessLine | None:
        """Return the identity of the culprit's process, or None if it was not read."""
        return next((process for process in self.processes if process.pid == line.pid), None)

    def cause_of(self, finding: FindingLine) -> CauseLine | None:
        number = finding.cause
        return self.causes[number - 1] if number is not None and number <= len(self.causes) else None

    def command_against(self, finding: FindingLine) -> str | None:
        """Return the command against the finding's cause or, without a cause, against the finding; None without one."""
        cause = self.cause_of(finding)
        return finding.command if cause is None else cause.command

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of the unanswered checks; those that leave the verdict open come first."""
        return tuple(finding.id for finding in self.findings if finding.gravity in (Gravity.UNANSWERED, Gravity.OPEN))

    @property
    def is_cut(self) -> bool:
        """Whether culprits may be missing: the cheapest ones are left out, those on housekeeping CPUs first."""
        return len(self.culprits) >= MOST_CULPRITS

    def has_all_culprits_of(self, cpu: int) -> bool:
        """Return whether the frame has all culprits of the CPU; culprits on housekeeping CPUs are left out first."""
        line = next((line for line in self.cpus if line.cpu == cpu), None)
        return line is not None and self.has_all_culprits_on(line)

    def has_all_culprits_on(self, line: CpuLine) -> bool:
        if line.stolen_ns_per_s is None:
            return False
        return not self.is_cut or (line.role != Role.HOUSEKEEPING and self.culprits[-1].role == Role.HOUSEKEEPING)


StableFields = Mapping[str, object]  # rarely changing fields of a frame, by name
_STABLE = (
    *("machine", "target", "target_chosen_by", "housekeeping", "online_count", "turbo", "origin", "remark", "tuned"),
    *("causes", "gravities", "answers", "has_idle_probe", "no_idle_probe_reason", "no_irqs_reason", "irq_balancer"),
    *("processes", "hypervisor"),
)
NO_FIELDS: StableFields = {}


def stable_fields(frame: Frame) -> StableFields:
    """Return the frame's rarely changing fields, which the next line omits if they are unchanged."""
    return {name: getattr(frame, name) for name in _STABLE}


_ENCODER = msgspec.json.Encoder()
_FIELDS = msgspec.structs.fields(Frame)
_DECODER = msgspec.json.Decoder(
    msgspec.defstruct("_Part", [(field.name, field.type | UnsetType, UNSET) for field in _FIELDS], frozen=True)
)


def encode_frame(frame: Frame, omitted: StableFields = NO_FIELDS) -> bytes:
    """Encode the frame as one line, without the fields whose values equal those in `omitted`."""
    fields = {name: value for name, value in _fields_of(frame).items() if name not in omitted or omitted[name] != value}
    try:
        return _ENCODER.encode(fields) + b"\n"
    except UnicodeEncodeError:  # a name contains a lone surrogate
        text = json.dumps(msgspec.to_builtins(fields), ensure_ascii=False)
        return text.encode("utf-8", "replace") + b"\n"


def decode_frame(line: bytes, omitted: StableFields = NO_FIELDS) -> Frame:
    """Decode a line that `encode_frame` made with the same `omitted`. Raise ValueError for any other line."""
    try:
        part = _fields_of(_DECODER.decode(line))
        return Frame(**{**omitted, **{name: value for name, value in part.items() if value is not UNSET}})
    except (TypeError, msgspec.DecodeError) as error:
        raise ValueError(f"no frame: {error}") from error


def _fields_of(record: Struct) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def frame_fields(frame: Frame) -> dict[str, Any]:
    """Return all fields of the frame by name, as JSON documents have them."""
    described: dict[str, Any] = json.loads(json.dumps(frame, default=_named_fields))
    return described


def _named_fields(record: Any) -> dict[str, Any]:
    fields = _fields_of(record)
    is_sparse = record.__struct_config__.omit_defaults
    return {name: value for name, value in fields.items() if value is not None} if is_sparse else fields
