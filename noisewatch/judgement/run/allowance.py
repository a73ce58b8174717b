"""The noise of a repetition that still counts as undisturbed: the machine's own, and the kernel's work for the command.

The machine's own noise is the noise while nothing else runs. The kernel works for the command in kernel threads and in
RCU's softirq; this work is allowed up to the amount that the command can have needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH, NoiseFloor
from noisewatch.judgement.run.reasons import RunReason
from noisewatch.kinds import Kind
from noisewatch.model.run.repetition import Repetition
from noisewatch.patterns import regex

# If a machine adds a larger share than this to samples of 10 ms, other work runs on it. Random noise grows only with
# the square root of the time, so a tenth of the share is allowed for samples of one second.
_MAX_SHARE = 0.03
_SHARE_AT_NS = 10_000_000
_MAX_SHARE_OF_ANY = 0.1


class Allowance(Struct, frozen=True):
    """The allowed noise, as a share of a repetition's length.

    If `is_measured`, the share comes from the opening calibration, else it is the default for most machines. It is at
    least 0.5%, half of a change of 1%.
    """

    share: float
    is_measured: bool

    def ns(self, length_ns: int) -> float:
        return self.share * length_ns


def allowance_for(length_ns: int, floors: Sequence[NoiseFloor] = ()) -> Allowance:
    """Return the allowance for repetitions of this length.

    It is derived from each target CPU's `floors` for interruptions alone. The worst sample (95th percentile) still
    counts as the machine's own noise. Its share falls with the length of samples, so the floor at the next shorter
    length is an upper bound. Of several CPUs the quietest counts.
    """
    if not floors:
        return Allowance(LOSES_TOO_MUCH, False)
    shortest_ns = min(floor.sample_ns for floor in floors)
    sample_ns = max((floor.sample_ns for floor in floors if floor.sample_ns <= length_ns), default=shortest_ns)
    added = min(floor.max_inflation for floor in floors if floor.sample_ns == sample_ns) - 1
    limit = min(_MAX_SHARE * math.sqrt(_SHARE_AT_NS / max(length_ns, 1)), _MAX_SHARE_OF_ANY)
    return Allowance(max(LOSES_TOO_MUCH, min(limit, added)), True)


_BLOCKS_PER_IO = 8  # at least this many blocks of 512 bytes are written at once: usually a whole page
_NS_PER_IO = 10_000  # upper bound of the time to compress or encrypt a page, and to write it and the journal
# RCU's callbacks free kernel memory that a command has released. They took 4 to 9% of the system time of commands that
# forked 200 and 1,000 processes, started 2,000 threads and unmapped 30,000 pages, and 7 to 18% for a shell that started
# 100 commands (Linux 6.18 in a virtual machine).
_FREEING_SHARE = 0.25
_MAX_FREEING_SHARE = 0.1  # share of the repetition; 7% was measured for a command that only unmapped pages
_MAX_FREEING_SHARE_OF_THREADS = 0.02  # share of the repetition; small, because ksoftirqd has other work too
_WRITERS = regex(
    r"kworker/.*(?:flush-|writeback|kblockd|ext4|xfs|btrfs|kcryptd|dm-|loop)\S*|jbd2/.*|xfsaild/.*|btrfs-.*"
    r"|loop\d+|dmcrypt_write\S*|md\d+_raid\d+"
)
_RECLAIMERS = regex(r"ksoftirqd/\d+|rcu_(?:preempt|sched)|rcu(?:c|og|op|os)/\d+")


class OwnWork(Struct, frozen=True):
    """The upper bounds of the kernel's work for a command.

    `ios` is the number of its disk reads and writes, `freeing_ns` the time for freeing its memory in RCU's softirq
    and in threads, and `freeing_by_threads_ns` the part of it in threads.
    """

    ios: int
    freeing_ns: int
    freeing_by_threads_ns: int

    @classmethod
    def of(cls, repetition: Repetition) -> OwnWork:
        """Return the bounds from the repetition's resource usage."""
        use = repetition.use
        freeing_ns = round(min(use.system_ns * _FREEING_SHARE, repetition.length_ns * _MAX_FREEING_SHARE))
        return cls(
            ios=-(-(use.blocks_in + use.blocks_out) // _BLOCKS_PER_IO),
            freeing_ns=freeing_ns,
            freeing_by_threads_ns=min(freeing_ns, round(repetition.length_ns * _MAX_FREEING_SHARE_OF_THREADS)),
        )

    def remaining_after(self, own: Iterable[RunReason]) -> OwnWork:
        """Return what remains of the bounds after the work that kernel threads did for the command."""
        freed_ns = sum(reason.ns or 0 for reason in own if _is_by(_RECLAIMERS, reason))
        return replace(self, freeing_ns=max(self.freeing_ns - freed_ns, 0))

    def split(self, threads: Iterable[RunReason]) -> tuple[list[RunReason], list[RunReason]]:
        """Return the threads that disturbed the command, and the work that threads did for it.

        Only kernel threads that write to disks or free memory can work for it.
        """
        foreign: list[RunReason] = []
        own: list[RunReason] = []
        left_ns = {_WRITERS: self.ios * _NS_PER_IO, _RECLAIMERS: self.freeing_by_threads_ns}
        for reason in threads:
            own_ns = 0
            for names, left in left_ns.items():
                if _is_by(names, reason):
                    own_ns = min(reason.ns or 0, left)
                    left_ns[names] -= own_ns
            own += _part(reason, own_ns)
            foreign += _part(reason, (reason.ns or 0) - own_ns)
        return foreign, own


def _is_by(names: re.Pattern[str], reason: RunReason) -> bool:
    return reason.noise == Kind.KERNEL_THREAD and names.fullmatch(reason.name) is not None


def _part(reason: RunReason, ns: int) -> list[RunReason]:
    if not ns:
        return []
    if ns == reason.ns:
        return [reason]
    share = reason.share * ns / reason.ns if reason.share is not None and reason.ns else None
    return [replace(reason, ns=ns, share=share, is_estimate=True)]
