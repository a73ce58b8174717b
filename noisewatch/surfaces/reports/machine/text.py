"""The machine as read, for people: CPUs that are alike share a row, and so do the IRQs of a device."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum

from noisewatch.errors import NO_SUCH_FILE
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED
from noisewatch.kernel.cpus.isolation import Isolation
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.platform import describe_machine
from noisewatch.surfaces.reports.machine.cpu_tables import clock_table, cpu_table, each_cpu, topology_table
from noisewatch.surfaces.reports.machine.irq_table import irq_tables
from noisewatch.surfaces.reports.machine.words import UNKNOWN, cpus, number, yes
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.text import printable

_MOST_REASONS, _MOST_PATHS = 4, 4


class Topic(StrEnum):
    """What of the machine is shown."""

    ALL = "all"
    CPUS = "cpus"
    TOPOLOGY = "topology"
    CLOCK = "clock"
    IRQS = "irqs"


def text_of_snapshot(snapshot: Snapshot, width: int, topic: Topic = Topic.ALL, is_whole: bool = False) -> str:
    """All of `show`. `is_whole` gives each CPU and each IRQ its row, and each file that could not be read."""
    sections = [describe_platform(snapshot)]
    if topic in (Topic.ALL, Topic.CPUS):
        sections += [_targets(snapshot), each_cpu(snapshot) if is_whole else cpu_table(snapshot)]
    if topic in (Topic.ALL, Topic.TOPOLOGY):
        sections.append(topology_table(snapshot, is_whole))
    if topic in (Topic.ALL, Topic.CLOCK):
        sections += [clock_table(snapshot, is_whole), _clock(snapshot)]
    if topic in (Topic.ALL, Topic.IRQS):
        sections.append(irq_tables(snapshot, width, is_whole))
    faults = {path: why for path, why in snapshot.reason_by_path.items() if why != NO_SUCH_FILE}
    sections.append(_each_unreadable(faults, width) if is_whole else _unreadable(faults, width))
    sections.append(_not_exported([path for path in snapshot.reason_by_path if path not in faults], width, is_whole))
    return "\n\n".join(section for section in sections if section) + "\n"


def describe_platform(snapshot: Snapshot) -> str:
    """The machine in one line."""
    return " · ".join(word for word in (snapshot.machine_name, *describe_machine(snapshot.platform)) if word)


def _targets(snapshot: Snapshot) -> str:
    rows = [
        ("target CPUs", f"{cpus(snapshot.target.cpus)} ({snapshot.target.chosen_by})"),
        ("online", f"{cpus(snapshot.online.online)}, offline {cpus(snapshot.online.offline)}"),
        ("isolated", _isolated(snapshot.isolation)),
        ("nohz_full", cpus(snapshot.isolation.nohz_full)),
        ("rcu_nocbs", _rcu_nocbs(snapshot)),
    ]
    return align(rows)


def _isolated(isolation: Isolation) -> str:
    by_version_1 = "" if isolation.unbalanced == frozenset() else f", {cpus(isolation.unbalanced)} by cgroup v1"
    return f"{cpus(isolation.boot)} at boot, {cpus(isolation.partition)} by partition{by_version_1}"


def _rcu_nocbs(snapshot: Snapshot) -> str:
    isolation, config = snapshot.isolation, snapshot.platform.config
    has_option = None if config is None else config.is_set("RCU_NOCB_CPU")
    is_doubtful = isolation.rcu_nocbs and not isolation.nohz_full and has_option is None
    return cpus(isolation.rcu_nocbs) + (" requested; whether the kernel can is unknown" if is_doubtful else "")


def _clock(snapshot: Snapshot) -> str:
    quota = snapshot.cgroup.cpu_quota_share
    mains = snapshot.settings.mains_power.is_on
    rows = [
        ("turbo", snapshot.frequency.turbo or UNKNOWN),
        ("clock source", snapshot.settings.clock_source.current or UNKNOWN),
        (
            "mains power",
            UNKNOWN if mains is None else ("no supply tells" if mains == "none" else yes(bool(mains))),
        ),
        ("CPU quota", UNKNOWN if quota is None else ("none" if quota == UNLIMITED else f"{quota:g} CPUs")),
        ("throttled periods", number(snapshot.cgroup.throttled_periods)),
    ]
    return align(rows)


def _each_unreadable(reasons: Mapping[str, str], width: int) -> str:
    """The failures, with paths that differ only in numbers as one."""
    if not reasons:
        return ""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, reason in reasons.items():
        grouped[re.sub(r"\d+", "N", path), reason].append(path)
    lines = ["could not be read:"]
    for (pattern, reason), paths in grouped.items():
        said = f"{paths[0]}: {reason}" if len(paths) == 1 else f"{pattern}: {reason} ({len(paths)} times)"
        lines.append("  " + printable(said))
    return "\n".join(lines)


def _not_exported(paths: Sequence[str], width: int, is_whole: bool) -> str:
    """Files that this kernel, or this machine, does not have, with paths that differ only in numbers as one."""
    first_by_pattern = {re.sub(r"\d+", "N", path): path for path in reversed(paths)}
    shown = [printable(path) for path in reversed(first_by_pattern.values())]
    if not shown:
        return ""
    if is_whole:
        return "\n".join(["not exported here:", *(f"  {path}" for path in shown)])
    rest = f" and {len(shown) - _MOST_PATHS} more" if len(shown) > _MOST_PATHS else ""
    said = f"not exported here (-v shows all): {', '.join(shown[:_MOST_PATHS])}{rest}"
    return textwrap.fill(said, width, subsequent_indent="  ")


def _unreadable(reasons: Mapping[str, str], width: int) -> str:
    """The failures by their reason: what is most is read first, and named first."""
    paths_by_reason: dict[str, list[str]] = defaultdict(list)
    for path, reason in reasons.items():
        paths = paths_by_reason[reason]
        pattern = re.sub(r"\d+", "N", path)
        if pattern not in (re.sub(r"\d+", "N", each) for each in paths):
            paths.append(path)
    if not paths_by_reason:
        return ""
    lines = ["could not be read (-v shows all):"]
    shown = list(paths_by_reason.items())
    for reason, paths in shown[:_MOST_REASONS]:
        rest = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
        said = printable(f"{reason}: {', '.join(paths[:_MOST_PATHS])}{rest}")
        lines += textwrap.wrap(said, width, initial_indent="  ", subsequent_indent="    ")
    if len(shown) > _MOST_REASONS:
        lines.append(
            f"  for {len(shown) - _MOST_REASONS} other reasons: {sum(len(p) for _, p in shown[_MOST_REASONS:])} more"
        )
    return "\n".join(lines)
