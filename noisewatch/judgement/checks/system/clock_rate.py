"""Area `clock`: whether a second of this machine is as long as a second of another clock."""

from __future__ import annotations

from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.system.clock import QUESTION as CORRECTION
from noisewatch.kernel.system.reference_clock import PTP, RTC, ClockComparison, ClockRatio

WRONG = Limit(
    key="fails",
    name="difference from the rate of another clock",
    value=0.005,
    unit="share",
    reason="crystals differ by a fiftieth of that; guests were seen 0.5 to 7 % fast",
)
_CORRECTION = Limit(
    key="corrected",
    name="correction of the rate by the time daemon",
    value=500,
    unit="ppm",
    reason="the largest frequency that the kernel takes; crystals are off by a fifth of that at most",
)


@check(
    id="clock-rate-wrong",
    area="clock",
    question="Does CLOCK_MONOTONIC run at the rate of another clock?",
    severity=Severity.WARNING,
    ground=Ground.INVALIDATES,
    reads=(f"{PTP}/ptpN, else {RTC}/rtcN/since_epoch, at the begin and at the end", CORRECTION),
    limits=(WRONG, _CORRECTION),
    why=(
        "Where the kernel, or a hypervisor, took the rate of the processor's counter wrong, each duration is wrong by "
        "as much: virtual machines were seen to run 7 % fast. Results then differ between machines that are alike. A "
        "failure blocks."
    ),
    remedy=(
        "Reboot, so that the counter is measured again; update the hypervisor; or choose another clock source. In a "
        "virtual machine the other clock is the hypervisor's."
    ),
    sources=(
        "https://github.com/microsoft/WSL/issues/11790",
        "https://docs.kernel.org/virt/kvm/x86/timekeeping.html",
        "https://man7.org/linux/man-pages/man2/adjtimex.2.html",
    ),
    is_hidden_from_guests=True,
)
def clock_rate_wrong(case: Case) -> Answer:
    comparison = case.clock_comparison
    answer = _compared(case, comparison) if isinstance(comparison, ClockComparison) else _not_compared(comparison)
    if answer.status in (Status.FAIL, Status.WARN):
        return answer
    rate = case.snapshot.settings.clock_rate
    limit = case.bound(_CORRECTION)
    if rate is None or abs(rate.deviation_ppm) < limit:
        return answer
    said = f"the time daemon corrects the rate by {rate.deviation_ppm:+.0f} ppm: no crystal is off by so much"
    measured, reason = abs(rate.deviation_ppm), answer.reason
    evidence = {**answer.evidence, "corrected_ppm": rate.deviation_ppm}
    return Answer(Status.WARN, said, measured=measured, limit=limit, unit="ppm", reason=reason, evidence=evidence)


def _not_compared(reason: str | None) -> Answer:
    return not_applicable("compared in a preflight with a calibration only") if reason is None else unknown(reason)


def _compared(case: Case, comparison: ClockComparison) -> Answer:
    """Return the answer by the first two readings; a deviation has to be confirmed by the third."""
    ratios, limit = comparison.ratios, case.bound(WRONG)
    if not ratios:
        return unknown(f"{comparison.reference} stands still")
    first = ratios[0]
    evidence: dict[str, Any] = {
        "reference": comparison.reference,
        "deviation": [each.deviation for each in ratios],
        "error": [each.error for each in ratios],
    }
    measured = abs(first.deviation)
    if measured + first.error <= limit:
        said = f"as fast as {comparison.reference}, within {measured + first.error:.2%}"
        return Answer(Status.PASS, said, measured=measured, limit=limit, unit="share", evidence=evidence)
    if measured - first.error <= limit:
        known = f"{first.deviation:+.2%} ± {first.error:.2%} against {comparison.reference}"
        return _undecided(f"{known}: too short a time to tell {limit:.1%}", evidence)
    if not _is_confirmed(ratios, limit):
        known = f"{first.deviation:+.2%} against {comparison.reference}"
        return _undecided(f"{known}, and not so a moment later: it may have been set", evidence)
    way = "fast" if first.deviation > 0 else "slow"
    said = f"{measured:.1%} too {way} against {comparison.reference}"
    return Answer(
        Status.FAIL,
        said,
        measured=measured,
        limit=limit,
        unit="share",
        evidence=evidence,
        severity=Severity.BLOCKING,
    )


def _undecided(why: str, evidence: dict[str, Any]) -> Answer:
    return Answer(Status.UNKNOWN, "unknown", reason=why, evidence=evidence)


def _is_confirmed(ratios: tuple[ClockRatio, ...], limit: float) -> bool:
    again = ratios[-1]
    has_same_sign = (again.deviation > 0) == (ratios[0].deviation > 0)
    return len(ratios) > 1 and has_same_sign and abs(again.deviation) + again.error > limit
