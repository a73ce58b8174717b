"""The shell commands that fixes consist of."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping

from noisewatch.sources.cpulist import CpuSet, format_cpu_list

CPUS = "/sys/devices/system/cpu"


def write(value: str | int, *paths: str) -> str:
    """Writes a value to files of the kernel."""
    return f"echo {shlex.quote(str(value))} | sudo tee {' '.join(map(shlex.quote, paths))}"


def write_per_cpu(value_by_cpu: Mapping[int, str | int], name: str) -> str:
    """Writes to each CPU's file `name`; CPUs with one value share a command."""
    cpus_by_value: dict[str | int, list[int]] = defaultdict(list)
    for cpu, value in sorted(value_by_cpu.items()):
        cpus_by_value[value].append(cpu)
    return " && ".join(
        write(value, *(f"{CPUS}/cpu{cpu}/{name}" for cpu in cpus)) for value, cpus in cpus_by_value.items()
    )


def write_affinity(irqs: Iterable[int], cpus: str) -> str | None:
    """Moves IRQs one by one: the kernel refuses some, and the others are to move all the same."""
    numbers = sorted(irqs)
    if len(numbers) < 2:
        return write(cpus, f"/proc/irq/{numbers[0]}/smp_affinity_list") if numbers else None
    listed = " ".join(map(str, numbers))
    return f"for irq in {listed}; do echo {cpus} | sudo tee /proc/irq/$irq/smp_affinity_list; done"


def pin(pids: Iterable[int], cpus: CpuSet) -> str:
    """Moves all threads of the processes to `cpus`."""
    listed = format_cpu_list(cpus)
    return " && ".join(f"sudo taskset -apc {listed} {pid}" for pid in sorted(set(pids)))


def boot_options(options: str) -> str:
    """What to add to the kernel's command line."""
    return f"add to the kernel command line and reboot: {options}"
