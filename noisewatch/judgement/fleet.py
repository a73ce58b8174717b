"""Judge each host of a fleet by its newest report, and the fleet by its worst host.

A report that is broken, missing, too old or from the future counts as unknown, never as stable. A host's changes are
the differences between two of its reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.terms import EXIT_STATUS, Outcome
from noisewatch.model.history.facts import FactsByName, changes
from noisewatch.model.history.figures import TRAITS, Figure
from noisewatch.model.outliers import LEAST_MACHINES, OutOfLine, find_outliers
from noisewatch.text import clean
from noisewatch.units import describe_names, long_duration, share_text

FUTURE_S = 300.0  # tolerated clock difference: synchronized clocks differ by less than 1 s, others by hours
_TOGETHER_S = 300.0  # reports from several folders that are closer in time may have been collected together
_MAX_NAMESAKES = 2


class Standing(StrEnum):
    """Whether the report of a host is usable."""

    REPORTED = "reported"
    MISSING = "missing"
    BROKEN = "broken"
    STALE = "stale"
    FUTURE = "future"
    UNDATED = "undated"
    AMBIGUOUS = "ambiguous"  # several machines have, or may have, the name of this host


class FleetHost(Struct, frozen=True, kw_only=True):
    """A host of a fleet. `changes` is None if no two reports can be compared. `why` explains the outcome."""

    name: str
    standing: Standing
    outcome: Outcome
    why: str | None
    earlier: Report | None
    report: Report | None = None
    changes: tuple[str, ...] | None = None
    outliers: tuple[OutOfLine, ...] = ()


class _Judged(NamedTuple):
    """The standing of a host's report, the host's outcome, and the reason if the standing is not `REPORTED`."""

    standing: Standing
    outcome: Outcome
    why: str | None


class Fleet(Struct, frozen=True, kw_only=True):
    """All hosts, the worst first. `unexpected` are hosts that reported without being expected.

    `perhaps_two` are host names that two machines may share: a stable report has replaced a report that was not stable
    and is from another folder, and nothing shows that both are from the same machine.
    """

    hosts: tuple[FleetHost, ...]
    unexpected: tuple[str, ...]
    perhaps_two: tuple[str, ...]
    passed_over: int  # how many reports were not used, because their host has a newer one
    compared: int  # how many hosts have enough others of their kind for a comparison
    ignored: tuple[str, ...] = ()  # JSON files in folders without a verdict

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of hosts by outcome, the worst first."""
        outcomes = [host.outcome for host in self.hosts]
        return {outcome: outcomes.count(outcome) for outcome in sorted(Outcome, key=rank_of)}

    @property
    def hosts_by_cpu_model(self) -> dict[str | None, list[str]]:
        """The hosts that reported, by CPU model, the most frequent model first; None for an unknown model."""
        hosts: dict[str | None, list[str]] = {}
        for host in self.hosts:
            if host.report is not None and host.report.trouble is None:
                hosts.setdefault(host.report.facts.get(CPU_MODEL), []).append(host.name)
        ordered = sorted(hosts, key=lambda model: (-len(hosts[model]), model or ""))
        return {model: sorted(hosts[model]) for model in ordered}

    @property
    def exit_status(self) -> int:
        """The exit status of the worst host."""
        return EXIT_STATUS[next(outcome for outcome, count in self.counts.items() if count)]


def fleet_of(
    reports: Mapping[str, HostReports],
    baseline: Mapping[str, Report] | None,
    expected: Collection[str] | None,
    max_age_s: float | None,
    now_s: float,
    ignored: Sequence[str] = (),
) -> Fleet:
    """Judge all hosts that reported or were expected to report.

    Reports are compared with those of `baseline`, else with each host's previous report. If `expected` is None, the
    baseline's hosts are expected. `ignored` are the paths of JSON files without a verdict.
    """
    sound = {name: own.newest for name, own in reports.items() if own.newest.trouble is None}
    kinds = {name: report.kind for name, report in sound.items()}
    counts = Counter(kind for kind in kinds.values() if kind is not None)
    outliers = _outliers(kinds, sound)
    hosts = [
        _reported_host(
            own,
            own.earlier if baseline is None else baseline.get(name),
            _judge_host(own, max_age_s, now_s),
            outliers.get(name, ()),
        )
        for name, own in reports.items()
    ]
    awaited = set((baseline or ()) if expected is None else expected)
    missing = [_missing_host(name, (baseline or {}).get(name)) for name in sorted(awaited - set(reports))]
    return Fleet(
        hosts=tuple(sorted([*hosts, *missing], key=_order)),
        unexpected=tuple(sorted(set(reports) - set(expected))) if expected is not None else (),
        perhaps_two=tuple(
            sorted(
                host.name
                for host in hosts
                if host.standing is Standing.REPORTED and reports[host.name].may_be_of_two_machines
            )
        ),
        passed_over=sum(own.count - 1 for own in reports.values()),
        compared=sum(count for count in counts.values() if count >= LEAST_MACHINES),
        ignored=tuple(ignored),
    )


def _outliers(kinds: Mapping[str, MachineKind | None], reports: Mapping[str, Report]) -> dict[str, list[OutOfLine]]:
    """Return each host's outliers: means of all CPUs, and values of its slowest CPU if they deviate clearly more."""
    outliers_by_host = find_outliers(kinds, {name: report.figures for name, report in reports.items()})
    of_cpus = {
        name: {figure: slowest.value for figure, slowest in report.slowest.items()} for name, report in reports.items()
    }
    for name, outliers in find_outliers(kinds, of_cpus).items():
        own = {outlier.figure: outlier.distance for outlier in outliers_by_host.get(name, ())}
        for outlier in outliers:
            if outlier.distance > own.get(outlier.figure, 0.0) + TRAITS[outlier.figure].least_change:
                cpu = reports[name].slowest[outlier.figure].cpu
                outliers_by_host.setdefault(name, []).append(replace(outlier, cpu=cpu))
    return outliers_by_host


def _order(host: FleetHost) -> tuple[int, bool, float, str]:
    """Return the host's sort key, the worst first: outcome, outliers, noise, name."""
    floor = host.report.floor if host.report is not None else None
    noise = floor.expected if floor is not None else 0.0
    return rank_of(host.outcome), not host.outliers, -noise, host.name


def _missing_host(name: str, before: Report | None) -> FleetHost:
    why = "has not reported" + ("" if before is None else f", was {before.outcome} in the baseline")
    return FleetHost(name=name, standing=Standing.MISSING, outcome=Outcome.UNKNOWN, why=why, earlier=before)


def _reported_host(
    reports: HostReports, before: Report | None, judged: _Judged, outliers: Collection[OutOfLine]
) -> FleetHost:
    report, (standing, outcome, why) = reports.newest, judged
    is_comparable = before is not None and report.trouble is None and standing is not Standing.AMBIGUOUS
    return FleetHost(
        name=report.host,
        standing=standing,
        outcome=outcome,
        why=why or (None if report.reason is None else str(report.reason)),
        earlier=before,
        report=report,
        changes=tuple(changes_between(before, report)) if before is not None and is_comparable else None,
        outliers=tuple(outliers),
    )


def _judge_host(reports: HostReports, max_age_s: float | None, now_s: float) -> _Judged:
    """Judge the host by its newest report or, if several machines have its name, by the worst of them."""
    report, before = reports.newest, reports.earlier
    own = _judge_alone(report, before, max_age_s, now_s)
    if others := reports.of_other_machines:
        return _judge_namesakes(
            [(report, own), *((other, _judge_alone(other, None, max_age_s, now_s)) for other in others)]
        )
    if before is not None and reports.may_be_of_two_machines and report.latest_s - before.latest_s < _TOGETHER_S:
        reports_text = ", ".join(_describe(candidate, Standing.REPORTED) for candidate in (before, report))
        duration = long_duration(_TOGETHER_S)
        why = f"two folders have reports within {duration}, from one machine or from two with this name: {reports_text}"
        return _Judged(Standing.AMBIGUOUS, Outcome.UNKNOWN, why)
    return own


def _judge_alone(report: Report, before: Report | None, max_age_s: float | None, now_s: float) -> _Judged:
    standing, why = _standing(report, before, max_age_s, now_s)
    return _Judged(standing, report.outcome if standing is Standing.REPORTED else Outcome.UNKNOWN, why)


def _judge_namesakes(judged: Sequence[tuple[Report, _Judged]]) -> _Judged:
    """Judge several machines with one name by the worst; `judged` has the newest report of every machine."""
    worst_first = sorted(judged, key=lambda pair: rank_of(pair[1].outcome))
    facts = _distinguishing_facts([report for report, _ in judged])
    texts = [_describe(report, own.standing) for report, own in worst_first]
    why = f"{len(texts)} machines have this name ({facts}): {describe_names(texts, _MAX_NAMESAKES)}"
    return _Judged(Standing.AMBIGUOUS, worst_first[0][1].outcome, why)


def _distinguishing_facts(reports: Sequence[Report]) -> str:
    """Return the facts that distinguish the machines: `board Dell R640 or HP DL380`."""
    names = {name: None for left, right in pairwise(reports) if (name := lasting_difference(left, right)) is not None}
    facts_by_name = {name: {report.facts[name] for report in reports} - {None} for name in names}
    return ", ".join(
        f"{name} {' or '.join(sorted(filter(None, facts))[:_MAX_NAMESAKES])}" for name, facts in facts_by_name.items()
    )


def _describe(report: Report, standing: Standing) -> str:
    """Return `a/web1.json is stable`: the report's outcome, or its standing if it is unusable."""
    state = f"is {report.outcome}" if standing is Standing.REPORTED else f"is {standing}"
    return f"{clean(report.source)} {state}"


def _standing(
    report: Report, before: Report | None, max_age_s: float | None, now_s: float
) -> tuple[Standing, str | None]:
    """Return the report's standing, and the reason if it is not `REPORTED`."""
    age_s = now_s - report.latest_s
    if report.trouble is not None:
        return Standing.BROKEN, f"broken report {clean(report.source)}: {report.trouble}"
    if report.at_s is not None and age_s < -FUTURE_S:
        return Standing.FUTURE, f"reported {long_duration(-age_s)} in the future: its clock or this one is wrong"
    if max_age_s is not None and age_s > max_age_s:
        return Standing.STALE, f"reported {report.outcome} {long_duration(age_s)} ago"
    if report.at_s is None and max_age_s is not None:
        return Standing.UNDATED, f"reported {report.outcome} without a time, so the age is unknown"
    if report.at_s is None and before is not None and before.outcome != report.outcome:
        return Standing.UNDATED, "no time in the report: cannot tell which report of this host is the newest"
    return Standing.REPORTED, None


def named_reasons(fleet: Fleet) -> Iterator[tuple[str, int]]:
    """Yield why hosts are not stable (each host's gravest check, or its standing), with the number of such hosts.

    The most frequent reason comes first.
    """
    counts = Counter(
        host.report.reason.check
        if host.standing is Standing.REPORTED and host.report and host.report.reason
        else host.standing
        for host in fleet.hosts
        if host.outcome is not Outcome.STABLE
    )
    yield from counts.most_common()


FLOOR_NS = 100_000_000  # the sample length of the noise floors that are shown, which is the default of budgets
MachineKind = tuple[str, ...]
BOARD, CPU_MODEL = "board", "cpu model"
_LASTING = (BOARD, CPU_MODEL)  # facts that never change on a machine, so they distinguish machines with the same name
_KIND = (CPU_MODEL, "kernel", "virtual", "loops")  # facts that must be equal for figures to be compared
_RANK = {Outcome.UNSTABLE: 0, Outcome.UNKNOWN: 1, Outcome.STABLE: 2}


class Floor(Struct, frozen=True):
    """The noise floor (CV) of 100 ms samples."""

    low: float
    expected: float
    high: float


class Reason(Struct, frozen=True):
    """The reason why a machine is not stable or has a warning: a check, its text, and its culprit."""

    check: str
    said: str
    culprit: str | None

    def __str__(self) -> str:
        is_named = self.culprit is None or self.culprit.partition(" (pid ")[0] in self.said
        return f"{self.check}: {self.said}" + ("" if is_named else f" ({self.culprit})")


class SlowestCpu(NamedTuple):
    """The target CPU with a figure's slowest value, which a mean of many CPUs would hide."""

    cpu: int
    value: float


class Report(Struct, frozen=True, kw_only=True):
    """The contents of one report file. A broken report has a `trouble`, the host and the file's time, but nothing else.

    `at_s` is the report's own time, if any. `written_s` is the file's modification time, so the report cannot be newer.
    """

    host: str
    source: str
    written_s: float
    is_identified: bool = False  # whether the report's contents name its host, not only the file's name
    trouble: str | None = None
    is_other_json: bool = False  # whether the trouble is that the file contains other JSON than a verdict
    outcome: Outcome = Outcome.UNKNOWN
    at_s: float | None = None
    reason: Reason | None = None
    open_checks: tuple[str, ...] = ()  # checks that fail or are unknown, and decide the verdict
    floor: Floor | None = None
    chance: float | None = None  # the chance of staying within the budget (0 to 1); older reports lack it
    facts: FactsByName
    figures: Mapping[Figure, float]  # means of the target CPUs
    slowest: Mapping[Figure, SlowestCpu] = {}

    @property
    def latest_s(self) -> float:
        """The latest possible time (s) of the report."""
        return self.written_s if self.at_s is None else self.at_s

    @property
    def kind(self) -> MachineKind | None:
        """The facts that must be equal for figures to be compared, or None if one is unknown."""
        known = [fact for name in _KIND if (fact := self.facts.get(name)) is not None]
        return tuple(known) if len(known) == len(_KIND) else None

    @property
    def folder(self) -> str:
        """The folder of the report's file."""
        return self.source.rpartition("/")[0]

    def replaces(self, other: Report) -> bool:
        """Return whether this report replaces the other: it is newer, or worse at the same time."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[float, int, str]:
        return -self.latest_s, rank_of(self.outcome), self.source


class HostReports(Struct):
    """The reports with one host name: the newest, the one before it, and each machine's newest."""

    newest: Report
    earlier: Report | None = None
    machines: list[Report] = []
    count: int = 0

    def add(self, report: Report) -> None:
        """Add a report. The first report, which is passed as `newest`, must be added too."""
        self.count += 1
        if report.trouble is None:
            self._add_to_machines(report)
        older = report
        if report.replaces(self.newest):
            older, self.newest = self.newest, report
        is_older = older is not self.newest and older.trouble is None
        if is_older and (self.earlier is None or older.replaces(self.earlier)):
            self.earlier = older

    def _add_to_machines(self, report: Report) -> None:
        for place, known in enumerate(self.machines):
            if lasting_difference(known, report) is None:
                self.machines[place] = report if report.replaces(known) else known
                return
        self.machines.append(report)

    @property
    def of_other_machines(self) -> Sequence[Report]:
        """The newest report of each other machine with this name; empty if only one machine is known to have it.

        If the newest report is broken, it belongs to no known machine, so all machines are others.
        """
        others = [report for report in self.machines if report is not self.newest]
        return others if len(self.machines) > 1 else ()

    @property
    def may_be_of_two_machines(self) -> bool:
        """Whether the newest report is stable, and the one before it is not and may be from another machine."""
        before, after = self.earlier, self.newest
        if before is None or before.is_identified or after.is_identified or before.folder == after.folder:
            return False
        return after.outcome is Outcome.STABLE and before.outcome is not Outcome.STABLE


def rank_of(outcome: Outcome) -> int:
    """Return the sort key of an outcome, the worst first."""
    return _RANK[outcome]


def lasting_difference(left: Report, right: Report) -> str | None:
    """Return the name of a fact that proves that the reports are from different machines, or None."""
    changed = {name for name, _, _ in changes(left.facts, right.facts)}
    return next((name for name in _LASTING if name in changed), None)


def changes_between(before: Report, after: Report) -> Iterator[str]:
    """Yield the changes between two reports as text, the gravest first.

    The noise floor has changed if its two intervals do not overlap.
    """
    if before.outcome != after.outcome:
        yield f"was {before.outcome}"
    for word, having, lacking in (("new", after, before), ("settled", before, after)):
        checks = [check for check in having.open_checks if check not in lacking.open_checks]
        if checks:
            yield f"{word}: {', '.join(checks)}"
    old_floor, new_floor = before.floor, after.floor
    if old_floor is not None and new_floor is not None:
        is_apart = old_floor.low > new_floor.high or new_floor.low > old_floor.high
        yield from [f"noise floor {share_text(old_floor.expected)} → {share_text(new_floor.expected)}"] * is_apart
    yield from (f"{name} {old} → {new}" for name, old, new in changes(before.facts, after.facts))
