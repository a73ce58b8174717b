"""Types defined once for all rooms: kinds of noise and work, roles of CPUs, tracers."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What occupies a CPU, or takes time from it. The values are those of the JSON reports."""

    IDLE = "idle"  # in a trace: no task has the CPU
    IRQ = "irq"  # a device's interrupt, and only a device's: it can be moved, and has a driver
    TICK = "tick"  # the kernel's own timer interrupt
    TIMER = "timer"  # timer interrupts that others than the tick have asked for
    IPI = "ipi"  # another CPU's call
    NMI = "nmi"
    LOCAL = "local"  # any other interrupt of the CPU itself, such as PMI, TRM and MCP of x86
    NO_INTERRUPT = "none"  # a row of /proc/interrupts that counts something else
    SOFTIRQ = "softirq"
    THREAD = "thread"
    KERNEL_THREAD = "kernel-thread"
    SIBLING = "sibling"  # work on another hardware thread of the core
    QUOTA = "quota"  # the cgroup's CPU bandwidth limit
    OUTSIDE = "outside"  # hypervisor or firmware
    UNATTRIBUTED = "unexplained"  # busy time that no visible thread explains

    def with_name(self, name: str) -> str:
        """Return kind and name for a sentence: `softirq RCU`.

        Names that contain their kind stay alone: `unattributed time`, `CPU quota of /a`.
        """
        return name if self in _IN_NAMES else f"{self} {name}"


_IN_NAMES = frozenset({Kind.UNATTRIBUTED, Kind.QUOTA, Kind.OUTSIDE})
INTERRUPT_KINDS = frozenset({Kind.IRQ, Kind.TICK, Kind.TIMER, Kind.IPI, Kind.NMI, Kind.LOCAL})
THREADS = frozenset({Kind.THREAD, Kind.KERNEL_THREAD})
AFTER_AN_INTERRUPT = ("NET_RX", "BLOCK", "TASKLET", "HI", "IRQ_POLL")  # softirqs that a device's interrupt raises


class Role(StrEnum):
    """The part that a CPU plays for the benchmark."""

    TARGET = "target"
    SIBLING = "sibling"  # another hardware thread of a target CPU's core
    HOUSEKEEPING = "housekeeping"
    OFFLINE = "offline"


class Work(StrEnum):
    """The kinds of work: what the time of a benchmark depends on, and so which neighbours disturb it."""

    LATENCY = "latency"  # dependent steps: hardly affected by a busy sibling
    THROUGHPUT = "throughput"  # as many instructions a cycle as the core can do: a busy sibling takes half of them
    INTERPRETER = "interpreter"  # branches, small objects, many caches: between the two, and never steady
    CACHE = "cache"  # data in the last-level cache, which other work may evict
    MEMORY = "memory"  # what no cache holds
    MIXED = "mixed"  # the first three in turn


class Tracer(StrEnum):
    """How the kernel traces what interrupts a CPU."""

    EVENTS = "events"  # tracepoints, most detail
    OSNOISE = "osnoise"  # the osnoise tracer, lower overhead
    NONE = "none"
