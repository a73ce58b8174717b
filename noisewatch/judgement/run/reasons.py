"""Why a repetition counts as disturbed, which noise the command itself caused, and text on reasons and verdicts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_list, name_cpus
from noisewatch.kinds import THREADS, Kind
from noisewatch.program import NAME
from noisewatch.text import printable
from noisewatch.units import describe_names, describe_ns, describe_share, share_text, short_duration

if TYPE_CHECKING:
    from noisewatch.kernel.tasks.identity import ProcessIdentity
    from noisewatch.model.run.repetition import Repetition


class ReasonKind(StrEnum):
    """The kind of a disturbance. The values are also in the receipt."""

    FOREIGN = "foreign"  # another task used a target CPU
    SIBLING = "sibling"  # another task used the other hardware thread of a target core
    INTERRUPTIONS = "interruptions"  # interrupts and softirqs
    STEAL = "steal"  # the hypervisor ran something else
    THROTTLED = "throttled"  # the processor was slowed by heat or a power limit
    QUOTA = "quota"  # a CPU quota of its control group stopped the command
    SWAPPED = "swapped"
    OFFLINE = "offline"  # a target CPU went offline
    CLOCK_LOWERED = "clock-lowered"  # the clock was lower than in the opening calibration
    CLOCK_STEPPED = "clock-stepped"
    SUSPENDED = "suspended"
    PAUSED = "paused"  # the hypervisor or the firmware paused the whole machine
    STOPPED = "stopped"  # a signal stopped the command, as Ctrl-Z does
    FROZEN = "frozen"  # the command was frozen with its control group
    DEBUGGED = "debugged"  # a debugger, or a tracer of system calls, was attached
    NODE_CHANGED = "node-changed"  # a thread of the command moved to another memory node
    CORES_CHANGED = "cores-changed"  # a thread of the command moved to another kind of core
    LEFT_TARGET = "left-target"  # the command ran on CPUs other than the target CPUs
    STACKED = "stacked"  # threads of the command shared a target CPU while another one was free


class RunReason(Struct, frozen=True, kw_only=True):
    """A disturbance. Times are ns since the start of the repetition; None means unknown, or the whole repetition.

    `ns` is the time taken from the repetition, `share` its share of the repetition's length; for LEFT_TARGET, they are
    the command's CPU time on other CPUs, and its share of all CPU time. `is_estimate`: the time is inexact, for example
    from counts and typical costs, or from a look that covers more than this repetition.
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
    cpus: CpuSet = frozenset()  # LEFT_TARGET: where the command ran, as far as known
    program: str | None = None  # the process's name, if the source is a thread with another name
    identity: ProcessIdentity | None = None  # None if the process was not read


def above_allowance(reasons: Iterable[RunReason], allowed_ns: float) -> list[RunReason]:
    """Return the reasons on each CPU where their times together exceed the allowance."""
    listed = list(reasons)
    ns_by_cpu: dict[int | None, int] = defaultdict(int)
    for reason in listed:
        ns_by_cpu[reason.cpu] += reason.ns or 0
    return [reason for reason in listed if ns_by_cpu[reason.cpu] > allowed_ns]


class RunOutcome(StrEnum):
    """The outcome of a repetition."""

    UNDISTURBED = "undisturbed"
    DISTURBED = "disturbed"
    UNKNOWN = "unknown"


class RunStanding(StrEnum):
    """The standing of a repetition: its verdict, or why its time does not count. The gravest comes last."""

    UNDISTURBED = "undisturbed"
    CUT_SHORT = "cut short"
    FAILED = "failed"
    UNKNOWN = "unknown"
    DISTURBED = "disturbed"


class Unwatched(Struct, frozen=True):
    """What a verdict does not cover, and why."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class RepetitionVerdict(Struct, frozen=True):
    """The verdict of a repetition; `reasons` are sorted, the costliest first.

    `own` are disturbances that the command caused itself; they do not count against the repetition. `unwatched` is what
    was not observed in this repetition, although it is observed in others on this machine.
    """

    outcome: RunOutcome
    reasons: tuple[RunReason, ...] = ()
    own: tuple[RunReason, ...] = ()
    unknowns: tuple[str, ...] = ()
    unwatched: tuple[Unwatched, ...] = ()


_MARKS = {
    RunStanding.UNDISTURBED: ("•", "."),
    RunStanding.CUT_SHORT: ("/", "/"),
    RunStanding.FAILED: ("×", "x"),
    RunStanding.UNKNOWN: ("?", "?"),
    RunStanding.DISTURBED: ("!", "!"),
}
MOST_NAMED = 3
ALL_OUTSIDE = 0.95  # a command with this share of its CPU time outside the target CPUs counts as always outside
_SUMMED = frozenset({ReasonKind.FOREIGN, ReasonKind.INTERRUPTIONS, ReasonKind.STEAL})
_VERBS = {
    ReasonKind.DEBUGGED: " stopped the command, as a debugger does",
    ReasonKind.NODE_CHANGED: " moved to another memory node",
    ReasonKind.CORES_CHANGED: " moved to another kind of core",
    ReasonKind.STACKED: " had to share it, although another target CPU was free",
}


def mark_of(standing: RunStanding, in_unicode: bool = True) -> str:
    """Return the mark of a standing, one character."""
    return _MARKS[standing][not in_unicode]


def name_with_kind(noise: Kind | None, name: str) -> str:
    """Return the name with its kind: `softirq RCU`. A process's name, or one that contains the kind, is unchanged."""
    is_clear = noise is None or noise == Kind.THREAD or re.search(rf"\b(interrupts|{noise})\b", name)
    return name if noise is None or is_clear else noise.with_name(name)


def label_with(name: str, pid: str, program: str | None) -> str:
    """Return `stress-ng (pid 812)`, or `java (pid 812), thread GC` for a thread of `program`; `pid` has brackets."""
    return f"{name}{pid}" if program is None else f"{program}{pid}, thread {name}"


def describe_reason(reason: RunReason, length_ns: int | None = None) -> str:
    """Return `stress-ng (pid 812) on CPU 3: 12 ms (1.2%), between 0.2 s and 1.1 s`.

    Start and end are left out if they cover the whole length.
    """
    if reason.kind == ReasonKind.LEFT_TARGET:
        return f"{printable(reason.name)}{_outside_words(reason)}: it sets its own affinity"
    pid = f" (pid {reason.pid})" if reason.pid is not None else ""
    who = printable(label_with(reason.name, pid, reason.program))
    who, verb = name_with_kind(reason.noise, who), _VERBS.get(reason.kind, "")
    where = f" on {_place(reason)}" if reason.cpu is not None and reason.kind != ReasonKind.OFFLINE else ""
    return f"{who}{where}{verb}{_cost(reason)}{_when(reason, length_ns)}"


def _place(reason: RunReason) -> str:
    return f"sibling CPU {reason.cpu}" if reason.kind == ReasonKind.SIBLING else f"CPU {reason.cpu}"


def left_target_advice(cpus: CpuSet) -> str:
    """Return advice to judge the CPUs where the command ran; `cpus` may be empty (unknown)."""
    listed = cpu_list_argument(cpus) if cpus else "LIST"
    return f"to judge the CPUs where it runs: {NAME} run --cpus {listed} -- COMMAND"


def _outside_words(reason: RunReason) -> str:
    if reason.ns is None or reason.share is None or reason.share >= ALL_OUTSIDE:
        return ""
    about = "~" if reason.is_estimate else ""
    return f", for {about}{describe_ns(reason.ns)} ({describe_share(reason.share, 0)} of its CPU time)"


def _cost(reason: RunReason) -> str:
    if reason.ns is None:
        return ""
    share = f" ({describe_share(reason.share)})" if reason.share is not None else ""
    return f": {'~' if reason.is_estimate else ''}{describe_ns(reason.ns)}{share}"


def _when(reason: RunReason, length_ns: int | None) -> str:
    if reason.begin_ns is None or reason.end_ns is None:
        return ""
    if length_ns is not None and reason.begin_ns <= 0 and reason.end_ns >= length_ns:
        return ""
    return f", between {short_duration(max(reason.begin_ns, 0))} and {short_duration(reason.end_ns)}"


def describe_reasons(verdict: RepetitionVerdict, most: int = MOST_NAMED) -> str:
    """Return the first `most` reasons of the verdict, or why the verdict is unknown."""
    if verdict.outcome == RunOutcome.UNKNOWN:
        return "; ".join(verdict.unknowns)
    texts = [describe_reason(reason) for reason in verdict.reasons[:most]]
    more = len(verdict.reasons) - len(texts)
    return "; ".join(texts) + (f"; and {more} more" if more else "")


def unmeasured_words(repetition: Repetition) -> str | None:
    """Return why the repetition's time is left out of statistics, or None if it counts."""
    if repetition.is_warm_up:
        return "warm-up, so not counted"
    if repetition.is_cut_short:
        return "cut short, so not counted"
    return f"{failure_words(repetition.status)}, so not counted" if repetition.status else None


def failure_words(status: int) -> str:
    """Return `failed (status 3)` or `failed (signal 9)`; the status is negative for a signal."""
    return f"failed ({f'signal {-status}' if status < 0 else f'status {status}'})"


def describe_run(verdict: RepetitionVerdict, repetition: Repetition, most: int = MOST_NAMED) -> str:
    """Return why a repetition does not count, and what disturbed it."""
    texts = (unmeasured_words(repetition), summarize_reasons(verdict, repetition.length_ns, most))
    return "; ".join(text for text in texts if text)


def own_quota_words(judged: Iterable[tuple[Repetition, RepetitionVerdict]]) -> str | None:
    """Return how much of its own group's quota noisewatch used in the repetitions that this quota stopped, or None."""
    stopped = [
        repetition
        for repetition, verdict in judged
        if any(reason.kind == ReasonKind.QUOTA for reason in verdict.reasons) and not repetition.quota.ns
    ]
    if not stopped:
        return None
    own_ns, numbers = sum(run.own_cpu_ns for run in stopped), format_cpu_list(run.number for run in stopped)
    return f"noisewatch itself used {describe_ns(own_ns)} of the CPU quota in run{'s' * (len(stopped) > 1)} {numbers}"


def left_words(repetition: Repetition) -> str | None:
    """Return `run 3 left running: sleep (pid 812)`, or None if the repetition left no known process."""
    return describe_left(repetition.name, repetition.name_by_left_pid) if repetition.name_by_left_pid else None


def describe_left(starter: str, name_by_pid: Mapping[int, str | None]) -> str:
    """Return `run 3 left running: sleep (pid 812)`."""
    names = [f"{printable(name or 'a process')} (pid {pid})" for pid, name in name_by_pid.items()]
    return f"{starter} left running: {describe_names(names, MOST_NAMED)}"


def summarize_reasons(verdict: RepetitionVerdict, length_ns: int, most: int = MOST_NAMED) -> str:
    """Return the verdict's reasons in one line, with a sum of the time taken, or why it is unknown.

    `41 ms (31%) of noise on CPU 1, by python (pid 1) 28 ms, qemu (pid 2) 9 ms and 6 more`. Only times of other tasks,
    interruptions and the hypervisor are summed; other reasons have sentences of their own.
    """
    if verdict.outcome == RunOutcome.UNKNOWN:
        return "; ".join(verdict.unknowns)
    summed = [reason for reason in verdict.reasons if reason.kind in _SUMMED and reason.ns is not None]
    if len(summed) < 2:
        summed = []
    alone = [reason for reason in verdict.reasons if reason not in summed]
    texts = [describe_reason(reason, length_ns) for reason in alone[:most]]
    texts += [f"{len(alone) - most} more"] if len(alone) > most else []
    return "; ".join([*([_sum_words(summed, length_ns, most)] if summed else []), *texts])


def _sum_words(reasons: Sequence[RunReason], length_ns: int, most: int) -> str:
    """Return text that names each culprit once with the sum of its times, the costliest first."""
    ns_by_who: dict[str, int] = defaultdict(int)
    name_by_pid: dict[int, str] = {}
    for reason in sorted(reasons, key=lambda reason: -(reason.ns or 0)):
        who = name_with_kind(reason.noise, printable(reason.program or reason.name))
        if reason.pid is not None and reason.noise in THREADS:
            who = name_by_pid.setdefault(reason.pid, f"{who} (pid {reason.pid})")
        ns_by_who[who] += reason.ns or 0
    total_ns, cpus = _total_ns(reasons, length_ns), {reason.cpu for reason in reasons if reason.cpu is not None}
    share = f" ({share_text(total_ns / length_ns)})" if len(cpus) == 1 and length_ns else ""
    about = "~" if any(reason.is_estimate for reason in reasons) else ""
    where = f" on {name_cpus(cpus)}" if cpus else ""
    ordered = sorted(ns_by_who.items(), key=lambda item: -item[1])
    causes = describe_names([f"{who} {describe_ns(ns)}" for who, ns in ordered], most)
    return f"{about}{describe_ns(total_ns)}{share} of noise{where}, by {causes}"


def _total_ns(reasons: Sequence[RunReason], length_ns: int) -> int:
    """Return the time of all reasons, at most `length_ns` per CPU, because ticks and estimates may add up to more."""
    ns_by_cpu: dict[int | None, int] = defaultdict(int)
    for reason in reasons:
        ns_by_cpu[reason.cpu] += reason.ns or 0
    return sum(ns if cpu is None else min(ns, length_ns) for cpu, ns in ns_by_cpu.items())


def conclude_repetition(verdict: RepetitionVerdict, length_ns: int) -> str:
    """Return `undisturbed, 1.23 s` or `disturbed, 1.23 s: …`."""
    reasons = summarize_reasons(verdict, length_ns)
    return f"{verdict.outcome}, {describe_ns(length_ns)}" + (f": {reasons}" if reasons else "")
