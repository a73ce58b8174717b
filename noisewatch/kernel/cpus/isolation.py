"""The CPUs that boot options, cgroup partitions and cgroup v1 keep free of other work.

    /sys/devices/system/cpu/isolated                2-3,6-7      isolcpus=domain,…  (an empty line: none)
    /sys/devices/system/cpu/nohz_full               2-3          (` (null)`: none)
    /proc/cmdline                                   isolcpus=managed_irq,domain,2-3 rcu_nocbs=2-3 irqaffinity=0-1

https://docs.kernel.org/admin-guide/kernel-parameters.html; partitions.py reads cgroups.

The deadline server reserves CPU time for ordinary tasks in case real-time tasks never sleep:

    /sys/kernel/debug/sched/fair_server/cpu3/runtime   50000000    (ns in each period of 1 s; 0: none), Linux 6.12

Only root can read debugfs. While the server waits for its turn it counts as a SCHED_DEADLINE task, for which the
scheduler keeps the tick even on nohz_full CPUs (sched_can_stop_tick in kernel/sched/core.c). Commit d741f297bcea
("sched/fair: Fair server interface"); https://lkml.iu.edu/hypermail/linux/kernel/2601.0/07693.html
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.partitions import Partitions, read_partitions, read_unbalanced
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.numbers import integer_from
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.build_options import KernelConfig
from noisewatch.kernel.system.release import COMMAND_LINE, read_command_line

_FOLDER = "/sys/kernel/debug/sched/fair_server"
_parse_runtime_ns = integer_from(0)


def runtime_path(cpu: int) -> str:
    """Return the path of the file with the CPU's reserved time."""
    return f"{_FOLDER}/cpu{cpu}/runtime"


def read_fair_servers(reader: Reader, cpus: CpuSet) -> Mapping[int, int]:
    """Return each CPU's reserved time (ns per period); a CPU is missing if the kernel has no server or hides it."""
    runtimes = {cpu: reader.parse(runtime_path(cpu), _parse_runtime_ns, expected=False) for cpu in sorted(cpus)}
    return {cpu: runtime_ns for cpu, runtime_ns in runtimes.items() if runtime_ns is not None}


_LISTS = ("nohz_full", "rcu_nocbs", "irqaffinity")
_FLAGS = frozenset({"nohz", "domain", "managed_irq"})


class IsolcpusOption(Struct, frozen=True):
    """One `isolcpus=`; without flags it means `domain`. For explanations only: sysfs shows which CPUs are isolated."""

    flags: frozenset[str]
    cpus: CpuSet


class Isolation(Struct, frozen=True):
    """The CPUs isolated by each mechanism; None means unknown, an empty set means none."""

    boot: CpuSet | None
    partitions: Partitions
    nohz_full: CpuSet | None
    rcu_nocbs: CpuSet | None
    isolcpus: tuple[IsolcpusOption, ...] | None
    unbalanced: CpuSet | None  # the CPUs that cgroup v1 excludes from load balancing
    requested: Mapping[str, CpuSet | None] | None  # CPUs by boot option; None: a list that no kernel accepts

    @property
    def partition(self) -> CpuSet | None:
        """The CPUs in isolated cgroup partitions, or None if unknown."""
        return self.partitions.isolated

    @property
    def isolated(self) -> CpuSet | None:
        """The CPUs isolated from the load balancer; None if sysfs is unreadable and no cgroup isolates a CPU."""
        by_cgroup = (self.partition or frozenset()) | (self.unbalanced or frozenset())
        return None if self.boot is None and not by_cgroup else (self.boot or frozenset()) | by_cgroup

    @property
    def doubt(self) -> str | None:
        """Why `isolated` may be incomplete, or None if it is reliable."""
        if self.boot is None:
            return "the isolated CPUs cannot be read"
        if self.partition is None and not self.boot:
            return "isolated cgroup partitions are not visible"
        if self.unbalanced is None and not self.boot:
            return "cannot tell whether cgroup v1 isolates CPUs"
        wished = any(option.cpus and "domain" in option.flags for option in self.isolcpus or ())
        return "booted with isolcpus, but the kernel shows no isolated CPU" if wished and not self.boot else None


def read_isolation(
    reader: Reader,
    last_cpu: int | None,
    online: CpuSet | None,
    config: KernelConfig | None,
    previous: Isolation | None = None,
) -> Isolation:
    """Return the isolated CPUs of this machine, whose highest CPU number is `last_cpu`.

    With `previous`, only partitions are read again.
    """
    if previous is not None:
        return replace(previous, partitions=read_partitions(reader, previous.partitions))
    options = read_command_line(reader)
    nohz_full = reader.parse(f"{CPUS}/nohz_full", parse_cpu_list)
    if nohz_full is None and options is not None and reader.is_absent(f"{CPUS}/nohz_full"):
        nohz_full = frozenset()  # a kernel without CONFIG_NO_HZ_FULL has no such file
    requested = _read_requested(reader, options, last_cpu)
    return Isolation(
        boot=reader.parse(f"{CPUS}/isolated", parse_cpu_list),  # Linux 4.2
        partitions=read_partitions(reader),
        nohz_full=nohz_full,
        rcu_nocbs=_rcu_nocbs(requested, nohz_full, config),
        isolcpus=_read_isolcpus(reader, options, last_cpu),
        unbalanced=read_unbalanced(reader, online),
        requested=requested,
    )


def parse_isolcpus(value: str, last_cpu: int | None = None) -> IsolcpusOption:
    """Return the flags and CPUs of one `isolcpus=`: `managed_irq,domain,2-7`. Raise Malformed."""
    parts = value.split(",")
    count = next((at for at, part in enumerate(parts) if part not in _FLAGS), len(parts))
    cpus = parse_cpu_list(",".join(parts[count:]), last_cpu)
    return IsolcpusOption(frozenset(parts[:count]) or frozenset({"domain"}), cpus)


def _read_isolcpus(
    reader: Reader, options: Mapping[str, tuple[str, ...]] | None, last_cpu: int | None
) -> tuple[IsolcpusOption, ...] | None:
    if options is None:
        return None
    try:
        return tuple(parse_isolcpus(value, last_cpu) for value in options.get("isolcpus", ()))
    except Malformed as error:
        reader.note(COMMAND_LINE, f"isolcpus: {error}")
        return None


def _read_requested(
    reader: Reader, options: Mapping[str, tuple[str, ...]] | None, last_cpu: int | None
) -> Mapping[str, CpuSet | None] | None:
    if options is None:
        return None
    requested: dict[str, CpuSet | None] = {}
    for name in _LISTS:
        try:
            lists = [parse_cpu_list(value, last_cpu) for value in options.get(name, ())]
        except Malformed as error:
            reader.note(COMMAND_LINE, f"{name}: {error}")
            requested[name] = None
        else:
            requested |= {name: frozenset().union(*lists)} if lists else {}
    return requested


def _rcu_nocbs(
    requested: Mapping[str, CpuSet | None] | None, nohz_full: CpuSet | None, config: KernelConfig | None
) -> CpuSet | None:
    """Return the CPUs in rcu_nocbs or nohz_full, which implies rcu_nocbs; None means unknown.

    A kernel without CONFIG_RCU_NOCB_CPU has no such CPUs.
    """
    if config is not None and config.is_set("RCU_NOCB_CPU") is False:
        return frozenset()
    cpus = None if requested is None else requested.get("rcu_nocbs", frozenset())
    return None if cpus is None else cpus | (nohz_full or frozenset())
