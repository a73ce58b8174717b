"""The shell commands that fixes consist of; each may be run twice, and changes nothing the second time."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from zlib import crc32

from noisewatch.cpus import CpuSet, format_cpu_list

BOOT_OPTIONS = "add to the kernel command line and reboot: "
CPUS = "/sys/devices/system/cpu"
_TMPFILES, _SYSCTL = "/etc/tmpfiles.d/noisewatch-", "/etc/sysctl.d/90-noisewatch-"  # files of ours alone
_LONGEST_LIST = 100  # of a file's name
_OWN_FILE = re.compile(rf"\| sudo tee ((?:{_TMPFILES}|{_SYSCTL})\S+\.conf)")


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


def persist_per_cpu(value_by_cpu: Mapping[int, str | int], name: str, about: str | None = None) -> str:
    """Has systemd-tmpfiles write to each CPU's file `name` at boot; `about` where two checks do so."""
    lines = [f"w {CPUS}/cpu{cpu}/{name} - - - - {value}" for cpu, value in sorted(value_by_cpu.items())]
    return persist_lines(about or name.replace("/", "."), lines, value_by_cpu)


def persist_lines(about: str, lines: Iterable[str], cpus: Iterable[int] = ()) -> str:
    """Has systemd-tmpfiles do at boot what the lines say, by a file for them `about` which it is.

    It is written whole, and the same again changes nothing. `cpus` are those that it is all about: what was made to
    last for others has a file of its own, which stays. Of a setting of the whole machine there is one.
    """
    words = " ".join(map(shlex.quote, lines))
    return f"printf '%s\\n' {words} | sudo tee {_TMPFILES}{about}{_named(frozenset(cpus))}.conf"


def _named(cpus: CpuSet) -> str:
    listed = format_cpu_list(cpus)
    if len(listed) > _LONGEST_LIST:
        listed = f"{min(cpus)}-{max(cpus)}.{crc32(listed.encode()):08x}"
    return f".{listed}" if listed else ""


def forget(persist: str | None) -> str | None:
    """Takes away the files that `persist` writes; None where it writes none."""
    paths = _OWN_FILE.findall(persist or "")
    return f"sudo rm -f {' '.join(paths)}" if paths else None


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
        return persist_lines(path.removeprefix("/sys/").replace("/", "."), [f"w {path} - - - - {value}"])
    name = path.removeprefix(prefix).replace("/", ".")
    return f"echo {shlex.quote(f'{name} = {value}')} | sudo tee {_SYSCTL}{name}.conf"
