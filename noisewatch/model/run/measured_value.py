"""One value of a self-measuring benchmark, with the kernel's counts for the thread that measured it."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredValue:
    """One value of a benchmark. Times are ns; `began_ns` is on CLOCK_MONOTONIC. None is unknown.

    In the rest of its length, next to `ran_ns` and `waited_ns`, the thread slept, or interrupts and the hypervisor had
    the CPU, if the kernel excludes them from a thread's time: CONFIG_IRQ_TIME_ACCOUNTING and
    CONFIG_PARAVIRT_TIME_ACCOUNTING.
    """

    number: int  # from 1 on
    began_ns: int
    length_ns: int
    ran_ns: int
    waited_ns: int | None  # ready to run, while others had its CPU
    others_ns: int  # other threads of its process, and children that it waited for
    preemptions: int
    sleeps: int

    @property
    def rest_ns(self) -> int:
        return max(self.length_ns - self.ran_ns - (self.waited_ns or 0), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesAround:
    """The load of the CPU during all values and the time between them. None is unknown; `unknowns` explain why."""

    length_ns: int
    interrupted_ns: int | None  # by the count of interrupts and typical costs, without the tick
    steal_ns: int | None  # in steps of 10 ms
    busy_ns_by_sibling: Mapping[int, int] | None  # in steps of 10 ms
    unknowns: tuple[str, ...] = ()
