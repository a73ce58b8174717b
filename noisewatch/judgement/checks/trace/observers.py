"""Area `kernel`: profilers, agents, filters, tracers and statistics that observe the machine during the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.answer import Answer, Limit, not_applicable, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import uncounted_reason
from noisewatch.judgement.fixes.actions import Setting, StopEvents, Write
from noisewatch.judgement.fixes.fix import ByHand, Fix, write_for_good
from noisewatch.judgement.grading import by_cpu, setting_of, unread
from noisewatch.judgement.programs import as_culprits, passes_if_visible, running, unseen_reason
from noisewatch.judgement.rules import IO, LATENCY, STRICT
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.interrupts.table import counts_overflows
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.machine_lock import Owner
from noisewatch.kernel.tasks.own_process import STATUS
from noisewatch.kernel.tasks.task import Task
from noisewatch.kernel.trace.active import FOLDER as TRACING
from noisewatch.kernel.trace.active import NO_TRACER, PROFILE, Maker, TraceInstance
from noisewatch.text import clean
from noisewatch.units import describe_names

_MAX_NAMED = 3

PROFILERS = frozenset(
    {
        *("perf", "perf_5.10", "perf_6.1", "asprof", "async-profiler", "samply", "py-spy", "rbspy", "parca-agent"),
        *("pyroscope", "ebpf-profiler", "pf-host-agent", "gprofiler", "bpftrace", "vtune", "amplxe-runss", "emon"),
        *("AMDuProfCLI", "AMDuProfPcm", "nsys", "operf", "oprofiled", "turbostat", "powertop", "trace-cmd", "sysdig"),
    }
)
_SAMPLES = Limit(
    key="fails",
    name="overflows of hardware counters on one target CPU",
    value=5.0,
    unit="per second",
    reason="the hard lockup watchdog causes one in about ten seconds, a profiler a hundred or more a second",
)


def _running_text(tasks: list[Task]) -> str:
    names = describe_names([f"{task.name} (pid {task.pid})" for task in tasks], _MAX_NAMED)
    return f"{names} {'runs' if len(tasks) == 1 else 'run'}"


@check(
    id="profiler-runs",
    area=Area.KERNEL,
    question="Is the machine free of running profilers?",
    severity=Severity.WARNING,
    reads=("/proc/PID/stat", "/proc/interrupts (PMI) over the sample and the calibration", Knob.PERF_SAMPLE_RATE),
    limits=(_SAMPLES,),
    reads_counters=True,
    why="A profiler interrupts the CPUs that it samples a hundred to several thousand times a second.",
    remedy="Stop the profiler, or exclude the target CPUs from it.",
    sources=("https://docs.kernel.org/admin-guide/perf-security.html", "https://perfwiki.github.io/main/tutorial/"),
    covers_calibration=True,
)
def profiler_runs(case: Case) -> Answer:
    profilers, rate_by_cpu = running(case, PROFILERS), _sampling_rates(case)
    highest_rate = case.snapshot.settings.knobs.integer(Knob.PERF_SAMPLE_RATE)
    evidence = {"samples_per_s_by_cpu": by_cpu(rate_by_cpu), Knob.PERF_SAMPLE_RATE.value: highest_rate}
    graded = case.graded(evidence=evidence).by(_SAMPLES, max(rate_by_cpu.values(), default=None))
    sampled: CpuSet = frozenset(cpu for cpu, rate in rate_by_cpu.items() if rate > case.bound(_SAMPLES))
    if sampled or profilers:
        rates = [f"CPU {cpu} is sampled {rate_by_cpu[cpu]:.0f} times a second" for cpu in sorted(sampled)]
        text = "; ".join([*rates, *([_running_text(profilers)] if profilers else [])])
        return graded.fails(text, cpus=sampled, culprits=as_culprits(profilers))
    reason = unseen_reason(case)
    if reason is not None:
        return unknown(reason)
    reasons = [reason for interval in case.intervals if (reason := uncounted_reason(case, interval, case.target))]
    if reasons:
        return unknown(reasons[0])
    return graded.passes("no profiler with a known name runs, and no target CPU is sampled")


def _sampling_rates(case: Case) -> dict[int, float]:
    """Return the worst rate of performance counter overflows by target CPU; empty if no such interrupts are counted."""
    rates: dict[int, float] = {}
    for interval in case.intervals:
        for row in interval.interrupts.rows or ():
            for cpu in case.target & row.count_by_cpu.keys() if counts_overflows(row.label, row.description) else ():
                rates[cpu] = max(rates.get(cpu, 0.0), row.count_by_cpu[cpu] / interval.seconds)
    return dict(sorted(rates.items()))


_AGENTS = frozenset(
    {
        *("auditd", "auditbeat", "falco", "falcon-sensor", "falcon-sensor-b", "osqueryd", "tetragon", "tracee"),
        *("wazuh-agentd", "wazuh-syscheckd", "ossec-syscheckd", "wdavdaemon", "mdatp", "ds_agent", "ds_am", "cbagentd"),
        *(
            "s1-agent",
            "sentinelone-agent",
            "sysmon",
            "clamonacc",
            "fapolicyd",
            "xagt",
            "elastic-endpoint",
            "sisidsdaemon",
        ),
    }
)


@check(
    id="security-agent-runs",
    area=Area.KERNEL,
    question="Is the machine free of security agents?",
    severity=Severity.INFORMATION,
    severity_in={IO: Severity.WARNING, LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=("/proc/PID/stat",),
    reads_counters=True,
    why=(
        "Audit and similar hooks run at every system call, or whenever a file is opened or a program starts. The "
        "agent processes these events, and scans files, at unpredictable times."
    ),
    remedy="Measure on a machine without the agent, or have its owner switch it off during the benchmark.",
    sources=("https://man7.org/linux/man-pages/man8/auditctl.8.html",),
)
def security_agent_runs(case: Case) -> Answer:
    agents = running(case, _AGENTS)
    if agents:
        graded = case.graded(evidence={"pid_by_name": {task.name: task.pid for task in agents}})
        return graded.fails(_running_text(agents), culprits=as_culprits(agents))
    return passes_if_visible(case, "no agent with a known name runs")


_FILTERS = 2


@check(
    id="system-calls-filtered",
    area=Area.KERNEL,
    question="Do system calls reach the kernel unfiltered?",
    severity=Severity.INFORMATION,
    reads=(STATUS,),
    why=(
        "Containers and sandboxes run a filter (seccomp) on each system call, which a benchmark started here "
        "inherits. Its results are not comparable with results that were measured outside."
    ),
    remedy="If a container does not need the filter, start it with --security-opt seccomp=unconfined.",
    sources=("https://docs.kernel.org/userspace-api/seccomp_filter.html",),
    asks_starter=True,
)
def system_calls_filtered(case: Case) -> Answer:
    mode = case.snapshot.settings.own.seccomp_mode
    if mode is None:
        return case.unread(STATUS)
    graded = case.graded(measured=mode, evidence={"seccomp_mode": mode})
    if mode == _FILTERS:
        return graded.fails("a seccomp filter checks this process's system calls")
    return graded.passes("no seccomp filter is set")


# Events of hardware errors: rasdaemon keeps them enabled as long as a server is up.
_RARE_EVENTS = (
    *("ras:", "mce:", "cxl:", "devlink:devlink_health_report", "block:block_rq_error"),
    *("net:net_dev_xmit_timeout", "thermal:thermal_zone_trip"),
)


@check(
    id="kernel-traced",
    area=Area.KERNEL,
    question="Are kernel tracers and trace events off?",
    severity=Severity.WARNING,
    reads=(
        f"{TRACING}/current_tracer",
        f"{TRACING}/set_event",
        f"{TRACING}/{PROFILE}",
        f"{TRACING}/instances/*",
        Knob.STACK_TRACER,
    ),
    why=(
        "Each traced function and each event costs 0.1 to 1 µs wherever it occurs, also on the target CPUs, and even "
        "if no program reads the trace."
    ),
    remedy="Stop the tracing program, or switch off the tracers and events that it left on.",
    sources=("https://docs.kernel.org/trace/ftrace.html", "https://docs.kernel.org/trace/events.html"),
)
def kernel_traced(case: Case) -> Answer:
    instances, knobs = case.snapshot.settings.kernel.tracing.instances, case.snapshot.settings.knobs
    stack_tracer = 0 if Knob.STACK_TRACER in knobs.absent else knobs.integer(Knob.STACK_TRACER)
    by_instance = {
        clean(instance.folder): {
            "tracer": instance.tracer,
            "events": None if instance.events is None else len(instance.events),
        }
        for instance in instances or ()
    }
    graded = case.graded(evidence={**by_instance, "stack_tracer": stack_tracer})
    active = [
        instance
        for instance in instances or ()
        if _tracer_of(instance) or _events_of(instance) or instance.is_profiling
    ]
    foreign = [instance for instance in active if instance.maker is None]
    own_pids = case.snapshot.own_pids
    others = (maker for instance in active if (maker := instance.maker))
    makers = [maker for maker in others if maker.is_alive is not True or maker.owner.pid not in own_pids]
    if foreign or stack_tracer or makers:
        texts = [f"{clean(instance.folder)}: {_describe_traced(instance)}" for instance in foreign]
        texts += ["the stack tracer measures the stack in each function"] if stack_tracer else []
        fix = _stop_tracing(case, foreign, bool(stack_tracer)) if texts else None
        return graded.fails("; ".join([*texts, *_other_noisewatches(makers)]), fix=fix)
    if instances is None:
        return case.unread(TRACING)
    if not instances:
        return not_applicable("this kernel has no tracing")
    unreadable = next(
        (instance for instance in instances if None in (instance.tracer, instance.events, instance.is_profiling)), None
    )
    if unreadable is not None:
        paths = [f"{unreadable.folder}/{name}" for name in ("current_tracer", "set_event", PROFILE)]
        return case.unread(*paths, unreadable.folder)
    if stack_tracer is None:
        return unread(case, Knob.STACK_TRACER)
    return graded.passes("no other program traces more than rare events")


def _other_noisewatches(makers: Iterable[Maker]) -> Iterator[str]:
    """Yield text on each other noisewatch, with the CPUs that it traces.

    One of its ring buffers covers all CPUs, so only the CPUs that all of its buffers cover are named.
    """
    makers_by_owner: dict[Owner, list[Maker]] = {}
    for maker in makers:
        makers_by_owner.setdefault(maker.owner, []).append(maker)
    for owner, own in makers_by_owner.items():
        cpus = frozenset.intersection(*(maker.cpus or frozenset() for maker in own))
        traces = f"traces {name_cpus(cpus)}" if cpus else "traces"
        is_alive = own[0].is_alive
        if is_alive is False:
            yield f"a killed noisewatch (pid {owner.pid}) still {traces}: the next one started as root stops it"
            continue
        where = "" if is_alive else " in a PID namespace of its own"
        yield f"another noisewatch (pid {owner.pid}{where}) {traces}: end it, or wait"


def _tracer_of(instance: TraceInstance) -> str | None:
    return instance.tracer if instance.tracer != NO_TRACER else None


def _events_of(instance: TraceInstance) -> list[str]:
    return [event for event in instance.events or () if not event.startswith(_RARE_EVENTS)]


def _describe_traced(instance: TraceInstance) -> str:
    tracer, events = _tracer_of(instance), _events_of(instance)
    more = f" and {len(events) - _MAX_NAMED} more" if len(events) > _MAX_NAMED else ""
    traced = [f"tracer {tracer}"] if tracer else []
    traced += ["the profile of all functions"] if instance.is_profiling else []
    return ", ".join(traced + events[:_MAX_NAMED]) + more


def _stop_tracing(case: Case, instances: list[TraceInstance], has_stack_tracer: bool) -> Fix:
    settings: list[Setting] = []
    for instance in instances:
        tracer = _tracer_of(instance)
        settings += [Setting(f"{instance.folder}/current_tracer", NO_TRACER, tracer)] if tracer is not None else []
        settings += [Setting(f"{instance.folder}/{PROFILE}", "0", "1")] if instance.is_profiling else []
    settings += [setting_of(case, Knob.STACK_TRACER, 0)] if has_stack_tracer else []
    events = {instance.folder: _events_of(instance) for instance in instances}
    stopped = (StopEvents(f"{folder}/set_event", tuple(own)) for folder, own in events.items() if own)
    return Fix((Write(tuple(settings)), *stopped), (ByHand("stop the program that switches tracing on"),))


_STATISTICS = (Knob.SCHEDULER_STATISTICS, Knob.DELAY_ACCOUNTING, Knob.BPF_STATISTICS)


@check(
    id="kernel-statistics-collected",
    area=Area.KERNEL,
    question="Are the kernel's optional statistics off?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=_STATISTICS,
    why=(
        "Statistics of the scheduler, of delays and of BPF programs read the clock at each context switch, or each "
        "time that a BPF program runs: the same code is slower than on a machine without them."
    ),
    remedy="Switch off statistics that are not needed.",
    sources=("https://docs.kernel.org/admin-guide/sysctl/kernel.html",),
)
def kernel_statistics_collected(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    values = {knob: knobs.integer(knob) for knob in _STATISTICS if knob not in knobs.absent}
    if not values:
        return not_applicable("this kernel has no such statistics")
    graded = case.graded(evidence={knob.value: value for knob, value in values.items()})
    collected = [knob for knob, value in values.items() if value]
    if collected:
        verb = "is" if len(collected) == 1 else "are"
        text = f"{', '.join(knob.rsplit('/', 1)[1] for knob in collected)} {verb} on"
        fix = write_for_good(Write(tuple(setting_of(case, knob, 0) for knob in collected)))
        return graded.fails(text, fix=fix)
    unreadable = [knob for knob, value in values.items() if value is None]
    return unread(case, unreadable[0]) if unreadable else graded.passes("all are off")
