"""Types shared by all rooms: kinds of noise and work, roles of CPUs, tracers."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kinds of sources that use a CPU or take time from it. The values are used in JSON reports."""

    IDLE = "idle"  # in a trace: no task has the CPU
    IRQ = "irq"  # an interrupt of a device, which has a driver
    TICK = "tick"  # the kernel's own timer interrupt
    TIMER = "timer"  # timer interrupts other than the tick
    IPI = "ipi"  # an interrupt that another CPU sends
    NMI = "nmi"
    LOCAL = "local"  # any other interrupt of the CPU itself, such as PMI, TRM and MCP of x86
    NO_INTERRUPT = "none"  # a row of /proc/interrupts that counts anything else
    SOFTIRQ = "softirq"
    THREAD = "thread"
    KERNEL_THREAD = "kernel-thread"
    SIBLING = "sibling"  # work on another hardware thread of the core
    QUOTA = "quota"  # the cgroup's CPU bandwidth limit
    OUTSIDE = "outside"  # hypervisor or firmware
    UNATTRIBUTED = "unexplained"  # busy time that no visible thread explains

    def with_name(self, name: str) -> str:
        """Return kind and name for a sentence: `softirq RCU`.

        Names that contain their kind are not prefixed: `unattributed time`, `CPU quota of /a`.
        """
        return name if self in _IN_NAMES else f"{self} {name}"


_IN_NAMES = frozenset({Kind.UNATTRIBUTED, Kind.QUOTA, Kind.OUTSIDE})
INTERRUPT_KINDS = frozenset({Kind.IRQ, Kind.TICK, Kind.TIMER, Kind.IPI, Kind.NMI, Kind.LOCAL})
THREADS = frozenset({Kind.THREAD, Kind.KERNEL_THREAD})
AFTER_AN_INTERRUPT = ("NET_RX", "BLOCK", "TASKLET", "HI", "IRQ_POLL")  # softirqs raised by interrupts of devices


class Role(StrEnum):
    """The role of a CPU for the benchmark."""

    TARGET = "target"
    SIBLING = "sibling"  # another hardware thread of a target CPU's core
    HOUSEKEEPING = "housekeeping"
    OFFLINE = "offline"


class Work(StrEnum):
    """A kind of work, by the resource that limits a benchmark. Neighbours disturb it if they use the same resource."""

    LATENCY = "latency"  # dependent steps: hardly affected by a busy sibling
    THROUGHPUT = "throughput"  # as many instructions per cycle as possible: a busy sibling takes half
    INTERPRETER = "interpreter"  # branches and small objects: between latency and throughput, but less steady
    CACHE = "cache"  # data in the last-level cache, which other work may evict
    MEMORY = "memory"  # data that no cache holds, at random places: its latency
    BANDWIDTH = "bandwidth"  # copies of data that no cache holds
    MIXED = "mixed"  # latency, throughput and interpreter work in turn


class Tracer(StrEnum):
    """The kernel's ways to trace interruptions of a CPU."""

    EVENTS = "events"  # tracepoints, most detail
    OSNOISE = "osnoise"  # the osnoise tracer, lower overhead
    NONE = "none"
