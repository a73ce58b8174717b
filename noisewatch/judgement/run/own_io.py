"""What the kernel did for the command's own reads and writes, as far as these can have needed it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from noisewatch.judgement.run.reasons import RunReason
from noisewatch.kinds import Kind
from noisewatch.model.run.repetition import Repetition
from noisewatch.patterns import regex
from noisewatch.records import dataclass

_BLOCKS_PER_IO = 8  # of 512 bytes: nothing smaller than a page goes to disk, as a rule
_NS_PER_IO = 10_000  # of a page: to compress or encrypt it, to write it and the journal
_WRITERS = regex(
    r"kworker/.*(?:flush-|writeback|kblockd|ext4|xfs|btrfs|kcryptd|dm-|loop)\S*|jbd2/.*|xfsaild/.*|btrfs-.*"
    r"|loop\d+|dmcrypt_write\S*|md\d+_raid\d+"
)


@dataclass(frozen=True, slots=True)
class OwnIo:
    """`ios`: how many reads and writes of disks the command did at the most."""

    ios: int

    @classmethod
    def of(cls, repetition: Repetition) -> OwnIo:
        """By its resource usage."""
        return cls(-(-(repetition.use.blocks_in + repetition.use.blocks_out) // _BLOCKS_PER_IO))

    def split(self, threads: Iterable[RunReason]) -> tuple[list[RunReason], list[RunReason]]:
        """Those that disturbed it, and what threads that read and write for others did for it."""
        foreign: list[RunReason] = []
        own: list[RunReason] = []
        left_ns = self.ios * _NS_PER_IO
        for reason in threads:
            own_ns = min(reason.ns or 0, left_ns) if _works_for_disks(reason) else 0
            left_ns -= own_ns
            own += _part(reason, own_ns)
            foreign += _part(reason, (reason.ns or 0) - own_ns)
        return foreign, own


def _works_for_disks(reason: RunReason) -> bool:
    return reason.noise == Kind.KERNEL_THREAD and _WRITERS.fullmatch(reason.name) is not None


def _part(reason: RunReason, ns: int) -> list[RunReason]:
    if not ns:
        return []
    if ns == reason.ns:
        return [reason]
    share = reason.share * ns / reason.ns if reason.share is not None and reason.ns else None
    return [replace(reason, ns=ns, share=share, is_estimate=True)]
