"""Area `clock`: what timestamps cost and how steady they are."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.commands import boot_options, write
from noisewatch.judgement.declaration import BLOCKING, FAIL, PASS, WARN, WARNING, Answer, Fix, check, unknown
from noisewatch.judgement.rules import LATENCY
from noisewatch.sources.clock_source import AVAILABLE, CURRENT

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
    severity=WARNING,
    reads=(CURRENT, AVAILABLE),
    why=(
        "hpet and acpi_pm take about a microsecond a reading and a system call each time; jiffies tick every few "
        "milliseconds. The kernel falls back to them when it finds the processor's counter unsteady."
    ),
    remedy="Choose the processor's counter again, after finding out in the kernel's log why it was given up.",
    sources=("https://docs.kernel.org/timers/timekeeping.html",),
    severity_in={LATENCY: BLOCKING},
)
def slow_clock_source(case: Case) -> Answer:
    clock = case.snapshot.settings.clock_source
    if clock.current is None:
        return unknown(case.why_unknown(CURRENT))
    available = clock.available or ()
    evidence = {"current": clock.current, "available": list(available)}
    better = "tsc" if "tsc" in available and clock.current != "tsc" else None
    fix = (
        Fix(write(better, CURRENT), boot_options("clocksource=tsc"), write(clock.current, CURRENT)) if better else None
    )
    if clock.current in _SLOW:
        return Answer(FAIL, f"{clock.current} is slow to read", evidence=evidence, fix=fix)
    if clock.current in _PARAVIRTUAL and better:
        return Answer(WARN, f"{clock.current}, though tsc is available", evidence=evidence, fix=fix)
    if clock.current not in _FAST:
        return Answer(WARN, f"{clock.current} is not known to be fast", evidence=evidence, fix=fix)
    return Answer(PASS, clock.current, evidence=evidence)


CHECKS = (slow_clock_source,)
