"""The machine's state as text: equal CPUs share a row, and so do the IRQs of a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import NO_SUCH_FILE
from noisewatch.grouping import group_by_key
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED
from noisewatch.kernel.cpus.topology import CpuPlace, cache_names
from noisewatch.kernel.frequency.cpufreq import CpuFrequency
from noisewatch.kernel.interrupts.irqs import Irq, parse_actions
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.platform import describe_machine
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.tables import align
from noisewatch.surfaces.drawing.wraps import wrap
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
    """A part of the machine that `show` can print alone."""

    ALL = "all"
    CPUS = "cpus"
    TOPOLOGY = "topology"
    CLOCK = "clock"
    IRQS = "irqs"


def text_of_snapshot(snapshot: Snapshot, width: int, topic: Topic = Topic.ALL, is_whole: bool = False) -> str:
    """Return the text of `show`.

    With `is_whole`, each CPU and each IRQ has its own row, and all files that could not be read are listed; files whose
    paths differ only in numbers share a line.
    """
    sections = [describe_platform(snapshot)]
    if topic in (Topic.ALL, Topic.CPUS):
        sections += [_targets(snapshot), _full_cpu_table(snapshot) if is_whole else _cpu_table(snapshot)]
    if topic in (Topic.ALL, Topic.TOPOLOGY):
        sections.append(_topology_table(snapshot, is_whole))
    if topic in (Topic.ALL, Topic.CLOCK):
        sections += [_clock_table(snapshot, is_whole), _clock(snapshot)]
    if topic in (Topic.ALL, Topic.IRQS):
        sections.append(_irq_tables(snapshot, width, is_whole))
    faults = {path: why for path, why in snapshot.reason_by_path.items() if why != NO_SUCH_FILE}
    sections.append(_unreadable_text(faults, width, is_whole))
    sections.append(
        _not_exported_text([path for path in snapshot.reason_by_path if path not in faults], width, is_whole)
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def describe_platform(snapshot: Snapshot) -> str:
    """Return the machine in one line."""
    return " · ".join(word for word in (snapshot.machine_name, *describe_machine(snapshot.platform)) if word)


def _targets(snapshot: Snapshot) -> str:
    isolation, config = snapshot.isolation, snapshot.platform.config
    by_version_1 = "" if isolation.unbalanced == frozenset() else f", {cpus(isolation.unbalanced)} by cgroup v1"
    has_option = None if config is None else config.is_set("RCU_NOCB_CPU")
    is_doubtful = isolation.rcu_nocbs and not isolation.nohz_full and has_option is None
    doubt = " requested; support by the kernel is unknown" if is_doubtful else ""
    rows = [
        ("target CPUs", f"{cpus(snapshot.target.cpus)} ({snapshot.target.chosen_by})"),
        ("online", f"{cpus(snapshot.online.online)}, offline {cpus(snapshot.online.offline)}"),
        ("isolated", f"{cpus(isolation.boot)} at boot, {cpus(isolation.partition)} by partition{by_version_1}"),
        ("nohz_full", cpus(isolation.nohz_full)),
        ("rcu_nocbs", cpus(isolation.rcu_nocbs) + doubt),
    ]
    tuned = snapshot.settings.tuned
    if tuned is None or tuned.sessions:
        rows.append(("noisewatch tune", UNKNOWN if tuned is None else tuned.summary))
    return align(rows)


def _clock(snapshot: Snapshot) -> str:
    quota = snapshot.cgroup.cpu_quota_share
    mains = snapshot.settings.mains_power.is_on
    rows = [
        ("turbo", snapshot.frequency.turbo or UNKNOWN),
        ("clock source", snapshot.settings.clock_source.current or UNKNOWN),
        ("mains power", "not reported" if isinstance(mains, str) else yes(mains)),
        ("CPU quota", UNKNOWN if quota is None else ("none" if quota == UNLIMITED else f"{quota:g} CPUs")),
        ("throttled periods", number(snapshot.cgroup.throttled_periods)),
    ]
    return align(rows)


def _pattern(path: str) -> str:
    """Return the path with `N` for each number, so that files of several CPUs or devices are listed once."""
    return _NUMBER.sub("N", path)


def _not_exported_text(paths: Sequence[str], width: int, is_whole: bool) -> str:
    """Return text on the files that this kernel or machine does not have; empty without any."""
    first_by_pattern = {_pattern(path): path for path in reversed(paths)}
    shown = [printable(path) for path in reversed(first_by_pattern.values())]
    if not shown:
        return ""
    if is_whole:
        return "\n".join(["not exported here:", *(f"  {path}" for path in shown)])
    sentence = f"not exported here (-v shows all): {describe_names(shown, _MOST_PATHS)}"
    return "\n".join(wrap(sentence, width, "", "  "))


def _unreadable_text(reasons: Mapping[str, str], width: int, is_whole: bool) -> str:
    """Return text on the files that could not be read, in reading order; grouped by reason unless `is_whole`."""
    alike = group_by_key(reasons.items(), lambda fault: (_pattern(fault[0]), fault[1]))
    if not alike:
        return ""
    lines = ["could not be read:" if is_whole else "could not be read (-v shows all):"]
    if is_whole:
        for (path, reason), *others in alike:
            line = f"{_pattern(path)}: {reason} ({1 + len(others)} times)" if others else f"{path}: {reason}"
            lines.append("  " + printable(line))
        return "\n".join(lines)
    by_reason = group_by_key([first for first, *_ in alike], lambda fault: fault[1])
    for faults in by_reason[:_MOST_REASONS]:
        names = describe_names([path for path, _ in faults], _MOST_PATHS)
        lines += wrap(printable(f"{faults[0][1]}: {names}"), width, "  ", "    ")
    if rest := by_reason[_MOST_REASONS:]:
        lines.append(f"  {sum(map(len, rest))} more, for {describe_count(len(rest), 'other reason')}")
    return "\n".join(lines)


class ShownIrq(Struct, frozen=True):
    """An IRQ and its number of interrupts since boot; None means unknown."""

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
        """The key shared by the queues of a device: its name, and the driver's name without its last number."""
        return self._key_without(_LAST_NUMBER)

    @property
    def make(self) -> tuple[str | None, str]:
        """The key shared by the devices of a driver."""
        return self._key_without(_NUMBER)

    def _key_without(self, numbers: re.Pattern[str]) -> tuple[str | None, str]:
        """Return the device and its driver's name without these numbers; if both are missing, a unique key."""
        return self.device, numbers.sub("*", self.driver) or (str(self.number) if self.device is None else "")


def _irq_tables(snapshot: Snapshot, width: int, is_whole: bool) -> str:
    """Return a table of the IRQs that have occurred since boot, the busiest first, and a line on silent IRQs."""
    lines = _lines(snapshot)
    if lines is None:
        return "IRQs ?"
    busy = sorted((line for line in lines if line.count != 0), key=lambda line: -(line.count or 0))
    silent = [line for line in lines if line.count == 0]
    if is_whole:
        return align([_HEAD, *(_row_of([line]) for line in [*busy, *silent])])
    groups = _group_irqs(busy)
    groups.sort(key=lambda group: -sum(line.count or 0 for line in group))
    shown, rest = groups[:_MOST_ROWS], groups[_MOST_ROWS:]
    rows = [_row_of(group) for group in shown]
    blocks = [align([_HEAD, *rows])] if rows else []
    if rest:
        more = [line for group in rest for line in group]
        total = count(sum(line.count or 0 for line in more))
        blocks.append(f"{describe_count(len(more), 'other IRQ')} with {total} interrupts since boot (-v shows all)")
    return "\n".join(blocks + ([_silent_words(silent, width)] if silent else []))


def _group_irqs(busy: Sequence[ShownIrq]) -> list[list[ShownIrq]]:
    """Group the IRQs by number, device or driver: the first of these that fits on a page, or else by driver."""
    for key in ("number", "queue"):
        if len(groups := group_by_key(busy, attrgetter(key))) <= _MOST_ROWS:
            return groups
    return group_by_key(busy, attrgetter("make"))


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
    """Return the row of one or several IRQs, with the CPUs that any of them goes to or may go to."""
    irqs = [line.irq for line in group]
    movable = {yes(irq.movable if irq is not None else None) for irq in irqs}
    numbers, counts = [line.number for line in group], [line.count for line in group]
    return (
        str(numbers[0]) if len(numbers) == 1 else f"{min(numbers)}…{max(numbers)} ({len(numbers)})",
        UNKNOWN if None in counts else f"{sum(filter(None, counts)):,}".replace(",", " "),
        cpus_of([irq.effective if irq is not None else None for irq in irqs]),
        cpus_of([irq.allowed if irq is not None else None for irq in irqs]),
        movable.pop() if len(movable) == 1 else "some",
        _common_name([line.driver for line in group]),
        or_dash(group[0].device),
    )


def cpus_of(sets: Sequence[CpuSet | None]) -> str:
    """Format the union of the CPU sets: `?` if any set is unknown."""
    readable = [cpu_set for cpu_set in sets if cpu_set is not None]
    return brief(frozenset().union(*readable)) if len(readable) == len(sets) else UNKNOWN


def _common_name(names: Sequence[str]) -> str:
    """Return `iavf-ens*-TxRx-*` for names that differ only in numbers; a number that all names share is kept."""
    by_place = zip(*(_NUMBER.findall(name) for name in names), strict=False)
    numbers = iter([digits[0] if len(set(digits)) == 1 else "*" for digits in by_place])
    return _NUMBER.sub(lambda match: next(numbers, match[0]), names[0])


def _silent_words(silent: Sequence[ShownIrq], width: int) -> str:
    """Return `32 IRQs silent since boot: 19 of nvme0q*, i801_smbus, 12 unused`."""
    used = [line for line in silent if line.actions]
    groups = sorted(group_by_key(used, lambda line: line.device or line.make), key=len, reverse=True)
    parts = [_owner(group) for group in groups[:_MOST_SILENT]]
    parts += [f"{more} more (-v)"] if (more := sum(map(len, groups[_MOST_SILENT:]))) else []
    parts += [f"{unused} unused"] if (unused := len(silent) - len(used)) else []
    sentence = f"{describe_count(len(silent), 'IRQ')} silent since boot: {', '.join(parts)}"
    return "\n".join(wrap(printable(sentence), width, "", "  "))


def _owner(group: Sequence[ShownIrq]) -> str:
    """Return `12 of eth0`: the device, or else the driver."""
    device = group[0].device
    name = device if device not in (None, "none") else _common_name([line.driver for line in group])
    return f"{len(group)} of {name}" if len(group) > 1 else name


class _Cpu(NamedTuple):
    """A CPU in the tables; its last-level `cache` and its `interrupts` since boot are None if unknown."""

    number: int
    place: CpuPlace
    cache: str | None
    clock: CpuFrequency
    purpose: tuple[str, ...]
    interrupts: int | None


def _all_cpus(snapshot: Snapshot) -> list[_Cpu]:
    """Return online, present and target CPUs; if none are known, the CPUs that /proc/interrupts counts."""
    online, isolation, interrupts = snapshot.online, snapshot.isolation, snapshot.interrupts
    reported = (online.online or frozenset()) | (online.present or frozenset())
    listed = reported | snapshot.topology.keys() | snapshot.target.cpus
    counted_cpus = interrupts.cpus if interrupts is not None and not listed else ()
    caches = cache_names(snapshot.topology)
    totals = interrupts.total_by_cpu() if interrupts is not None else {}
    cpus_of_purpose = (online.online, snapshot.target.cpus, isolation.isolated, isolation.nohz_full)
    rows = []
    for cpu in sorted({*listed, *counted_cpus}):
        place = snapshot.topology.get(cpu, _NOWHERE)
        purpose = [yes(None if purpose_cpus is None else cpu in purpose_cpus) for purpose_cpus in cpus_of_purpose]
        clock = snapshot.frequency.cpus.get(cpu) or CpuFrequency(cpu)
        rows.append(_Cpu(cpu, place, caches.get(cpu), clock, (*purpose, or_dash(place.kind)), totals.get(cpu)))
    return rows


def _numbers(group: Sequence[_Cpu]) -> list[int]:
    return [cpu.number for cpu in group]


def _full_cpu_table(snapshot: Snapshot) -> str:
    """Return a table with a row for each CPU and all of its properties."""
    rows = [
        (
            str(cpu.number),
            *map(number, (cpu.place.node, cpu.place.package, cpu.place.core)),
            cpus(cpu.place.siblings),
            cpu.cache or UNKNOWN,
            *cpu.purpose,
            cpu.clock.governor or UNKNOWN,
            *map(ghz, (cpu.clock.current_khz, cpu.clock.min_khz, cpu.clock.max_khz)),
            number(cpu.interrupts),
        )
        for cpu in _all_cpus(snapshot)
    ]
    return align([_ALL, *rows])


def _cpu_table(snapshot: Snapshot) -> str:
    """Return a table of the CPUs' purposes and their interrupts since boot."""
    rows = [
        (
            brief(_numbers(group)),
            str(len(group)),
            *group[0].purpose,
            between((cpu.interrupts for cpu in group), count),
        )
        for group in group_by_key(_all_cpus(snapshot), lambda cpu: cpu.purpose)
    ]
    head = ("CPUS", "COUNT", "ONLINE", "TARGET", "ISOLATED", "NOHZ", "KIND", "INTERRUPTS PER CPU")
    return align([head, *rows])


def _topology_table(snapshot: Snapshot, is_whole: bool) -> str:
    """Return a table of CPUs by last-level cache, package and node; on large machines only by package and node.

    With `is_whole`, each core has its own row.
    """
    all_cpus = _all_cpus(snapshot)
    caches = {cpu.cache for cpu in all_cpus} - {None}
    is_by_cache = is_whole or len(caches) <= _MOST_CACHES

    def key(cpu: _Cpu) -> tuple[object, ...]:
        place = cpu.place
        core = _core_of(cpu) if is_whole else None
        return place.node, place.package, cpu.cache if is_by_cache else cpu.cache is None, place.kind, core

    rows = []
    for group in group_by_key(all_cpus, key):
        place = group[0].place
        cores = [_numbers(core) for core in group_by_key(group, _core_of)]
        have_siblings = all(cpu.place.siblings is not None for cpu in group)
        rows.append(
            (
                number(place.node),
                number(place.package),
                _caches(list(dict.fromkeys(cpu.cache or UNKNOWN for cpu in group))),
                brief(_numbers(group)),
                str(len(group)),
                str(len(cores)) if have_siblings else UNKNOWN,
                _siblings(cores) if have_siblings else UNKNOWN,
                or_dash(place.kind),
            )
        )
    return align([("NODE", "PKG", "CACHE", "CPUS", "COUNT", "CORES", "SIBLINGS", "KIND"), *rows])


def _core_of(cpu: _Cpu) -> object:
    return cpu.place.siblings or cpu.number


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


def _clock_table(snapshot: Snapshot, is_whole: bool) -> str:
    """Return drivers, governors and limits of the clocks; the current clock is a range if CPUs share a row."""

    def words(cpu: _Cpu) -> tuple[str, ...]:
        clock = cpu.clock
        return (
            clock.driver or snapshot.frequency.driver or UNKNOWN,
            clock.governor or UNKNOWN,
            or_dash(clock.energy_preference),
            _ghz((clock.min_khz, clock.max_khz)),
            _ghz((clock.hardware_min_khz, clock.hardware_max_khz)),
            _ghz((clock.base_khz,)),
        )

    rows = [
        (brief(_numbers(group)), *words(group[0]), _ghz(cpu.clock.current_khz for cpu in group))
        for group in group_by_key(_all_cpus(snapshot), lambda cpu: cpu.number if is_whole else words(cpu))
    ]
    return align([("CPUS", "DRIVER", "GOVERNOR", "PREFERENCE", "LIMITS", "HARDWARE", "BASE", "NOW"), *rows])


def _ghz(khz: Iterable[int | None]) -> str:
    """Format a range of clocks: `2.893-2.894 GHz`."""
    words = between(khz, ghz)
    return words if words == UNKNOWN else f"{words} GHz"


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
    """Format the least and the largest value: `2.893-2.894`; `?` if any value is unknown."""
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
