"""The verdict, which is composed of all findings only here.

If a blocking check fails, the machine is unstable. If a blocking check is unknown, the verdict is unknown, unless a
measurement has answered the same question. A failure outranks an unknown. Warnings and other unknowns count only if the
verdict is strict, information never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.answer import Answer, not_applicable, unknown
from noisewatch.judgement.case import NOT_READ_AFTER, Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check, contained_answer
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.rules import DEFAULT, SHARED, STRICT, Rules
from noisewatch.judgement.terms import EXIT_STATUS, FLOOR_CHECK, Counts, Gravity, Ground, Outcome, Severity, Status
from noisewatch.model.interval.disturbance import identified

ANSWERED = "answered"
_ELSEWHERE = "the monitor does not start the benchmark: run noisewatch preflight in the script that does"


class Finding(Struct, frozen=True, dict=True):
    """A check's answer on this machine. `answered_by` is the check whose measurement stands in for an unknown."""

    check: Check
    answer: Answer
    answered_by: str | None = None
    rules: Rules = DEFAULT

    @cached_property
    def status(self) -> Status:
        return self.answer.status

    @cached_property
    def severity(self) -> Severity:
        """The user's severity for the check, else the answer's, else the check's under the profile."""
        if self.check.id in self.rules.required:
            return Severity.BLOCKING
        given = self.rules.severity_by_id.get(self.check.id)
        return given or self.answer.severity or self.check.severity_under(self.rules.profile)

    @property
    def weight(self) -> str:
        """The weight of the answer: a severity, or `ANSWERED` for an open question that was measured instead.

        A blocking check that only warns weighs as a warning.
        """
        if self.status == Status.UNKNOWN and self.answered_by is not None:
            return ANSWERED
        return Severity.WARNING if self.status == Status.WARN and self.severity == Severity.BLOCKING else self.severity

    @property
    def is_blocking_failure(self) -> bool:
        return self.status == Status.FAIL and self.severity == Severity.BLOCKING

    @property
    def is_blocking_unknown(self) -> bool:
        return self.status == Status.UNKNOWN and self.severity == Severity.BLOCKING and self.answered_by is None

    @property
    def is_unknown_to_guests(self) -> bool:
        """Whether the answer is unknown because only the host can answer, not because noisewatch failed."""
        return self.status == Status.UNKNOWN and self.check.is_hidden_from_guests and not self.answer.is_fault

    @property
    def is_warning(self) -> bool:
        return (
            self.status in (Status.WARN, Status.FAIL)
            and self.severity != Severity.INFORMATION
            and not self.is_blocking_failure
        )

    @property
    def is_note(self) -> bool:
        """Whether the check fails or warns, but with severity `information` only."""
        return self.status in (Status.WARN, Status.FAIL) and self.severity == Severity.INFORMATION

    @property
    def is_unknown(self) -> bool:
        return self.status == Status.UNKNOWN and self.severity != Severity.INFORMATION

    def gravity(self, is_strict: bool) -> Gravity:
        """Return the effect on the verdict. If `is_strict`, warnings and unknowns decide it too."""
        status = self.status
        if status == Status.PASS:  # the most frequent status
            return Gravity.PASSED
        if status == Status.UNKNOWN:
            is_grave = self.is_blocking_unknown or (is_strict and self.is_unknown)
            return Gravity.UNANSWERED if is_grave else Gravity.OPEN
        if status not in (Status.WARN, Status.FAIL):
            return Gravity.LEFT_OUT
        if self.is_note:
            return Gravity.NOTED
        return Gravity.FAILED if is_strict or self.is_blocking_failure else Gravity.WARNED


class Verdict(Struct, frozen=True):
    """A verdict with its findings: the source of every surface's output and exit status."""

    verdict: Outcome
    findings: tuple[Finding, ...]
    case: Case
    is_strict: bool = False

    @property
    def profile(self) -> str:
        return self.case.rules.profile

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.verdict]

    @property
    def counts(self) -> Counts:
        return _count(self.findings)

    @property
    def failures(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_blocking_failure]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_warning]

    @property
    def unknowns(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_unknown]

    @property
    def notes(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_note]

    @property
    def passes(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.status == Status.PASS]


def _count(findings: tuple[Finding, ...]) -> Counts:
    by_status = Counter([finding.status for finding in findings])
    return Counts(
        fail=by_status[Status.FAIL],
        blocking_fail=sum([finding.is_blocking_failure for finding in findings if finding.status == Status.FAIL]),
        warn=by_status[Status.WARN],
        unknown=by_status[Status.UNKNOWN],
        blocking_unknown=sum([finding.is_blocking_unknown for finding in findings if finding.status == Status.UNKNOWN]),
        passed=by_status[Status.PASS],
        not_applicable=by_status[Status.NOT_APPLICABLE],
        ignored=by_status[Status.IGNORED],
    )


def judge(
    case: Case, checks: Iterable[Check] = CATALOGUE, strict: bool = False, remembered: Remembered | None = None
) -> Verdict:
    """Return the verdict on the case. With `strict`, warnings and unknowns make the machine unstable.

    Answers that cannot have changed since the previous case are taken from `remembered`.
    """
    if remembered is None:
        asked = [_finding_of(check, case) for check in checks]
    else:
        remembered.set_current(case)
        asked = [_remembered_finding(check, case, remembered) for check in checks]
    findings = _answered_by_floor(link_measurements(asked), case)
    if case.rules.profile == SHARED and case.is_guest:
        findings = [_excuse_guest(finding) for finding in findings]
    return Verdict(outcome_of(findings, strict), tuple(findings), case, is_strict=strict)


def _finding_of(check: Check, case: Case) -> Finding:
    answer = _with_identities(_answer_with_calibration(check, case), case)
    return _with_doubt(Finding(check, answer, None, case.rules))


def _with_identities(answer: Answer, case: Case) -> Answer:
    """Return the answer whose culprits have the identities of their processes, if an interval has them."""
    culprits = answer.culprits
    for interval in case.intervals if culprits else ():
        culprits = tuple(identified(culprit, interval) for culprit in culprits)
    return answer if culprits == answer.culprits else replace(answer, culprits=culprits)


def _remembered_finding(check: Check, case: Case, remembered: Remembered) -> Finding:
    if check.is_moving:
        return _finding_of(check, case)
    finding = remembered.get(check.id, lambda case: _finding_of(check, case))
    if finding.answer.is_fault:
        remembered.forget(check.id)
    return finding


def _answer(check: Check, case: Case) -> Answer:
    """Return the check's answer, or an `ignored` answer if the check is not asked.

    If no sample was requested, a check that can run without a sample may still fail because of the calibration.
    """
    reason = _not_asked_reason(check, case)
    if reason is None:
        return _asked_answer(check, case)
    is_ignored = case.rules.ignored_reason(check.id, check.area) is not None
    if reason == _SETTINGS_ONLY and check.runs_unsampled and case.under_load is not None and not is_ignored:
        answer = _asked_answer(check, case)
        if answer.status == Status.FAIL:
            return answer
    return Answer(Status.IGNORED, "not asked", reason=reason)


def _asked_answer(check: Check, case: Case) -> Answer:
    if case.rules.profile in check.not_asked_in:
        return not_applicable(check.not_asked_in[case.rules.profile])
    if check.asks_rates and not check.runs_unsampled and not _is_observed(check, case):
        return unknown(case.no_sample_text)
    given = case.rules.value_by_limit
    limits = {limit.key: given[check.id, limit.key] for limit in check.limits if (check.id, limit.key) in given}
    asked = replace(case, limits=limits) if limits else case
    if check.asks_starter and not case.starts_benchmark:
        return _without_starter(check, asked)
    return contained_answer(check, asked)


def _answer_with_calibration(check: Check, case: Case) -> Answer:
    """Return the answer, but never a pass if a check covers the calibration and no counters were read afterwards."""
    answer = _answer(check, case)
    if not check.covers_calibration or case.calibrated is None or case.under_load is not None:
        return answer
    if answer.status == Status.PASS:
        return replace(unknown(NOT_READ_AFTER), evidence=answer.evidence)
    return replace(answer, reason=answer.reason or NOT_READ_AFTER) if answer.status == Status.WARN else answer


def _without_starter(check: Check, case: Case) -> Answer:
    """Return the check's answer without this process's properties; not applicable if the check needs them."""
    answer = contained_answer(check, case.without_own_process)
    return not_applicable(_ELSEWHERE) if answer.status == Status.UNKNOWN and not answer.is_fault else answer


def _with_doubt(finding: Finding) -> Finding:
    """Return the finding, changed to unknown if it is a warning that may be a blocking failure."""
    if finding.status != Status.WARN or finding.answer.reason is None or finding.severity != Severity.BLOCKING:
        return finding
    return replace(finding, answer=replace(finding.answer, status=Status.UNKNOWN))


def _is_observed(check: Check, case: Case) -> bool:
    return case.interval is not None or (check.sees_load and case.under_load is not None)


_SETTINGS_ONLY = "settings only, as requested"


def _not_asked_reason(check: Check, case: Case) -> str | None:
    if check.asks_rates and not _is_observed(check, case) and case.no_sample_reason is None:
        return _SETTINGS_ONLY
    if check.asks_calibration and case.calibrated is None and case.no_calibration_reason is None:
        return "no calibration, as requested"
    return case.rules.ignored_reason(check.id, check.area)


def link_measurements(findings: list[Finding]) -> list[Finding]:
    """Set `answered_by` of each unknown that a measurement has answered. A failed measurement answers none."""
    measured = {finding.check.id for finding in findings if finding.status in (Status.PASS, Status.WARN)}
    return [
        replace(finding, answered_by=finding.check.answered_by)
        if finding.status == Status.UNKNOWN and finding.check.answered_by in measured
        else finding
        for finding in findings
    ]


def _answered_by_floor(findings: list[Finding], case: Case) -> list[Finding]:
    """Set `answered_by` to the noise floor for questions that a guest cannot answer.

    The floor's samples include every effect on run time: the clock, the host's load and its heat. A floor above the
    budget, or an undecided floor, answers too if it blocks, because then it hides no failure; so does a floor that only
    warns, because then all required kinds of work pass. A floor that was not
    measured at the budget's length answers nothing. No floor answers a check that the user made blocking.
    """
    floor = next((finding for finding in findings if finding.check.id == FLOOR_CHECK), None)
    calibrated = case.calibrated
    if floor is None or calibrated is None or not case.is_guest or case.rules.profile == STRICT:
        return findings
    predicted = calibrated.floor
    is_measured = predicted is not None and calibrated.chance_of(predicted) is not None and calibrated.doubt is None
    is_blocking = floor.is_blocking_failure or floor.is_blocking_unknown
    if not is_measured or not (floor.status in (Status.PASS, Status.WARN) or is_blocking):
        return findings
    return [
        replace(finding, answered_by=FLOOR_CHECK)
        if finding.is_unknown_to_guests
        and finding.answered_by is None
        and finding.check.ground in _IN_SAMPLES
        and not case.rules.is_made_blocking(finding.check.id)
        else finding
        for finding in findings
    ]


_IN_SAMPLES = (
    Ground.EFFECT,
    Ground.RISK,
)  # grounds whose effect shows in samples, unlike a wrong clock rate or memory errors


def _excuse_guest(finding: Finding) -> Finding:
    """Return the finding for the profile `shared`: questions that only the host can answer do not apply.

    A finding that blocks is unchanged.
    """
    if not finding.is_unknown_to_guests or finding.is_blocking_unknown:
        return finding
    by = f", but {finding.answered_by} has measured its effect" if finding.answered_by else ""
    # The reason is kept as evidence, so that all these findings have the same text.
    evidence = {**finding.answer.evidence, "unknown_because": finding.answer.reason}
    answer = replace(not_applicable(f"unknown to this guest{by}"), evidence=evidence)
    return replace(finding, answer=answer, answered_by=None)


def outcome_of(findings: Iterable[Finding], strict: bool = False) -> Outcome:
    """Return the outcome of the findings: unknown if there is no answer at all."""
    findings = list(findings)
    if any(finding.is_blocking_failure for finding in findings):
        return Outcome.UNSTABLE
    if strict and any(finding.is_warning or finding.is_unknown for finding in findings):
        return Outcome.UNSTABLE
    is_answered = any(
        finding.status in (Status.PASS, Status.WARN, Status.FAIL) or finding.answered_by for finding in findings
    )
    if not is_answered or any(finding.is_blocking_unknown for finding in findings):
        return Outcome.UNKNOWN
    return Outcome.STABLE
