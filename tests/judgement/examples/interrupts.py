"""Area `interrupts`."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.written.quiet_machine import process, quiet_files

_LEAVING_2 = {"/proc/irq/24/effective_affinity_list": "2\n"}
_ROUTED_TO_2 = _LEAVING_2 | {"/proc/irq/24/smp_affinity_list": "0-2\n"}
_IRQBALANCE = process(800, "irqbalance", 0, 5_000)


def _interrupts(target_count: int) -> dict[str, str]:
    text = quiet_files(3.0)["/proc/interrupts"].splitlines()
    text[1] = f" 24:        800          0 {target_count}          0 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0"
    return {"/proc/interrupts": "\n".join(text) + "\n"}


def _table(*rows: str, columns: int = 4) -> dict[str, str]:
    """A table of so many CPUs with these rows, and what else there is on the quiet machine."""
    header, _, *others = quiet_files()["/proc/interrupts"].splitlines()
    header = " ".join(header.split()[:columns])
    kept = [" ".join(line.split()[: 1 + columns] + line.split()[5:]) for line in others if line.split()[0][0] in "NLR"]
    return {"/proc/interrupts": "\n".join([header, *rows, *kept]) + "\n"}


def _adapters(target_count: int) -> dict[str, str]:
    return _table(f"AIO: 5 5 {target_count} 5", f"QAI: 5 5 {target_count} 5 [AIO] QDIO Adapter Interrupt")


_BLIND = _table(" 24: 500 0 0 PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0", columns=3)
_NUMBERED_TIMERS = (
    " 16: 9 9 {0} {0} GIC 27 Edge gt\n 18: 9 9 {0} {0} GICv3 23 Level arm-pmu\n  0: 9 9 {0} 0 IO-APIC 2-edge timer"
)
_NO_ROW = {"/proc/irq/77/smp_affinity_list": "0-3\n", "/proc/irq/77/nvme9q1/x": ""}
_HIDDEN = {"/proc/irq/77/smp_affinity_list": "0-3\n", "/proc/irq/77/IPI/x": ""}
_THREE_LISTED = {"/sys/devices/system/cpu/online": "0-2\n"}

EXAMPLES = [
    Example("device-interrupts-on-target", "fail", _adapters(5), "QDIO Adapter", {2}, after=_adapters(60_005)),
    Example("device-interrupts-on-target", "fail", _table("AIO: 1 1 1 1"), "AIO", {3}, after=_table("AIO: 1 1 1 99")),
    Example("device-interrupts-on-target", "unknown", _BLIND, "no column for CPU 3"),
    Example(
        *("device-interrupts-on-target", "pass", _table(_NUMBERED_TIMERS.format(10))),
        after=_table(_NUMBERED_TIMERS.format(999)),
    ),
    Example("irq-routed-to-target", "unknown", _BLIND, "no column for CPU 3"),
    Example("irq-routed-to-target", "unknown", _table(columns=3), "no column for CPU 3"),
    *(
        Example(id_, "unknown", _table(f" 24: {counts} PCI-MSIX 0-edge eth0-rx-0"), "wanted 4 counts")
        for counts in ("-500 0 0 0", "500 0 0 -1", "9" * 40 + " 0 0 0", "", "500 0")
        for id_ in ("irq-routed-to-target", "device-interrupts-on-target", "ipis-on-target")
    ),
    Example("irq-routed-to-target", "unknown", _table("THR: Threshold APIC interrupts"), "no counts in row THR"),
    Example("device-interrupts-on-target", "unknown", _table("THR: Threshold APIC interrupts"), "no counts in row THR"),
    Example("irq-routed-to-target", "unknown", _NO_ROW, "no row for IRQ 77 (nvme9q1)"),
    Example("irq-routed-to-target", "pass", _HIDDEN),
    Example("irq-routed-to-target", "unknown", _adapters(60_000), "AIO came to CPU"),
    Example("irq-routed-to-target", "pass", _table("AIO: 60 60 0 0")),
    Example(
        *("irq-routed-to-target", "pass", _table("HYP: 9 9 9 9 Hypervisor callback", " 48: 9 9 9 9 xen-percpu timer0"))
    ),
    Example("ipis-on-target", "unknown", _BLIND, "no column for CPU 3"),
    Example("profiler-runs", "unknown", _BLIND, "no column for CPU 3"),
    Example("machine-checks", "unknown", _table("MCE: 0 0 0 Machine check exceptions", columns=3), "CPU 3"),
    Example(
        *(
            "machine-checks",
            "unknown",
            _table("MCE: 0 0 0 Machine check exceptions", columns=3) | _THREE_LISTED,
            "CPU 3",
        ),
    ),
    Example("tick-not-stopped", "unknown", _BLIND, "no column for CPU 3"),
    Example(
        *("device-interrupts-on-target", "fail", {}, "eth0-rx-0 (Ethernet Controller X550", {2}),
        after=_interrupts(300),
    ),
    Example("device-interrupts-on-target", "warn", {}, "eth0-rx-0", {2}, after=_interrupts(3)),
    Example("device-interrupts-on-target", "unknown", gone=("/proc/interrupts",)),
    Example("irq-routed-to-target", "warn", _ROUTED_TO_2, "24 eth0-rx-0", {2}),
    Example("irq-routed-to-target", "pass", _LEAVING_2, "gone after one more interrupt: 24 eth0-rx-0"),
    Example("irq-routed-to-target", "warn", _LEAVING_2, "24 eth0-rx-0", {2}, after=_interrupts(1)),
    Example("irq-routed-to-target", "warn", {"/proc/irq/24/smp_affinity_list": "0-3\n"}, "may move"),
    Example("irq-routed-to-target", "unknown", gone=("/proc/irq",)),
    Example(
        *("default-irq-affinity-includes-target", "fail", {"/proc/irq/default_smp_affinity": "f\n"}, "CPUs 2-3"),
        cpus={2, 3},
    ),
    Example("default-irq-affinity-includes-target", "unknown", gone=("/proc/irq/default_smp_affinity",)),
    Example("irqbalance-may-move-irqs", "pass", _IRQBALANCE, "spares"),
    Example("irqbalance-may-move-irqs", "fail", _IRQBALANCE, "irqbalance runs", target=frozenset({1})),
    Example("irqbalance-may-move-irqs", "unknown", {"/proc/950/stat": "garbage"}, target=frozenset({1})),
]
