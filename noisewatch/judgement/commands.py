"""The shell commands that fixes consist of; each may be run twice."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping

from noisewatch.sources.cpulist import CpuSet, format_cpu_list

BOOT_OPTIONS = "add to the kernel command line and reboot: "
CPUS = "/sys/devices/system/cpu"


def write(value: str | int, path: str) -> str:
    """Writes a value to a file of the kernel."""
    return f"echo {shlex.quote(str(value))} | sudo tee {shlex.quote(path)}"


def write_files(value: str | int, paths: Iterable[str]) -> str:
    """Writes a value to several files, of which some may refuse."""
    quoted = [shlex.quote(path) for path in paths]
    if len(quoted) == 1:
        return f"echo {shlex.quote(str(value))} | sudo tee {quoted[0]}"
    return f'for file in {" ".join(quoted)}; do echo {shlex.quote(str(value))} | sudo tee "$file"; done'


def write_per_cpu(value_by_cpu: Mapping[int, str | int], name: str) -> str:
    """Writes to each CPU's file `name`; CPUs with one value share a command."""
    cpus_by_value: dict[str | int, list[int]] = defaultdict(list)
    for cpu, value in sorted(value_by_cpu.items()):
        cpus_by_value[value].append(cpu)
    return " && ".join(_write_to_cpus(value, cpus, name) for value, cpus in cpus_by_value.items())


def _write_to_cpus(value: str | int, cpus: list[int], name: str) -> str:
    if len(cpus) == 1:
        return write(value, f"{CPUS}/cpu{cpus[0]}/{name}")
    listed = " ".join(map(str, cpus))
    return f"for cpu in {listed}; do echo {shlex.quote(str(value))} | sudo tee {CPUS}/cpu$cpu/{name}; done"


def persist_per_cpu(value_by_cpu: Mapping[int, str | int], name: str) -> str:
    """Has systemd-tmpfiles write to each CPU's file `name` at boot."""
    lines = [f"w {CPUS}/cpu{cpu}/{name} - - - - {value}" for cpu, value in sorted(value_by_cpu.items())]
    return persist_lines(lines)


def persist_lines(lines: Iterable[str]) -> str:
    """Adds lines to a configuration of systemd-tmpfiles."""
    words = " ".join(map(shlex.quote, lines))
    return f"printf '%s\\n' {words} | sudo tee -a /etc/tmpfiles.d/benchmark.conf"


def write_affinity(irqs: Iterable[int], cpus: str) -> str | None:
    """Moves IRQs one by one: the kernel refuses some, and the others are to move all the same."""
    numbers = sorted(irqs)
    if len(numbers) < 2:
        return write(cpus, f"/proc/irq/{numbers[0]}/smp_affinity_list") if numbers else None
    listed = " ".join(map(str, numbers))
    return f"for irq in {listed}; do echo {cpus} | sudo tee /proc/irq/$irq/smp_affinity_list; done"


def pin(pid: int, cpus: CpuSet) -> str:
    """Moves the thread to `cpus`; its process's other threads have affinities of their own."""
    return f"sudo taskset -pc {format_cpu_list(cpus)} {pid}"


def boot_options(options: str) -> str:
    """What to add to the kernel's command line."""
    return BOOT_OPTIONS + options


def persist_knob(path: str, value: str | int) -> str:
    """Has the file written at each boot: by sysctl.d below /proc/sys, else by systemd-tmpfiles."""
    prefix = "/proc/sys/"
    if not path.startswith(prefix):
        return persist_lines([f"w {path} - - - - {value}"])
    name = path.removeprefix(prefix).replace("/", ".")
    return f"echo {shlex.quote(f'{name} = {value}')} | sudo tee -a /etc/sysctl.d/90-benchmark.conf"
