"""The machine's state as text: equal CPUs share a row, and so do the IRQs of a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import NO_SUCH_FILE
from noisewatch.grouping import grouped
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED
from noisewatch.kernel.cpus.topology import CpuPlace, cache_names
from noisewatch.kernel.frequency.cpufreq import CpuFrequency
from noisewatch.kernel.interrupts.irqs import Irq, parse_actions
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.platform import describe_machine
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.surfaces.reports.parts.wraps import wrap
from noisewatch.text import printable
from noisewatch.units import describe_count, describe_names

_MOST_REASONS, _MOST_PATHS = 4, 4
_MOST_ROWS, _MOST_SILENT = 20, 12
_NUMBER, _LAST_NUMBER = regex(r"\d+"), regex(r"\d+(?=\D*$)")
_HEAD = ("IRQ", "COUNT", "DELIVERED TO", "ALLOWED", "MOVABLE", "ACTIONS", "DEVICE")
_MOST_CACHES = 16
_NAMED_CORES = 2
_NOWHERE = CpuPlace(
    cpu=0, core=None, package=None, node=None, siblings=None, last_level_cache=None, kind=None, capacity=None
)
_ALL = (
    "CPU", "NODE", "PKG", "CORE", "SIBLINGS", "CACHE", "ONLINE", "TARGET", "ISOLATED", "NOHZ", "KIND", "GOVERNOR",
    "GHZ", "MIN", "MAX", "INTERRUPTS",
)  # fmt: skip
UNKNOWN, NOT_THERE = "?", "-"
_WIDEST_LIST = 20
_LEAST_STEPS = 4


class Topic(StrEnum):
    """The part of the machine that is shown."""

    ALL = "all"
    CPUS = "cpus"
    TOPOLOGY = "topology"
    CLOCK = "clock"
    IRQS = "irqs"


def text_of_snapshot(snapshot: Snapshot, width: int, topic: Topic = Topic.ALL, is_whole: bool = False) -> str:
    """Return the text of `show`.

    With `is_whole`, each CPU and each IRQ has its own row, and each file that could not be read is listed.
    """
    sections = [describe_platform(snapshot)]
    if topic in (Topic.ALL, Topic.CPUS):
        sections += [_targets(snapshot), full_cpu_table(snapshot) if is_whole else cpu_table(snapshot)]
    if topic in (Topic.ALL, Topic.TOPOLOGY):
        sections.append(topology_table(snapshot, is_whole))
    if topic in (Topic.ALL, Topic.CLOCK):
        sections += [clock_table(snapshot, is_whole), _clock(snapshot)]
    if topic in (Topic.ALL, Topic.IRQS):
        sections.append(irq_tables(snapshot, width, is_whole))
    faults = {path: why for path, why in snapshot.reason_by_path.items() if why != NO_SUCH_FILE}
    sections.append(_unreadable(faults, width, is_whole))
    sections.append(_not_exported([path for path in snapshot.reason_by_path if path not in faults], width, is_whole))
    return "\n\n".join(section for section in sections if section) + "\n"


def describe_platform(snapshot: Snapshot) -> str:
    """Return the machine in one line."""
    return " · ".join(word for word in (snapshot.machine_name, *describe_machine(snapshot.platform)) if word)


def _targets(snapshot: Snapshot) -> str:
    isolation, config = snapshot.isolation, snapshot.platform.config
    by_version_1 = "" if isolation.unbalanced == frozenset() else f", {cpus(isolation.unbalanced)} by cgroup v1"
    has_option = None if config is None else config.is_set("RCU_NOCB_CPU")
    is_doubtful = isolation.rcu_nocbs and not isolation.nohz_full and has_option is None
    doubt = " requested; whether the kernel can is unknown" if is_doubtful else ""
    rows = [
        ("target CPUs", f"{cpus(snapshot.target.cpus)} ({snapshot.target.chosen_by})"),
        ("online", f"{cpus(snapshot.online.online)}, offline {cpus(snapshot.online.offline)}"),
        ("isolated", f"{cpus(isolation.boot)} at boot, {cpus(isolation.partition)} by partition{by_version_1}"),
        ("nohz_full", cpus(isolation.nohz_full)),
        ("rcu_nocbs", cpus(isolation.rcu_nocbs) + doubt),
    ]
    return align(rows)


def _clock(snapshot: Snapshot) -> str:
    quota = snapshot.cgroup.cpu_quota_share
    mains = snapshot.settings.mains_power.is_on
    rows = [
        ("turbo", snapshot.frequency.turbo or UNKNOWN),
        ("clock source", snapshot.settings.clock_source.current or UNKNOWN),
        ("mains power", "no supply tells" if isinstance(mains, str) else yes(mains)),
        ("CPU quota", UNKNOWN if quota is None else ("none" if quota == UNLIMITED else f"{quota:g} CPUs")),
        ("throttled periods", number(snapshot.cgroup.throttled_periods)),
    ]
    return align(rows)


def _pattern(path: str) -> str:
    """Return the path without its numbers: files of several CPUs or devices are listed once."""
    return _NUMBER.sub("N", path)


def _not_exported(paths: Sequence[str], width: int, is_whole: bool) -> str:
    """Return the files that this kernel or machine does not have."""
    first_by_pattern = {_pattern(path): path for path in reversed(paths)}
    shown = [printable(path) for path in reversed(first_by_pattern.values())]
    if not shown:
        return ""
    if is_whole:
        return "\n".join(["not exported here:", *(f"  {path}" for path in shown)])
    sentence = f"not exported here (-v shows all): {describe_names(shown, _MOST_PATHS)}"
    return "\n".join(wrap(sentence, width, "", "  "))


def _unreadable(reasons: Mapping[str, str], width: int, is_whole: bool) -> str:
    """Return the files that could not be read, grouped by reason unless `is_whole`, in the order of reading."""
    alike = grouped(reasons.items(), lambda fault: (_pattern(fault[0]), fault[1]))
    if not alike:
        return ""
    lines = ["could not be read:" if is_whole else "could not be read (-v shows all):"]
    if is_whole:
        for (path, reason), *others in alike:
            line = f"{_pattern(path)}: {reason} ({1 + len(others)} times)" if others else f"{path}: {reason}"
            lines.append("  " + printable(line))
        return "\n".join(lines)
    by_reason = grouped([first for first, *_ in alike], lambda fault: fault[1])
    for faults in by_reason[:_MOST_REASONS]:
        names = describe_names([path for path, _ in faults], _MOST_PATHS)
        lines += wrap(printable(f"{faults[0][1]}: {names}"), width, "  ", "    ")
    if rest := by_reason[_MOST_REASONS:]:
        lines.append(f"  for {len(rest)} other reasons: {sum(map(len, rest))} more")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ShownIrq:
    """An IRQ and its number of interrupts since boot; None is unknown."""

    number: int
    count: int | None
    actions: tuple[str, ...]
    irq: Irq | None

    @property
    def device(self) -> str | None:
        return self.irq.device if self.irq is not None else None

    @property
    def driver(self) -> str:
        return ", ".join(self.actions)

    @property
    def queue(self) -> tuple[str | None, str]:
        """The key that the queues of a device share: its name, and the driver's name without its last number."""
        return self._alike(_LAST_NUMBER)

    @property
    def make(self) -> tuple[str | None, str]:
        """The key that devices of one driver share."""
        return self._alike(_NUMBER)

    def _alike(self, numbers: re.Pattern[str]) -> tuple[str | None, str]:
        """Return the device and its driver's name without these numbers; without both, a key that no other IRQ has."""
        return self.device, numbers.sub("*", self.driver) or (str(self.number) if self.device is None else "")


def irq_tables(snapshot: Snapshot, width: int, is_whole: bool) -> str:
    """Return a table of the IRQs that occurred since boot, the busiest first, and a line on the silent ones."""
    lines = _lines(snapshot)
    if lines is None:
        return "IRQs ?"
    busy = sorted((line for line in lines if line.count != 0), key=lambda line: -(line.count or 0))
    silent = [line for line in lines if line.count == 0]
    if is_whole:
        return align([_HEAD, *(_row_of([line]) for line in [*busy, *silent])])
    groups = _folded(busy)
    groups.sort(key=lambda group: -sum(line.count or 0 for line in group))
    shown, rest = groups[:_MOST_ROWS], groups[_MOST_ROWS:]
    rows = [_row_of(group) for group in shown]
    blocks = [align([_HEAD, *rows])] if rows else []
    if rest:
        more = [line for group in rest for line in group]
        total = count(sum(line.count or 0 for line in more))
        blocks.append(f"{describe_count(len(more), 'other IRQ')} since boot: {total} in all (-v shows each)")
    return "\n".join(blocks + ([_silent_words(silent, width)] if silent else []))


def _folded(busy: Sequence[ShownIrq]) -> list[list[ShownIrq]]:
    """Group the IRQs by number, by device or by driver, whichever first fits on a page."""
    for key in ("number", "queue"):
        if len(groups := grouped(busy, attrgetter(key))) <= _MOST_ROWS:
            return groups
    return grouped(busy, attrgetter("make"))


def _lines(snapshot: Snapshot) -> list[ShownIrq] | None:
    """Return all IRQs that have a count or settings, by number; None if neither could be read."""
    if snapshot.interrupts is None and snapshot.irqs is None:
        return None
    rows_by_irq: dict[int, tuple[int | None, tuple[str, ...]]] = {}
    for row in snapshot.interrupts.rows if snapshot.interrupts is not None else ():
        if row.irq is not None:  # two rows may have the same number
            before, _ = rows_by_irq.get(row.irq, (0, ()))
            times = None if before is None or row.counts is None else before + sum(row.counts)
            rows_by_irq[row.irq] = times, parse_actions(row.description)
    settings_by_irq = snapshot.irqs.by_number if snapshot.irqs is not None else {}
    is_whole = snapshot.interrupts is not None and not snapshot.interrupts.is_cut_off
    absent = 0 if is_whole else None  # the kernel omits the rows of IRQs that never occurred
    lines = []
    for irq_number in sorted({*rows_by_irq, *settings_by_irq}):
        irq = settings_by_irq.get(irq_number)
        times, actions = rows_by_irq.get(irq_number, (absent, ()))
        lines.append(ShownIrq(irq_number, times, irq.actions if irq is not None else actions, irq))
    return lines


def _row_of(group: Sequence[ShownIrq]) -> tuple[str, ...]:
    """Return the row of one or several IRQs: the CPUs that any of them uses, and the CPUs that any may use."""
    irqs = [line.irq for line in group]
    movable = {yes(irq.movable if irq is not None else None) for irq in irqs}
    numbers, counts = [line.number for line in group], [line.count for line in group]
    return (
        str(numbers[0]) if len(numbers) == 1 else f"{min(numbers)}…{max(numbers)} ({len(numbers)})",
        UNKNOWN if None in counts else f"{sum(filter(None, counts)):,}".replace(",", " "),
        cpus_of([irq.effective if irq is not None else None for irq in irqs]),
        cpus_of([irq.allowed if irq is not None else None for irq in irqs]),
        movable.pop() if len(movable) == 1 else "some",
        _in_common([line.driver for line in group]),
        or_dash(group[0].device),
    )


def cpus_of(sets: Sequence[CpuSet | None]) -> str:
    """Return the union of the CPU sets; unknown if any set is."""
    readable = [cpu_set for cpu_set in sets if cpu_set is not None]
    return brief(frozenset().union(*readable)) if len(readable) == len(sets) else UNKNOWN


def _in_common(names: Sequence[str]) -> str:
    """Return `iavf-ens*-TxRx-*` for names that differ only in numbers; a number that all share stays."""
    by_place = zip(*(_NUMBER.findall(name) for name in names), strict=False)
    numbers = iter([digits[0] if len(set(digits)) == 1 else "*" for digits in by_place])
    return _NUMBER.sub(lambda match: next(numbers, match[0]), names[0])


def _silent_words(silent: Sequence[ShownIrq], width: int) -> str:
    """Return `silent since boot: 32 IRQs: 19 of nvme0q*, i801_smbus, 12 that nothing uses`."""
    used = [line for line in silent if line.actions]
    groups = sorted(grouped(used, lambda line: line.device or line.make), key=len, reverse=True)
    parts = [_owner(group) for group in groups[:_MOST_SILENT]]
    parts += [f"{more} more (-v)"] if (more := sum(map(len, groups[_MOST_SILENT:]))) else []
    parts += [f"{unused} that nothing uses"] if (unused := len(silent) - len(used)) else []
    sentence = f"silent since boot: {len(silent)} IRQs: {', '.join(parts)}"
    return "\n".join(wrap(printable(sentence), width, "", "  "))


def _owner(group: Sequence[ShownIrq]) -> str:
    """Return `12 of eth0`: the device, or else the driver."""
    device = group[0].device
    name = device if device not in (None, "none") else _in_common([line.driver for line in group])
    return f"{len(group)} of {name}" if len(group) > 1 else name


def all_cpus(snapshot: Snapshot) -> list[int]:
    """Return online, present and target CPUs; if none are known, the CPUs that /proc/interrupts counts."""
    reported = (snapshot.online.online or frozenset()) | (snapshot.online.present or frozenset())
    listed = reported | snapshot.topology.keys() | snapshot.target.cpus
    in_interrupts = snapshot.interrupts.cpus if snapshot.interrupts is not None and not listed else ()
    return sorted({*listed, *in_interrupts})


def full_cpu_table(snapshot: Snapshot) -> str:
    """Return a table with a row for each CPU and all of its properties."""
    names = cache_names(snapshot.topology)
    totals = _totals(snapshot)
    rows = []
    for cpu in all_cpus(snapshot):
        place, clock = _place(snapshot, cpu), _clock_of(snapshot, cpu)
        rows.append(
            (
                str(cpu),
                number(place.node),
                number(place.package),
                number(place.core),
                cpus(place.siblings),
                names.get(cpu, UNKNOWN),
                *_purpose(snapshot, cpu),
                clock.governor or UNKNOWN,
                *map(ghz, (clock.current_khz, clock.min_khz, clock.max_khz)),
                number(totals.get(cpu)),
            )
        )
    return align([_ALL, *rows])


def cpu_table(snapshot: Snapshot) -> str:
    """Return a table of the CPUs' purposes and their interrupts since boot."""
    totals = _totals(snapshot)
    rows = [
        (
            brief(group),
            str(len(group)),
            *_purpose(snapshot, group[0]),
            between((totals.get(cpu) for cpu in group), count),
        )
        for group in grouped(all_cpus(snapshot), lambda cpu: _purpose(snapshot, cpu))
    ]
    head = ("CPUS", "COUNT", "ONLINE", "TARGET", "ISOLATED", "NOHZ", "KIND", "INTERRUPTS OF EACH")
    return align([head, *rows])


def topology_table(snapshot: Snapshot, is_whole: bool) -> str:
    """Return which CPUs share a last-level cache, a package and a node; on large machines only package and node.

    With `is_whole`, each core has its own row.
    """
    names = cache_names(snapshot.topology)
    is_by_cache = is_whole or len(set(names.values())) <= _MOST_CACHES

    def key(cpu: int) -> tuple[object, ...]:
        place = _place(snapshot, cpu)
        own = names.get(cpu) if is_by_cache else None
        core = (place.siblings or cpu) if is_whole else None
        return place.node, place.package, own, cpu in names, place.kind, core

    rows = []
    for group in grouped(all_cpus(snapshot), key):
        place = _place(snapshot, group[0])
        cores = grouped(group, lambda cpu: _place(snapshot, cpu).siblings or cpu)
        have_siblings = all(_place(snapshot, cpu).siblings is not None for cpu in group)
        rows.append(
            (
                number(place.node),
                number(place.package),
                _caches(list(dict.fromkeys(names.get(cpu, UNKNOWN) for cpu in group))),
                brief(group),
                str(len(group)),
                str(len(cores)) if have_siblings else UNKNOWN,
                _siblings(cores) if have_siblings else UNKNOWN,
                or_dash(place.kind),
            )
        )
    return align([("NODE", "PKG", "CACHE", "CPUS", "COUNT", "CORES", "SIBLINGS", "KIND"), *rows])


def _caches(names: Sequence[str]) -> str:
    """Return `L3#0`, `L3#0-7`, or the first cache and a count if the numbers are not consecutive."""
    level, _, first = names[0].partition("#")
    if len(names) == 1 or not first:
        return names[0]
    consecutive = [f"{level}#{int(first) + offset}" for offset in range(len(names))]
    return (
        f"{names[0]}-{int(first) + len(names) - 1}"
        if list(names) == consecutive
        else f"{names[0]} and {len(names) - 1}"
    )


def _siblings(cores: Sequence[Sequence[int]]) -> str:
    """Return the CPUs of the first cores, `0,48 1,49 …`, or `-` if no core has more than one CPU."""
    if all(len(core) == 1 for core in cores):
        return "-"
    return " ".join(map(brief, cores[:_NAMED_CORES])) + (" …" if len(cores) > _NAMED_CORES else "")


def clock_table(snapshot: Snapshot, is_whole: bool) -> str:
    """Return drivers, governors and limits of the clocks; the current clock is a range if CPUs share a row."""
    rows = [
        (
            brief(group),
            *_clock_words(snapshot, group[0]),
            _ghz(_clock_of(snapshot, cpu).current_khz for cpu in group),
        )
        for group in grouped(all_cpus(snapshot), lambda cpu: cpu if is_whole else _clock_words(snapshot, cpu))
    ]
    return align([("CPUS", "DRIVER", "GOVERNOR", "PREFERENCE", "LIMITS", "HARDWARE", "BASE", "NOW"), *rows])


def _clock_words(snapshot: Snapshot, cpu: int) -> tuple[str, ...]:
    clock = _clock_of(snapshot, cpu)
    return (
        clock.driver or snapshot.frequency.driver or UNKNOWN,
        clock.governor or UNKNOWN,
        or_dash(clock.energy_preference),
        _ghz((clock.min_khz, clock.max_khz)),
        _ghz((clock.hardware_min_khz, clock.hardware_max_khz)),
        _ghz((clock.base_khz,)),
    )


def _ghz(khz: Iterable[int | None]) -> str:
    """Format a range of clocks: `2.893-2.894 GHz`."""
    words = between(khz, ghz)
    return words if words == UNKNOWN else f"{words} GHz"


def _purpose(snapshot: Snapshot, cpu: int) -> tuple[str, ...]:
    return (
        yes(_contains(snapshot.online.online, cpu)),
        yes(cpu in snapshot.target.cpus),
        yes(_contains(snapshot.isolation.isolated, cpu)),
        yes(_contains(snapshot.isolation.nohz_full, cpu)),
        or_dash(_place(snapshot, cpu).kind),
    )


def _contains(listed: CpuSet | None, cpu: int) -> bool | None:
    return None if listed is None else cpu in listed


def _place(snapshot: Snapshot, cpu: int) -> CpuPlace:
    return snapshot.topology.get(cpu, _NOWHERE)


def _clock_of(snapshot: Snapshot, cpu: int) -> CpuFrequency:
    return snapshot.frequency.cpus.get(cpu) or CpuFrequency(cpu)


def _totals(snapshot: Snapshot) -> dict[int, int]:
    return snapshot.interrupts.total_by_cpu() if snapshot.interrupts is not None else {}


def cpus(listed: Iterable[int] | None) -> str:
    """Format a CPU list for people: `none` if it is empty, `?` if it is unknown."""
    return UNKNOWN if listed is None else format_cpu_list(listed) or "none"


def brief(listed: Collection[int] | None) -> str:
    """Format a CPU list for a column, abbreviated if it is long.

    `0,2…102` has equal steps, `0…95 (40)` does not.
    """
    text = cpus(listed)
    if not listed or len(text) <= _WIDEST_LIST:
        return text
    ordered = sorted(listed)
    step = ordered[1] - ordered[0]
    if len(ordered) >= _LEAST_STEPS and ordered == list(range(ordered[0], ordered[-1] + 1, step)):
        return f"{ordered[0]},{ordered[1]}…{ordered[-1]}"
    return f"{ordered[0]}…{ordered[-1]} ({len(ordered)})"


def number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def count(value: int | None) -> str:
    """Format a count in at most six columns: `99 999`, `482M`, `1.04G`."""
    if value is None:
        return UNKNOWN
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(99_999.5, size):
            return f"{value / size:.3g}{letter}" if value < 999.5 * size else f"{value / size:.0f}{letter}"
    return f"{value:,}".replace(",", " ")


def between(values: Iterable[int | None], word: Callable[[int | None], str]) -> str:
    """Format the least and the largest value: `2.893-2.894`; unknown if any value is."""
    all_values = list(values)
    if not all_values or None in all_values:
        return UNKNOWN
    words = [word(min(value for value in all_values if value is not None))]
    words.append(word(max(value for value in all_values if value is not None)))
    return "-".join(dict.fromkeys(words))


def or_dash(word: str | None) -> str:
    return UNKNOWN if word is None else (NOT_THERE if word == "none" else word)


def yes(value: bool | None) -> str:
    return UNKNOWN if value is None else ("yes" if value else "no")


def ghz(khz: int | None) -> str:
    """Format a clock in GHz without the unit, which is in the heading: `2.3`."""
    return UNKNOWN if khz is None else f"{khz / 1e6:.4g}"
