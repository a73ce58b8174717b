"""Area `interrupts`."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.quiet_machine import process, quiet_files

_LEAVING_2 = {"/proc/irq/24/effective_affinity_list": "2\n"}
_ROUTED_TO_2 = _LEAVING_2 | {"/proc/irq/24/smp_affinity_list": "0-2\n"}
_IRQBALANCE = process(800, "irqbalance", 0, 5_000)


def _interrupts(target_count: int) -> dict[str, str]:
    text = quiet_files(3.0)["/proc/interrupts"].splitlines()
    text[1] = f" 24:        800          0 {target_count}          0 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0"
    return {"/proc/interrupts": "\n".join(text) + "\n"}


EXAMPLES = [
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
