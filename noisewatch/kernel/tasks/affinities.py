"""The allowed CPUs of systemd's services and sessions, and of the kernel's own unbound work.

    /proc/1/comm                                          systemd
    /proc/1/status                                        Cpus_allowed_list:  0-1     (inherited by all services)
    /sys/fs/cgroup/system.slice/cpuset.cpus.effective     0-1    (absent: the group sets no limit)
    /sys/fs/cgroup/system.slice/cpuset.cpus               0-1    AllowedCPUs=, or empty

    /sys/devices/virtual/workqueue/cpumask                f      all unbound work; Linux 4.2
    /sys/devices/virtual/workqueue/cpumask_requested      f      the same before isolated CPUs are removed; Linux 6.8
    /sys/devices/virtual/workqueue/writeback/cpumask      3      one queue's; CPUs outside the first mask are ignored

https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html
https://docs.kernel.org/core-api/workqueue.html
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_cpu_mask
from noisewatch.kernel.cgroup.mounts import read_unified_mount
from noisewatch.kernel.numbers import parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import parse_allowed

INIT_NAME, INIT_STATUS = "/proc/1/comm", "/proc/1/status"
_GROUPS = ("init.scope", "system.slice", "user.slice", "machine.slice", "kubepods.slice", "kubepods")
WORKQUEUES = "/sys/devices/virtual/workqueue"


class ServiceGroup(Struct, frozen=True):
    """One of systemd's top-level groups. `allowed` and `wanted` are None if unknown, or without a limit."""

    name: str
    folder: str
    has_limit: bool
    allowed: CpuSet | None
    wanted: CpuSet | None


class Services(Struct, frozen=True):
    """The allowed CPUs of systemd's services. None means unknown; without cgroup v2, `groups` is empty."""

    init_name: str | None
    init_allowed: CpuSet | None
    groups: tuple[ServiceGroup, ...] | None


def read_services(reader: Reader) -> Services:
    """Return the allowed CPUs of systemd and its groups."""
    return Services(reader.parse(INIT_NAME, parse_word), reader.parse(INIT_STATUS, parse_allowed), _read_groups(reader))


def _read_groups(reader: Reader) -> tuple[ServiceGroup, ...] | None:
    root = read_unified_mount(reader)
    names = reader.names_or_none(root) if root else None
    if root == "" or (root and names):
        return tuple(_read_group(reader, f"{root}/{name}", name) for name in _GROUPS if name in (names or ()))
    return None


def _read_group(reader: Reader, folder: str, name: str) -> ServiceGroup:
    path = f"{folder}/cpuset.cpus.effective"
    allowed = reader.parse(path, parse_cpu_list, expected=False)
    return ServiceGroup(
        name=name,
        folder=folder,
        has_limit=allowed is not None or not reader.is_absent(path),
        allowed=allowed,
        wanted=reader.parse(f"{folder}/cpuset.cpus", parse_cpu_list, expected=False),
    )


class Workqueues(Struct, frozen=True):
    """The CPUs of unbound work. None means unknown; queues without a mask of their own are bound by `allowed`."""

    allowed: CpuSet | None
    requested: CpuSet | None
    own_by_queue: Mapping[str, CpuSet | None]

    def allowed_cpus(self, queue: str) -> CpuSet | None:
        """Return the allowed CPUs of the queue's work; None if they are unknown, or the queue has no mask of its own.

        The kernel ignores a mask without any CPU in `allowed`.
        """
        own = self.own_by_queue.get(queue)
        return None if own is None or self.allowed is None else own & self.allowed or self.allowed


def read_workqueues(reader: Reader) -> Workqueues:
    """Return the CPU masks of unbound work, of all queues and of each queue with its own mask."""
    allowed = reader.parse(f"{WORKQUEUES}/cpumask", parse_cpu_mask)
    own: dict[str, CpuSet | None] = {}
    for name in (reader.names_or_none(WORKQUEUES, expected=False) or []) if allowed is not None else []:
        path = f"{WORKQUEUES}/{name}/cpumask"
        if name in ("power", "uevent") or name.startswith("cpumask"):
            continue
        mask = reader.parse(path, parse_cpu_mask, expected=False)
        if mask is not None or not reader.is_absent(path):
            own[name] = mask
    return Workqueues(allowed, reader.parse(f"{WORKQUEUES}/cpumask_requested", parse_cpu_mask, expected=False), own)
