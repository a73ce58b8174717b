"""The CPUs that process packets received by other CPUs: receive packet steering (RPS).

    /sys/class/net/eth0/queues/rx-0/rps_cpus     0          (empty mask: the interrupted CPU keeps its packets)
    /sys/class/net/eth0/queues/rx-1/rps_cpus     0000000c   (CPUs 2 and 3)

https://docs.kernel.org/networking/scaling.html. XPS, which chooses transmit queues, is not read: it only affects
senders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_cpu_mask
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

FOLDER = "/sys/class/net"
_MOST_QUEUES = 512  # several network cards with a queue for each CPU; each queue costs 15 µs
_RECEIVES = regex(r"rx-\d{1,5}")


class PacketSteering(Struct, frozen=True):
    """The CPUs that process each queue's packets, by the path of the queue's mask; None means unknown."""

    cpus_by_path: Mapping[str, CpuSet | None] | None
    is_possible: bool = True  # False if queues have no such file
    is_complete: bool = True  # False if some queues were not read


def read_packet_steering(reader: Reader) -> PacketSteering:
    """Return the masks of all receive queues in this process's network namespace."""
    if not reader.names_or_none(FOLDER):
        reader.note(FOLDER, "no interface in it, not even lo")
        return PacketSteering(None)
    paths = list(islice(_paths(reader), _MOST_QUEUES + 1))
    is_complete = len(paths) <= _MOST_QUEUES
    cpus_by_path: dict[str, CpuSet | None] = {}
    absent: list[str] = []
    for path in paths[:_MOST_QUEUES]:
        try:
            cpus_by_path[path] = parse_cpu_mask(reader.text(path))
        except Absent:
            absent.append(path)
        except Unreadable:
            cpus_by_path[path] = None
        except Malformed as error:
            reader.note(path, error.reason)
            cpus_by_path[path] = None
    is_possible = not absent or bool(cpus_by_path)
    if is_possible:  # either all queues have the file, or none has
        cpus_by_path |= dict.fromkeys(absent)
    return PacketSteering(cpus_by_path, is_possible, is_complete)


def _paths(reader: Reader) -> Iterator[str]:
    for interface in reader.names_or_none(FOLDER) or []:
        folder = f"{FOLDER}/{interface}/queues"
        try:
            queues = reader.names(folder)
        except Absent:
            continue
        except Unreadable:
            yield f"{folder}/rx-0/rps_cpus"  # also unreadable, and so represents the unlisted queues
            continue
        for queue in queues:
            if _RECEIVES.fullmatch(queue):
                yield f"{folder}/{queue}/rps_cpus"
