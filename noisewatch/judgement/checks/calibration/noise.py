"""Area `calibration`: how much samples will vary, what interrupts the target CPUs, and how constant their speed is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from noisewatch.cpus import name_cpus
from noisewatch.judgement.answer import Answer, Limit, passing_and_failing, unknown
from noisewatch.judgement.case import Calibrated, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.effect import BLOCKS_AT, blocking_limit
from noisewatch.judgement.grading import (
    AREA,
    MICROBENCHMARK,
    culprits_on,
    grade_worst_cpu,
    incomplete_reason,
    not_calibrated,
)
from noisewatch.judgement.noise.budget import ALONE, LOSES_TOO_MUCH, NoiseFloor
from noisewatch.judgement.noise.by_work import FloorsByWork, chance_line, floors_by_work_of, judge_by_work
from noisewatch.judgement.noise.smallest_change import TEST
from noisewatch.judgement.remedies import remedy_of
from noisewatch.judgement.rules import LATENCY, MEMORY, STRICT
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.system.platform import NONE
from noisewatch.kinds import Kind, Work
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.units import describe_chance, describe_ns

if TYPE_CHECKING:
    from noisewatch.model.calibration.figures import CpuFigures


@check(
    id="noise-floor-above-budget",
    area=AREA,
    question="Will samples of the given length vary less than the budget allows?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=(MICROBENCHMARK,),
    limits=(
        Limit(
            key="fails",
            name="relative standard deviation of samples",
            value=0.01,
            unit="share",
            reason="set by --max-cv, for samples whose length is set by --at",
            set_by="--max-cv",
        ),
    ),
    why=(
        "The noise that the machine itself adds limits what a benchmark can show here. It is predicted from the "
        "gaps and the work of the calibration, for each kind of work: a neighbour on the core, in a cache or in "
        "memory slows each kind differently. The chance that the samples stay within the budget decides. The check "
        "passes if the chance is at least --confidence, and fails if it is at most 1 minus --confidence; in between, "
        "the answer is unknown. Without --work, all kinds except bandwidth must pass."
    ),
    remedy="Fix the causes in other findings, take longer or more samples, or accept the noise floor with --max-cv.",
    sources=("https://doi.org/10.1109/SC.2010.12",),
    asks_calibration=True,
)
def noise_floor_above_budget(case: Case) -> Answer:
    calibrated = case.calibrated
    if calibrated is None:
        return not_calibrated(case)
    from noisewatch.judgement.noise.dominance import (
        dominating_cause,
    )  # imported here because most runs have no calibration

    floor, budget = calibrated.floor, calibrated.budget
    by_work = floors_by_work_of(calibrated) if budget.work is None else None
    if by_work is not None:
        return _judge_any_work(case, calibrated, by_work)
    if floor is None or calibrated.is_of_any_work:
        return unknown(incomplete_reason(calibrated) or calibrated.doubt or _TOO_LITTLE)
    text = (
        f"{chance_line(calibrated)}; CV {floor.cv_expected:.1%} (90% interval "
        f"{floor.cv_low:.1%} to {floor.cv_high:.1%}) on CPU {floor.cpu}, worst up to {floor.max_inflation:.2f}×"
        + ("" if floor.bounded else " (extrapolated: rarer events may take longer)")
    )
    evidence = _evidence(calibrated, floor)
    graded = case.graded(measured=floor.cv_expected, limit=budget.max_cv, unit="share", evidence=evidence)
    above = calibrated.cpus_above_budget
    if above:
        cause = dominating_cause(calibrated, floor, budget.work)
        return graded.fails(
            f"{text}; over the budget on {name_cpus(above)}, {BECAUSE}{cause.said}",
            cpus=above,
            evidence={**evidence, "dominated_by": cause.name},
            culprits=culprits_on(case, floor.cpu) if cause.has_culprits else (),
        )
    reason = incomplete_reason(calibrated) or undecided_reason(calibrated, text)
    if reason is not None:
        return graded.unknown(reason, text)
    return graded.passes(text)


def _evidence(calibrated: Calibrated, floor: NoiseFloor) -> dict[str, Any]:
    budget = calibrated.budget
    return {
        "cv_low": floor.cv_low,
        "cv_expected": floor.cv_expected,
        "cv_high": floor.cv_high,
        "chance": calibrated.chance_of(floor),
        "max_inflation": floor.max_inflation,
        "max_inflation_limit": budget.max_inflation,
        "work": None if budget.work is None else str(budget.work),
        "dominated_by": None,
        "test": TEST,
    }


def _judge_any_work(case: Case, calibrated: Calibrated, by_work: FloorsByWork) -> Answer:
    """Return the answer for an unknown kind of work: all kinds except bandwidth have to be within the budget."""
    from noisewatch.judgement.noise.dominance import dominating_cause

    budget, floors = by_work.budget, by_work.floor_by_work
    worst = floors[by_work.worst]
    cvs = ", ".join(f"{work} {floor.cv_expected:.1%}" for work, floor in floors.items())
    alone = "" if by_work.alone is None else f", interruptions alone {by_work.alone.cv_expected:.1%}"
    text = f"{chance_line(calibrated)}; CV by kind of work: {cvs}{alone}"
    if budget.max_inflation is not None:
        longest = max(floor.max_inflation for floor in floors.values())
        text += f"; worst of {worst.samples} samples up to {longest:.2f}×"
    graded = case.graded(measured=worst.cv_expected, limit=budget.max_cv, unit="share")
    named = [(ALONE, by_work.alone), *floors.items()]
    evidence = _evidence(calibrated, worst) | {
        "by_work": {
            str(name): {
                "cv_low": floor.cv_low,
                "cv_expected": floor.cv_expected,
                "cv_high": floor.cv_high,
                "chance": calibrated.chance_of(floor),
            }
            for name, floor in named
            if floor is not None
        }
    }
    status, reason = judge_by_work(calibrated, by_work)
    if status == Status.FAIL:
        over = by_work.above or (ALONE,)
        cpus = frozenset().union(*(by_work.cpus_above[name] for name in over))
        cause = dominating_cause(calibrated, worst, by_work.worst)
        is_certain = by_work.above and incomplete_reason(calibrated) is None and calibrated.doubt is None
        passing = f"; --work {by_work.within[0]} would pass" if is_certain and by_work.within else ""
        return graded.fails(
            f"{text}; over the budget on {name_cpus(cpus)}: {', '.join(over)}, {BECAUSE}{cause.said}{passing}",
            cpus=cpus,
            evidence={**evidence, "dominated_by": cause.name},
            culprits=culprits_on(case, worst.cpu) if cause.has_culprits else (),
        )
    if status == Status.PASS and by_work.may_bandwidth_exceed:
        cpus = by_work.cpus_above[Work.BANDWIDTH]
        exceed = f"exceed the budget on {name_cpus(cpus)}" if cpus else "may exceed the budget"
        text = f"{text}; copies of large blocks {exceed}: --work bandwidth judges them"
        return graded.warns(text, cpus=cpus, evidence=evidence)
    return graded.answer(status, text, reason=None if reason is None else f"{reason}; {text}", evidence=evidence)


BECAUSE = "mainly because of "  # precedes the dominating cause of a floor above the budget
_TOO_LITTLE = "too few measurements: calibrate longer"


def undecided_reason(calibrated: Calibrated, text: str) -> str | None:
    """Return why the noise floor is too uncertain to pass, or None if it passes."""
    floor, budget = calibrated.floor, calibrated.budget
    if floor is None:
        return _TOO_LITTLE
    if calibrated.doubt is not None:
        return calibrated.doubt
    if calibrated.unpredicted:
        return f"{name_cpus(calibrated.unpredicted)}: {_TOO_LITTLE}"
    if floor.extrapolated:
        return f"extrapolated: the calibration was too short for samples of this length, so calibrate longer; {text}"
    if floor.chance is not None and floor.chance < budget.least_chance:
        return f"needs a chance of {describe_chance(budget.least_chance)}; {text}"
    if not budget.is_met_by(floor):
        return f"{budget.unbounded_reason([floor])}; {text}"
    return None


_STOLEN_PASSES, _STOLEN_FAILS = passing_and_failing(
    "stolen share",
    "share",
    passes=(0.0005, "the ticks of an otherwise idle CPU take less"),
    fails=(LOSES_TOO_MUCH, "half of 1%, the smallest change that most benchmarks try to detect"),
)
_STOLEN_BLOCKS = blocking_limit("blocks", "stolen share that blocks")
_STOLEN_BLOCKS_IN_GUESTS = Limit(
    key="blocks-in-guests",
    name="stolen share that blocks in a virtual machine",
    value=0.05,
    unit="share",
    reason=(
        "hypervisors were measured to take up to 4% steadily, equally in all sessions; if the machine itself takes "
        "more than the budget, the limit `blocks` applies instead"
    ),
    of_budget=BLOCKS_AT,
)
_GAP_PASSES, _GAP_FAILS = passing_and_failing(
    "longest gap",
    "ns",
    passes=(100_000, "an interrupt and its softirq take less"),
    fails=(1_000_000, "longer than interrupts usually take: another task, the hypervisor or the firmware ran"),
    prefix="gap-",
)


_TRACE = "noisewatch trace, as root with tracefs mounted, names"


@check(
    id="target-cpus-interrupted",
    area=AREA,
    question="Does a spinning loop on the target CPUs run without gaps?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{MICROBENCHMARK}: gaps",),
    limits=(_STOLEN_PASSES, _STOLEN_FAILS, _STOLEN_BLOCKS, _STOLEN_BLOCKS_IN_GUESTS, _GAP_PASSES, _GAP_FAILS),
    why=(
        "A loop that only reads the clock sees everything that takes the CPU away, including the hypervisor and the "
        "firmware, which no kernel counter shows. A steady loss shifts the mean of samples but not their CV: above "
        "half of the budget (in a virtual machine, above 5%) it blocks."
    ),
    remedy=(
        "See tasks-on-target and device-interrupts-on-target for the culprits, and move these to other CPUs; "
        "remaining gaps come from the hypervisor or the firmware."
    ),
    sources=("https://docs.kernel.org/trace/osnoise-tracer.html",),
    asks_calibration=True,
    severity_in={LATENCY: Severity.BLOCKING, STRICT: Severity.BLOCKING},
)
def target_cpus_interrupted(case: Case) -> Answer:
    calibrated = case.calibrated
    if calibrated is None:
        return not_calibrated(case)
    measured = [figures for figures in calibrated.complete if figures.stolen_share is not None]
    evidence = {
        str(figures.cpu): {
            "stolen_share": figures.stolen_share,
            "gaps_per_s": figures.gaps_per_s,
            "gap_max_ns": figures.gap_max_ns,
        }
        for figures in measured
    }
    if not measured:
        return unknown(incomplete_reason(calibrated) or calibrated.doubt or "no gaps were measured")
    worst = max(measured, key=lambda figures: figures.stolen_share or 0.0)
    longest = max(measured, key=lambda figures: figures.gap_max_ns or 0)
    stolen, gap_ns = worst.stolen_share or 0.0, longest.gap_max_ns or 0
    text = f"CPU {worst.cpu} lost {stolen:.2%} to gaps; longest gap {describe_ns(gap_ns)}"
    text += f" on CPU {longest.cpu}" if longest.cpu != worst.cpu else ""
    is_guest = case.snapshot.platform.virtual not in (None, NONE)
    blocks = case.bound(_STOLEN_BLOCKS)
    fails = min(case.bound(_STOLEN_FAILS), blocks)
    graded = case.graded(measured=stolen, limit=fails, unit="share", evidence=evidence)
    if stolen > fails or gap_ns > case.bound(_GAP_FAILS):
        cpus = frozenset(
            figures.cpu
            for figures in measured
            if (figures.stolen_share or 0) > fails or (figures.gap_max_ns or 0) > case.bound(_GAP_FAILS)
        )
        text += f" (allowed: {describe_ns(round(case.bound(_GAP_FAILS)))})"
        culprits = culprits_on(case, worst.cpu)
        unexplained = stolen - sum(culprit.share or 0.0 for culprit in culprits)
        if is_guest and _share_of_machine(culprits) <= case.budget.max_cv:
            blocks = case.bound(_STOLEN_BLOCKS_IN_GUESTS)
        is_explained = unexplained <= fails or any(culprit.kind == Kind.QUOTA for culprit in culprits)
        items = (
            ()
            if is_explained
            else (f"{unexplained:.2%} unexplained: {_TRACE} the {'rest' if culprits else 'culprits'}",)
        )
        fix = remedy_of(culprits[0], case).fix if culprits and is_explained else None
        bound, severity = (blocks, Severity.BLOCKING) if stolen > blocks else (fails, None)
        return graded.fails(text, limit=bound, cpus=cpus, culprits=culprits, fix=fix, severity=severity, items=items)
    if len(measured) < len(calibrated.calibration.cpus) or calibrated.doubt is not None:
        reason = incomplete_reason(calibrated) or calibrated.doubt or "gaps were not measured on all target CPUs"
        return graded.answer(Status.UNKNOWN, text, reason=reason, limit=None, unit=None)
    status = Status.PASS if stolen <= case.bound(_STOLEN_PASSES) and gap_ns <= case.bound(_GAP_PASSES) else Status.WARN
    return graded.answer(status, text)


def _share_of_machine(culprits: Sequence[Disturbance]) -> float:
    """Return the share of time taken by the machine itself, without the hypervisor and the firmware."""
    return sum(culprit.share or 0.0 for culprit in culprits if culprit.kind != Kind.OUTSIDE)


_TOO_FEW_BLOCKS = "too few blocks of interpreted work were measured"
_check_of_work = partial(
    check,
    area=AREA,
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    asks_calibration=True,
    severity_in={STRICT: Severity.BLOCKING},
)
_MAD_PASSES, _MAD_FAILS = passing_and_failing(
    "median deviation",
    "share",
    passes=(0.005, "an idle machine stays well below this"),
    fails=(0.02, "a change of 2% would be hidden"),
)
_TAIL_PASSES, _TAIL_FAILS = passing_and_failing(
    "deviation of the 99th or 1st percentile",
    "share",
    passes=(0.02, "a timer tick and a short interrupt add less"),
    fails=(0.10, "one sample in a hundred would deviate this much"),
    prefix="tail-",
)


@_check_of_work(
    id="fixed-work-unsteady",
    question="Does interpreted work (FWQ) always take the same time?",
    reads=(f"{MICROBENCHMARK}: interpreted work in blocks of 1 ms",),
    limits=(_MAD_PASSES, _MAD_FAILS, _TAIL_PASSES, _TAIL_FAILS),
    why=(
        "Interpreted work uses little memory and no system calls, so its time varies only with the CPU itself: its "
        "interruptions, its clock, and whatever shares its core, such as a sibling that is invisible to a virtual "
        "machine."
    ),
    remedy="Switch off turbo and take the sibling offline; in a virtual machine, ask for a dedicated core.",
    sources=("https://pyperf.readthedocs.io/en/latest/analyze.html",),
)
def fixed_work_unsteady(case: Case) -> Answer:
    tail = grade_worst_cpu(
        case,
        _tail_share,
        _TAIL_PASSES,
        _TAIL_FAILS,
        "1 block in 100 is at least {value:.1%} off the median on CPU {cpu}",
        _TOO_FEW_BLOCKS,
    )
    middle = grade_worst_cpu(
        case,
        lambda figures: figures.work.mad_share if figures.work is not None else None,
        _MAD_PASSES,
        _MAD_FAILS,
        "median deviation {value:.2%} on CPU {cpu}",
        _TOO_FEW_BLOCKS,
    )
    return _gravest_answer(middle, tail)


def _tail_share(figures: CpuFigures) -> float | None:
    return figures.work.tail_share if figures.work is not None else None


def _gravest_answer(*answers: Answer) -> Answer:
    order = (Status.PASS, Status.WARN, Status.UNKNOWN, Status.FAIL)
    return max(answers, key=lambda answer: order.index(answer.status) if answer.status in order else -1)


_MEMORY_PASSES, _MEMORY_FAILS = passing_and_failing(
    "median deviation of memory accesses",
    "share",
    passes=(0.01, "less is typical if nothing else uses the cache"),
    fails=(0.03, "more means that a neighbour evicts the benchmark's cache lines"),
)


@_check_of_work(
    id="memory-unsteady",
    question="Is the latency of the last-level cache steady?",
    reads=(f"{MICROBENCHMARK}: accesses to 4 MB",),
    limits=(_MEMORY_PASSES, _MEMORY_FAILS),
    why=(
        "Other CPUs that share the last-level cache or the memory bus slow down memory accesses, without taking CPU "
        "time."
    ),
    remedy="Keep the cache's other CPUs idle, or restrict them to a part of the cache (resctrl).",
    sources=("https://docs.kernel.org/filesystems/resctrl.html",),
    severity_in={MEMORY: Severity.BLOCKING, STRICT: Severity.BLOCKING},
)
def memory_unsteady(case: Case) -> Answer:
    if case.calibrated is not None and case.calibrated.calibration.samples.command:
        return unknown("the calibration ran the given workload, not the memory accesses")
    return grade_worst_cpu(
        case,
        lambda figures: figures.memory.mad_share if figures.memory is not None else None,
        _MEMORY_PASSES,
        _MEMORY_FAILS,
        "median deviation of memory accesses {value:.1%} on CPU {cpu}",
        "too few accesses were measured",
    )


_DRIFT_PASSES, _DRIFT_FAILS = passing_and_failing(
    "drift",
    "share",
    passes=(0.005, "half of 1%, the smallest change that most benchmarks try to detect"),
    fails=(0.02, "the order of the runs would decide which variant is faster"),
)


@_check_of_work(
    id="throughput-drifts",
    question="Is the CPU as fast at the end of the calibration as at its beginning?",
    reads=(f"{MICROBENCHMARK}: last third of the interpreted work against the first",),
    limits=(_DRIFT_PASSES, _DRIFT_FAILS),
    why="A clock that drops with heat, or a neighbour that starts or stops, makes later runs look slower or faster.",
    remedy="Let the machine warm up, switch off turbo, and interleave the variants that you compare.",
    sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
)
def throughput_drifts(case: Case) -> Answer:
    return grade_worst_cpu(
        case,
        lambda figures: None if figures.throughput_drift_share is None else abs(figures.throughput_drift_share),
        _DRIFT_PASSES,
        _DRIFT_FAILS,
        "speed drifted by {value:.2%} over the run on CPU {cpu}",
        _TOO_FEW_BLOCKS,
    )


_HUMPS_PASS, _HUMPS_FAIL = passing_and_failing(
    "mvalue",
    "mvalue",
    passes=(2.8, "less means a single mode, with some sampling noise"),
    fails=(4.2, "more means at least two modes"),
)


@_check_of_work(
    id="throughput-multimodal",
    question="Does the time of interpreted work have a single mode?",
    reads=(f"{MICROBENCHMARK}: modes of the histogram of the interpreted work",),
    limits=(_HUMPS_PASS, _HUMPS_FAIL),
    why=(
        "On a CPU that switches between two speeds the mean is a time that no run ever takes; the deviation alone "
        "does not show this."
    ),
    remedy="Look for something that comes and goes: turbo, work on the sibling, a periodic task.",
    sources=("https://www.brendangregg.com/FrequencyTrails/modes.html",),
)
def throughput_multimodal(case: Case) -> Answer:
    return grade_worst_cpu(
        case,
        lambda figures: figures.mvalue,
        _HUMPS_PASS,
        _HUMPS_FAIL,
        "mvalue {value:.1f} on CPU {cpu} (2 means a single mode)",
        _TOO_FEW_BLOCKS,
    )


_CLOCK_PASSES, _CLOCK_FAILS = passing_and_failing(
    "spread of the clock",
    "share",
    passes=(0.005, "the benchmark runner krun accepts this deviation of APERF/MPERF"),
    fails=(0.02, "larger than the effect of most code changes"),
)


@_check_of_work(
    id="effective-frequency-moves",
    question="Do the target CPUs run at one clock frequency under load?",
    reads=(f"{MICROBENCHMARK}: chains of dependent multiplications",),
    limits=(_CLOCK_PASSES, _CLOCK_FAILS),
    why=(
        "A chain of multiplications, each waiting for the one before, takes a known number of cycles. Its time gives "
        "the clock that the CPU really ran at, whatever the settings say, even in a virtual machine."
    ),
    remedy="Set governor performance, switch turbo off, pin the frequency, and cool the machine.",
    sources=("https://uops.info/", "https://docs.kernel.org/admin-guide/pm/cpufreq.html"),
)
def effective_frequency_moves(case: Case) -> Answer:
    answer = grade_worst_cpu(
        case,
        lambda figures: figures.effective_khz_spread_share,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "the clock of CPU {cpu} moved by {value:.2%}",
        "only noisewatch's compiled core measures the clock",
    )
    figures = case.calibrated.complete if case.calibrated is not None else []
    if answer.status == Status.UNKNOWN and figures and not any(figure.effective_khz for figure in figures):
        return _infer_from_work(case, answer)
    return answer


def _infer_from_work(case: Case, otherwise: Answer) -> Answer:
    """Return a pass if interpreted work took a constant time, which proves a constant clock; else return `otherwise`.

    A varying time proves nothing, because it may have other causes.
    """
    steady = grade_worst_cpu(
        case,
        _tail_share,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "one clock: interpreted work took the same time within {value:.2%} (CPU {cpu})",
        _TOO_FEW_BLOCKS,
    )
    return steady if steady.status == Status.PASS else otherwise
