"""What each row of /proc/interrupts counts: a device's interrupts, the tick, calls between CPUs, or the CPU's own.

The kernel's generic part (kernel/irq/proc.c) prints the numbered rows, and each architecture its own behind them. The
chip and the action show what a number means: many architectures number the CPU's own interrupts as well.

Some rows count again what other rows count; they are distinguished, so that nothing is counted twice:

    I/O: 900      and     QAI:  700  [I/O] QDIO Adapter Interrupt      (s390: classes, and what they consist of)
    HYP: 900      and      48:  700  xen-percpu -virq timer0           (Xen delivers all its events by one vector)
    NMI: 900      and     PMI:  900  Performance monitoring interrupts (x86: these are NMIs)

    CAL: 900      and     TLB:  700  TLB shootdowns                    (x86, from Linux 4.8 on: these are calls)
    RES: 900      and      49:  700  xen-percpu -ipi resched0          (and CAL and IWI, which Xen's events count again)
     70: 900      and    IPI0:  700  Rescheduling interrupts           (LoongArch: `70: CPUINTC 12 IPI` brings all)

Before Linux 4.8 CAL was printed without TLB ("x86/irq: Do not substract irq_tlb_count from irq_call_count"), but 4.4
stable and Oracle's 4.1 have that change too since they were patched against Meltdown, and their releases do not show
it. Where the release is below 4.8 or unknown, the two rows count as two: a shootdown may count twice, and none is lost.

arch/s390/kernel/irq.c, arch/x86/kernel/irq.c, arch/x86/events/, arch/x86/xen/smp.c, arch/loongarch/kernel/smp.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

from noisewatch.kinds import Kind
from noisewatch.patterns import regex

# By the file of the kernel's sources that prints the rows; all since they exist, as far as they still meant the same.
ROWS_BY_FILE: Mapping[str, Mapping[str, Kind]] = {
    "arch/x86/kernel/irq.c": {
        **dict.fromkeys(("LOC", "HVS"), Kind.TICK),  # HVS: Hyper-V's timer
        **dict.fromkeys(("RES", "CAL", "TLB", "IWI"), Kind.IPI),
        "NMI": Kind.NMI,
        **dict.fromkeys(("PMI", "SPU", "RTR", "PLT", "TRM", "THR", "DFR", "MCE", "MCP", "VPMI"), Kind.LOCAL),
        **dict.fromkeys(("HRE", "PIN", "NPI", "PIW"), Kind.LOCAL),  # of a hypervisor, and for the guests of one
        **dict.fromkeys(("HYP", "PMN"), Kind.IRQ),  # one vector for the devices of a hypervisor; for posted MSIs
        **dict.fromkeys(("ERR", "MIS"), Kind.LOCAL),
    },
    "arch/powerpc/kernel/irq.c": {
        **dict.fromkeys(("LOC", "BCT"), Kind.TICK),
        "DBL": Kind.IPI,
        **dict.fromkeys(("NMI", "WDG"), Kind.NMI),
        **dict.fromkeys(("SPU", "PMI", "MCE", "HMI", "TAU", "BAD"), Kind.LOCAL),
    },
    "arch/s390/kernel/irq.c": {
        **dict.fromkeys(("I/O", "AIO"), Kind.IRQ),
        **dict.fromkeys(("CIO", "DAS", "C15", "C70", "TAP", "VMR", "LCS", "CLW", "CTC", "ADM", "CSC", "VIR"), Kind.IRQ),
        **dict.fromkeys(("QAI", "APB", "PCI", "PCF", "PCD", "MSI", "VAI", "GAL"), Kind.IRQ),
        **dict.fromkeys(("DSD", "VRT", "SCP", "IUC", "FTP"), Kind.IRQ),  # external: disk, virtio, console, network
        **dict.fromkeys(("CLK", "TMR"), Kind.TICK),
        **dict.fromkeys(("EXC", "EMS"), Kind.IPI),
        "NMI": Kind.NMI,
        **dict.fromkeys(("EXT", "TLA", "TAL", "PFL", "CMS", "CMC", "WTI", "RST", "CPU"), Kind.LOCAL),
    },
    "arch/arm/kernel/irq.c": {
        "Err": Kind.LOCAL,
        "FIQ": Kind.LOCAL,
    },  # and IPI0 …, as on arm64, riscv, csky, …
    "arch/alpha/kernel/irq.c": {"IPI": Kind.IPI, "PMI": Kind.LOCAL, "ERR": Kind.LOCAL},
    "arch/parisc/kernel/irq.c": {
        **dict.fromkeys(("RES", "CAL", "TLB"), Kind.IPI),
        **dict.fromkeys(("UAH", "FPA"), Kind.LOCAL),
        **dict.fromkeys(("STK", "IST", "ISC"), Kind.NO_INTERRUPT),  # bytes of stacks
    },
    "arch/sparc/kernel/irq_32.c": {"RES": Kind.IPI, "CAL": Kind.IPI, "NMI": Kind.NMI},
    "arch/sparc/kernel/irq_64.c": {"NMI": Kind.NMI},
    "arch/sh/kernel/irq.c": {"NMI": Kind.NMI, "ERR": Kind.LOCAL},
    "arch/xtensa/kernel/irq.c": {"NMI": Kind.NMI, "ERR": Kind.LOCAL},
    "arch/loongarch/kernel/irq.c": {"ERR": Kind.LOCAL},
    "arch/mips/kernel/irq.c": {"ERR": Kind.LOCAL},
}
_KIND_BY_LABEL = {label: kind for rows in ROWS_BY_FILE.values() for label, kind in rows.items()}
_CALL_LABEL = regex(r"IPI\d*")
_TIMER_CALL = "Timer broadcast interrupts"  # of a CPU whose timer sleeps: arch/{arm,arm64,riscv}/kernel/smp.c

# Numbered rows, by chip and action. `drivers/` without more is drivers/clocksource/, where most of the timers are.
_TICKS = (
    r"timer\d*",  # arch/x86/kernel/time.c, arch/{mips,loongarch,sparc,parisc,xtensa,um}, timer-tegra.c; Xen's timer0
    r"timer@[0-9a-f]+",  # timer-of.c
    r"arch_timer|arch_mem_timer",  # arm_arch_timer.c
    r"kvm guest [a-z]*timer",  # arch/arm64/kvm/arch_timer.c
    r"riscv-timer|clint-timer",  # timer-riscv.c, timer-clint.c
    r"mct_tick\d+|mct_comp_irq",  # exynos_mct.c
    r"gp_timer|rk_timer|sun4i_timer\d|bcm2835_timer|i\.MX Timer Tick",  # timer-qcom.c, -rockchip, -sun4i, …, -imx-gpt
    r"csky_mp_timer|csky_mptimer",  # timer-mp-csky.c
    r"Timer0 \(per-cpu-tick\)",  # arc_timer.c
)
_CALLS = (
    r"IPI[-\d]*",  # arch/powerpc/sysdev/xics, xive; arch/parisc
    r"IPI Interrupt",  # arch/{arc,csky}/kernel/smp.c
    r"IPI (?:resched|call)|SMP[-_]IPI|smp_ipi\d*",  # arch/mips
    r"ipi (?:call function|reschedule|nmi ipi)",  # arch/powerpc/kernel/smp.c
)
_COUNTERS = (
    r"arm-pmu|armv\d-pmu|riscv-pmu|loongarch-pmu|Perf_PMU|mips_perf_pmu|ARC perf counters",  # drivers/perf, arch/*
    r"arm_spe(?:_\d+)?|arm_trbe",
)
_TICK = regex(
    rf"(?:^|\s)(?:{'|'.join(_TICKS)})$"
    r"|^GIC\S*\s.*\s(?:gt|twd)$"  # arm_global_timer.c, arch/arm/kernel/smp_twd.c
    r"|^\S*HPET[-_]MSI\b.*\bhpet\d+$"  # arch/x86/kernel/hpet.c: one for each CPU
    r"|(?:^|\s)ipi tick broadcast$|^xen-percpu\b.*\btimer\d*$",
    re.IGNORECASE,
)
_CALLED = regex(
    rf"(?:^|\s)(?:{'|'.join(_CALLS)})$|^LSAPIC\b.*\b(?:resched|tlb_flush)$|^xen-percpu\b.*-ipi\b"
    r"|^Dynamic-irq\S* (?:resched|callfunc(?:single)?|spinlock)\d+$"  # linux-2.6.18-xen: drivers/xen/core/smpboot.c
)
_COUNTER = regex(rf"(?:^|\s)(?:{'|'.join(_COUNTERS)})$")
_LOCAL = regex(rf"{_COUNTER.pattern}|\bvgic$|^xen-percpu\b")


def is_known(label: str) -> bool:
    """Return whether some architecture has a row with this label and with counts."""
    return label != "FIQ" and (label in _KIND_BY_LABEL or _CALL_LABEL.fullmatch(label) is not None)


def counts_overflows(label: str, description: str) -> bool:
    """Return whether the row counts overflows of a hardware counter, as a profiler causes them."""
    if not label.isdecimal():
        return label in ("PMI", "VPMI", "CMS")
    return _COUNTER.search(description) is not None


@lru_cache(maxsize=16_384)
def kind_of(label: str, description: str) -> Kind:
    """Return the kind of a row.

    An unrecognized numbered row is a device's, any other unrecognized row the CPU's own.
    """
    if not label.isdecimal():
        if description == _TIMER_CALL:
            return Kind.TICK
        return _KIND_BY_LABEL.get(label) or (Kind.IPI if _CALL_LABEL.fullmatch(label) else Kind.LOCAL)
    if _TICK.search(description):
        return Kind.TICK
    if _CALLED.search(description):
        return Kind.IPI
    return Kind.LOCAL if _LOCAL.search(description) else Kind.IRQ


_CONTAINS_SHOOTDOWNS = (4, 8)  # the first release whose calls do
# What the row is, and what its parts are, by label and description; the first line with any parts holds.
_PARTS_BY_SUM = tuple(
    (regex(whole), regex(part), since)
    for whole, part, since in (
        (r"EXT ", r"\S+ \[EXT\]", None),
        (r"I/O ", r"\S+ \[I/O\]", None),
        (r"AIO ", r"(?!MSI)\S+ \[AIO\]", None),
        (r"PC[DFI] \[A?I/?O\]", r"MSI \[", None),  # one brings several MSIs along
        (r"MSI \[A?I/?O\]", r"\d+ ", None),
        (r"HYP ", r"\d+ xen-", None),
        (r"PMN ", r"\d+ .*\bPCI-MSI", None),
        (r"NMI Non-maskable interrupts", r"PMI ", None),
        (r"RES ", r"\d+ xen-percpu\b.*\bresched\d*$", None),
        (r"CAL |TLB ", r"\d+ xen-percpu\b.*\bcallfunc(?:single)?\d*$", None),
        (r"IWI ", r"\d+ xen-percpu\b.*\birqwork\d*$", None),
        (r"CAL Function call interrupts", r"TLB TLB shootdowns", _CONTAINS_SHOOTDOWNS),
        (r"\d+ (?:\S+ )*IPI$", r"IPI\d+ ", None),
    )
)


class Row(Protocol):
    """A row of the table, or of its difference over some time."""

    @property
    def label(self) -> str: ...

    @property
    def description(self) -> str: ...


R = TypeVar("R", bound=Row)


def sums_with_parts(rows: Sequence[R], release: tuple[int, int] | None) -> Iterator[tuple[R, list[R]]]:
    """Yield the rows that are sums in this Linux (None: unknown), each with the rows that are its parts."""
    for row in rows:
        is_sum = False
        name = f"{row.label} {row.description}"
        for whole, part, since in _PARTS_BY_SUM:
            if whole.match(name) is None or (since is not None and (release is None or release < since)):
                continue
            is_sum = True
            parts = [other for other in rows if other is not row and part.match(f"{other.label} {other.description}")]
            if parts:
                yield row, parts
                break
        else:
            if is_sum:
                yield row, []
