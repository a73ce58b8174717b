"""Area `clock`: what timestamps cost, how steady they are, and whether the clock has the rate of another clock."""

from __future__ import annotations

from noisewatch.judgement.answer import Answer, Limit, not_applicable, passing_and_failing, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import BootOptions, ByHand, Fix, boot_without
from noisewatch.judgement.grading import MICROBENCHMARK, grade_worst_cpu
from noisewatch.judgement.rules import LATENCY
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.system.clock import AVAILABLE, CURRENT, OFFSETS, QUESTION
from noisewatch.kernel.system.clock import QUESTION as CORRECTION
from noisewatch.kernel.system.log import UNSTABLE_CLOCK
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.reference_clock import PTP, RTC, ClockComparison, ClockRatio
from noisewatch.model.interval.clock_shift import STEP_NS, ClockShift, shift_between
from noisewatch.units import describe_ns

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
_FOR_THE_HOST = (
    "on the host: expose an invariant TSC (QEMU: -cpu host,migratable=off,+invtsc; libvirt: feature invtsc) or a clock "
    "for guests (kvm-clock); neither clocksource=tsc nor tsc=reliable in the guest helps"
)
_FOR_THE_FIRMWARE = (
    "find the reason (dmesg | grep -iE 'tsc|clocksource'), update firmware and kernel, and reboot; boot with "
    "tsc=reliable only if the other clock is wrong, as an hpet can be"
)
_SLOW = frozenset({"hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit", "hyperv_clocksource_msr"})


@check(
    id="slow-clock-source",
    area=Area.CLOCK,
    question="Is the platform's fast, stable clock source in use?",
    severity=Severity.WARNING,
    ground=Ground.INVALIDATES,
    reads=(CURRENT, AVAILABLE),
    why=(
        "Reading hpet or acpi_pm takes about a microsecond and a system call; jiffies only change every few "
        "milliseconds. The kernel falls back to them when it finds the processor's counter unstable."
    ),
    remedy=(
        "Find out in the kernel log why the kernel gave up the processor's counter, then select it again. If it is "
        "not among the available clock sources, the kernel refuses it: fix the cause of its instability or, in a "
        "virtual machine, have the host expose an invariant TSC."
    ),
    sources=(
        "https://docs.kernel.org/timers/timekeeping.html",
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        "https://www.qemu.org/docs/master/system/i386/cpu.html",
    ),
    severity_in={LATENCY: Severity.BLOCKING},
)
def slow_clock_source(case: Case) -> Answer:
    clock = case.snapshot.settings.clock_source
    if clock.current is None:
        return case.unread(CURRENT)
    available = clock.available or ()
    graded = case.graded(
        evidence={"current": clock.current, "available": None if clock.available is None else list(available)}
    )
    better = "tsc" if "tsc" in available and clock.current != "tsc" else None
    fix = Fix((write(CURRENT, better, clock.current),), (BootOptions("clocksource=tsc"),)) if better else None
    if clock.current in _SLOW:
        text = f"{clock.current} is slow to read"
        if available and not better and isinstance(case.snapshot.platform.tsc_flags, frozenset):
            reason, advice = _explain_missing_tsc(case, case.snapshot.platform.tsc_flags)
            text, fix = f"{text}; {reason}", Fix(lasting=(ByHand(advice, needs_reboot=True),), needs_root=False)
        return graded.fails(text, fix=fix)
    if clock.current in _PARAVIRTUAL and better:
        return graded.warns(f"{clock.current}, although tsc is available", fix=fix)
    if clock.current not in _FAST:
        return graded.warns(f"{clock.current} is not known to be fast", fix=fix)
    return graded.passes(clock.current)


def _explain_missing_tsc(case: Case, flags: frozenset[str]) -> tuple[str, str]:
    """Return why tsc is not available, and what to do about it.

    The kernel does not list an unstable clock source: __clocksource_unstable clears CLOCK_SOURCE_VALID_FOR_HRES, and
    available_clocksource_show skips sources without it (kernel/time/clocksource.c, Linux 6.12).
    """
    platform, log = case.snapshot.platform, case.snapshot.settings.kernel_log
    if "unstable" in (platform.options or {}).get("tsc", ()):
        return "the boot option tsc=unstable disables tsc", boot_without("tsc=unstable").words
    missing = " and ".join(sorted(_INVARIANT - flags))
    is_guest = platform.virtual not in (None, NONE)
    if is_guest or (missing and platform.virtual is None):
        exposed = f"the host exposes no invariant TSC ({missing} missing)" if missing else "tsc is not available"
        return exposed, _FOR_THE_HOST
    if missing:
        return f"tsc is not available: {missing} missing", "this processor has no invariant TSC: choose another machine"
    unstable = log.trouble_by_kind.get(UNSTABLE_CLOCK) if log is not None else None
    if unstable is None:
        return "tsc is not available: the kernel gave it up", _FOR_THE_FIRMWARE
    reasons = f" ({', '.join(unstable.culprits)})" if unstable.culprits else ""
    return f"the kernel marked tsc as unstable{reasons}", _FOR_THE_FIRMWARE


_READING_PASSES, _READING_FAILS = passing_and_failing(
    "time to read the clock",
    "ns",
    passes=(150, "a reading through the vDSO takes less, even with a hypervisor's scaling"),
    fails=(1_000, "a reading that takes longer is a system call"),
)
_PYTHON_PASSES, _PYTHON_FAILS = passing_and_failing(
    "time to read the clock from Python",
    "ns",
    passes=(400, "a call from Python adds 100 to 300 ns"),
    fails=(2_000, "a call from Python and a system call take less"),
    prefix="python-",
)


@check(
    id="slow-clock-reading",
    area=Area.CLOCK,
    question="Is reading the clock cheap?",
    severity=Severity.WARNING,
    reads=(f"{MICROBENCHMARK}: turns of the loop that reads CLOCK_MONOTONIC",),
    limits=(_READING_PASSES, _READING_FAILS, _PYTHON_PASSES, _PYTHON_FAILS),
    why=(
        "A benchmark reads the clock at least twice per sample. If a reading is a system call (because of the clock "
        "source, or in a sandbox) it costs about a microsecond, and varies with everything that the kernel does."
    ),
    remedy="Use the processor's counter as clock source, run outside the sandbox, or time longer pieces of work.",
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
        f"{{value:.0f}} ns per reading{by} (CPU {{cpu}})",
        "the loop did not complete one turn",
    )


_INVARIANT = frozenset({"constant_tsc", "nonstop_tsc"})


@check(
    id="tsc-not-invariant",
    area=Area.CLOCK,
    question="Does the time stamp counter (TSC) run at one rate, even in sleep?",
    severity=Severity.INFORMATION,
    reads=(f"{CPUINFO} (flags constant_tsc and nonstop_tsc)",),
    why=(
        "Programs that read the time stamp counter directly get wrong times if it follows the CPU's frequency or "
        "stops in deep sleep. The kernel then stops using it as clock source, and keeps the tick on nohz_full CPUs."
    ),
    remedy="Only another processor helps; in a virtual machine, have the host expose the flag (invtsc).",
    sources=("https://docs.kernel.org/virt/kvm/x86/timekeeping.html",),
)
def tsc_not_invariant(case: Case) -> Answer:
    flags = case.snapshot.platform.tsc_flags
    if flags is None:
        return case.unread(CPUINFO)
    if isinstance(flags, str):
        return not_applicable("only x86 has a TSC")
    graded = case.graded(evidence={"flags": sorted(flags)})
    missing = sorted(_INVARIANT - flags)
    if missing:
        return graded.fails(f"{' and '.join(missing)} missing")
    return graded.passes("constant and non-stop")


_STEERING = Limit(
    key="fails", name="slew of the clock", value=500, unit="ppm", reason="the kernel's own limit for time daemons"
)


@check(
    id="clock-steered",
    area=Area.CLOCK,
    question="Is the clock free of slewing?",
    severity=Severity.INFORMATION,
    reads=(QUESTION,),
    limits=(_STEERING,),
    why=(
        "To correct an offset, time daemons slew the clocks, including CLOCK_MONOTONIC (chrony by up to 8%): "
        "durations measured during a slew are too long or too short."
    ),
    remedy="Wait until the clock is synchronized (chronyc tracking), or step it once before the benchmark.",
    sources=("https://man7.org/linux/man-pages/man2/adjtimex.2.html", "https://chrony-project.org/documentation.html"),
)
def clock_steered(case: Case) -> Answer:
    rate = case.snapshot.settings.clock_rate
    if rate is None:
        return case.unread(QUESTION)
    deviation = rate.deviation_ppm
    graded = case.graded(evidence={"deviation_ppm": deviation, "is_synchronised": rate.is_synchronised})
    status = Status.FAIL if abs(deviation) > case.bound(_STEERING) else Status.PASS
    return graded.by(_STEERING, abs(deviation)).answer(status, f"slewed by {deviation:+.0f} ppm")


_LONG_S = 1_000
_STEP = Limit(
    key="fails",
    name="step of the clock",
    value=STEP_NS / 1e9,
    unit="s",
    reason="the clocks are read one after the other, so smaller differences prove nothing",
)


@check(
    id="clock-steps",
    area=Area.CLOCK,
    question="Did the clock run without steps and suspends?",
    severity=Severity.WARNING,
    reads=(f"{OFFSETS}: CLOCK_REALTIME and CLOCK_BOOTTIME",),
    limits=(_STEP,),
    why=(
        "A time daemon that steps the clock (at its start, or after a virtual machine was resumed) falsifies "
        "durations that are measured by the time of day. A suspend stops everything, and CLOCK_MONOTONIC with it."
    ),
    remedy="Time with CLOCK_MONOTONIC; wait until the clock is synchronized (chronyc waitsync); prevent suspends.",
    sources=(
        "https://man7.org/linux/man-pages/man2/clock_gettime.2.html",
        "https://chrony-project.org/doc/4.6/chrony.conf.html",
    ),
    asks_rates=True,
    sees_load=True,
    covers_calibration=True,
)
def clock_steps(case: Case) -> Answer:
    pairs = [(interval.before.clock_offsets, interval.after.clock_offsets) for interval in case.intervals]
    shifts = [shift_between(before, after) for before, after in pairs if before is not None and after is not None]
    limit = case.bound(_STEP)
    suspended_s = max((shift.suspended_ns / 1e9 for shift in shifts), default=0.0)
    stepped_s = max((_set_s(shift) for shift in shifts), key=abs, default=0.0)
    worst_s = max(abs(stepped_s), suspended_s)
    graded = case.graded(evidence={"stepped_s": stepped_s, "suspended_s": suspended_s}).by(_STEP, worst_s)
    if worst_s > limit:
        return graded.fails(_describe_clocks(stepped_s, suspended_s, limit))
    if len(shifts) < len(pairs):
        return case.unread(OFFSETS)
    return graded.passes("the time of day was not set, and the machine was not suspended")


def _set_s(shift: ClockShift) -> float:
    """Return by how much (s) the time of day was set. A suspend, which advances CLOCK_BOOTTIME, does not count."""
    return (shift.stepped_ns - max(shift.suspended_ns, 0)) / 1e9


def _describe_clocks(stepped_s: float, suspended_s: float, limit: float) -> str:
    direction = "forward" if stepped_s > 0 else "back"
    stepped = f"the time of day was set {direction} by {_length(abs(stepped_s))}"
    suspended = f"the machine was suspended for {_length(suspended_s)}"
    events = [event for event, s in ((stepped, abs(stepped_s)), (suspended, suspended_s)) if s > limit]
    return ", and ".join(events)


def _length(seconds: float) -> str:
    return describe_ns(seconds * 1e9) if seconds < _LONG_S else f"{seconds:,.0f} s"


WRONG = Limit(
    key="fails",
    name="difference from the rate of another clock",
    value=0.005,
    unit="share",
    reason="crystals differ by a fiftieth of this; clocks of some virtual machines were measured to run 0.5 to 7% fast",
)
_CORRECTION = Limit(
    key="corrected",
    name="correction of the rate by the time daemon",
    value=500,
    unit="ppm",
    reason="the largest correction that the kernel accepts; crystals are off by at most a fifth of that",
)


@check(
    id="clock-rate-wrong",
    area=Area.CLOCK,
    question="Does CLOCK_MONOTONIC run at the rate of another clock?",
    severity=Severity.WARNING,
    ground=Ground.INVALIDATES,
    reads=(f"{PTP}/ptpN, else {RTC}/rtcN/since_epoch, before and after all measurements", CORRECTION),
    limits=(WRONG, _CORRECTION),
    why=(
        "If the kernel or a hypervisor got the rate of the processor's counter wrong, each duration is wrong by as "
        "much: some virtual machines ran 7% fast. Results then differ between identical machines. A failure blocks."
    ),
    remedy=(
        "Reboot so that the kernel measures the counter again, update the hypervisor, or choose another clock "
        "source. In a virtual machine the other clock is the hypervisor's."
    ),
    sources=(
        "https://github.com/microsoft/WSL/issues/11790",
        "https://docs.kernel.org/virt/kvm/x86/timekeeping.html",
        "https://man7.org/linux/man-pages/man2/adjtimex.2.html",
    ),
    is_hidden_from_guests=True,
)
def clock_rate_wrong(case: Case) -> Answer:
    comparison = case.clock_comparison
    if comparison is None:
        answer = not_applicable("compared only in a preflight with a calibration")
    else:
        answer = unknown(comparison) if isinstance(comparison, str) else _compare(case, comparison)
    if answer.status in (Status.FAIL, Status.WARN):
        return answer
    rate = case.snapshot.settings.clock_rate
    if rate is None or abs(rate.deviation_ppm) < case.bound(_CORRECTION):
        return answer
    graded = case.graded(reason=answer.reason, evidence={**answer.evidence, "corrected_ppm": rate.deviation_ppm})
    text = f"the time daemon corrects the rate by {rate.deviation_ppm:+.0f} ppm: no crystal is off by so much"
    return graded.by(_CORRECTION, abs(rate.deviation_ppm)).warns(text)


def _compare(case: Case, comparison: ClockComparison) -> Answer:
    """Return the answer for the rate between the first two readings. A third reading has to confirm a deviation."""
    ratios, limit = comparison.ratios, case.bound(WRONG)
    if not ratios:
        return unknown(f"{comparison.reference} does not advance")
    first = ratios[0]
    undecided = case.graded(
        evidence={
            "reference": comparison.reference,
            "deviation": [ratio.deviation for ratio in ratios],
            "error": [ratio.error for ratio in ratios],
        }
    )
    measured = abs(first.deviation)
    graded = undecided.by(WRONG, measured)
    if measured + first.error <= limit:
        return graded.passes(f"as fast as {comparison.reference}, within {measured + first.error:.2%}")
    if measured - first.error <= limit:
        ratio_text = f"{first.deviation:+.2%} ± {first.error:.2%} against {comparison.reference}"
        return undecided.unknown(f"{ratio_text}: measured too briefly to resolve {limit:.1%}")
    if not _is_confirmed(ratios, limit):
        ratio_text = f"{first.deviation:+.2%} against {comparison.reference}"
        return undecided.unknown(f"{ratio_text}, but not a moment later: the other clock may have been set")
    speed = "fast" if first.deviation > 0 else "slow"
    return graded.fails(f"{measured:.1%} too {speed} against {comparison.reference}", severity=Severity.BLOCKING)


def _is_confirmed(ratios: tuple[ClockRatio, ...], limit: float) -> bool:
    again = ratios[-1]
    has_same_sign = (again.deviation > 0) == (ratios[0].deviation > 0)
    return len(ratios) > 1 and has_same_sign and abs(again.deviation) + again.error > limit
