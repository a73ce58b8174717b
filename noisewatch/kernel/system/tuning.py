"""The journal of `noisewatch tune`: each change of this machine's settings, and the value before it.

    {"kind": "session", "boot_id": "5f3c…", "machine": "9c2a…", "began_s": 1790000000,
     "owner": "4711 81234567 4026531836 noisewatch", "cpus": "2-3", "is_until_exit": false}      (in one line)
    {"kind": "change", "seq": 1, "before": "60",
     "change": {"kind": "file", "path": "/proc/sys/vm/swappiness", "value": "1"}}     (in one line)
    {"kind": "result", "seq": 1, "after": "1"}
    {"kind": "complete"}
    {"kind": "restored", "seq": 1}

A change is in the journal before it is made, so the journal covers a process killed at any moment. A change without a
result may or may not have been made. All changes are lost at a reboot, so those of an earlier boot need no restoring.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.patterns import regex

PATH = "/var/lib/noisewatch/tune.jsonl"
LARGEST = 64 << 20  # bytes; a machine of 512 CPUs needs about a megabyte


class FileChange(Struct, frozen=True, tag_field="kind", tag="file"):
    """A value for a file of the kernel."""

    path: str
    value: str


class ThreadChange(Struct, frozen=True, tag_field="kind", tag="thread"):
    """An affinity (a CPU list) for a thread; `started` (ticks since boot) identifies it if its tid is reused.

    `value` is empty if the kernel, not tune, changes the affinity: a partition resets other threads' affinities.
    """

    tid: int
    started: int
    name: str
    value: str


class GroupChange(Struct, frozen=True, tag_field="kind", tag="group"):
    """A control group to create."""

    path: str


class EventChange(Struct, frozen=True, tag_field="kind", tag="event"):
    """A trace event to disable in the file `set_event`."""

    path: str
    event: str


class UnitChange(Struct, frozen=True, tag_field="kind", tag="unit"):
    """A unit of systemd to stop."""

    unit: str


class PropertyChange(Struct, frozen=True, tag_field="kind", tag="property"):
    """A property of a unit of systemd, until the next boot."""

    unit: str
    name: str
    value: str


Change = FileChange | ThreadChange | GroupChange | EventChange | UnitChange | PropertyChange


class Session(Struct, frozen=True, tag_field="kind", tag="session"):
    """The start of a session of `noisewatch tune`, at `began_s` seconds since the epoch.

    `owner` is its process, as in the machine's lock, and `machine` a keyed hash of the machine's ID. With
    `is_until_exit`, changes are restored when the owner ends.
    """

    boot_id: str
    machine: str
    began_s: float
    owner: str
    cpus: str
    is_until_exit: bool = False


class Intent(Struct, frozen=True, tag_field="kind", tag="change"):
    """A change that is about to be made; `before` is the state that it replaces."""

    seq: int
    change: Change
    before: str


class Result(Struct, frozen=True, tag_field="kind", tag="result"):
    """The state after a change was made or refused (None: unreadable); `error` is the kernel's or systemd's refusal."""

    seq: int
    after: str | None
    error: str = ""


class Complete(Struct, frozen=True, tag_field="kind", tag="complete"):
    """The end of a session's changes."""


class Restored(Struct, frozen=True, tag_field="kind", tag="restored"):
    """A change that no longer needs restoring."""

    seq: int


Line = Session | Intent | Result | Complete | Restored


class Entry(Struct, frozen=True):
    """A change, its session, and its result, None if noisewatch ended before writing it."""

    intent: Intent
    result: Result | None
    session: Session

    @property
    def is_refused(self) -> bool:
        """Whether the kernel or systemd refused the change."""
        return self.result is not None and bool(self.result.error)


class Journal(Struct, frozen=True):
    """A journal's content: the changes that are not restored, oldest first, and the numbers of the damaged lines.

    `complete` are the sessions that made all their changes.
    """

    sessions: tuple[Session, ...] = ()
    complete: frozenset[Session] = frozenset()
    entries: tuple[Entry, ...] = ()
    damaged: tuple[int, ...] = ()
    last_seq: int = 0

    def of_boot(self, boot_id: str) -> tuple[Entry, ...]:
        """Return the entries of this boot; a reboot has restored all others."""
        return tuple(entry for entry in self.entries if entry.session.boot_id == boot_id)


_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_encoded = msgspec.json.Encoder().encode


def encode_line(line: Line) -> bytes:
    """Return the line for the journal, with its end."""
    return _encoded(line) + b"\n"


def parse_journal(content: bytes) -> Journal:
    """Parse a journal.

    The last line may be incomplete, if noisewatch was killed while it wrote the line. Damaged lines in the middle are
    listed (numbers from 1), as are changes that noisewatch never makes. Raise Malformed if no line is from a journal.
    """
    *lines, rest = content.split(b"\n")
    sessions: list[Session] = []
    complete: set[Session] = set()
    intents: dict[int, tuple[Intent, Session]] = {}
    results: dict[int, Result] = {}
    damaged = []
    for number, text in enumerate(lines, 1):
        line = _parsed(text)
        if isinstance(line, Session):
            sessions.append(line)
        elif isinstance(line, Intent) and sessions and line.seq not in intents and is_tunable(line.change):
            intents[line.seq] = (line, sessions[-1])
        elif isinstance(line, Result) and line.seq in intents:
            results[line.seq] = line
        elif isinstance(line, Complete) and sessions:
            complete.add(sessions[-1])
        elif isinstance(line, Restored) and line.seq in intents:
            del intents[line.seq]
            results.pop(line.seq, None)
        elif text.strip():
            damaged.append(number)
    if (lines or rest.strip()) and not any(map(_parsed, lines)):
        raise Malformed("a journal of noisewatch tune", (lines[0] if lines else rest)[:40].decode("utf-8", "replace"))
    entries = tuple(Entry(intent, results.get(seq), session) for seq, (intent, session) in intents.items())
    return Journal(tuple(sessions), frozenset(complete), entries, tuple(damaged), _last_seq(lines))


def _parsed(text: bytes) -> Line | None:
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _last_seq(lines: Iterable[bytes]) -> int:
    numbers = (line.seq for line in map(_parsed, lines) if isinstance(line, Intent))
    return max(numbers, default=0)


# No entry takes CPUs offline, limits the CPU time or memory of a group, or weakens security (except for address
# randomization), because a journal that an attacker has edited could make root write to any of these files.
_SYSCTLS = (
    r"kernel/(?:nmi_watchdog|watchdog|watchdog_cpumask|numa_balancing|timer_migration|printk|bpf_stats_enabled"
    r"|randomize_va_space|task_delayacct|perf_event_max_sample_rate|perf_cpu_time_max_percent|sched_\w+|stack_tracer_enabled)"
    r"|vm/(?:compaction_proactiveness|stat_interval|swappiness|zone_reclaim_mode|dirty_\w+)"
    r"|net/core/rps_default_mask"
)
_TUNABLE = regex(
    rf"/proc/sys/(?:{_SYSCTLS})"
    r"|/proc/irq/(?:\d+/smp_affinity(?:_list)?|default_smp_affinity)"
    r"|/sys/devices/system/cpu/(?:cpu\d+/)?(?:cpufreq|cpuidle|power|intel_pstate|amd_pstate|intel_uncore_frequency)/[\w/]+"
    r"|/sys/devices/system/(?:clocksource/clocksource0/current_clocksource|machinecheck/machinecheck\d+/check_interval)"
    r"|/sys/devices/virtual/workqueue/(?:[^/\0]+/)?cpumask"
    r"|/sys/kernel/mm/(?:transparent_hugepage|ksm)/[\w/]+"
    r"|/sys/kernel/debug/sched/fair_server/cpu\d+/runtime"
    r"|/sys/kernel/(?:debug/)?tracing/(?:current_tracer|function_profile_enabled)"
    r"|/sys/fs/cgroup/(?:[^\0]+/)?(?:cgroup\.subtree_control|cpuset\.cpus|cpuset\.cpus\.partition)"
    r"|/sys/class/net/[^/\0]+/queues/[^/\0]+/[rx]ps_cpus"
    r"|/sys/class/graphics/fbcon/cursor_blink"
    r"|/sys/firmware/acpi/platform_profile"
)
_EVENTS = regex(r"/sys/kernel/(?:debug/)?tracing/(?:instances/[^/\0]+/)?set_event")
_GROUP = regex(r"/sys/fs/cgroup/[^\0]+")
_UNIT = regex(r"\w[\w@.\\:-]*")
_PROPERTIES = ("AllowedCPUs",)


def is_tunable(change: Change) -> bool:
    """Return whether the change is of a kind that noisewatch makes: a journal cannot make root write anywhere else."""
    if isinstance(change, ThreadChange):
        return change.tid > 0 and change.started >= 0
    if isinstance(change, UnitChange):
        return _UNIT.fullmatch(change.unit) is not None
    if isinstance(change, PropertyChange):
        return change.name in _PROPERTIES and _UNIT.fullmatch(change.unit) is not None
    pattern = {FileChange: _TUNABLE, EventChange: _EVENTS, GroupChange: _GROUP}[type(change)]
    return pattern.fullmatch(change.path) is not None and not {"..", "."} & set(change.path.split("/"))


def writable_value(text: str) -> str:
    """Return the text that restores a state read from a file: `madvise` for `always [madvise] never`."""
    chosen = _CHOSEN.search(text)
    return chosen[1] if chosen is not None else text


_CHOSEN = regex(r"(?:^|\s)\[([^\]\s]+)\](?:\s|$)")
