"""Area `calibration`: how constant the target CPUs' speed is, and how promptly they respond and run."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.grading import AREA, MICROBENCHMARK, grade_worst_cpu
from noisewatch.judgement.rules import MEMORY, STRICT
from noisewatch.judgement.terms import Ground, Severity, Status

_MAD_PASSES = Limit(
    key="passes",
    name="median deviation that passes",
    value=0.005,
    unit="share",
    reason="an idle machine stays well below",
)
_MAD_FAILS = Limit(
    key="fails", name="median deviation that fails", value=0.02, unit="share", reason="a change of 2 % would be hidden"
)
_TAIL_PASSES = Limit(
    key="tail-passes",
    name="deviation of the 99th or 1st percentile that passes",
    value=0.02,
    unit="share",
    reason="a timer tick and a short interrupt",
)
_TAIL_FAILS = Limit(
    key="tail-fails",
    name="deviation of the 99th or 1st percentile that fails",
    value=0.10,
    unit="share",
    reason="one sample in a hundred is off",
)


@check(
    id="fixed-work-unsteady",
    area=AREA,
    question="Does interpreted work (FWQ) always take the same time?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{MICROBENCHMARK}: interpreted work in blocks of 1 ms",),
    limits=(_MAD_PASSES, _MAD_FAILS, _TAIL_PASSES, _TAIL_FAILS),
    why=(
        "Work without memory accesses and system calls varies only with the CPU itself: with interruptions, with its "
        "clock, and with whatever shares its core, which can be a sibling that a virtual machine cannot see."
    ),
    remedy="Switch off turbo and take the sibling offline; in a virtual machine, ask for a dedicated core.",
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
        "too few blocks of interpreted work were measured",
    )
    middle = grade_worst_cpu(
        case,
        lambda figures: figures.work.mad_share if figures.work is not None else None,
        _MAD_PASSES,
        _MAD_FAILS,
        "median deviation {value:.2%} on CPU {cpu}",
        "too few blocks of interpreted work were measured",
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
    reason="reached with a cache that nothing else uses",
)
_MEMORY_FAILS = Limit(
    key="fails",
    name="median deviation of memory accesses that fails",
    value=0.03,
    unit="share",
    reason="a neighbour evicts cache lines of the benchmark",
)


@check(
    id="memory-unsteady",
    area=AREA,
    question="Is the latency of the last-level cache steady?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{MICROBENCHMARK}: accesses to 4 MB",),
    limits=(_MEMORY_PASSES, _MEMORY_FAILS),
    why=(
        "Other CPUs that share the last-level cache or the memory bus slow down memory accesses; no other measurement "
        "shows this."
    ),
    remedy="Keep the other CPUs of that cache idle, or restrict them to a part of it (resctrl).",
    sources=("https://docs.kernel.org/filesystems/resctrl.html",),
    asks_calibration=True,
    severity_in={MEMORY: Severity.BLOCKING, STRICT: Severity.BLOCKING},
)
def memory_unsteady(case: Case) -> Answer:
    if _is_of_command(case):
        return unknown("the calibration ran the given workload, not the memory accesses")
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
    reason="the order of the runs would decide which variant is faster",
)


@check(
    id="throughput-drifts",
    area=AREA,
    question="Is the CPU as fast at the end of the calibration as at its beginning?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{MICROBENCHMARK}: last third of the interpreted work against the first",),
    limits=(_DRIFT_PASSES, _DRIFT_FAILS),
    why="A clock that drops with heat, or a neighbour that starts or stops, makes later runs look slower or faster.",
    remedy="Let the machine warm up, switch off turbo, and interleave the variants that you compare.",
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
        "too few blocks of interpreted work were measured",
    )


_HUMPS_PASS = Limit(
    key="passes", name="mvalue that passes", value=2.8, unit="mvalue", reason="one mode, with some sampling noise"
)
_HUMPS_FAIL = Limit(key="fails", name="mvalue that fails", value=4.2, unit="mvalue", reason="two modes or more")


@check(
    id="throughput-multimodal",
    area=AREA,
    question="Does the time of interpreted work have a single mode?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{MICROBENCHMARK}: modes of the histogram of the interpreted work",),
    limits=(_HUMPS_PASS, _HUMPS_FAIL),
    why=(
        "On a CPU that switches between two speeds the mean is a time that no run ever takes; the deviation alone "
        "does not show this."
    ),
    remedy="Look for something that comes and goes: turbo, work on the sibling, a periodic task.",
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
        "too few blocks of interpreted work were measured",
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
    reason="it moves by more than most changes of a program",
)


@check(
    id="effective-frequency-moves",
    area=AREA,
    question="Do the target CPUs run at one clock frequency under load?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{MICROBENCHMARK}: chains of dependent multiplications",),
    limits=(_CLOCK_PASSES, _CLOCK_FAILS),
    why=(
        "A chain of multiplications, each waiting for the one before, takes a known number of cycles. Its time gives "
        "the clock that the CPU really ran at, whatever the settings say, even in a virtual machine."
    ),
    remedy="Set governor performance, switch turbo off, pin the frequency, and cool the machine.",
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
        "only the compiled core measures the clock",
    )
    figures = case.calibrated.complete if case.calibrated is not None else []
    if answer.status == Status.UNKNOWN and figures and not any(each.effective_khz for each in figures):
        return _inferred_from_work(case, answer)
    return answer


def _inferred_from_work(case: Case, otherwise: Answer) -> Answer:
    """Pass if interpreted work took a constant time, which proves one clock; else return `otherwise`.

    Work of varying time proves nothing: it may have other reasons.
    """
    steady = grade_worst_cpu(
        case,
        lambda figures: figures.work.tail_share if figures.work is not None else None,
        _CLOCK_PASSES,
        _CLOCK_FAILS,
        "one clock: interpreted work took the same time within {value:.2%} (CPU {cpu})",
        "too few blocks of interpreted work were measured",
    )
    return steady if steady.status == Status.PASS else otherwise
