"""Area `process`: what a benchmark inherits from the shell that starts it."""

from __future__ import annotations

from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.answer import Answer, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import knob_fix, unread
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import (
    ENVIRONMENT,
    LIMITS,
    NAMESPACE,
    NO_RANDOMISATION,
    PERSONALITY,
    STATUS,
    UNLIMITED,
)
from noisewatch.kernel.trace.active import EVENT_SOURCES, counters_among

_FULL = 2


@check(
    id="layout-not-random",
    area=Area.PROCESS,
    question="Is the address layout randomized for each run?",
    severity=Severity.WARNING,
    reads=(Knob.ADDRESS_RANDOMISATION, PERSONALITY),
    why=(
        "Speed depends on where code, stack and heap are placed. With a fixed layout all runs share the same luck, "
        "and a change that merely moves code looks like an improvement; with random layouts, many runs average the "
        "effect out."
    ),
    remedy=(
        "Leave randomization on, and start the program many times. For a fixed layout, as when counting instructions, "
        "start the program with `setarch -R` and ignore this check."
    ),
    sources=(
        "https://docs.kernel.org/admin-guide/sysctl/kernel.html#randomize-va-space",
        "https://doi.org/10.1145/1508244.1508275",
    ),
    asks_starter=True,
)
def layout_not_random(case: Case) -> Answer:
    level = case.snapshot.settings.knobs.integer(Knob.ADDRESS_RANDOMISATION)
    personality = case.snapshot.settings.own.personality
    evidence = {Knob.ADDRESS_RANDOMISATION.value: level, "personality": personality}
    graded = case.graded(measured=level, evidence=evidence)
    if level is not None and level < _FULL:
        text = "address layouts are fixed" if level == 0 else "the heap always follows the program"
        return graded.warns(text, fix=knob_fix(case, Knob.ADDRESS_RANDOMISATION, _FULL))
    if personality is not None and personality & NO_RANDOMISATION:
        return graded.warns("programs started from here have a fixed layout (setarch -R)")
    if level is None:
        return unread(case, Knob.ADDRESS_RANDOMISATION)
    if personality is None:
        return case.unread(PERSONALITY)
    return graded.passes("address layouts are random")


_HARMLESS = frozenset({"PYTHONHASHSEED"})  # variables that are listed, but do not cause a warning
_INJECTS = frozenset({"LD_PRELOAD", "LD_AUDIT"})


@check(
    id="environment-alters-programs",
    area=Area.PROCESS,
    question="Is the environment free of variables that change how programs run?",
    severity=Severity.INFORMATION,
    reads=("names and size of the environment of noisewatch",),
    why=(
        "A preloaded library or a tuned allocator changes results in this shell only. Even the size of the "
        "environment moves the stack, which changes timings."
    ),
    remedy="Start the benchmark with `env -i`, or report the variables with the results.",
    sources=(
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
        "https://man7.org/linux/man-pages/man3/mallopt.3.html",
        "https://doi.org/10.1145/1508244.1508275",
    ),
    asks_starter=True,
)
def environment_alters_programs(case: Case) -> Answer:
    environment = case.snapshot.settings.own.environment
    if environment is None:
        return case.unread(ENVIRONMENT)
    graded = case.graded(evidence={"set": list(environment.names), "size_bytes": environment.size_bytes})
    altering = [name for name in environment.names if name not in _HARMLESS]
    size = f"the environment takes {environment.size_bytes} bytes"
    if altering:
        severity = Severity.WARNING if _INJECTS.intersection(altering) else None
        return graded.warns(f"{', '.join(altering)} set; {size}", severity=severity)
    also = f"; {', '.join(environment.names)} set" if environment.names else ""
    return graded.passes(size + also)


@check(
    id="process-traced",
    area=Area.PROCESS,
    question="Is this process free of debuggers and tracers?",
    severity=Severity.WARNING,
    reads=(f"{STATUS} (TracerPid)",),
    reads_counters=True,
    why=(
        "A traced process stops at each signal, and under strace at each system call, until its tracer has handled it: "
        "microseconds each time."
    ),
    remedy="Quit the debugger, or start the benchmark without strace.",
    sources=("https://man7.org/linux/man-pages/man2/ptrace.2.html",),
    asks_starter=True,
)
def process_traced(case: Case) -> Answer:
    status = case.snapshot.settings.own.status
    if status is None:
        return case.unread(STATUS)
    graded = case.graded(evidence={"tracer_pid": status.tracer_pid})
    if status.tracer_pid == 0:
        return graded.passes("not traced")
    tracer = case.tasks_by_tid.get(status.tracer_pid)
    name = f"{tracer.name} (pid {tracer.pid})" if tracer is not None else f"pid {status.tracer_pid}"
    return graded.fails(f"traced by {name}", measured=status.tracer_pid)


_CPU_TIME, _STACK = "Max cpu time", "Max stack size"
_SPACE = ("Max address space", "Max data size")


@check(
    id="resources-limited",
    area=Area.PROCESS,
    question="Are CPU time and memory unlimited, and is the stack limited?",
    severity=Severity.INFORMATION,
    reads=(LIMITS,),
    why=(
        "A CPU time limit kills a long run; a memory limit makes allocations fail. With an unlimited stack the kernel "
        "lays out memory bottom-up, unlike on most machines."
    ),
    remedy=(
        "Change the limits in the shell that starts the benchmark: `ulimit -t unlimited -v unlimited -d unlimited`, "
        "and `ulimit -s 8192` for the stack."
    ),
    sources=("https://man7.org/linux/man-pages/man2/getrlimit.2.html",),
    asks_starter=True,
)
def resources_limited(case: Case) -> Answer:
    limits = case.snapshot.settings.own.limits
    if limits is None:
        return case.unread(LIMITS)
    asked = (_CPU_TIME, *_SPACE, _STACK)
    graded = case.graded(
        evidence={name: "unlimited" if limits.get(name) == UNLIMITED else limits.get(name) for name in asked}
    )
    faults = [f"{name}: {limits[name]:.0f}" for name in asked[:-1] if limits.get(name, UNLIMITED) != UNLIMITED]
    faults += [f"{_STACK}: unlimited"] if limits.get(_STACK) == UNLIMITED else []
    if faults:
        return graded.warns("; ".join(faults))
    missing = [name for name in asked if name not in limits]
    if missing:
        return unknown(f"{LIMITS}: no line {missing[0]!r}")
    return graded.passes("no unusual limits")


_FOR_ALL_USERS = 2  # users may count their own code, but not the kernel's
_CAN_COUNT = 1 << 38 | 1 << 21  # CAP_PERFMON, CAP_SYS_ADMIN


@check(
    id="hardware-counters-unusable",
    area=Area.PROCESS,
    question="Can the benchmark count instructions?",
    severity=Severity.INFORMATION,
    reads=(Knob.PERF_PARANOID, EVENT_SOURCES, f"{STATUS} (CapEff)", NAMESPACE),
    why=(
        "The number of instructions hardly varies, even when time does: it still shows a change on a machine that "
        "cannot be made quiet."
    ),
    remedy="Lower perf_event_paranoid to 2 or less; in a virtual machine, have the host expose the counters.",
    sources=(
        "https://docs.kernel.org/admin-guide/perf-security.html",
        "https://docs.kernel.org/admin-guide/sysctl/kernel.html#perf-event-paranoid",
    ),
    asks_starter=True,
)
def hardware_counters_unusable(case: Case) -> Answer:
    paranoia = case.snapshot.settings.knobs.integer(Knob.PERF_PARANOID)
    names, own = case.snapshot.settings.event_sources, case.snapshot.settings.own
    if paranoia is None:
        return unread(case, Knob.PERF_PARANOID)
    counters = None if names is None else counters_among(names)
    graded = case.graded(measured=paranoia, evidence={Knob.PERF_PARANOID.value: paranoia, "counters": counters})
    if counters is not None and not counters:
        return graded.warns("the processor's counters are not available")
    if paranoia > _FOR_ALL_USERS:
        if own.status is None or own.is_in_user_namespace is None:
            return case.unread(STATUS if own.status is None else NAMESPACE)
        if own.is_in_user_namespace or not own.status.capabilities & _CAN_COUNT:
            text = f"perf_event_paranoid is {paranoia}: only root may use the counters"
            return graded.warns(text, fix=knob_fix(case, Knob.PERF_PARANOID, _FOR_ALL_USERS))
    if counters is None:
        return case.unread(EVENT_SOURCES)
    return graded.passes(f"{', '.join(counters)} may be used")


@check(
    id="started-off-target",
    area=Area.PROCESS,
    question="Would a benchmark started here run on the target CPUs only?",
    severity=Severity.INFORMATION,
    reads=("the affinity that noisewatch was started with",),
    why=(
        "Unless it is pinned, a program runs wherever its shell may run, also on CPUs that were not judged, and the "
        "scheduler moves it between them. The scheduler never uses isolated CPUs by itself."
    ),
    remedy="Start the benchmark with taskset, or let it pin itself.",
    sources=("https://man7.org/linux/man-pages/man1/taskset.1.html",),
    asks_starter=True,
)
def started_off_target(case: Case) -> Answer:
    allowed = case.snapshot.own_affinity
    if allowed is None or not allowed:
        return case.unread(OWN_AFFINITY)
    graded = case.graded(evidence={"allowed": sorted(allowed)})
    if not case.target:
        return unknown(NO_TARGET)
    if allowed <= case.target:
        return graded.passes(f"programs started here run on {name_cpus(allowed)}")
    run = "also run" if allowed & case.target else "run"
    text = f"programs started here {run} on {name_cpus(allowed - case.target)}, unless they are pinned"
    pinned = f"taskset -c {cpu_list_argument(case.target)} COMMAND"
    fix = Fix(lasting=(ByHand(f"start the benchmark with: {pinned}"),), needs_root=False)
    return graded.warns(text, cpus=allowed - case.target, fix=fix)
