"""Area `calibration`: what the microbenchmark measured on the target CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from noisewatch.judgement.case import Calibrated, Case
from noisewatch.judgement.declaration import (
    BLOCKING,
    FAIL,
    PASS,
    UNKNOWN,
    WARN,
    WARNING,
    Answer,
    Check,
    Limit,
    check,
    unknown,
)
from noisewatch.judgement.dominance import dominating_cause
from noisewatch.judgement.noise_floor import TEST
from noisewatch.model.calibration import CpuFigures
from noisewatch.model.disturbance import Disturbance, disturbances_of
from noisewatch.model.figures import describe_ns
from noisewatch.sources.cpulist import name_cpus

_AREA = "calibration"
_MICROBENCHMARK = "the microbenchmark on each target CPU"
_MOST_CULPRITS = 3


def _not_calibrated(case: Case) -> Answer:
    return unknown(case.no_calibration_reason or "no calibration was made")


def _culprits(case: Case, cpu: int) -> tuple[Disturbance, ...]:
    """Who was seen to take time from the CPU in the sample."""
    if case.interval is None:
        return ()
    return tuple(disturbances_of(case.interval, cpu)[:_MOST_CULPRITS])


def _incomplete(calibrated: Calibrated) -> str | None:
    """Which CPUs were not measured to the end, and why."""
    cpus_by_reason: dict[str, list[int]] = {}
    for cpu, reason in calibrated.troubles.items():
        cpus_by_reason.setdefault(reason, []).append(cpu)
    said = [f"{name_cpus(cpus)}: {reason}" for reason, cpus in cpus_by_reason.items()]
    return "; ".join(said) or None


@check(
    id="noise-floor-above-budget",
    area=_AREA,
    question="Will samples of the wanted length vary less than the budget allows?",
    severity=BLOCKING,
    reads=(_MICROBENCHMARK,),
    limits=(
        Limit("relative standard deviation of samples", 0.01, "share", "set by --max-cv, for samples as long as --at"),
    ),
    why=(
        "What the machine alone adds to a sample bounds what a benchmark here can show: it is predicted from the gaps "
        "and the fixed work of the calibration, as an interval that holds nine of ten runs. All of the interval within "
        "the budget passes, all of it above fails; in between nobody can say."
    ),
    remedy=(
        "Remove what the other findings name; take longer samples, or more of them; or accept the floor with --max-cv."
    ),
    sources=("https://doi.org/10.1109/SC.2010.12",),
    asks_calibration=True,
)
def noise_floor_above_budget(case: Case) -> Answer:
    calibrated = case.calibrated
    if calibrated is None:
        return _not_calibrated(case)
    floor, budget = calibrated.floor, calibrated.budget
    if floor is None:
        return unknown(_incomplete(calibrated) or "too little was measured: calibrate longer")
    length = describe_ns(floor.sample_ns)
    said = (
        f"samples of {length} vary by {floor.cv_expected:.1%} ({floor.cv_low:.1%} to {floor.cv_high:.1%}) on "
        f"CPU {floor.cpu}, the worst one of {floor.samples} takes up to {floor.max_inflation:.2f} times as long"
    )
    evidence = {
        "cv_low": floor.cv_low,
        "cv_expected": floor.cv_expected,
        "cv_high": floor.cv_high,
        "max_inflation": floor.max_inflation,
        "max_inflation_limit": budget.max_inflation,
        "dominated_by": None,
        "test": TEST,
    }
    is_inflated = budget.max_inflation is not None and floor.max_inflation > budget.max_inflation
    if floor.cv_low > budget.max_cv or (is_inflated and not floor.extrapolated):
        cause = dominating_cause(calibrated, floor)
        said = f"{said}; mostly {cause.said}"
        return Answer(
            FAIL,
            said,
            floor.cv_expected,
            budget.max_cv,
            "share",
            cpus=_cpus_above(calibrated),
            evidence={**evidence, "dominated_by": cause.name},
            culprits=_culprits(case, floor.cpu) if cause.has_culprits else (),
        )
    reason = _incomplete(calibrated) or _why_undecided(calibrated, said)
    if reason is not None:
        return Answer(UNKNOWN, said, floor.cv_expected, budget.max_cv, "share", reason=reason, evidence=evidence)
    return Answer(PASS, said, floor.cv_expected, budget.max_cv, "share", evidence=evidence)


def _cpus_above(calibrated: Calibrated) -> frozenset[int]:
    floor = calibrated.floor
    return frozenset({floor.cpu}) if floor is not None else frozenset()


def _why_undecided(calibrated: Calibrated, said: str) -> str | None:
    """Why the floor is not known well enough to pass; None where it is."""
    floor, budget = calibrated.floor, calibrated.budget
    if floor is None:
        return "too little was measured"
    if floor.extrapolated:
        return f"{said}, extrapolated from shorter samples: calibrate longer"
    if floor.cv_high > budget.max_cv:
        return f"{said}: the budget of {budget.max_cv:.1%} lies within"
    if budget.max_inflation is not None and not floor.bounded:
        return f"{said}: too short a calibration to bound the worst sample"
    return None


_STOLEN_PASSES = Limit("stolen share that passes", 0.0005, "share", "the ticks of an otherwise idle CPU")
_STOLEN_FAILS = Limit("stolen share that fails", 0.005, "share", "half of a change of 1 %")
_GAP_PASSES = Limit("longest gap that passes", 100_000, "ns", "an interrupt with its softirq")
_GAP_FAILS = Limit("longest gap that fails", 1_000_000, "ns", "something else was scheduled")


@check(
    id="target-cpus-interrupted",
    area=_AREA,
    question="Does a loop on the target CPUs run without interruption?",
    severity=WARNING,
    reads=(f"{_MICROBENCHMARK}: gaps",),
    limits=(_STOLEN_PASSES, _STOLEN_FAILS, _GAP_PASSES, _GAP_FAILS),
    why=(
        "A loop that only reads the clock sees whatever takes the CPU away, the hypervisor and the firmware included, "
        "which no counter of the kernel's shows."
    ),
    remedy="Move away what tasks-on-target and device-interrupts-on-target name; what is left is outside this system.",
    sources=("https://docs.kernel.org/trace/osnoise-tracer.html",),
    asks_calibration=True,
)
def target_cpus_interrupted(case: Case) -> Answer:
    calibrated = case.calibrated
    if calibrated is None:
        return _not_calibrated(case)
    known = [figures for figures in calibrated.complete if figures.stolen_share is not None]
    evidence = {
        str(figures.cpu): {
            "stolen_share": figures.stolen_share,
            "gaps_per_s": figures.gaps_per_s,
            "gap_max_ns": figures.gap_max_ns,
        }
        for figures in known
    }
    if not known:
        return unknown(_incomplete(calibrated) or "no gaps were measured")
    worst = max(known, key=lambda figures: figures.stolen_share or 0.0)
    longest = max(known, key=lambda figures: figures.gap_max_ns or 0)
    stolen, gap_ns = worst.stolen_share or 0.0, longest.gap_max_ns or 0
    said = f"{stolen:.2%} of CPU {worst.cpu} is lost in gaps, the longest {describe_ns(gap_ns)} (CPU {longest.cpu})"
    if stolen > _STOLEN_FAILS.value or gap_ns > _GAP_FAILS.value:
        cpus = frozenset(
            figures.cpu
            for figures in known
            if (figures.stolen_share or 0) > _STOLEN_FAILS.value or (figures.gap_max_ns or 0) > _GAP_FAILS.value
        )
        said += f" (up to {_STOLEN_FAILS.value:.1%} and {describe_ns(round(_GAP_FAILS.value))} are tolerated)"
        culprits = _culprits(case, worst.cpu)
        return Answer(FAIL, said, stolen, _STOLEN_FAILS.value, "share", cpus, None, evidence, culprits)
    if calibrated.troubles:
        return Answer(UNKNOWN, said, stolen, reason=_incomplete(calibrated), evidence=evidence)
    status = PASS if stolen <= _STOLEN_PASSES.value and gap_ns <= _GAP_PASSES.value else WARN
    return Answer(status, said, stolen, _STOLEN_FAILS.value, "share", evidence=evidence)


Measure = Callable[[CpuFigures], float | None]


def _judged(
    case: Case, measure: Measure, passes: Limit, fails: Limit, said: str, why_not: str, least: int = 1
) -> Answer:
    """The worst CPU against two limits; `said` has places for the CPU and the value."""
    calibrated = case.calibrated
    if calibrated is None:
        return _not_calibrated(case)
    values = {figures.cpu: measure(figures) for figures in calibrated.complete}
    known = {cpu: value for cpu, value in values.items() if value is not None}
    evidence = {"by_cpu": {str(cpu): value for cpu, value in values.items()}}
    if len(known) < least or len(known) < len(values):
        return Answer(UNKNOWN, "unknown", reason=_incomplete(calibrated) or why_not, evidence=evidence)
    worst = max(known, key=lambda cpu: known[cpu])
    value = known[worst]
    sentence = said.format(cpu=worst, value=value)
    if value > fails.value:
        over = frozenset(cpu for cpu, value in known.items() if value > fails.value)
        return Answer(FAIL, sentence, value, fails.value, fails.unit, over, None, evidence)
    if calibrated.troubles:
        return Answer(UNKNOWN, sentence, value, reason=_incomplete(calibrated), evidence=evidence)
    status = PASS if value <= passes.value else WARN
    if status == WARN:
        sentence += f" (passes up to {_formatted(passes)})"
    return Answer(status, sentence, value, fails.value, fails.unit, evidence=evidence)


def _formatted(limit: Limit) -> str:
    return f"{limit.value:.1%}" if limit.unit == "share" else f"{limit.value:g}"


_MAD_PASSES = Limit("median deviation that passes", 0.005, "share", "a machine at rest stays well below")
_MAD_FAILS = Limit("median deviation that fails", 0.02, "share", "no change of 2 % could be seen")
_TAIL_PASSES = Limit("99th percentile above the median that passes", 0.02, "share", "a tick and a short interrupt")
_TAIL_FAILS = Limit(
    "99th percentile above the median that fails", 0.10, "share", "one sample in a hundred is an outlier"
)


@check(
    id="fixed-work-unsteady",
    area=_AREA,
    question="Does the same piece of work take the same time, again and again?",
    severity=WARNING,
    reads=(f"{_MICROBENCHMARK}: fixed work in blocks of 1 ms",),
    limits=(_MAD_PASSES, _MAD_FAILS, _TAIL_PASSES, _TAIL_FAILS),
    why=(
        "Work that needs no memory and no system call varies only with the CPU itself: interruptions, its clock, and "
        "whatever shares its core, which may be a sibling that a virtual machine cannot see."
    ),
    remedy="Switch off turbo and the sibling; on a virtual machine ask for a core of your own.",
    sources=("https://pyperf.readthedocs.io/en/latest/analyze.html",),
    asks_calibration=True,
)
def fixed_work_unsteady(case: Case) -> Answer:
    tail = _judged(
        case,
        lambda figures: figures.work.p99_share if figures.work is not None else None,
        _TAIL_PASSES,
        _TAIL_FAILS,
        "one block in a hundred takes {value:.1%} longer than the median (CPU {cpu})",
        "too little fixed work was measured",
    )
    middle = _judged(
        case,
        lambda figures: figures.work.mad_share if figures.work is not None else None,
        _MAD_PASSES,
        _MAD_FAILS,
        "blocks deviate by {value:.2%} from the median, the middle one of them (CPU {cpu})",
        "too little fixed work was measured",
    )
    return _graver(middle, tail)


def _graver(*answers: Answer) -> Answer:
    order = (PASS, WARN, UNKNOWN, FAIL)
    return max(answers, key=lambda answer: order.index(answer.status) if answer.status in order else -1)


_MEMORY_PASSES = Limit("median deviation of memory accesses that passes", 0.01, "share", "caches that nobody shares")
_MEMORY_FAILS = Limit("median deviation of memory accesses that fails", 0.03, "share", "a neighbour evicts our lines")


@check(
    id="memory-unsteady",
    area=_AREA,
    question="Does the last-level cache answer in the same time, again and again?",
    severity=WARNING,
    reads=(f"{_MICROBENCHMARK}: accesses to 4 MB",),
    limits=(_MEMORY_PASSES, _MEMORY_FAILS),
    why="Whoever shares the last-level cache, or the way to memory, slows down what no other measurement notices.",
    remedy="Keep the other CPUs of that cache idle, or give them a part of it (resctrl).",
    sources=("https://docs.kernel.org/filesystems/resctrl.html",),
    asks_calibration=True,
)
def memory_unsteady(case: Case) -> Answer:
    if _is_of_command(case):
        return unknown("the workload was calibrated with, not the memory")
    return _judged(
        case,
        lambda figures: figures.memory.mad_share if figures.memory is not None else None,
        _MEMORY_PASSES,
        _MEMORY_FAILS,
        "accesses deviate by {value:.1%} from the median, the middle one of them (CPU {cpu})",
        "too few accesses were measured",
    )


def _is_of_command(case: Case) -> bool:
    return case.calibrated is not None and bool(case.calibrated.calibration.samples.command)


_DRIFT_PASSES = Limit("drift that passes", 0.005, "share", "half of a change of 1 %")
_DRIFT_FAILS = Limit("drift that fails", 0.02, "share", "the order of runs would decide which is faster")


@check(
    id="throughput-drifts",
    area=_AREA,
    question="Is the CPU as fast at the end of the calibration as at its beginning?",
    severity=WARNING,
    reads=(f"{_MICROBENCHMARK}: the last third of the fixed work against the first",),
    limits=(_DRIFT_PASSES, _DRIFT_FAILS),
    why="A clock that sinks with heat, or a neighbour that comes or goes, makes what runs later look slower or faster.",
    remedy="Let the machine warm up; switch off turbo; interleave the variants that you compare.",
    sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
    asks_calibration=True,
)
def throughput_drifts(case: Case) -> Answer:
    return _judged(
        case,
        lambda figures: None if figures.throughput_drift_share is None else abs(figures.throughput_drift_share),
        _DRIFT_PASSES,
        _DRIFT_FAILS,
        "the last third takes {value:.2%} longer or shorter than the first (CPU {cpu})",
        "too little fixed work was measured",
    )


_HUMPS_PASS = Limit("mvalue that passes", 2.8, "mvalue", "one hump, with what chance adds")
_HUMPS_FAIL = Limit("mvalue that fails", 4.2, "mvalue", "two humps, or more")


@check(
    id="throughput-multimodal",
    area=_AREA,
    question="Does the fixed work take one time, rather than one of several?",
    severity=WARNING,
    reads=(f"{_MICROBENCHMARK}: the humps in the histogram of the fixed work",),
    limits=(_HUMPS_PASS, _HUMPS_FAIL),
    why="A CPU that switches between two speeds gives a mean that no run ever takes; deviation alone does not show it.",
    remedy="Look for what comes and goes: turbo, a sibling, a periodic task.",
    sources=("https://www.brendangregg.com/FrequencyTrails/modes.html",),
    asks_calibration=True,
)
def throughput_multimodal(case: Case) -> Answer:
    return _judged(
        case,
        lambda figures: figures.mvalue,
        _HUMPS_PASS,
        _HUMPS_FAIL,
        "mvalue {value:.1f} on CPU {cpu} (2 is one hump)",
        "too little fixed work was measured",
    )


_CLOCK_PASSES = Limit("spread of the clock that passes", 0.005, "share", "what krun accepts of APERF/MPERF")
_CLOCK_FAILS = Limit("spread of the clock that fails", 0.02, "share", "it moves by more than most changes do")


@check(
    id="effective-frequency-moves",
    area=_AREA,
    question="Do the target CPUs run at one clock frequency under load?",
    severity=WARNING,
    reads=(f"{_MICROBENCHMARK}: chains of dependent multiplications",),
    limits=(_CLOCK_PASSES, _CLOCK_FAILS),
    why=(
        "A chain in which each multiplication waits for the one before takes a known number of cycles: its time tells "
        "the clock that was delivered, whatever the settings say, and in a virtual machine too."
    ),
    remedy="Set governor performance, switch turbo off, pin the frequency; cool the machine.",
    sources=("https://uops.info/", "https://docs.kernel.org/admin-guide/pm/cpufreq.html"),
    asks_calibration=True,
)
def effective_frequency_moves(case: Case) -> Answer:
    answer = _judged(
        case,
        lambda figures: figures.effective_khz_spread_share,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "the clock of CPU {cpu} moved by {value:.2%}",
        "only the compiled core measures it",
    )
    figures = case.calibrated.complete if case.calibrated is not None else []
    if answer.status == UNKNOWN and figures and not any(each.effective_khz for each in figures):
        return _inferred_from_work(case, answer)
    return answer


def _inferred_from_work(case: Case, otherwise: Answer) -> Answer:
    """Work that takes one time ran at one clock; work that does not may have had other reasons."""
    steady = _judged(
        case,
        lambda figures: figures.work.p99_share if figures.work is not None else None,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "fixed work took the same time within {value:.2%} (CPU {cpu}), and so had one clock",
        "too little fixed work was measured",
    )
    return steady if steady.status == PASS else otherwise


CHECKS: Sequence[Check] = (
    noise_floor_above_budget,
    target_cpus_interrupted,
    fixed_work_unsteady,
    memory_unsteady,
    throughput_drifts,
    throughput_multimodal,
    effective_frequency_moves,
)
