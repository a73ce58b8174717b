"""Grade measured values by the worst CPU, and kernel settings by whether their value is quiet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import quote
from noisewatch.judgement.answer import Answer, Limit, not_applicable, unknown, warns_and_fails
from noisewatch.judgement.case import NO_TARGET, T
from noisewatch.judgement.fixes.actions import Setting, Write
from noisewatch.judgement.fixes.fix import Fix, write_for_good
from noisewatch.judgement.terms import Area, Status
from noisewatch.kernel.system.platform import NONE
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of

if TYPE_CHECKING:
    from noisewatch.judgement.case import Calibrated, Case
    from noisewatch.kernel.snapshot.knobs import Knob
    from noisewatch.model.calibration.figures import CpuFigures

    Measure = Callable[[CpuFigures], float | None]

AREA = Area.CALIBRATION
MICROBENCHMARK = "the microbenchmark on each target CPU"
_MAX_CULPRITS = 3


def by_cpu(values: Mapping[int, T]) -> dict[str, T]:
    """Return the values with CPUs as text keys, as JSON evidence needs them."""
    return {str(cpu): value for cpu, value in values.items()}


def not_calibrated(case: Case) -> Answer:
    """Return the answer of a check that needs a calibration if there is none."""
    return unknown(case.no_calibration_reason or "no calibration was made")


def culprits_on(case: Case, cpu: int) -> tuple[Disturbance, ...]:
    """Return the culprits of the CPU's gaps: from the trace, else those observed in the calibration or the sample."""
    attribution = case.attribution
    if attribution is not None and attribution.reason is None and cpu in attribution.culprits_by_cpu:
        traced = [culprit.disturbance for culprit in attribution.culprits_by_cpu[cpu]]
        return _with_quota(attribution.quota_by_cpu.get(cpu), traced)
    if attribution is not None and (attribution.suspects_by_cpu.get(cpu) or cpu in attribution.quota_by_cpu):
        return _with_quota(attribution.quota_by_cpu.get(cpu), attribution.suspects_by_cpu.get(cpu, ()))
    if case.interval is None:
        return ()
    return tuple(disturbances_of(case.interval, cpu)[:_MAX_CULPRITS])


def _with_quota(quota: Disturbance | None, culprits: Sequence[Disturbance]) -> tuple[Disturbance, ...]:
    """Add the quota to the culprits and return the costliest.

    A quota may be missing in `culprits` because it stopped the loops while they recorded no gaps.
    """
    others = [culprit for culprit in culprits if quota is None or culprit.kind != quota.kind]
    quotas = [culprit for culprit in culprits if culprit not in others]
    largest = [] if quota is None else [max([quota, *quotas], key=lambda culprit: culprit.share or 0.0)]
    return tuple(sorted([*largest, *others], key=lambda culprit: -(culprit.share or 0.0))[:_MAX_CULPRITS])


def incomplete_reason(calibrated: Calibrated) -> str | None:
    """Return the CPUs whose measurement is not complete, with the reasons, or None if there are none."""
    cpus_by_reason: dict[str, list[int]] = {}
    for cpu, reason in calibrated.troubles.items():
        cpus_by_reason.setdefault(reason, []).append(cpu)
    texts = [f"{name_cpus(cpus)}: {reason}" for reason, cpus in cpus_by_reason.items()]
    return "; ".join(texts) or None


def grade_worst_cpu(
    case: Case, measure: Measure, passes: Limit, fails: Limit, template: str, unknown_reason: str
) -> Answer:
    """Return the answer by the worst calibrated CPU and two limits; `template` has places for `cpu` and `value`."""
    calibrated = case.calibrated
    if calibrated is None:
        return not_calibrated(case)
    values = {figures.cpu: measure(figures) for figures in calibrated.complete}
    value_by_cpu = {cpu: value for cpu, value in values.items() if value is not None}
    evidence = {"by_cpu": by_cpu(values)}
    if not value_by_cpu:
        return case.graded(evidence=evidence).unknown(incomplete_reason(calibrated) or unknown_reason)
    worst = max(value_by_cpu, key=lambda cpu: value_by_cpu[cpu])
    sentence = template.format(cpu=worst, value=value_by_cpu[worst])
    answer = grade_cpus(
        case,
        value_by_cpu,
        fails,
        passes,
        describe=lambda _: sentence,
        calm=sentence,
        evidence=evidence,
        unknown_reason=incomplete_reason(calibrated)
        or (unknown_reason if len(value_by_cpu) < len(values) else calibrated.doubt),
    )
    return replace(answer, said=sentence, measured=value_by_cpu[worst]) if answer.status == Status.UNKNOWN else answer


def grade_cpus(
    case: Case,
    value_by_cpu: Mapping[int, float],
    fails: Limit,
    passes: Limit | None = None,
    *,
    describe: Callable[[CpuSet], str],
    calm: str,
    evidence: Mapping[str, Any],
    unknown_reason: str | None,
    culprits: Callable[[CpuSet], tuple[Disturbance, ...]] = lambda _: (),
    fix: Fix | None = None,
) -> Answer:
    """Return the answer by the worst CPU and two limits; without `passes` only 0 passes.

    `describe` and `culprits` are called with the CPUs above the limit. A value above the limit fails even if other
    values are unknown. Without any value the answer is unknown.
    """
    observed = case.graded(evidence=evidence)
    if not value_by_cpu:
        return observed.unknown(unknown_reason or NO_TARGET)
    worst = max(value_by_cpu.values())
    passing, bound = case.bound(passes) if passes is not None else 0.0, case.bound(fails)
    if worst <= bound and unknown_reason is not None:
        return observed.unknown(unknown_reason)
    over = frozenset(cpu for cpu, value in value_by_cpu.items() if value > (bound if worst > bound else passing))
    graded = observed.by(fails, worst)
    if not over:
        return graded.passes(calm)
    limits = warns_and_fails(passing, bound, passes.unit) if passes is not None and worst <= bound else ""
    status = Status.FAIL if worst > bound else Status.WARN
    return graded.answer(status, describe(over) + limits, cpus=over, culprits=culprits(over), fix=fix)


def hardware_without(case: Case, what: str) -> Answer:
    """Return the answer for hardware that the kernel does not report: not applicable on bare metal, else unknown."""
    if case.snapshot.platform.virtual == NONE:
        return not_applicable(f"this processor or kernel has no {what}")
    return unknown(f"no {what} here, but {case.guest_words} cannot see the hardware of its host")


def unread(case: Case, knob: Knob) -> Answer:
    """Return the answer for a knob without a value: unknown, or not applicable if this kernel lacks the knob."""
    knobs = case.snapshot.settings.knobs
    if knob in knobs.absent:
        return hardware_without(case, knob) if knob.is_of_hardware else not_applicable(f"this kernel has no {knob}")
    text = knobs.text_by_path.get(knob)
    return unknown(case.unread_reason(knob) if text is None else f"{knob}: {quote(text)} is not a valid value")


def knob_fix(case: Case, knob: Knob, value: str | int) -> Fix:
    """Return the fix that writes the knob, with the current value for undo."""
    return write_for_good(Write((setting_of(case, knob, value),)))


def setting_of(case: Case, knob: Knob, value: str | int) -> Setting:
    """Return the setting that writes the value to the knob, with the current value for undo."""
    return Setting(knob, str(value), case.snapshot.settings.knobs.word(knob))


def judge_knob(
    case: Case,
    knob: Knob,
    fault: str,
    quiet: int,
    is_quiet: Callable[[int], bool] = lambda value: value == 0,
) -> Answer:
    """Return the answer for a knob that should have a quiet value.

    If it fails, the text is `fault` with the value in place of `{value}`, and the fix writes `quiet`.
    """
    value = case.snapshot.settings.knobs.integer(knob)
    if value is None:
        return unread(case, knob)
    graded = case.graded(measured=value, evidence={knob.value: value})
    if is_quiet(value):
        return graded.passes(f"{knob.rsplit('/', 1)[1]} is {value}")
    return graded.fails(fault.format(value=value), fix=knob_fix(case, knob, quiet))
