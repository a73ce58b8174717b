"""Area `clock`: what timestamps cost and how steady they are."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import BootOptions
from noisewatch.judgement.grading import MICROBENCHMARK, grade_worst_cpu
from noisewatch.judgement.rules import LATENCY
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.system.clock import AVAILABLE, CURRENT, QUESTION

_FAST = frozenset(
    {
        "tsc",  # x86
        "arch_sys_counter",  # ARM
        "timebase",  # POWER
        "riscv_clocksource",
        "tod",  # s390
        "stp",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "xen",
    }
)
_PARAVIRTUAL = frozenset({"kvm-clock", "hyperv_clocksource_tsc_page", "xen"})
_SLOW = frozenset({"hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit", "hyperv_clocksource_msr"})


@check(
    id="slow-clock-source",
    area="clock",
    question="Is the clock source the fast and steady one of this platform?",
    severity=Severity.WARNING,
    reads=(CURRENT, AVAILABLE),
    why=(
        "hpet and acpi_pm take about a microsecond a reading and a system call each time; jiffies tick every few "
        "milliseconds. The kernel falls back to them when it finds the processor's counter unsteady."
    ),
    remedy="Choose the processor's counter again, after finding out in the kernel's log why it was given up.",
    sources=("https://docs.kernel.org/timers/timekeeping.html",),
    severity_in={LATENCY: Severity.BLOCKING},
)
def slow_clock_source(case: Case) -> Answer:
    clock = case.snapshot.settings.clock_source
    if clock.current is None:
        return unknown(case.why_unknown(CURRENT))
    available = clock.available or ()
    evidence = {"current": clock.current, "available": None if clock.available is None else list(available)}
    better = "tsc" if "tsc" in available and clock.current != "tsc" else None
    fix = Fix((write(CURRENT, better, clock.current),), (BootOptions("clocksource=tsc"),)) if better else None
    if clock.current in _SLOW:
        return Answer(Status.FAIL, f"{clock.current} is slow to read", evidence=evidence, fix=fix)
    if clock.current in _PARAVIRTUAL and better:
        return Answer(Status.WARN, f"{clock.current}, though tsc is available", evidence=evidence, fix=fix)
    if clock.current not in _FAST:
        return Answer(Status.WARN, f"{clock.current} is not known to be fast", evidence=evidence, fix=fix)
    return Answer(Status.PASS, clock.current, evidence=evidence)


_READING_PASSES = Limit(
    key="passes",
    name="a reading of the clock that passes",
    value=150,
    unit="ns",
    reason="vDSO, with a hypervisor's scaling",
)
_READING_FAILS = Limit(
    key="fails", name="a reading of the clock that fails", value=1_000, unit="ns", reason="a system call each time"
)
_PYTHON_PASSES = Limit(
    key="python-passes",
    name="a reading by the interpreter that passes",
    value=400,
    unit="ns",
    reason="the call from Python takes 100 to 300 ns",
)
_PYTHON_FAILS = Limit(
    key="python-fails",
    name="a reading by the interpreter that fails",
    value=2_000,
    unit="ns",
    reason="the call from Python, and a system call",
)


@check(
    id="slow-clock-reading",
    area="clock",
    question="Is reading the clock cheap?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: turns of the loop that reads CLOCK_MONOTONIC",),
    limits=(_READING_PASSES, _READING_FAILS, _PYTHON_PASSES, _PYTHON_FAILS),
    why=(
        "A benchmark reads the clock at least twice. Where that is a system call (by the clock source, or in a "
        "sandbox) it costs a microsecond, and varies with everything that the kernel does."
    ),
    remedy="Choose the processor's counter as clock source; leave the sandbox; time longer pieces of work.",
    sources=("https://man7.org/linux/man-pages/man7/vdso.7.html",),
    asks_calibration=True,
)
def slow_clock_reading(case: Case) -> Answer:
    is_native = case.calibrated is None or case.calibrated.calibration.samples.is_native
    passes, fails = (_READING_PASSES, _READING_FAILS) if is_native else (_PYTHON_PASSES, _PYTHON_FAILS)
    by = "" if is_native else " from Python"
    return grade_worst_cpu(
        case,
        lambda figures: figures.clock_ns,
        passes,
        fails,
        f"{{value:.0f}} ns a reading{by} (CPU {{cpu}})",
        "the loop did not turn once",
    )


_INVARIANT = frozenset({"constant_tsc", "nonstop_tsc"})


@check(
    id="tsc-not-invariant",
    area="clock",
    question="Does the processor's counter run at one rate, asleep and awake?",
    severity=Severity.INFORMATION,
    reads=(f"{CPUINFO} (flags constant_tsc and nonstop_tsc)",),
    why=(
        "Timers that read the time stamp counter themselves are wrong where it follows the clock or stops in deep "
        "sleep. The kernel then gives it up as clock source, and keeps the tick on nohz_full CPUs."
    ),
    remedy="None but another processor; in a virtual machine, ask its host to show the flag (invtsc).",
    sources=("https://docs.kernel.org/virt/kvm/x86/timekeeping.html",),
)
def tsc_not_invariant(case: Case) -> Answer:
    flags = case.snapshot.platform.tsc_flags
    if flags is None:
        return unknown(case.why_unknown(CPUINFO))
    if isinstance(flags, str):
        return not_applicable("only x86 has this counter")
    evidence = {"flags": sorted(flags)}
    missing = sorted(_INVARIANT - flags)
    if missing:
        return Answer(Status.FAIL, f"{' and '.join(missing)} missing", evidence=evidence)
    return Answer(Status.PASS, "constant, and does not stop", evidence=evidence)


_STEERING = Limit(
    key="fails",
    name="slew of the clock",
    value=500,
    unit="ppm",
    reason="what the kernel itself allows a time server's daemon",
)


@check(
    id="clock-steered",
    area="clock",
    question="Is the clock not being slewed?",
    severity=Severity.INFORMATION,
    reads=(QUESTION,),
    limits=(_STEERING,),
    why=(
        "To make up for an offset, time daemons slew the clocks, CLOCK_MONOTONIC too, chrony by up to 8 %: what "
        "is measured in that time is longer or shorter than it was."
    ),
    remedy="Wait until the clock is synchronised (chronyc tracking), or step it once before the benchmark.",
    sources=("https://man7.org/linux/man-pages/man2/adjtimex.2.html", "https://chrony-project.org/documentation.html"),
)
def clock_steered(case: Case) -> Answer:
    rate = case.snapshot.settings.clock_rate
    if rate is None:
        return unknown(case.why_unknown(QUESTION))
    deviation, limit = rate.deviation_ppm, case.bound(_STEERING)
    evidence = {"deviation_ppm": deviation, "is_synchronised": rate.is_synchronised}
    said = f"slewed by {deviation:+.0f} ppm"
    status = Status.FAIL if abs(deviation) > limit else Status.PASS
    return Answer(status, said, measured=abs(deviation), limit=limit, unit="ppm", evidence=evidence)
