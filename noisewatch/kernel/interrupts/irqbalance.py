"""The CPUs that irqbalance is configured to leave alone.

    /proc/PID/environ                                   environment of a running irqbalance; only root may read it
    /etc/default/irqbalance                             IRQBALANCE_BANNED_CPULIST=2-3      Debian, Ubuntu
    /etc/sysconfig/irqbalance                           IRQBALANCE_BANNED_CPUS=0000000c    Fedora, RHEL, SUSE, TuneD
    /etc/irqbalance.env, /etc/conf.d/irqbalance         the same                           Arch; OpenRC
    /etc/systemd/system/irqbalance.service{,.d/*.conf}  Environment=IRQBALANCE_BANNED_CPUS=0

From version 1.1 on, irqbalance bans the CPUs in /sys/devices/system/cpu/{isolated,nohz_full} by default. A mask in
IRQBALANCE_BANNED_CPUS replaces this default, and from 1.8 on so does a list in IRQBALANCE_BANNED_CPULIST; the mask
wins. Up to 1.6, an empty mask also replaces the default; after 1.9.4, an empty list does (setup_banned_cpus in
cputree.c of each version, misc/irqbalance.service.in). The other options (--banirq, --banmod, --policyscript) choose
interrupts, not CPUs.

https://github.com/Irqbalance/irqbalance
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_cpu_mask
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.machine.recording.privacy import (
    IRQBALANCE_FILES,
    IRQBALANCE_FOLDERS,
    IRQBALANCE_VARIABLES,
    irqbalance_settings,
)
from noisewatch.text import clean

NAME = "irqbalance"
MASK, LIST = IRQBALANCE_VARIABLES
Variables = Mapping[str, str]
_MOST_FILES = 32


class Irqbalance(Struct, frozen=True):
    """The variables that ban CPUs, in the environment of running processes and in configuration files."""

    started_with: Mapping[int, Variables]  # by pid
    reason_by_pid: Mapping[int, str]  # why a process's environment is unknown
    configured: Mapping[str, Variables] | None  # variables by configuration file; None means unknown, or not read


def read_irqbalance(reader: Reader, tasks: Tasks | None) -> Irqbalance:
    """Read each running irqbalance's environment, and the configuration files if an environment is unreadable."""
    threads = tasks.by_tid.values() if tasks is not None else ()
    started_with: dict[int, Variables] = {}
    reason_by_pid: dict[int, str] = {}
    for pid in [task.pid for task in threads if task.name == NAME and task.tid == task.pid]:
        path = environment_of(pid)
        try:
            started_with[pid] = parse_environment(reader.text(path, expected=False))
        except Malformed as error:
            reason_by_pid[pid] = str(error.at(path))
        except Unreadable as error:
            reason_by_pid[pid] = str(error)
    return Irqbalance(started_with, reason_by_pid, _read_configuration(reader) if reason_by_pid else None)


def environment_of(pid: int) -> str:
    """Return the path of a process's environment."""
    return f"/proc/{pid}/environ"


def parse_environment(text: str) -> Variables:
    """Return irqbalance's variables in a process's environment; of a repeated one, the first. Raise Malformed."""
    if not text.endswith("\0"):
        raise Malformed("an environment that ends with a NUL", clean(text[-20:]))
    pairs = [word.partition("=") for word in text.split("\0")]
    return {name: value for name, _, value in reversed(pairs) if name in IRQBALANCE_VARIABLES}


def parse_banned(variables: Variables, by_default: CpuSet) -> CpuSet:
    """Return the CPUs that irqbalance bans. Raise Malformed for values whose effect is unknown."""
    for name, parse in ((MASK, parse_cpu_mask), (LIST, parse_cpu_list)):
        value = variables.get(name)
        if value == "":
            raise Malformed(f"a value of {name} (if it is empty, some versions ban no CPU)", "")
        if value is not None:
            return parse(value)
    return by_default


def _read_configuration(reader: Reader) -> Mapping[str, Variables] | None:
    """Read the existing configuration files; None if there are none, or if any is unreadable or truncated."""
    paths = [*IRQBALANCE_FILES]
    for folder in IRQBALANCE_FOLDERS:
        try:
            paths += [f"{folder}/{name}" for name in reader.names(folder, expected=False)[:_MOST_FILES]]
        except Unreadable as error:
            if not error.is_missing:
                return None
    configured: dict[str, Variables] = {}
    for path in paths:
        try:
            text = reader.text(path, expected=False)
        except Unreadable as error:
            if not error.is_missing:
                return None
            continue
        if text and not text.endswith("\n"):
            return None
        configured[path] = dict(irqbalance_settings(text))
    return configured or None
