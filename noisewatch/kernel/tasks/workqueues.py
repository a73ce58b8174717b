"""Where the kernel's unbound work may run.

    /sys/devices/virtual/workqueue/cpumask               f     Linux 4.2: binds all of them
    /sys/devices/virtual/workqueue/cpumask_requested     f     Linux 6.8: less what is isolated is the former
    /sys/devices/virtual/workqueue/writeback/cpumask     3     a queue's own, within the former where they overlap

https://docs.kernel.org/core-api/workqueue.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.cpus import CpuSet, parse_cpu_mask
from noisewatch.kernel.reader import Reader

FOLDER = "/sys/devices/virtual/workqueue"


@dataclass(frozen=True, slots=True)
class Workqueues:
    """None is unknown. Queues that do not show a mask of their own are bound by `allowed` alone."""

    allowed: CpuSet | None
    requested: CpuSet | None
    own_by_queue: Mapping[str, CpuSet | None]

    def allowed_to(self, queue: str) -> CpuSet | None:
        """Where the queue's work may run: a mask of its own that lies all outside does not count."""
        own = self.own_by_queue.get(queue)
        return None if own is None or self.allowed is None else own & self.allowed or self.allowed


def read_workqueues(reader: Reader) -> Workqueues:
    """The masks now."""
    allowed = reader.parsed(f"{FOLDER}/cpumask", parse_cpu_mask)
    own: dict[str, CpuSet | None] = {}
    for name in (reader.names_or_none(FOLDER, expected=False) or []) if allowed is not None else []:
        path = f"{FOLDER}/{name}/cpumask"
        if name in ("power", "uevent") or name.startswith("cpumask"):
            continue
        mask = reader.parsed(path, parse_cpu_mask, expected=False)
        if mask is not None or not reader.is_absent(path):
            own[name] = mask
    return Workqueues(allowed, reader.parsed(f"{FOLDER}/cpumask_requested", parse_cpu_mask, expected=False), own)
