"""Machines of any shape: cores with their threads, caches, nodes and kinds, on top of the quiet machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from noisewatch.cpus import format_cpu_list
from noisewatch.machine import Json
from tests.written import WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, cpu_row, cpuinfo, quiet_files

NODES = "/sys/devices/system/node"


@dataclass(frozen=True, slots=True)
class WrittenCore:
    """A core: its threads, the numbers of its node and last-level cache, its capacity and its clock."""

    cpus: tuple[int, ...]
    node: int = 0
    cache: int = 0
    capacity: int | None = None
    khz: int = 3_000_000


def cores(count: int, threads: int = 1, *, sockets: int = 1, caches: int = 1) -> list[WrittenCore]:
    """Return cores numbered as on Linux: second threads come after all first ones. `caches` is a number per socket."""
    per_socket = count // sockets
    return [
        WrittenCore(
            cpus=tuple(core + thread * count for thread in range(threads)),
            node=core // per_socket,
            cache=core * sockets * caches // count,
        )
        for core in range(count)
    ]


def files_of(
    shape: Sequence[WrittenCore],
    *,
    offline: Iterable[int] = (),
    memory_nodes: Iterable[int] = (),
    nodes_without_memory: Iterable[int] = (),
) -> dict[str, str]:
    """Return all files; `memory_nodes` have no CPU, and `nodes_without_memory` have only CPUs."""
    offline_cpus = frozenset(offline)
    all_cpus = frozenset(cpu for core in shape for cpu in core.cpus)
    online = all_cpus - offline_cpus
    files = without(quiet_files(), *(f"{CPUS}/cpu{cpu}" for cpu in range(4)), NODES)
    for core in shape:
        for cpu in set(core.cpus) - offline_cpus:
            files |= _files_of_cpu(cpu, core, shape, online)
    with_cpus = {core.node for core in shape}
    nodes = sorted(with_cpus | set(memory_nodes))
    for node in nodes:
        own = [cpu for core in shape if core.node == node for cpu in core.cpus if cpu in online]
        files[f"{NODES}/node{node}/cpulist"] = f"{format_cpu_list(own)}\n"
        distances = " ".join("10" if node == other else str(20 + abs(node - other)) for other in nodes)
        files[f"{NODES}/node{node}/distance"] = f"{distances}\n"
    with_memory = set(nodes) - set(nodes_without_memory)
    return files | {
        f"{NODES}/has_memory": f"{format_cpu_list(with_memory)}\n",
        f"{CPUS}/online": f"{format_cpu_list(online)}\n",
        f"{CPUS}/offline": f"{format_cpu_list(offline_cpus)}\n",
        f"{CPUS}/present": f"{format_cpu_list(all_cpus)}\n",
        f"{CPUS}/isolated": "\n",
        f"{CPUS}/nohz_full": "\n",
        "/proc/cmdline": "root=UUID=1234\n",
        "/proc/cpuinfo": cpuinfo(sorted(online)),
        "/proc/stat": cpu_row("cpu") + "".join(cpu_row(f"cpu{cpu}") for cpu in sorted(online)) + "ctxt 5\n",
    }


def machine_of(files: Mapping[str, str], *, may_use: Iterable[int] | None = None, **more: Json) -> WrittenMachine:
    """Return a machine with one moment, which grants pins to the CPUs `may_use`, or to all by default."""
    granted = sorted(range(2048) if may_use is None else may_use)
    answers = {**ANSWERS, "pin to CPUs": {"granted": granted}, "CPUs this process may use": granted}
    return WrittenMachine(files, answers=answers, **more)


def _files_of_cpu(cpu: int, core: WrittenCore, shape: Sequence[WrittenCore], online: frozenset[int]) -> dict[str, str]:
    folder = f"{CPUS}/cpu{cpu}"
    below = [other for peer in shape if peer.cache == core.cache for other in peer.cpus if other in online]
    capacity = {} if core.capacity is None else {f"{folder}/cpu_capacity": f"{core.capacity}\n"}
    return capacity | {
        f"{folder}/topology/core_id": f"{core.cpus[0]}\n",
        f"{folder}/topology/physical_package_id": f"{core.node}\n",
        f"{folder}/topology/thread_siblings_list": f"{format_cpu_list(set(core.cpus) & online)}\n",
        f"{folder}/cache/index3/level": "3\n",
        f"{folder}/cache/index3/type": "Unified\n",
        f"{folder}/cache/index3/size": "28160K\n",
        f"{folder}/cache/index3/shared_cpu_list": f"{format_cpu_list(below)}\n",
        f"{folder}/cpufreq/scaling_driver": "acpi-cpufreq\n",
        f"{folder}/cpufreq/scaling_max_freq": f"{core.khz}\n",
        f"{folder}/cpufreq/cpuinfo_max_freq": f"{core.khz}\n",
    }
