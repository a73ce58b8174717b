"""Each CPU's interrupts and softirqs in /proc/interrupts and /proc/softirqs, and what each row counts.

               CPU0       CPU2
     36:          0      30557 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
    LOC:       5444       6957   Local timer interrupts
    ERR:          0

The header names each column's CPU: offline CPUs have no column. A label may touch its first count (`IPI0:2768808080`),
a chip's name may contain a colon, and two rows may have the same label.

                    CPU0       CPU1
          HI:          0          2
       TIMER:     167067     167427

For softirqs the kernel prints a column for each possible CPU, so there may be more columns than online CPUs.
https://docs.kernel.org/filesystems/proc.html (1.2)

A row counts a device's interrupts, ticks, calls between CPUs, or the CPU's own interrupts. The kernel's generic code
(kernel/irq/proc.c) prints the numbered rows, followed by each architecture's own rows. The chip and the action show
what a number means: many architectures number the CPU's own interrupts too.

Some rows repeat the counts of other rows, which must not be counted twice:

    I/O: 900      and     QAI:  700  [I/O] QDIO Adapter Interrupt      (s390: classes and their parts)
    HYP: 900      and      48:  700  xen-percpu -virq timer0           (Xen delivers all its events by one vector)
    NMI: 900      and     PMI:  900  Performance monitoring interrupts (x86: these are NMIs)

    CAL: 900      and     TLB:  700  TLB shootdowns                    (x86, from Linux 4.8 on: these are calls)
    RES: 900      and      49:  700  xen-percpu -ipi resched0          (Xen's events; also for CAL and IWI)
     70: 900      and    IPI0:  700  Rescheduling interrupts           (LoongArch: `70: CPUINTC 12 IPI` delivers all)

Before Linux 4.8 CAL was printed without TLB ("x86/irq: Do not substract irq_tlb_count from irq_call_count"). 4.4 stable
and Oracle's 4.1 have had that change since they were patched against Meltdown, which their version numbers do not show.
If the release is below 4.8 or unknown, both rows count: a shootdown may count twice, but none is lost.

arch/s390/kernel/irq.c, arch/x86/kernel/irq.c, arch/x86/events/, arch/x86/xen/smp.c, arch/loongarch/kernel/smp.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol, TypeVar

from msgspec import Struct

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.numbers import are_counts, is_count, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.release import read_release, release_number
from noisewatch.kinds import Kind
from noisewatch.machine.reading import load_reading
from noisewatch.patterns import regex
from noisewatch.text import clean

# Kinds by label, for each kernel source file that prints rows. Rows of earlier kernels are included if they still have
# the same meaning.
ROWS_BY_FILE: Mapping[str, Mapping[str, Kind]] = {
    "arch/x86/kernel/irq.c": {
        **dict.fromkeys(("LOC", "HVS"), Kind.TICK),  # HVS: Hyper-V's timer
        **dict.fromkeys(("RES", "CAL", "TLB", "IWI"), Kind.IPI),
        "NMI": Kind.NMI,
        **dict.fromkeys(("PMI", "SPU", "RTR", "PLT", "TRM", "THR", "DFR", "MCE", "MCP", "VPMI"), Kind.LOCAL),
        # Interrupts of a hypervisor, and interrupts for its guests.
        **dict.fromkeys(("HRE", "PIN", "NPI", "PIW"), Kind.LOCAL),
        **dict.fromkeys(("HYP", "PMN"), Kind.IRQ),  # one vector for all devices of a hypervisor; one for posted MSIs
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
        **dict.fromkeys(("DSD", "VRT", "SCP", "IUC", "FTP"), Kind.IRQ),  # external: disks, virtio, consoles, networks
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
_TIMER_CALL = "Timer broadcast interrupts"  # calls to CPUs whose timer sleeps: arch/{arm,arm64,riscv}/kernel/smp.c

# Numbered rows, by chip and action. Files without a folder are in drivers/clocksource/, like most timers.
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


def has_counts(label: str) -> bool:
    """Return whether rows with this label have counts on any architecture."""
    return label != "FIQ" and (label in _KIND_BY_LABEL or _CALL_LABEL.fullmatch(label) is not None)


def counts_overflows(label: str, description: str) -> bool:
    """Return whether the row counts overflows of a hardware counter, as caused by profilers."""
    if not label.isdecimal():
        return label in ("PMI", "VPMI", "CMS")
    return _COUNTER.search(description) is not None


@lru_cache(maxsize=16_384)
def kind_of(label: str, description: str) -> Kind:
    """Return the row's kind. An unrecognized row with a number is a device's, one without a number the CPU's own."""
    if not label.isdecimal():
        if description == _TIMER_CALL:
            return Kind.TICK
        return _KIND_BY_LABEL.get(label) or (Kind.IPI if _CALL_LABEL.fullmatch(label) else Kind.LOCAL)
    if _TICK.search(description):
        return Kind.TICK
    if _CALLED.search(description):
        return Kind.IPI
    return Kind.LOCAL if _LOCAL.search(description) else Kind.IRQ


_CONTAINS_SHOOTDOWNS = (4, 8)  # the first release whose calls include shootdowns
# Sums and their parts, by label and description; the first line with any parts applies.
_PARTS_BY_SUM = tuple(
    (regex(whole), regex(part), since)
    for whole, part, since in (
        (r"EXT ", r"\S+ \[EXT\]", None),
        (r"I/O ", r"\S+ \[I/O\]", None),
        (r"AIO ", r"(?!MSI)\S+ \[AIO\]", None),
        (r"PC[DFI] \[A?I/?O\]", r"MSI \[", None),  # one interrupt delivers several MSIs
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
    """A row of a table, or of the difference between two tables."""

    @property
    def label(self) -> str: ...

    @property
    def description(self) -> str: ...


R = TypeVar("R", bound=Row)


def sums_with_parts(rows: Sequence[R], release: tuple[int, int] | None) -> Iterator[tuple[R, list[R]]]:
    """Yield each row that is a sum in this Linux `release` (None: unknown), with the rows that are its parts."""
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


PATH = "/proc/interrupts"
# One count for the whole machine (Err: ARM; BAD: old POWER). On recent x86, ERR and MIS have a count for each CPU.
_TOTALS = frozenset({"ERR", "MIS", "Err", "BAD"})
_LIKE_A_COUNT = regex(r"[-+]?\d")
_HEADER = regex(r"\s*CPU\d{1,5}(\s+CPU\d{1,5})*\s*", re.ASCII)


@lru_cache(maxsize=16_384)  # called often for each row
def _number(label: str) -> int | None:
    return int(label) if is_count(label) else None


class InterruptRow(Struct, frozen=True, dict=True):
    """One row of interrupts. `counts` are in the order of the header's CPUs; None if it has no counts by CPU."""

    label: str
    description: str
    counts: tuple[int, ...] | None
    total: int | None = None  # the whole machine's count, if it is the only one

    @cached_property  # cached for all snapshots that share the row, which may have hundreds of counts
    def is_nonzero(self) -> bool:
        """Whether any count is above 0."""
        return self.counts is not None and any(self.counts)

    @property
    def irq(self) -> int | None:
        """The row's IRQ number; None for the architecture's own rows (LOC, RES …)."""
        return _number(self.label)


class Interrupts(Struct, frozen=True):
    """The interrupts of all CPUs. `cpus` are the columns' CPUs."""

    cpus: tuple[int, ...]
    rows: tuple[InterruptRow, ...]
    text: bytes = b""
    row_by_line: Mapping[int, InterruptRow] = {}  # by line number, from 0
    release: tuple[int, int] | None = None  # the kernel's release, on which the meaning of some rows depends

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The labels of rows that should have counts but have none."""
        lacking = (row for row in self.rows if row.counts is None and row.total is None and has_counts(row.label))
        return tuple(row.label for row in lacking if kind_of(row.label, row.description) != Kind.NO_INTERRUPT)

    @property
    def is_cut_off(self) -> bool:
        """Whether the last rows (the CPUs' own interrupts) are missing; rows of devices may then be missing too.

        False for a single CPU, whose kernel may have no such rows.
        """
        return len(self.cpus) > 1 and all(row.irq is not None for row in reversed(self.rows))

    def total_by_cpu(self) -> dict[int, int]:
        """Return the number of interrupts on each CPU: all rows with counts by CPU, counting each interrupt once."""
        rows = [row for row in self.rows if row.counts is not None]
        counts_by_row = {id(row): row.counts or () for row in rows}
        for row, parts in sums_with_parts(rows, self.release):
            for part in parts:
                pairs = zip(counts_by_row[id(row)], part.counts or (), strict=True)
                counts_by_row[id(row)] = tuple(max(count - other, 0) for count, other in pairs)
        if not counts_by_row:
            return dict.fromkeys(self.cpus, 0)
        return dict(zip(self.cpus, map(sum, zip(*counts_by_row.values(), strict=True)), strict=True))


def parse_header(line: str) -> tuple[int, ...]:
    """Return the CPU number of each column. Raise Malformed."""
    if _HEADER.fullmatch(line) is None:
        raise Malformed("a header such as `CPU0 CPU1`", line.strip(), 1)
    return tuple(int(name[3:]) for name in line.split())


def parse_interrupts(
    text: bytes, previous: Interrupts | None = None, release: tuple[int, int] | None = None
) -> Interrupts:
    """Parse the table of a kernel with this `release`. Raise Malformed.

    Unchanged rows are taken from `previous`: most rows of a large table never change.
    """
    again = None if previous is None else _parse_changed(text, previous)
    return again if again is not None else _parse_all(text, previous.release if previous is not None else release)


def _parse_all(text: bytes, release: tuple[int, int] | None) -> Interrupts:
    header, _, _ = text.partition(b"\n")
    cpus = parse_header(_decode(header))
    row_by_line: dict[int, InterruptRow] = {}
    number, begin = 1, len(header) + 1
    while begin < len(text):
        end = text.find(b"\n", begin)
        end = end if end >= 0 else len(text)
        if text[begin:end].strip():
            row_by_line[number] = _parse_row(text, begin, end, len(cpus), number + 1)
        number, begin = number + 1, end + 1
    if not row_by_line:
        raise Malformed("a row for each interrupt", "", 2)
    return Interrupts(cpus, tuple(row_by_line.values()), text, row_by_line, release)


def _parse_changed(text: bytes, previous: Interrupts) -> Interrupts | None:
    """Parse only the changed rows; return None if rows were added or removed, or if the CPUs differ."""
    changed = load_reading().changed_lines(previous.text, text)
    if changed is None or any(number not in previous.row_by_line for number, _, _ in changed):
        return None
    row_by_line = dict(previous.row_by_line)
    for number, begin, end in changed:
        if not text[begin:end].strip():
            return None
        row_by_line[number] = _parse_row(text, begin, end, len(previous.cpus), number + 1)
    return Interrupts(previous.cpus, tuple(row_by_line.values()), text, row_by_line, previous.release)


def _parse_row(text: bytes, begin: int, end: int, cpu_count: int, number: int) -> InterruptRow:
    """Parse the row between the offsets `begin` and `end`, in line `number` (from 1)."""
    colon = text.find(b":", begin, end)
    label = _decode(text[begin:colon]).strip() if colon >= 0 else ""
    plain = load_reading().counts(text, colon + 1, end, cpu_count) if label else None
    if plain is None or plain[1] == end:
        return _parse_odd_row(_decode(text[begin:end]), cpu_count, number)
    counts, behind = plain
    return _row(label, counts, _decode(text[behind:end]))


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _parse_odd_row(line: str, cpu_count: int, number: int) -> InterruptRow:
    """Parse a row that may have only a total, no counts, or no description.

    Raise Malformed for any other number of counts.
    """
    label, colon, rest = line.partition(":")
    label = label.strip()
    if not colon or not label or not rest.strip():
        raise Malformed("a row such as `LOC: 1 2`", line.strip(), number)
    counts, description = _split_counts(rest, cpu_count)
    if label in _TOTALS and not (description and len(counts) == cpu_count):
        return _parse_total(label, rest, number)
    if not counts and _may_lack_counts(label, description):
        return InterruptRow(clean(label), _tidy(description), None)
    if len(counts) != cpu_count:
        actual = description.split()[0] if description.split() else f"{len(counts)} counts"
        raise Malformed(f"{cpu_count} counts", actual, number)
    return _row(label, tuple(counts), description)


def _row(label: str, counts: tuple[int, ...], description: str) -> InterruptRow:
    label, description = clean(label), _tidy(description)
    return InterruptRow(label, description, None if kind_of(label, description) == Kind.NO_INTERRUPT else counts)


def _may_lack_counts(label: str, description: str) -> bool:
    """Return whether the row is valid without counts: a CPU's own row, whose text does not look like a count."""
    return kind_of(label, description) in (Kind.LOCAL, Kind.NO_INTERRUPT) and not _LIKE_A_COUNT.match(description)


def _tidy(description: str) -> str:
    """Clean the description, then merge blanks. Names may contain characters that Python treats as blanks."""
    return " ".join(clean(description).split())


def _split_counts(rest: str, cpu_count: int) -> tuple[list[int], str]:
    """Return the leading counts, at most one per CPU, and the text after them."""
    words = rest.split(None, cpu_count)
    numbers = words[:cpu_count]
    if len(numbers) == cpu_count and are_counts(numbers):
        return list(map(int, numbers)), words[cpu_count] if len(words) > cpu_count else ""
    end = next((at for at, word in enumerate(numbers) if not is_count(word)), len(numbers))
    return list(map(int, numbers[:end])), " ".join(words[end:])


def _parse_total(label: str, rest: str, number: int) -> InterruptRow:
    words = rest.split()
    if len(words) != 1 or not is_count(words[0]):
        raise Malformed("one count", rest.strip(), number)
    return InterruptRow(label, "", None, int(words[0]))


def read_interrupts(reader: Reader, previous: Interrupts | None = None) -> Interrupts | None:
    """Return the interrupts, or None if they cannot be read."""
    try:
        content = reader.bytes(PATH)
        release = None if previous is not None else release_number(read_release(reader))
        table = parse_interrupts(content, previous, release)
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(PATH, error.reason)
        return None
    if table.uncounted:
        reader.note(PATH, f"no counts for {', '.join(table.uncounted)}")
    return table


SOFTIRQS = "/proc/softirqs"


class SoftirqRow(Struct, frozen=True):
    """One kind of softirq. `counts` are in the order of the header's CPUs."""

    label: str
    counts: tuple[int, ...]


class Softirqs(Struct, frozen=True):
    """The softirqs of all CPUs. `cpus` are the columns' CPUs."""

    cpus: tuple[int, ...]
    rows: tuple[SoftirqRow, ...]


def parse_softirqs(text: str) -> Softirqs:
    """Parse the table of softirqs. Raise Malformed."""
    lines = lines_of(text)
    if not lines:
        raise Malformed("a header such as `CPU0 CPU1`", "", 1)
    cpus = parse_header(lines[0])
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        label, colon, rest = line.partition(":")
        counts = _all_counts(rest, len(cpus)) if colon else None
        if counts is None:
            raise Malformed(f"{len(cpus)} counts", line.strip(), number)
        rows.append(SoftirqRow(clean(label.strip()), counts))
    if not rows:
        raise Malformed("a row for each kind of softirq", "", 2)
    return Softirqs(cpus, tuple(rows))


def _all_counts(text: str, count: int) -> tuple[int, ...] | None:
    """Return the text's counts, or None if it is not exactly `count` counts."""
    row = text.encode("utf-8", "replace")
    plain = load_reading().counts(row, 0, len(row), count)
    if plain is not None and plain[1] == len(row):
        return plain[0]  # type: ignore[no-any-return]
    words = text.split()
    return tuple(map(int, words)) if len(words) == count and are_counts(words) else None


def read_softirqs(reader: Reader) -> Softirqs | None:
    """Return the softirqs, or None if they cannot be read."""
    return reader.parse(SOFTIRQS, parse_softirqs)
