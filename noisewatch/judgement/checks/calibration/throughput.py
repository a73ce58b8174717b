"""Area `calibration`: how steadily the target CPUs work, answer and run."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.grading import AREA, MICROBENCHMARK, grade_worst_cpu
from noisewatch.judgement.rules import MEMORY, STRICT
from noisewatch.judgement.terms import Severity, Status

_MAD_PASSES = Limit(
    key="passes",
    name="median deviation that passes",
    value=0.005,
    unit="share",
    reason="a machine at rest stays well below",
)
_MAD_FAILS = Limit(
    key="fails", name="median deviation that fails", value=0.02, unit="share", reason="no change of 2 % could be seen"
)
_TAIL_PASSES = Limit(
    key="tail-passes",
    name="99th or 1st percentile off the median that passes",
    value=0.02,
    unit="share",
    reason="a tick and a short interrupt",
)
_TAIL_FAILS = Limit(
    key="tail-fails",
    name="99th or 1st percentile off the median that fails",
    value=0.10,
    unit="share",
    reason="one sample in a hundred is off",
)


@check(
    id="fixed-work-unsteady",
    area=AREA,
    question="Does fixed work (FWQ) take the same time again and again?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: fixed work in blocks of 1 ms",),
    limits=(_MAD_PASSES, _MAD_FAILS, _TAIL_PASSES, _TAIL_FAILS),
    why=(
        "Work that needs no memory and no system call varies only with the CPU itself: interruptions, its clock, and "
        "whatever shares its core, which may be a sibling that a virtual machine cannot see."
    ),
    remedy="Switch off turbo and the sibling; on a virtual machine ask for a core of your own.",
    sources=("https://pyperf.readthedocs.io/en/latest/analyze.html",),
    asks_calibration=True,
    severity_in={STRICT: Severity.BLOCKING},
)
def fixed_work_unsteady(case: Case) -> Answer:
    tail = grade_worst_cpu(
        case,
        lambda figures: figures.work.tail_share if figures.work is not None else None,
        _TAIL_PASSES,
        _TAIL_FAILS,
        "1 block in 100 is {value:.1%} off the median on CPU {cpu}",
        "too little fixed work was measured",
    )
    middle = grade_worst_cpu(
        case,
        lambda figures: figures.work.mad_share if figures.work is not None else None,
        _MAD_PASSES,
        _MAD_FAILS,
        "median deviation {value:.2%} on CPU {cpu}",
        "too little fixed work was measured",
    )
    return _graver(middle, tail)


def _graver(*answers: Answer) -> Answer:
    order = (Status.PASS, Status.WARN, Status.UNKNOWN, Status.FAIL)
    return max(answers, key=lambda answer: order.index(answer.status) if answer.status in order else -1)


_MEMORY_PASSES = Limit(
    key="passes",
    name="median deviation of memory accesses that passes",
    value=0.01,
    unit="share",
    reason="caches that nobody shares",
)
_MEMORY_FAILS = Limit(
    key="fails",
    name="median deviation of memory accesses that fails",
    value=0.03,
    unit="share",
    reason="a neighbour evicts our lines",
)


@check(
    id="memory-unsteady",
    area=AREA,
    question="Is the latency of the last-level cache steady?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: accesses to 4 MB",),
    limits=(_MEMORY_PASSES, _MEMORY_FAILS),
    why="Whoever shares the last-level cache, or the way to memory, slows down what no other measurement notices.",
    remedy="Keep the other CPUs of that cache idle, or give them a part of it (resctrl).",
    sources=("https://docs.kernel.org/filesystems/resctrl.html",),
    asks_calibration=True,
    severity_in={MEMORY: Severity.BLOCKING, STRICT: Severity.BLOCKING},
)
def memory_unsteady(case: Case) -> Answer:
    if _is_of_command(case):
        return unknown("the workload was calibrated with, not the memory")
    return grade_worst_cpu(
        case,
        lambda figures: figures.memory.mad_share if figures.memory is not None else None,
        _MEMORY_PASSES,
        _MEMORY_FAILS,
        "median deviation of memory accesses {value:.1%} on CPU {cpu}",
        "too few accesses were measured",
    )


def _is_of_command(case: Case) -> bool:
    return case.calibrated is not None and bool(case.calibrated.calibration.samples.command)


_DRIFT_PASSES = Limit(
    key="passes", name="drift that passes", value=0.005, unit="share", reason="half of a change of 1 %"
)
_DRIFT_FAILS = Limit(
    key="fails",
    name="drift that fails",
    value=0.02,
    unit="share",
    reason="the order of runs would decide which is faster",
)


@check(
    id="throughput-drifts",
    area=AREA,
    question="Is the CPU as fast at the end of the calibration as at its beginning?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: the last third of the fixed work against the first",),
    limits=(_DRIFT_PASSES, _DRIFT_FAILS),
    why="A clock that sinks with heat, or a neighbour that comes or goes, makes what runs later look slower or faster.",
    remedy="Let the machine warm up; switch off turbo; interleave the variants that you compare.",
    sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
    asks_calibration=True,
    severity_in={STRICT: Severity.BLOCKING},
)
def throughput_drifts(case: Case) -> Answer:
    return grade_worst_cpu(
        case,
        lambda figures: None if figures.throughput_drift_share is None else abs(figures.throughput_drift_share),
        _DRIFT_PASSES,
        _DRIFT_FAILS,
        "speed drifted by {value:.2%} over the run on CPU {cpu}",
        "too little fixed work was measured",
    )


_HUMPS_PASS = Limit(
    key="passes", name="mvalue that passes", value=2.8, unit="mvalue", reason="one mode, with what chance adds"
)
_HUMPS_FAIL = Limit(key="fails", name="mvalue that fails", value=4.2, unit="mvalue", reason="two modes or more")


@check(
    id="throughput-multimodal",
    area=AREA,
    question="Does the time of fixed work have a single mode?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: modes of the histogram of the fixed work",),
    limits=(_HUMPS_PASS, _HUMPS_FAIL),
    why="A CPU that switches between two speeds gives a mean that no run ever takes; deviation alone does not show it.",
    remedy="Look for what comes and goes: turbo, a sibling, a periodic task.",
    sources=("https://www.brendangregg.com/FrequencyTrails/modes.html",),
    asks_calibration=True,
    severity_in={STRICT: Severity.BLOCKING},
)
def throughput_multimodal(case: Case) -> Answer:
    return grade_worst_cpu(
        case,
        lambda figures: figures.mvalue,
        _HUMPS_PASS,
        _HUMPS_FAIL,
        "mvalue {value:.1f} on CPU {cpu} (2 is one mode)",
        "too little fixed work was measured",
    )


_CLOCK_PASSES = Limit(
    key="passes",
    name="spread of the clock that passes",
    value=0.005,
    unit="share",
    reason="what krun accepts of APERF/MPERF",
)
_CLOCK_FAILS = Limit(
    key="fails",
    name="spread of the clock that fails",
    value=0.02,
    unit="share",
    reason="it moves by more than most changes do",
)


@check(
    id="effective-frequency-moves",
    area=AREA,
    question="Do the target CPUs run at one clock frequency under load?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: chains of dependent multiplications",),
    limits=(_CLOCK_PASSES, _CLOCK_FAILS),
    why=(
        "A chain in which each multiplication waits for the one before takes a known number of cycles: its time tells "
        "the clock that was delivered, whatever the settings say, and in a virtual machine too."
    ),
    remedy="Set governor performance, switch turbo off, pin the frequency; cool the machine.",
    sources=("https://uops.info/", "https://docs.kernel.org/admin-guide/pm/cpufreq.html"),
    asks_calibration=True,
    severity_in={STRICT: Severity.BLOCKING},
)
def effective_frequency_moves(case: Case) -> Answer:
    answer = grade_worst_cpu(
        case,
        lambda figures: figures.effective_khz_spread_share,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "the clock of CPU {cpu} moved by {value:.2%}",
        "only the compiled core measures it",
    )
    figures = case.calibrated.complete if case.calibrated is not None else []
    if answer.status == Status.UNKNOWN and figures and not any(each.effective_khz for each in figures):
        return _inferred_from_work(case, answer)
    return answer


def _inferred_from_work(case: Case, otherwise: Answer) -> Answer:
    """Work that takes one time ran at one clock; work that does not may have had other reasons."""
    steady = grade_worst_cpu(
        case,
        lambda figures: figures.work.tail_share if figures.work is not None else None,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "fixed work took the same time within {value:.2%} (CPU {cpu}), and so had one clock",
        "too little fixed work was measured",
    )
    return steady if steady.status == Status.PASS else otherwise
