"""Area `memory`: the kernel's background work on memory, and the NUMA nodes that the benchmark's memory comes from."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_list, name_cpus
from noisewatch.judgement.answer import Answer, Counted, Limit, not_applicable, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import total_vmstat_growth, unknown_growth_reason
from noisewatch.judgement.fixes.actions import Run
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.grading import knob_fix, unread
from noisewatch.judgement.rules import IO, LATENCY, MEMORY, STRICT
from noisewatch.judgement.shared_caches import nodes
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.counters import MEMINFO, VMSTAT
from noisewatch.kernel.memory.nodes import HAS_MEMORY, QUESTION, MemoryPolicy
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import STATUS
from noisewatch.model.interval.interval import Interval
from noisewatch.units import describe_count

_COLLAPSED = Limit(
    key="fails",
    name="huge pages made by khugepaged",
    value=0,
    unit="pages",
    reason="for each huge page, up to 512 pages are copied while their process waits",
)
_AN_HOUR_MS = 3_600_000


@check(
    id="khugepaged-collapses-pages",
    area=Area.MEMORY,
    question="Does khugepaged leave memory unchanged?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{VMSTAT} (thp_collapse_alloc) over the sample and the calibration", Knob.THP_ENABLED),
    limits=(_COLLAPSED,),
    why=(
        "khugepaged makes huge pages seconds or minutes after a program has started. The same code then becomes "
        "faster, sooner in one run than in another. Which policy is right depends on the benchmark."
    ),
    remedy=(
        "Make khugepaged sleep during the benchmark; the policy stays, and new memory can still get huge pages at once."
    ),
    sources=("https://docs.kernel.org/admin-guide/mm/transhuge.html",),
    asks_rates=True,
    sees_load=True,
    runs_unsampled=True,
    covers_calibration=True,
)
def khugepaged_collapses_pages(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    if Knob.THP_ENABLED in knobs.absent:
        return not_applicable("this kernel has no transparent huge pages")
    if not case.intervals:
        return unknown(case.no_sample_text)
    collapsed = total_vmstat_growth(case, "thp_collapse_alloc")
    policy = knobs.word(Knob.THP_ENABLED)
    evidence = {"collapsed": collapsed, "enabled": policy, "defrag": knobs.word(Knob.THP_DEFRAG)}
    has_period = knobs.integer(Knob.KHUGEPAGED_SLEEP) is not None
    return case.graded(evidence=evidence).by_counts(
        [Counted(collapsed, _COLLAPSED, Status.FAIL, f"{collapsed} huge pages were made by khugepaged")],
        "khugepaged made no huge pages" + ("" if policy is None else f" (policy {policy})"),
        unknown_growth_reason(case) if collapsed is None else None,
        knob_fix(case, Knob.KHUGEPAGED_SLEEP, _AN_HOUR_MS) if has_period else None,
    )


@check(
    id="ksm-scans",
    area=Area.MEMORY,
    question="Is kernel same-page merging (KSM) off?",
    severity=Severity.INFORMATION,
    severity_in={MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.KSM_RUN, "/proc/PID/schedstat of ksmd over the sample"),
    reads_counters=True,
    why=(
        "ksmd reads the memory of programs, which evicts cached data, and merges equal pages into one: the next write "
        "to such a page has to copy it again."
    ),
    remedy=(
        f"Write 0 to {Knob.KSM_RUN}: KSM stops, and merged pages remain merged. Writing 2 would copy all of them again."
    ),
    sources=("https://docs.kernel.org/admin-guide/mm/ksm.html",),
)
def ksm_scans(case: Case) -> Answer:
    run = case.snapshot.settings.knobs.integer(Knob.KSM_RUN)
    if run is None:
        return unread(case, Knob.KSM_RUN)
    share = _ksmd_share(case.interval)
    graded = case.graded(measured=run, evidence={"run": run, "ksmd_share": share})
    if run != 1:
        return graded.passes("off")
    fix = knob_fix(case, Knob.KSM_RUN, 0)
    if share == 0:
        return graded.warns("on, but ksmd had nothing to do", fix=fix)
    return graded.fails("on" if share is None else f"on, and took {share:.1%} of a CPU", fix=fix)


def _ksmd_share(interval: Interval | None) -> float | None:
    """Return ksmd's share of one CPU in the interval, or None if ksmd was not observed."""
    tasks = interval.after.tasks if interval is not None else None
    if (
        interval is None
        or tasks is None
        or not any(_is_ksmd(task.name, task.is_kernel) for task in tasks.by_tid.values())
    ):
        return None
    return sum(run.ran_ns for run in interval.runs if _is_ksmd(run.name, run.is_kernel)) / interval.length_ns


def _is_ksmd(name: str, is_kernel: bool) -> bool:
    return is_kernel and name == "ksmd"


_UNMAPPED = Limit(
    key="fails",
    name="pages unmapped by NUMA balancing",
    value=0,
    unit="pages",
    reason="the next access to an unmapped page causes a page fault",
)


@check(
    id="numa-balancing-runs",
    area=Area.MEMORY,
    question="Is automatic NUMA balancing off?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    severity_in={STRICT: Severity.BLOCKING},
    reads=(Knob.NUMA_BALANCING, f"{NODES}/nodeN/cpulist", f"{VMSTAT} (numa_pte_updates)"),
    limits=(_UNMAPPED,),
    reads_counters=True,
    why=(
        "On several NUMA nodes the kernel unmaps pages to see which node uses them, then moves pages and threads "
        "closer to each other: page faults come at unpredictable times, and memory is nearer in one run than in the "
        "next."
    ),
    remedy="Switch NUMA balancing off, and bind the benchmark and its memory to one node.",
    sources=("https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",),
    covers_calibration=True,
)
def numa_balancing_runs(case: Case) -> Answer:
    mode = case.snapshot.settings.knobs.integer(Knob.NUMA_BALANCING)
    if mode is None:
        return unread(case, Knob.NUMA_BALANCING)
    numbers, unmapped = nodes(case), total_vmstat_growth(case, "numa_pte_updates")
    evidence = {"mode": mode, "nodes": sorted(numbers) if numbers is not None else None, "pages_unmapped": unmapped}
    observed = case.graded(evidence=evidence)
    if mode == 0:
        return observed.passes("off", measured=mode)
    fix, graded = knob_fix(case, Knob.NUMA_BALANCING, 0), observed.by(_UNMAPPED, unmapped)
    if unmapped is not None and unmapped > case.bound(_UNMAPPED):
        pages = f"{describe_count(unmapped, 'page')} {'was' if unmapped == 1 else 'were'}"
        return graded.fails(f"{pages} unmapped by NUMA balancing", fix=fix)
    if numbers is None:
        return case.unread(NODES)
    if len(numbers) < 2:
        return not_applicable("there is only one memory node")
    text = f"on, with {len(numbers)} nodes" + ("; no page was unmapped" if unmapped is not None else "")
    reason = unknown_growth_reason(case) if unmapped is None and case.intervals else None
    return graded.warns(text, reason=reason, fix=fix)


_DIRTY_PASSES = Limit(
    key="passes",
    name="unwritten data that passes",
    value=51_200,
    unit="kB",
    reason="most disks write this much within a second",
)
_DIRTY_FAILS = Limit(
    key="fails",
    name="unwritten share of memory that fails",
    value=0.05,
    unit="share",
    reason="half of the share at which the kernel starts writing",
)


@check(
    id="dirty-pages-pending",
    area=Area.MEMORY,
    question="Has all file data been written to disk?",
    severity=Severity.INFORMATION,
    severity_in={IO: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{MEMINFO} (Dirty, Writeback, MemTotal)",),
    limits=(_DIRTY_PASSES, _DIRTY_FAILS),
    reads_counters=True,
    why=(
        "Files that a build or an earlier run wrote go to disk within half a minute: kernel threads, on any CPU of "
        "the workqueue mask, and disk interrupts do this work while the benchmark runs."
    ),
    remedy="Run sync before the benchmark.",
    sources=(
        "https://docs.kernel.org/filesystems/proc.html#meminfo",
        "https://docs.kernel.org/admin-guide/sysctl/vm.html",
    ),
)
def dirty_pages_pending(case: Case) -> Answer:
    sizes = case.snapshot.background.memory.kb_by_name or {}
    dirty, writeback, total = (sizes.get(name) for name in ("Dirty", "Writeback", "MemTotal"))
    if dirty is None or writeback is None or not total:
        return case.unread(MEMINFO)
    pending = dirty + writeback
    graded = case.graded(evidence={"dirty_kb": dirty, "writeback_kb": writeback, "total_kb": total})
    text = f"{pending / 1024:.0f} MB are not yet written to disk"
    if pending <= case.bound(_DIRTY_PASSES):
        return graded.by(_DIRTY_PASSES, pending).passes(text)
    fix = Fix((Run((("sync",),), as_root=False),), needs_root=False)
    if pending > total * case.bound(_DIRTY_FAILS):
        return graded.by(_DIRTY_FAILS, pending / total).fails(text, fix=fix)
    return graded.by(_DIRTY_PASSES, pending).warns(text, fix=fix)


_BINDING = frozenset({"bind"})  # the only policy that never falls back to other nodes
_UNBOUND = frozenset({"default", "local"})


@check(
    id="memory-from-other-nodes",
    area=Area.MEMORY,
    question="Does the benchmark's memory come only from the node of the target CPUs?",
    severity=Severity.WARNING,
    reads=(
        f"{HAS_MEMORY}, {NODES}/nodeN/cpulist",
        f"{STATUS} (Mems_allowed_list)",
        f"{QUESTION}: /proc/self/numa_maps",
    ),
    why=(
        "By default memory comes from the node of the CPU that touches it first or, once that node is full (for "
        "example of cached files), from another. Memory of another node is slower by half or more, and the node "
        "differs from run to run."
    ),
    remedy=(
        "Start the benchmark with `noisewatch run --membind auto`, or with numactl --membind; or restrict its "
        "cgroup to the node (cpuset.mems)."
    ),
    sources=(
        "https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html",
        "https://docs.kernel.org/admin-guide/mm/numaperf.html",
    ),
    asks_starter=True,
)
def memory_from_other_nodes(case: Case) -> Answer:
    settings = case.snapshot.settings
    if HAS_MEMORY in case.snapshot.reason_by_path:
        return case.unread(HAS_MEMORY)
    with_memory = settings.nodes_with_memory or settings.memory_nodes  # some nodes may have no memory
    if with_memory is None:
        is_without_numa = Knob.ZONE_RECLAIM in settings.knobs.absent
        return not_applicable("a kernel without NUMA") if is_without_numa else case.unread(NODES)
    if len(with_memory) == 1:
        return not_applicable("one memory node")
    if not case.target:
        return unknown(NO_TARGET)
    own, unplaced = _nodes_of_target(case)
    if unplaced:
        return case.unread(NODES, f"{CPUS}/cpu{min(unplaced)}")
    if len(own) > 1:
        return not_applicable(f"the target CPUs are on several nodes, {format_cpu_list(own)} (target-cpus-far-apart)")
    allowed = settings.own.allowed_memory_nodes
    if allowed is None:
        return case.unread(STATUS)
    return _judge(case, own, allowed & with_memory, settings.own.memory_policy)


def _judge(case: Case, own: CpuSet, allowed: CpuSet, policy: MemoryPolicy | None) -> Answer:
    """Return the answer for the memory nodes that cpuset and memory policy allow."""
    location = f"{name_cpus(case.target)} on node {format_cpu_list(own)}"
    graded = case.graded(
        evidence={
            "target_nodes": sorted(own),
            "allowed_nodes": sorted(allowed),
            "policy": None if policy is None else policy.mode,
            "policy_nodes": None if policy is None else sorted(policy.nodes),
        }
    )
    if allowed == own:
        return graded.passes(f"memory comes from node {format_cpu_list(own)} alone")
    if policy is None:
        return case.unread(QUESTION)
    usable = policy.nodes & allowed if policy.mode in _BINDING else allowed
    if usable == own:
        return graded.passes(f"memory is bound to node {format_cpu_list(own)}")
    return graded.warns(f"{location}, {_describe_policy(usable, policy, own)}", cpus=case.target)


def _describe_policy(usable: CpuSet, policy: MemoryPolicy, own: CpuSet) -> str:
    advice = f"(numactl --membind={cpu_list_argument(own)}, or noisewatch run --membind auto)"
    if policy.mode in _UNBOUND:
        nodes = f"node{'' if len(usable) == 1 else 's'} {format_cpu_list(usable)}"
        return f"memory from {nodes}, not bound to any {advice}"
    listed = f"{policy.mode}:{format_cpu_list(policy.nodes)}"
    return f"memory follows the inherited policy {listed} {advice}"


def _nodes_of_target(case: Case) -> tuple[CpuSet, CpuSet]:
    """Return the nodes of the target CPUs, and the target CPUs whose node is unknown."""
    places = {cpu: case.snapshot.topology.get(cpu) for cpu in case.target}
    nodes = {cpu: place.node if place is not None else None for cpu, place in places.items()}
    unplaced = frozenset(cpu for cpu, node in nodes.items() if node is None)
    return frozenset(node for node in nodes.values() if node is not None), unplaced
