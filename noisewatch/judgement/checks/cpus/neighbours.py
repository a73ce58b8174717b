"""Area `target`: the CPUs that share a core or a last-level cache with the target CPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.judgement.answer import Answer, Limit, passing_and_failing, unknown, warns_and_fails
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import untimed_reason
from noisewatch.judgement.effect import graver_answer
from noisewatch.judgement.fixes.actions import write_cpus
from noisewatch.judgement.fixes.fix import BootOptions, Fix
from noisewatch.judgement.grading import by_cpu, grade_cpus
from noisewatch.judgement.rules import MEMORY
from noisewatch.judgement.shared_caches import (
    busiest_culprits,
    cache_neighbourhoods,
    cpus_without_cache,
    unknown_cache_reason,
)
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.platform import NONE
from noisewatch.kinds import Kind, Work
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.units import distinct_from_limit

_CPU_LIST_DOC = "https://docs.kernel.org/admin-guide/cputopology.html"

_SIBLING_QUIET = Limit(
    key="passes",
    name="busy share of an isolated sibling that passes",
    value=0.01,
    unit="share",
    reason="two ticks of 10 ms are 0.7% of a 3 s sample",
)
_SIBLING_BUSY = Limit(
    key="fails",
    name="busy share of a sibling that fails",
    value=0.05,
    unit="share",
    reason="a thread that runs on the sibling slows the target by a third or more, so even 5% of the time matters",
    of_budget=1.25,  # a busy sibling takes up to 40% of a core's throughput: 40% of 1.25 budgets is half a budget
)
CANNOT_SEE = "cannot see which CPUs of its host share a core"


@check(
    id="busy-sibling",
    area=Area.TARGET,
    question="Is the other hardware thread of each target core idle?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=(
        f"{CPUS}/cpuN/topology/thread_siblings_list",
        f"{CPUS}/smt/active",
        "/proc/stat over the sample, and over the calibration",
    ),
    limits=(_SIBLING_QUIET, _SIBLING_BUSY),
    reads_counters=True,
    why=(
        "Two hardware threads share execution units, L1 and L2 caches and the power budget. Work on the sibling slows "
        "the benchmark without taking any CPU time from it."
    ),
    remedy="Take the sibling offline during the benchmark, boot with nosmt, or isolate it together with the target.",
    sources=("https://llvm.org/docs/Benchmarking.html", _CPU_LIST_DOC),
    covers_calibration=True,
)
def busy_sibling(case: Case) -> Answer:
    unplaced = [
        cpu for cpu in case.target if (place := case.snapshot.topology.get(cpu)) is None or place.siblings is None
    ]
    if unplaced or not case.target:
        cpu = min(unplaced, default=0)
        return case.unread(f"{CPUS}/cpu{cpu}/topology/thread_siblings_list")
    foreign = [cpu for cpu in sorted(case.target) if cpu not in (case.snapshot.topology[cpu].siblings or ())]
    if foreign:
        return unknown(f"{CPUS}/cpu{foreign[0]}/topology/thread_siblings_list: does not list CPU {foreign[0]} itself")
    answer = _graver_answer(case, case.siblings, _judge_siblings) if case.siblings else _judge_without_siblings(case)
    if answer.status != Status.FAIL and case.doubtful_siblings:
        doubtful = name_cpus(case.doubtful_siblings)
        paths = f"{CPUS}/online, {CPUS}/offline"
        return unknown(f"cannot tell whether {doubtful}, on a core of the target, is online or offline ({paths})")
    return answer


def _judge_without_siblings(case: Case) -> Answer:
    cores = {cpu: case.snapshot.topology[cpu].siblings or frozenset() for cpu in case.target}
    pairs = [cpu for cpu, core in cores.items() if (core - {cpu}) & case.target]
    if pairs:
        text = f"CPUs {format_cpu_list(pairs)} share cores: benchmarks on both threads of a core disturb each other"
        return case.graded().warns(text, cpus=frozenset(pairs))
    if case.snapshot.platform.virtual == NONE:
        return case.graded().passes("no other thread shares a target core")
    return case.graded().warns(f"no sibling is visible, but {case.guest_words} {CANNOT_SEE}")


def _judge_siblings(case: Case) -> Answer:
    listed = name_cpus(case.siblings)
    removable = case.siblings - {0}  # the boot CPU cannot go offline
    offline, online = dict.fromkeys(removable, 0), dict.fromkeys(removable, 1)
    fix = Fix((write_cpus(offline, "online", online),), (BootOptions("nosmt"),))
    if case.interval is None:
        text = f"siblings on {listed} are online; their load was not sampled"
        return case.graded().warns(text, cpus=case.siblings, fix=fix)
    busy = {cpu: case.interval.busy_share(cpu) for cpu in sorted(case.siblings)}
    busy_by_cpu = {cpu: _busy_on_core(case, cpu, busy) for cpu, share in busy.items() if share is not None}
    worst = max(busy_by_cpu.values(), default=0.0)
    unread_reason = case.unread_reason("/proc/stat") if len(busy_by_cpu) < len(busy) else None
    answer = grade_cpus(
        case,
        busy_by_cpu,
        _SIBLING_BUSY,
        _SIBLING_BUSY,
        describe=lambda over: f"sibling on {name_cpus(over)}: {worst:.0%} busy",
        calm=f"sibling on {listed}: online, {worst:.1%} busy",
        evidence={"busy_share_by_cpu": by_cpu(busy)},
        unknown_reason=untimed_reason(case, case.interval, case.siblings) or unread_reason,
        culprits=lambda over: tuple(_sibling_culprit(case, cpu) for cpu in sorted(over)),
        fix=fix,
    )
    return _judge_calm_siblings(case, worst, answer, fix) if answer.status == Status.PASS else answer


def _graver_answer(case: Case, neighbours: CpuSet, answer: Callable[[Case], Answer]) -> Answer:
    """Return the graver of the answers for sample and calibration.

    Only the sample counts if the calibration ran on neighbours.
    """
    calibrated = case.calibrated.calibration.samples.cpus if case.calibrated is not None else ()
    has_own_loops = any(samples.cpu in neighbours for samples in calibrated)
    return answer(case) if has_own_loops else graver_answer(case, answer)


def _busy_on_core(case: Case, cpu: int, busy_by_sibling: Mapping[int, float | None]) -> float:
    """Return the summed busy share of all siblings on the CPU's core."""
    core = case.snapshot.topology[cpu].siblings if cpu in case.snapshot.topology else None
    return sum(busy_by_sibling.get(sibling) or 0.0 for sibling in (core or frozenset()) | {cpu})


def _judge_calm_siblings(case: Case, worst: float, answer: Answer, fix: Fix) -> Answer:
    """Return a pass for hardly busy siblings only if they are isolated and this is not a guest; else warn."""
    answer = replace(answer, cpus=case.siblings)
    if worst > case.bound(_SIBLING_QUIET) or not case.siblings <= (case.snapshot.isolation.isolated or frozenset()):
        return replace(answer, status=Status.WARN, fix=fix)
    if case.snapshot.platform.virtual != NONE:
        return replace(answer, status=Status.WARN, said=f"{answer.said}; {case.guest_words} {CANNOT_SEE}", fix=fix)
    return answer


def _sibling_culprit(case: Case, cpu: int) -> Disturbance:
    """Return the sibling's load as a culprit, named after the largest source there."""
    interval = case.interval
    sources = disturbances_of(interval, cpu) if interval is not None else []
    largest = sources[0] if sources else None
    return Disturbance(
        kind=Kind.SIBLING,
        name=largest.name if largest is not None else "unattributed work",
        cpu=cpu,
        stolen_ns=None,
        share=interval.busy_share(cpu) if interval is not None else None,
        rate_per_s=None,
        pid=largest.pid if largest is not None else None,
        tid=largest.tid if largest is not None else None,
    )


_CACHE_QUIET, _CACHE_BUSY = passing_and_failing(
    "total load of all cache neighbours",
    "CPUs",
    passes=(0.3, "less is typical for idle services"),
    fails=(0.9, "a single busy neighbour can evict the whole cache or saturate the memory bus"),
)
_SHARED_WORK = (Work.CACHE, Work.MEMORY, Work.BANDWIDTH)  # work that neighbours slow without taking CPU time
_VISIBLE = 0.05  # neighbours with a smaller busy share are not named


@check(
    id="busy-cache-neighbour",
    area=Area.TARGET,
    question="Are the other CPUs of the target's last-level cache idle?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(f"{CPUS}/cpuN/cache/indexN/shared_cpu_list", "/proc/stat over the sample, and over the calibration"),
    limits=(_CACHE_QUIET, _CACHE_BUSY),
    why=(
        "Isolation does not separate what CPUs share: the last-level cache, the memory bus, the power budget. Work "
        "on a neighbour evicts the benchmark's cache lines and lowers its clock. A failure blocks benchmarks of "
        "cache, memory or bandwidth work (--work): in a virtual machine a steady neighbour made walks through memory "
        "4 to 26% slower, which the CV does not show."
    ),
    remedy=(
        "Stop the work of the neighbours, move it to CPUs of another cache, or restrict it to part of the cache "
        "(resctrl)."
    ),
    sources=("https://docs.kernel.org/filesystems/resctrl.html", "https://dl.acm.org/doi/10.1145/2749469.2749475"),
    asks_rates=True,
    answered_by="memory-unsteady",
    severity_in={MEMORY: Severity.BLOCKING},
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def busy_cache_neighbour(case: Case) -> Answer:
    if case.snapshot.online.online is None:
        return _weigh(case, case.unread(f"{CPUS}/online"))
    caches = set(cache_neighbourhoods(case).values())
    if None in caches or not caches:
        return _weigh(case, unknown(unknown_cache_reason(case, case.target)))
    neighbours = [(cache & case.running) - case.target - case.siblings for cache in caches if cache is not None]
    read_caches = {place.last_level_cache for place in case.snapshot.topology.values()}
    what = "last-level cache" if caches <= read_caches else "package (the kernel shows no shared cache)"
    answer = _graver_answer(
        case, frozenset().union(*neighbours), partial(_judge_neighbours, neighbours=neighbours, what=what)
    )
    return _weigh(case, answer)


def _weigh(case: Case, answer: Answer) -> Answer:
    """Return the answer, with severity `blocking` if neighbours slow the benchmark's kind of work."""
    return replace(answer, severity=Severity.BLOCKING) if case.budget.work in _SHARED_WORK else answer


def _judge_neighbours(case: Case, neighbours: Sequence[CpuSet], what: str) -> Answer:
    interval = case.sample
    busy = {cpu: interval.busy_share(cpu) for cpu in sorted(frozenset().union(*neighbours))}
    busy_by_cpu = {cpu: share for cpu, share in busy.items() if share is not None}
    worst = max(neighbours, key=lambda cpus: _sum_of(busy_by_cpu, cpus))
    load = _sum_of(busy_by_cpu, worst)
    observed = case.graded(measured=load, evidence={"busy_share_by_cpu": by_cpu(busy)})
    graded = observed.by(_CACHE_BUSY, load)
    working = frozenset(cpu for cpu in worst if busy_by_cpu.get(cpu, 0.0) > _VISIBLE) or worst
    judging = case.bound(_CACHE_BUSY if load > case.bound(_CACHE_BUSY) else _CACHE_QUIET)
    load_text = f"{distinct_from_limit(load, judging)} CPUs busy"
    text = (
        f"{name_cpus(working)}, sharing a {what} with the target: {load_text}"
        if worst
        else f"no other CPU shares a {what} with the target"
    )
    if load > case.bound(_CACHE_BUSY):
        return graded.fails(text, cpus=working, culprits=busiest_culprits(interval, worst))
    unmeasured_reason = untimed_reason(case, interval, frozenset(busy))
    if len(busy_by_cpu) < len(busy) or unmeasured_reason is not None:
        return observed.unknown(unmeasured_reason or case.unread_reason("/proc/stat"), text)
    if cpus_without_cache(case):
        return observed.unknown(unknown_cache_reason(case, cpus_without_cache(case)), text)
    if load > case.bound(_CACHE_QUIET):
        text += warns_and_fails(case.bound(_CACHE_QUIET), case.bound(_CACHE_BUSY), "CPUs")
        return graded.warns(text, cpus=working, culprits=busiest_culprits(interval, worst))
    if case.snapshot.platform.virtual != NONE:
        return graded.unknown(f"{text}; {case.guest_words} cannot see what else uses its cache", text)
    return graded.passes(text)


def _sum_of(shares: dict[int, float], cpus: Iterable[int]) -> float:
    return sum(shares.get(cpu, 0.0) for cpu in cpus)
