"""Text on causes for all reports and screens: the problem, its cost, its remedy, and the findings that are settled.

Costs are in the unit of the budget. This module also renders the first and last lines of a report, which sum up the
causes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from noisewatch.cpus import CpuSet, cpu_list_argument, name_cpus
from noisewatch.errors import NO_SUCH_FILE
from noisewatch.judgement.case import Case
from noisewatch.judgement.causes import Cause, Way, causes_of, culprit_key, culprits_of, explain
from noisewatch.judgement.checks.calibration.noise import BECAUSE
from noisewatch.judgement.finding_words import culprit_line, full_statement, sentence, unnamed_culprits
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.noise.by_work import chance_line, chance_within_budget, options_to_try
from noisewatch.judgement.terms import (
    FIXES,
    FLOOR_CHECK,
    FOR_GOOD,
    HELPS,
    NOW,
    OPEN,
    SEE,
    STEP,
    TRY,
    UNDO,
    Gravity,
    Ground,
    Outcome,
    Status,
)
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.program import as_root
from noisewatch.text import printable
from noisewatch.units import describe_count, describe_rate, describe_value, share_text

_LONGEST_LINE = 200  # the most columns that several commands may share on one line
_LONGEST_TITLE = 150
_LONG_LIST = 40
_MAX_CULPRITS = 6
_ABSENT = f": {NO_SUCH_FILE}"


def title_of(cause: Cause, case: Case) -> str:
    """Return the text of the gravest finding and of others that fit; for open questions, how to answer them."""
    if cause.way is not None and cause.way != Way.NONE:
        return _ABOUT_OPEN[cause.way](len(cause.findings), case)
    title = sentence(cause.findings[0])
    for finding in cause.findings[1:]:
        more = sentence(finding)
        if len(title) + len(more) <= _LONGEST_TITLE:
            title += f"; {more}"
    return title


def _count_questions(number: int) -> str:
    return describe_count(number, "blocking question")


_ABOUT_OPEN: Mapping[Way, Callable[[int, Case], str]] = {
    Way.SAMPLE: lambda count, _: f"take a sample (--sample 3) to answer {_count_questions(count)}",
    Way.CALIBRATION: lambda count, _: f"calibrate (--calibration 3) to answer {_count_questions(count)}",
    Way.LIVE: lambda count, case: (
        f"{'a copied tree' if case.interval is None else 'a recording'} cannot answer {_count_questions(count)}: "
        "run noisewatch on the machine itself"
    ),
    Way.ROOT: lambda count, case: (
        f"run as root ({as_root('preflight', case.snapshot.is_live)}) to answer {_count_questions(count)}"
    ),
}


def culprits_text(cause: Cause, title: str) -> str | None:
    """Return the culprits, the costliest first, or None if the title names all of them."""
    culprits = unnamed_culprits(cause.findings[0], title)
    named = [culprit_line(culprit) for culprit in culprits[:_MAX_CULPRITS]]
    named += [f"{len(culprits) - _MAX_CULPRITS} more"] if len(culprits) > _MAX_CULPRITS else []
    return "; ".join(named) or None


def steps_against(cause: Cause) -> list[tuple[str, str]]:
    """Return (label, line) pairs: commands under `now`, `undo` and `for good`, and CPUs or advice under `try`."""
    lines: list[tuple[str, str]] = []
    if cause.is_about_target:
        lines.append((TRY, "other target CPUs (--cpus)" if cause.target is None else _proposal_text(cause.target)))
    if cause.fix is not None:
        lines += commands_against(cause.fix)
    if cause.advice is not None:
        lines.append((TRY, printable(cause.advice)))
    return lines


def _proposal_text(cpus: CpuSet) -> str:
    listed = cpu_list_argument(cpus)
    words = f"   one thread on each of {len(cpus)} cores that share a last-level cache" if len(cpus) > 1 else ""
    return f"--cpus {listed}{words if len(listed) < _LONG_LIST else ''}"


@lru_cache(maxsize=64)  # a monitor renders the same fixes every second
def commands_against(fix: Fix) -> tuple[tuple[str, str], ...]:
    """Return the fix's commands as (label, line) pairs, labelled now, undo and for good.

    Commands with one label share a line if they fit. Otherwise each action has its own lines, and only the first line
    has the label. A label is left out if any of its actions has no command.
    """
    parts: tuple[tuple[str, list[str | None], str], ...] = (
        (NOW, [action.do for action in fix.actions], " && "),
        (UNDO, [action.undo for action in reversed(fix.actions)], "; "),
        (FOR_GOOD, [action.do for action in fix.lasting], " && " if fix.persist_is_command else "; "),
    )
    lines: list[tuple[str, str]] = []
    for name, commands, separator in parts:
        single = [command for command in commands if command is not None]
        if single and len(single) == len(commands):
            whole = separator.join(single)
            shown = (
                [whole]
                if len(whole) <= _LONGEST_LINE
                else [part for command in single for part in split_command(command)]
            )
            lines += [(name if not index else "", printable(line)) for index, line in enumerate(shown)]
    return tuple(lines)


def split_command(command: str, longest: int = _LONGEST_LINE) -> list[str]:
    """Split a long command after each `&&`, so it can be pasted into a shell. Commands with `'` or `{` are kept."""
    if len(command) <= longest or "'" in command or "{" in command:
        return [command]
    *first, last = command.split(" && ")
    return [*(f"{part} &&" for part in first), last]


def checks_of(cause: Cause) -> str:
    """Return `fixes turbo-enabled; helps clock-capped`, or `see noisewatch explain swapping` if no remedy is known.

    For open questions, return `open swapping (/proc/meminfo: no such file)`, without the reason if it is in the title.
    """
    if cause.way is not None:
        return f"{OPEN:<{STEP - 1}} {'; '.join(_open_questions(cause))}"
    if not cause.settles and not cause.helps:
        return f"{SEE:<{STEP - 1}} {', '.join(f'noisewatch explain {finding.check.id}' for finding in cause.findings)}"
    named = ((FIXES, cause.settles), (HELPS, cause.helps))
    first, *more = (f"{name:<{STEP - 1}} {_check_ids(findings)}" for name, findings in named if findings)
    return "; ".join([first, *(" ".join(line.split()) for line in more)])


def _open_questions(cause: Cause) -> Iterator[str]:
    findings_by_reason: dict[str, list[Finding]] = {}
    for finding in cause.findings:
        findings_by_reason.setdefault(sentence(finding), []).append(finding)
    if cause.way == Way.NONE:
        yield from map(_check_ids, findings_by_reason.values())
        return
    absent = {reason: findings for reason, findings in findings_by_reason.items() if reason.endswith(_ABSENT)}
    absent = absent if len(absent) > 1 else {}  # several missing files share one text
    for reason, findings in findings_by_reason.items():
        if reason not in absent:
            yield f"{_check_ids(findings)} ({reason})"
    if absent:
        named = (f"{_check_ids(findings)} ({reason.removesuffix(_ABSENT)})" for reason, findings in absent.items())
        yield f"missing files: {', '.join(named)}"


def _check_ids(findings: Iterable[Finding]) -> str:
    return ", ".join(finding.check.id for finding in findings)


def is_one_line(cause: Cause) -> bool:
    """Return whether the title contains the whole cause: no fix, no advice, no other findings, no culprits."""
    return (
        cause.way in (None, Way.NONE)
        and cause.fix is None
        and cause.advice is None
        and not cause.is_about_target
        and len(cause.findings) == 1
        and not cause.findings[0].answer.culprits
    )


_HEADLINES = {
    Outcome.STABLE: "ready to benchmark",
    Outcome.UNSTABLE: "do not benchmark now",
    Outcome.UNKNOWN: "cannot tell whether you can benchmark now",
}
_DISKS = ("sd", "vd", "xvd", "nvme", "mmcblk")
_MIN_COST = 5e-5  # smaller shares would be shown as 0.00%
_MAX_COSTS = 3
_PLURALS = ("children of ", "ended threads of ")
_LONGEST_SUMMARY = 79


class Title(NamedTuple):
    """The title of a cause and its limits: `cp [6240] takes 36% of CPU 1`, `budget 1%, limit 0.5%`."""

    text: str
    limits: str | None = None


class Warnings(NamedTuple):
    """A heading, `8 warnings, the costliest`, and the costliest warnings, or the first ones if no cost is known."""

    heading: str
    costliest: tuple[str, ...]


def headline(verdict: Verdict) -> str:
    """Return `CPU 1: do not benchmark now`, to be printed after the verdict."""
    return f"{name_cpus(verdict.case.target)}: {_HEADLINES[verdict.verdict]}"


def decisive_causes(causes: Iterable[Cause]) -> list[Cause]:
    """Return the causes that block, then those that are open."""
    return [cause for cause in causes if cause.gravity in (Gravity.FAILED, Gravity.UNANSWERED)]


def effect_title(cause: Cause, case: Case, has_rhythm: bool = True) -> Title | None:
    """Return a title with the costliest culprit's cost or, for the noise floor, the chance; None if unknown.

    With `has_rhythm` the rhythm of a regular culprit follows its cost.
    """
    finding = cause.findings[0]
    if is_of_floor(cause) and (chance := chance_of(case)) is not None:
        return Title(chance, f"needs {case.budget.least_chance:.0%}")
    lead = _costliest_culprit(finding, case) if cause.way is None else None
    if lead is None:
        return None
    rhythm = _rhythm_text(lead, case) if has_rhythm else ""
    if explain(culprits_of(finding, case), finding):
        text = f"{name_of(lead, case)} {_taken_text(lead, finding)}{rhythm}"
        return Title(text, _limits_text(finding, case))
    culprit = f"{finding.answer.said}: {name_of(lead, case)} {_share_text(lead.share or 0.0)}{rhythm}"
    return Title(printable("; ".join([culprit, *finding.answer.items])), _limits_text(finding, case))


def short_title(cause: Cause, case: Case, has_rhythm: bool = True) -> Title:
    """Return the cause's title for one line: its effect if known, else the text of its first findings."""
    by_effect = effect_title(cause, case, has_rhythm)
    if by_effect is not None:
        return by_effect
    finding = cause.findings[0]
    if cause.way is not None:
        return Title(title_of(cause, case))
    more = [full_statement(other.answer) for other in cause.findings[1:2] if not other.answer.culprits]
    return Title(printable("; ".join([full_statement(finding.answer), *more])), _limits_text(finding, case))


def is_of_floor(cause: Cause) -> bool:
    """Return whether the cause's first finding is the answer of the noise floor's check."""
    return cause.findings[0].check.id == FLOOR_CHECK


def chance_of(case: Case) -> str | None:
    """Return the sentence on the chance of staying within the budget, or None if that is unknown."""
    calibrated = case.calibrated
    if calibrated is None or chance_within_budget(calibrated).value is None:
        return None
    return chance_line(calibrated)


def other_culprits_of(cause: Cause, case: Case) -> list[str]:
    """Return the culprits of known cost after the first, which the title names; for the noise floor, its cause."""
    if is_of_floor(cause):
        reason = cause.findings[0].answer.said.partition(BECAUSE)[2].partition(";")[0]
        return [printable(reason)] if reason else []
    named: dict[object, Disturbance] = {}
    for culprit in culprits_of(cause.findings[0], case):
        named.setdefault(culprit_key(culprit), culprit)
    return [
        f"{name_of(culprit, case)} {_share_text(culprit.share)}"
        for culprit in list(named.values())[1:]
        if culprit.share is not None and culprit.share > _MIN_COST
    ]


def lead_details(cause: Cause, case: Case) -> str:
    """Return the details of the process that the title names; empty if there are none."""
    lead = _costliest_culprit(cause.findings[0], case) if cause.way is None and not is_of_floor(cause) else None
    return printable(lead.identity.details()) if lead is not None and lead.identity is not None else ""


def commands_of_culprits(cause: Cause) -> list[str]:
    """Return the commands of the first culprits of the cause's first finding: `python3 (pid 812): python3 -`."""
    lines = [
        printable(f"{culprit.identity.name} (pid {culprit.pid}): {culprit.identity.command}")
        for culprit in cause.findings[0].answer.culprits[:_MAX_CULPRITS]
        if culprit.identity is not None and culprit.identity.details()
    ]
    return list(dict.fromkeys(lines))


def floor_options(cause: Cause, case: Case) -> tuple[str, ...]:
    """Return the options that may settle an open or failed noise floor."""
    return options_to_try(case.calibrated) if is_of_floor(cause) and case.calibrated is not None else ()


def name_of(culprit: Disturbance, case: Case) -> str:
    """Return the culprit in a few words: `cp [6240]`, `disk vda`, `timer tick`, `hypervisor`."""
    if culprit.kind == Kind.TICK:
        return "timer tick"
    if culprit.kind == Kind.OUTSIDE:
        return "hypervisor"
    if culprit.kind == Kind.IRQ:
        return printable(_device_name(culprit, case))
    if culprit.pid is not None and culprit.kind in (*THREADS, Kind.SIBLING):
        thread = f", thread {culprit.name}" if culprit.program is not None else ""
        return printable(f"{culprit.program or culprit.name} [{culprit.pid}]{thread}")
    name = culprit.name if culprit.kind in THREADS else culprit.kind.with_name(culprit.name)
    return printable(name)


def _device_name(culprit: Disturbance, case: Case) -> str:
    """Return the name of an interrupt's device, else of its driver."""
    irq = case.irqs_by_number.get(culprit.irq) if culprit.irq is not None else None
    device = irq.device if irq is not None and irq.device not in (None, "none") else None
    if device is not None:
        name = device.rpartition(" (")[2].rstrip(")") if device.endswith(")") else device
        return f"disk {name}" if name.startswith(_DISKS) else name
    return culprit.name.partition(" ")[2] or culprit.name


def _irq_remark(culprit: Disturbance, case: Case) -> str:
    """Return ` (IRQ 36, 70/s, kernel-managed)` for an interrupt, else an empty text."""
    if culprit.kind != Kind.IRQ or culprit.irq is None:
        return ""
    known = case.irqs_by_number.get(culprit.irq)
    words = [f"IRQ {culprit.irq}", describe_rate(culprit.rate_per_s)]
    words += ["kernel-managed"] if known is not None and known.is_managed else []
    return f" ({', '.join(words)})"


def _costliest_culprit(finding: Finding, case: Case) -> Disturbance | None:
    """Return the costliest culprit; None if the finding is not about CPU time, or if no cost is known."""
    if finding.answer.unit != "share" and finding.check.ground != Ground.EFFECT:
        return None
    culprits = [culprit for culprit in culprits_of(finding, case) if (culprit.share or 0.0) > _MIN_COST]
    return max(culprits, key=lambda culprit: culprit.share or 0.0, default=None)


def _taken_text(lead: Disturbance, finding: Finding) -> str:
    about = "~" if lead.is_inferred else ""
    if lead.kind != Kind.IRQ:
        verb = "take" if lead.name.startswith(_PLURALS) else "takes"
        return f"{verb} {about}{_share_text(lead.share or 0.0, finding.answer.limit)} of CPU {lead.cpu}"
    answer = finding.answer
    share = answer.measured if answer.unit == "share" and isinstance(answer.measured, float) else lead.share or 0.0
    number = f"IRQ {lead.irq}, " if lead.irq is not None else ""
    return f"takes ~{_share_text(share, answer.limit)} of CPU {lead.cpu} ({number}{describe_rate(lead.rate_per_s)})"


def _rhythm_text(lead: Disturbance, case: Case) -> str:
    """Return `, 10 times a second, 5 ms each` for a culprit that the trace shows to be regular, else an empty text."""
    traced = case.attribution.with_rhythm(lead) if case.attribution is not None else lead
    return f", {traced.rhythm.text}" if traced.rhythm is not None and traced.kind != Kind.TICK else ""


def _limits_text(finding: Finding, case: Case) -> str | None:
    """Return `budget 1%, limit 0.5%` for an effect, else `limit 300 s`; None unless a check with a limit fails."""
    answer = finding.answer
    if answer.limit is None or answer.status != Status.FAIL or not isfinite(answer.limit):
        return None
    limit = share_text(answer.limit) if answer.unit == "share" else describe_value(answer.limit, answer.unit or "")
    is_effect = answer.unit == "share" and finding.check.ground == Ground.EFFECT
    return (f"budget {share_text(case.budget.max_cv)}, " if is_effect else "") + f"{answer.limit_role} {limit}"


def warnings_of(causes: Iterable[Cause], case: Case) -> Warnings | None:
    """Return the heading and the costliest of the causes that only warn, or None if there are none."""
    warned = [cause for cause in causes if cause.gravity == Gravity.WARNED]
    if not warned:
        return None
    costs: dict[object, tuple[float, str]] = {}
    for cause in warned:
        for finding in cause.findings:
            key, cost, words = _cost_of_warning(finding, case)
            costs[key] = max(costs.get(key, (0.0, "")), (cost, words))
    costly = sorted((item for item in costs.values() if item[0] > 0), key=lambda item: -item[0])
    named = [words for _, words in costly or costs.values()]
    heading = describe_count(len(warned), "warning") + (", the costliest" if costly and len(warned) > 1 else "")
    if not costly and len(named) > _MAX_COSTS:
        heading += ", among them"
    return Warnings(heading, tuple(named[:_MAX_COSTS]))


def _cost_of_warning(finding: Finding, case: Case) -> tuple[object, float, str]:
    """Return a key, a cost and a text for a warning, from the culprit that explains it or else from its check."""
    lead, answer, check_id = _costliest_culprit(finding, case), finding.answer, finding.check.id
    if lead is not None and explain([lead], finding):
        cost = lead.share or 0.0
        return culprit_key(lead), cost, f"{name_of(lead, case)} {_share_text(cost)}{_irq_remark(lead, case)}"
    is_of_cpus = answer.unit == "share" and finding.check.ground == Ground.EFFECT and answer.cpus
    if is_of_cpus and isinstance(answer.measured, int | float) and answer.measured > _MIN_COST:
        return check_id, float(answer.measured), f"{check_id} {_share_text(answer.measured)}"
    return check_id, 0.0, check_id


def _share_text(share: float, limit: float | None = None) -> str:
    """Return the share with two digits, or with more if it would look equal to the limit."""
    text = share_text(float(f"{share:.2g}"))
    return text if limit is None or text != share_text(limit) else f"{share:.3%}"


def summary_of_verdict(verdict: Verdict, exit_status: int, causes: Sequence[Cause] | None = None) -> str:
    """Return the verdict in one line: `UNSTABLE: cp [6240] takes 36% of CPU 1, and 1 more (exit 1)`."""
    case = verdict.case
    decisive = decisive_causes(causes_of(verdict) if causes is None else causes)
    more = f", and {len(decisive) - 1} more" if len(decisive) > 1 else ""
    about = _outcome_text(decisive[0], case) if decisive else _stable_reason(verdict)
    word, end = verdict.verdict.upper(), f"{more} (exit {exit_status})"
    return f"{word}: {shorten(about, _LONGEST_SUMMARY - len(word) - 2 - len(end))}{end}"


def _outcome_text(cause: Cause, case: Case) -> str:
    """Return the cause's short title or, for open questions, the ids of their checks."""
    if cause.way is None or (is_of_floor(cause) and chance_of(case) is not None):
        return short_title(cause, case, has_rhythm=False).text
    return f"no answer to {', '.join(finding.check.id for finding in cause.findings)}"


def _stable_reason(verdict: Verdict) -> str:
    floor = next((finding for finding in verdict.findings if finding.check.id == FLOOR_CHECK), None)
    if verdict.verdict == Outcome.STABLE and floor is not None and floor.status == Status.PASS:
        chance = chance_of(verdict.case)
        if chance is not None:
            return chance
    if verdict.verdict == Outcome.UNKNOWN:
        return "no check was evaluated"
    return "no check blocks" + ("; no noise floor was measured" if verdict.case.calibrated is None else "")


def shorten(text: str, room: int) -> str:
    """Return the text in at most `room` columns: without its trailing parenthesis, or cut after a word with `…`."""
    if len(text) > room and text.endswith(")"):
        text = text.rpartition(" (")[0]
    if len(text) <= room:
        return text
    lines = textwrap.wrap(text, max(room - 2, 1), break_on_hyphens=False) or [""]
    return f"{lines[0].rstrip(',;:')} …"
