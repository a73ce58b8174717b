"""Group the findings of a verdict by cause: by the action that settles them, or by their culprit.

Every finding that fails or warns, and every unknown that blocks, belongs to exactly one cause. Causes share no step of
a fix, except if their fixes conflict or an interrupt of one cannot be moved now. A fix settles a finding if the fix
removes all of the finding's culprits that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.answer import LIMIT
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import contained_answer
from noisewatch.judgement.checks.cpus.isolation import FEWER_TARGETS
from noisewatch.judgement.finding_words import by_gravity
from noisewatch.judgement.fixes.actions import Move, Write
from noisewatch.judgement.fixes.fix import Fix, conflict, merge_fixes, share_steps
from noisewatch.judgement.plan.cores import BOOT_CPU, Preferences, alike, best_of, choose, cores_of
from noisewatch.judgement.remedies import remedy_of
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.terms import Area, Gravity, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.kernel.interrupts.irqs import FOLDER
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.interval.softirq_causes import is_explained_by

_ORDER = (Gravity.FAILED, Gravity.UNANSWERED, Gravity.WARNED)
_DENIED = ("permission denied", "operation not permitted")


class Way(StrEnum):
    """How to answer an open question that blocks."""

    SAMPLE = "sample"
    CALIBRATION = "calibration"
    LIVE = "live"  # run noisewatch on the machine itself, instead of on a copy or a recording
    ROOT = "root"
    NONE = "none"  # no way is known


class Cause(Struct, frozen=True, kw_only=True):
    """Findings that belong together, the gravest first, and what to do about them.

    The action (a fix or other targets) settles the findings in `settles`, and only improves the findings in `helps`.
    """

    gravity: Gravity
    findings: tuple[Finding, ...]
    settles: tuple[Finding, ...] = ()
    fix: Fix | None = None
    advice: str | None = None  # what to try if no command is known
    target: CpuSet | None = None  # the proposed target CPUs
    is_about_target: bool = False  # whether other target CPUs would help, even if none can be proposed
    way: Way | None = None  # set for open questions only

    @property
    def helps(self) -> tuple[Finding, ...]:
        """The findings that the action improves but does not settle; empty if there is no action."""
        if self.fix is None and self.target is None:
            return ()
        settled = {finding.check.id for finding in self.settles}
        return tuple(finding for finding in self.findings if finding.check.id not in settled)


class _Group(Struct):
    """Findings that are being merged into a cause."""

    findings: list[Finding]
    fixes: list[Fix]
    culprits: set[Hashable]  # the keys of the culprits by which the findings are grouped

    @property
    def fix(self) -> Fix | None:
        return merge_fixes(*self.fixes)


def causes_of(verdict: Verdict) -> tuple[Cause, ...]:
    """Return all causes: failures, open questions that block, then warnings. The costliest of each kind come first."""
    findings = by_gravity(verdict)
    wrong, case = [*findings[Gravity.FAILED], *findings[Gravity.WARNED]], verdict.case
    failed = {finding.check.id for finding in findings[Gravity.FAILED]}
    about_target = [finding for finding in wrong if is_about_target(finding)]
    others = [finding for finding in wrong if not is_about_target(finding)]
    causes = [
        *_target_cause(about_target, case, failed),
        *(_cause(group, case, failed) for group in _groups(others, case)),
        *_open_causes(findings[Gravity.UNANSWERED], case),
    ]
    return tuple(sorted(causes, key=_rank))


def _rank(cause: Cause) -> tuple[int, float, float, bool]:
    """Return the cause's sort key: gravity, cost in CPU time, excess over the limit, and whether a remedy is known."""
    is_by_hand = cause.fix is None and cause.advice is None and not cause.is_about_target
    return _ORDER.index(cause.gravity), -cost_of(cause), -max(map(_excess, cause.findings)), is_by_hand


def cost_of(cause: Cause) -> float:
    """Return the largest share of a single CPU's time that the culprits of a finding took; 0 if unknown."""
    return max(map(_cost_of, cause.findings), default=0.0)


def _cost_of(finding: Finding) -> float:
    shares: dict[int, float] = {}
    for culprit in finding.answer.culprits:
        shares[culprit.cpu] = shares.get(culprit.cpu, 0.0) + (culprit.share or 0.0)
    return max(shares.values(), default=0.0)


def _excess(finding: Finding) -> float:
    """Return the measured value in multiples of its limit; 0 if there is no upper limit."""
    answer = finding.answer
    if answer.limit is None or answer.limit_role != LIMIT or not isinstance(answer.measured, int | float):
        return 0.0
    return answer.measured / answer.limit if answer.limit > 0 else inf if answer.measured > 0 else 0.0


def _gravest(findings: Iterable[Finding], failed: Collection[str]) -> Gravity:
    return Gravity.FAILED if any(finding.check.id in failed for finding in findings) else Gravity.WARNED


def order_findings(verdict: Verdict, causes: Sequence[Cause]) -> list[Finding]:
    """Return all findings, the gravest first. Findings of one gravity are in the order of their causes."""
    number_by_id = {finding.check.id: number for number, cause in enumerate(causes) for finding in cause.findings}
    gravities, statuses = list(Gravity), [Status.FAIL, Status.WARN, *Status]

    def rank(finding: Finding) -> tuple[int, int, int]:
        gravity, number = finding.gravity(verdict.is_strict), number_by_id.get(finding.check.id, len(causes))
        return gravities.index(gravity), number, statuses.index(finding.status)

    return sorted(verdict.findings, key=rank)


def is_about_target(finding: Finding) -> bool:
    """Return whether other target CPUs are the only remedy."""
    answer = finding.answer
    if answer.fix is not None:
        return answer.fix.lasting == (FEWER_TARGETS,)
    return finding.check.area == Area.TARGET and bool(answer.cpus) and not answer.culprits


def _target_cause(findings: Sequence[Finding], case: Case, failed: Collection[str]) -> Iterator[Cause]:
    if not findings:
        return
    proposed = proposed_target(case)
    settled = (finding for finding in findings if proposed is not None and is_settled_by(finding, case, proposed))
    yield Cause(
        gravity=_gravest(findings, failed),
        findings=tuple(findings),
        settles=tuple(settled),
        target=proposed,
        is_about_target=True,
    )


def _groups(findings: Sequence[Finding], case: Case) -> list[_Group]:
    """Group the findings whose fixes share steps, then those without a fix that share a culprit."""
    groups: list[_Group] = []
    for finding in findings:
        fix = finding.answer.fix
        if fix is not None:
            _join(groups, _Group([finding], [fix], _grouping_keys(finding, case)), _shares_steps)
    for finding in findings:
        if finding.answer.fix is None:
            _join(groups, _Group([finding], [], _grouping_keys(finding, case)), _shares_culprit)
    for group in [group for group in groups if not group.fixes and group.culprits]:
        remedy = remedy_of(culprits_of(group.findings[0], case)[0], case).fix
        if remedy is not None:
            groups.remove(group)
            _join(groups, replace(group, fixes=[remedy]), _shares_steps)
    return groups


def _join(groups: list[_Group], new: _Group, is_related: Callable[[_Group, _Group], bool]) -> None:
    """Add the group, merged with all groups that are related to it."""
    related = [group for group in groups if is_related(group, new)]
    for group in related[1:]:
        groups.remove(group)
    if not related:
        groups.append(new)
        return
    first = related[0]
    for group in (*related[1:], new):
        first.findings += group.findings
        first.fixes += group.fixes
        first.culprits |= group.culprits


def _shares_steps(left: _Group, right: _Group) -> bool:
    """Return whether two groups' fixes share a step, or both set the clock.

    False if the fixes conflict, or if one group has commands and the other's interrupt cannot be moved.
    """
    pairs = [(left_fix, right_fix) for left_fix in left.fixes for right_fix in right.fixes]
    if any(conflict(left_fix, right_fix) for left_fix, right_fix in pairs):
        return False
    if (_is_of_fixed_irq(left) and _has_commands(right)) or (_is_of_fixed_irq(right) and _has_commands(left)):
        return False
    if _sets_clock(left) and _sets_clock(right):
        return True
    return any(share_steps(left_fix, right_fix) for left_fix, right_fix in pairs)


def _has_commands(group: _Group) -> bool:
    return any(fix.actions for fix in group.fixes)


def _is_of_fixed_irq(group: _Group) -> bool:
    """Return whether the group is about an interrupt that cannot be moved before the next boot.

    Such a group is not merged with groups that have commands, because the commands would be shown as its remedy.
    """
    return not _has_commands(group) and any(isinstance(key, tuple) and key[0] == Kind.IRQ for key in group.culprits)


def _sets_clock(group: _Group) -> bool:
    fixes = [fix.actions for fix in group.fixes]
    return (
        bool(fixes)
        and all(finding.check.area == Area.FREQUENCY for finding in group.findings)
        and all(actions and all(isinstance(action, Write) for action in actions) for actions in fixes)
    )


def _shares_culprit(left: _Group, right: _Group) -> bool:
    return bool(left.culprits & right.culprits)


def _grouping_keys(finding: Finding, case: Case) -> set[Hashable]:
    """Return the keys of the culprits by which a finding is grouped; empty if its culprits do not explain it.

    Findings are grouped by the culprits that their fix covers, by their costliest culprit, and by the interrupts that
    cause the costliest. A culprit that matters less could join two unrelated causes.
    """
    culprits, fix = culprits_of(finding, case), finding.answer.fix
    if fix is None and not explain(culprits, finding):
        return set()
    covered = {culprit_key(culprit) for culprit in culprits if fix is not None and covers(fix, culprit)}
    raising = {culprit_key(culprit) for culprit in culprits if is_caused_by_irqs(culprits[0], [culprit], case)}
    return covered | raising | {culprit_key(culprit) for culprit in culprits[:1]}


def _cause(group: _Group, case: Case, failed: Collection[str]) -> Cause:
    fix = group.fix
    ordered = sorted(
        group.findings, key=lambda finding: (finding.check.id not in failed, not culprits_of(finding, case))
    )
    blamed = (culprits for finding in ordered if explain(culprits := culprits_of(finding, case), finding))
    lead = next((culprit for culprits in blamed for culprit in culprits[:1]), None)
    is_covered = lead is None or (fix is not None and (lead.kind not in MOVABLE or covers(fix, lead)))
    return Cause(
        gravity=_gravest(ordered, failed),
        findings=tuple(ordered),
        settles=tuple(finding for finding in ordered if fix is not None and is_settled(finding, fix, case)),
        fix=fix,
        advice=None if lead is None or is_covered else remedy_of(lead, case).said,
    )


def _open_causes(findings: Iterable[Finding], case: Case) -> Iterator[Cause]:
    """Yield one cause for each way to answer open questions, and one for each reason if no way is known."""
    ways = list(Way)
    by_way: dict[tuple[int, str | None], list[Finding]] = {}
    for finding in findings:
        way = _way_of(finding, case)
        by_way.setdefault((ways.index(way), finding.answer.reason if way == Way.NONE else None), []).append(finding)
    for (index, _), matching in sorted(by_way.items(), key=lambda item: item[0][0]):
        yield Cause(gravity=Gravity.UNANSWERED, findings=tuple(matching), way=ways[index])


def _way_of(finding: Finding, case: Case) -> Way:
    check, reason = finding.check, finding.answer.reason or ""
    if finding.answer.is_fault:
        return Way.NONE
    if check.asks_calibration and case.calibrated is not None:
        return Way.NONE  # a calibration was made, but did not suffice
    if not case.snapshot.is_live:
        return Way.LIVE
    is_answered_by_floor = case.is_guest and check.is_hidden_from_guests and case.rules.profile != STRICT
    if (check.asks_calibration or is_answered_by_floor) and case.calibrated is None:
        return Way.CALIBRATION
    if check.asks_rates and case.interval is None:
        return Way.SAMPLE
    return Way.ROOT if any(words in reason for words in _DENIED) else Way.NONE


def proposed_target(case: Case) -> CpuSet | None:
    """Return a better subset of the target CPUs, or None if the topology is unknown or offers nothing better.

    It has one thread on each of several cores of one kind that share a last-level cache and a node. The boot CPU's core
    is left out if there are others, and at least one core is left for all other work.
    """
    return case.remember("proposed target", _proposed_target)


def _proposed_target(case: Case) -> CpuSet | None:
    """Return the largest group of alike target cores, as a plan would choose it."""
    cores = cores_of(case, case.target & case.running)
    if not cores or not all(core.has_siblings and core.cache for core in cores):
        return None
    groups = [[core for core in group if BOOT_CPU not in core.cpus] or group for group in alike(cores)]
    size = max(map(len, groups))
    preferences = Preferences(isolated=case.snapshot.isolation.isolated or frozenset())
    chosen = best_of((choose(group, size, preferences) for group in groups if len(group) == size), preferences)
    if not case.running - frozenset().union(*(core.cpus for core in chosen)):
        chosen = chosen[1:]
    proposed = frozenset(min(core.cpus & case.target) for core in chosen)
    return proposed if proposed and proposed != case.target else None


def is_settled_by(finding: Finding, case: Case, cpus: CpuSet) -> bool:
    """Return whether the check would pass, or not apply, with these target CPUs."""
    target = replace(case.snapshot.target, cpus=cpus)
    asked = replace(case, snapshot=replace(case.snapshot, target=target), calibrated=None)
    answer = contained_answer(finding.check, asked)
    return answer.status in (Status.PASS, Status.NOT_APPLICABLE)


def culprit_key(culprit: Disturbance) -> Hashable:
    """Return a key that all disturbances by the same IRQ or process share, on any CPU."""
    if culprit.kind == Kind.IRQ and culprit.irq is not None:
        return Kind.IRQ, culprit.irq
    if culprit.pid is not None and culprit.kind in (*THREADS, Kind.SIBLING):
        return Kind.THREAD, culprit.pid
    return culprit.kind, culprit.name


def covers(fix: Fix, culprit: Disturbance) -> bool:
    """Return whether the fix moves the culprit's interrupt or thread."""
    if culprit.kind == Kind.IRQ:
        path = f"{FOLDER}/{culprit.irq}/smp_affinity_list"
        writes = [action for action in fix.actions if isinstance(action, Write)]
        return any(setting.path == path for write in writes for setting in write.settings)
    if culprit.kind not in THREADS:
        return False
    moves = [action for action in fix.actions if isinstance(action, Move)]
    return any(
        (move.process is not None and move.process == culprit.pid) or culprit.tid in {pin.tid for pin in move.pins}
        for move in moves
        if culprit.tid is not None
    )


def culprits_of(finding: Finding, case: Case) -> list[Disturbance]:
    """Return the finding's culprits that disturb target CPUs, directly or on a sibling CPU."""
    return [
        culprit for culprit in finding.answer.culprits if culprit.cpu in case.target or culprit.kind == Kind.SIBLING
    ]


def is_settled(finding: Finding, fix: Fix, case: Case) -> bool:
    """Return whether the fix removes all culprits that matter.

    A finding without culprits is settled by its own fix only.
    """
    culprits, own = culprits_of(finding, case), finding.answer.fix
    moved = [culprit for culprit in culprits if covers(fix, culprit)]
    left = [culprit for culprit in culprits if culprit not in moved]
    left = [
        culprit
        for culprit in left
        if not is_caused_by_irqs(culprit, moved, case) or is_caused_by_irqs(culprit, left, case)
    ]
    if not explain([culprit for culprit in culprits if culprit.kind not in MOVABLE or culprit not in left], finding):
        return False
    unmoved = [culprit for culprit in left if not _is_negligible(culprit, finding)]
    if own is None:
        return bool(culprits) and not unmoved
    if own.is_partial:
        return False
    if finding.answer.status == Status.FAIL and _is_within_limit(left, finding):
        return True
    return all(
        culprit.kind == Kind.SIBLING or (culprit.kind not in MOVABLE and culprit is culprits[0]) for culprit in unmoved
    )


def is_caused_by_irqs(softirq: Disturbance, culprits: Iterable[Disturbance], case: Case) -> bool:
    """Return whether the culprits' device interrupts on the softirq's CPU account for the whole softirq.

    If so, moving the interrupts moves the softirq too. False for a culprit that is not a softirq.
    """
    if softirq.kind != Kind.SOFTIRQ:
        return False
    known = case.irqs_by_number
    on_cpu = [
        culprit
        for culprit in culprits
        if culprit.kind == Kind.IRQ and culprit.cpu == softirq.cpu and culprit.irq in known
    ]
    irqs = [(known[culprit.irq], culprit.rate_per_s or 0.0) for culprit in on_cpu if culprit.irq is not None]
    return is_explained_by(softirq.name, softirq.rate_per_s or 0.0, irqs)


def explain(culprits: Iterable[Disturbance], finding: Finding) -> bool:
    """Return whether the measured value would be within the limit without these culprits.

    Also True if the answer has no upper limit, if no culprit's amount is known in the limit's unit, or if the amount of
    a quota is unknown.
    """
    answer = finding.answer
    if answer.limit is None or answer.limit_role != LIMIT or not isinstance(answer.measured, int | float):
        return True
    amounts = {culprit.kind: _amount(culprit, finding) for culprit in answer.culprits}
    if all(amount is None for amount in amounts.values()) or amounts.get(Kind.QUOTA, 0.0) is None:
        return True
    return answer.measured - sum(_amount(culprit, finding) or 0.0 for culprit in culprits) <= answer.limit


def _amount(culprit: Disturbance, finding: Finding) -> float | None:
    return {"share": culprit.share, "per second": culprit.rate_per_s}.get(finding.answer.unit or "")


def _is_within_limit(culprits: Sequence[Disturbance], finding: Finding) -> bool:
    """Return whether all culprits' amounts are known, and their sum is within the limit on each CPU."""
    limit, by_cpu = finding.answer.limit, dict.fromkeys((culprit.cpu for culprit in culprits), 0.0)
    for culprit in culprits:
        amount = _amount(culprit, finding)
        if amount is None:
            return False
        by_cpu[culprit.cpu] += amount
    return limit is not None and all(amount <= limit for amount in by_cpu.values())


def _is_negligible(culprit: Disturbance, finding: Finding) -> bool:
    """Return whether the culprit alone is far below the check's limit."""
    value = _amount(culprit, finding)
    return value is not None and value <= _NEGLIGIBLE * (finding.answer.limit or 0.0)


_NEGLIGIBLE = 0.1  # a culprit below this share of the limit does not matter
MOVABLE = frozenset({Kind.IRQ, Kind.THREAD, Kind.KERNEL_THREAD, Kind.UNATTRIBUTED, Kind.OUTSIDE})
