"""Why a repetition counts as disturbed, and which noise in it was its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum

from noisewatch.kinds import Kind
from noisewatch.records import dataclass


class ReasonKind(StrEnum):
    """The kind of a disturbance. The values are those of the receipt."""

    FOREIGN = "foreign"  # another task had a target CPU
    SIBLING = "sibling"  # another task had the other hardware thread of a target core
    INTERRUPTIONS = "interruptions"  # interrupts and softirqs
    STEAL = "steal"  # the hypervisor ran something else
    THROTTLED = "throttled"  # by heat or a power limit
    QUOTA = "quota"  # of its control group
    SWAPPED = "swapped"
    OFFLINE = "offline"  # a target CPU went
    CLOCK_LOWERED = "clock-lowered"  # below that of the opening calibration
    CLOCK_STEPPED = "clock-stepped"
    SUSPENDED = "suspended"
    PAUSED = "paused"  # the whole machine stood still
    STOPPED = "stopped"  # by a signal, as with Ctrl-Z
    FROZEN = "frozen"  # with its control group
    DEBUGGED = "debugged"  # by somebody else's debugger, or tracer of system calls
    NODE_CHANGED = "node-changed"  # a thread of the command moved to another memory node
    CORES_CHANGED = "cores-changed"  # and to another kind of core
    STACKED = "stacked"  # threads of the command shared a target CPU while another one was free


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReason:
    """One reason. Times are ns since the start of the repetition; None is unknown, or the whole repetition.

    `ns` is the time taken from the repetition, `share` the part of its length. `is_estimate`: from counts and typical
    costs, or from a look that covers more than this repetition.
    """

    kind: ReasonKind
    name: str
    noise: Kind | None = None
    cpu: int | None = None
    pid: int | None = None
    irq: int | None = None
    ns: int | None = None
    share: float | None = None
    begin_ns: int | None = None
    end_ns: int | None = None
    is_estimate: bool = False


def loud(reasons: Iterable[RunReason], allowed_ns: float) -> list[RunReason]:
    """Return the reasons on CPUs where all of them together exceed the allowance."""
    known = list(reasons)
    ns_by_cpu: dict[int | None, int] = defaultdict(int)
    for reason in known:
        ns_by_cpu[reason.cpu] += reason.ns or 0
    return [reason for reason in known if ns_by_cpu[reason.cpu] > allowed_ns]


class RunOutcome(StrEnum):
    """The outcome of a repetition."""

    UNDISTURBED = "undisturbed"
    DISTURBED = "disturbed"
    UNKNOWN = "unknown"


class RunStanding(StrEnum):
    """The standing of a repetition: its verdict, unless its time measures nothing. The gravest comes last."""

    UNDISTURBED = "undisturbed"
    CUT_SHORT = "cut short"
    FAILED = "failed"
    UNKNOWN = "unknown"
    DISTURBED = "disturbed"


@dataclass(frozen=True, slots=True)
class Unwatched:
    """What a verdict does not cover, and why."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class RepetitionVerdict:
    """The verdict of a repetition; `reasons` are sorted, the costliest first.

    `own` is what the command caused itself, which disqualifies nothing. `unwatched` is observed in other repetitions on
    this machine, and not in this one.
    """

    outcome: RunOutcome
    reasons: tuple[RunReason, ...] = ()
    own: tuple[RunReason, ...] = ()
    unknowns: tuple[str, ...] = ()
    unwatched: tuple[Unwatched, ...] = ()
