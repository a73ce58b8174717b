"""Counters and deliberate noise of a made-up machine of many CPUs, second by second."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Self

from tests.written.many_cpus_files import (
    NIC_IRQ,
    NVME_IRQ,
    NVME_QUEUES,
    files_of_thread,
    housekeeping,
    interrupt_tails,
    table,
)

_TICKS_PER_S = 100
_TICK_HZ = 250
_STORM_PER_S = 40_000
_ARCHITECTURE = ("NMI", "LOC", "RES", "CAL", "TLB", "MCE", "MCP")
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "TASKLET", "SCHED", "RCU")
_BUSY = (("systemd", 1, 0), ("systemd-journald", 21001, 1), ("sshd", 21002, 0), ("node_exporter", 21003, 1))
_SERVER = ("postgres", 21004, 0)
PROMETHEUS_PID = 21010
_THREADS_OF_A_CPU = ("migration/{}", "ksoftirqd/{}", "kworker/{}:1")


@dataclass(frozen=True, slots=True)
class Story:
    """The CPUs that get each kind of noise."""

    storm: int
    prometheus: int
    kernel_thread: int
    unplugged: frozenset[int]  # for some seconds
    missing: frozenset[int]  # from the start
    slow: frozenset[int]

    @classmethod
    def of(cls, count: int) -> Self:
        """Return the story for `count` CPUs. Two isolated CPUs of four share the noise; one CPU of two has it all."""
        last = frozenset({count - 1})
        if count == 2:
            return cls(1, 1, 1, frozenset(), frozenset(), last)
        if count < 8:
            return cls(2, count - 1, 2, last, frozenset(), last)
        slow = frozenset(range(max(count - 9, 2), count - 1))
        return cls(5, count // 2 + 1, count // 4 + 1, frozenset({count - 4}), last, slow)

    def offline_at(self, second: int) -> frozenset[int]:
        return self.missing | (self.unplugged if 60 <= second < 75 else frozenset())

    def slow_at(self, second: int) -> frozenset[int]:
        return self.slow if 80 <= second < 95 else frozenset()


class Counters:
    """Counters that only grow. The counters of an offline CPU are constant."""

    def __init__(self, count: int, story: Story, chance: Random) -> None:
        self._count, self._story, self._chance = count, story, chance
        self._at_home = housekeeping(count)
        labels = [str(NVME_IRQ + queue) for queue in range(NVME_QUEUES)]
        labels += [str(NIC_IRQ + cpu) for cpu in range(count)]
        self._interrupts = {label: [0] * count for label in (*labels, *_ARCHITECTURE)}
        self._softirqs = {label: [0] * count for label in _SOFTIRQS}
        self._tails = interrupt_tails(count)
        self._busy = {kind: [0.0] * count for kind in ("user", "system", "irq", "softirq")}
        self._elapsed = [0] * count
        self._ran_ns = [1_000_000] * count
        self._threads: dict[int, tuple[str, int, int]] = {
            pid: (name, cpu % len(self._at_home), 0) for name, pid, cpu in (*_BUSY, _SERVER)
        }
        self._threads[PROMETHEUS_PID] = ("prometheus", story.prometheus, 0)
        for cpu in range(count):
            for number, name in enumerate(_THREADS_OF_A_CPU):
                self._threads[10 + cpu * len(_THREADS_OF_A_CPU) + number] = (name.format(cpu), cpu, 1_000)
        self._files_by_pid = {
            pid: files_of_thread(pid, *thread, self._at_home) for pid, thread in self._threads.items()
        }

    def advance(self, second: int) -> None:
        """Advance by one second."""
        for cpu in sorted(frozenset(range(self._count)) - self._story.offline_at(second)):
            self._elapsed[cpu] += _TICKS_PER_S
            if cpu in self._at_home:
                self._keep_house(cpu)
            else:
                self._rest(cpu)
        self._make_noise(second)

    def _keep_house(self, cpu: int) -> None:
        chance = self._chance
        self._interrupt("LOC", cpu, _TICK_HZ)
        self._interrupt("RES", cpu, chance.randrange(40, 90))
        self._interrupt("CAL", cpu, chance.randrange(10, 30))
        self._interrupt(str(NIC_IRQ + cpu), cpu, packets := chance.randrange(300, 900))
        self._interrupt(str(NVME_IRQ + chance.randrange(NVME_QUEUES) // 2 * 2 + cpu), cpu, chance.randrange(5, 60))
        for label, times in (("NET_RX", packets), ("TIMER", 200), ("SCHED", 180), ("RCU", 120)):
            self._softirqs[label][cpu] += times
        for pid, (_, home, _) in list(self._threads.items()):
            if home == cpu and pid >= 21000:
                self._run(pid, chance.randrange(2_000_000, 40_000_000), "user")

    def _rest(self, cpu: int) -> None:
        """Count a tick per second, and sometimes calls from other CPUs or RCU work."""
        self._interrupt("LOC", cpu, 1)
        if self._chance.random() < 0.05:
            self._interrupt("CAL", cpu, self._chance.randrange(1, 12))
        if self._chance.random() < 0.02:
            self._softirqs["RCU"][cpu] += 2

    def _make_noise(self, second: int) -> None:
        story, chance = self._story, self._chance
        if 20 <= second < 32:
            self._storm(story.storm, _STORM_PER_S + chance.randrange(-4_000, 4_000))
        if second % 10 == 0 and story.prometheus not in story.offline_at(second):
            self._run(PROMETHEUS_PID, 60_000_000 + chance.randrange(4_000_000), "user")
        if second in (45, 105):
            self._run(10 + story.kernel_thread * len(_THREADS_OF_A_CPU) + 2, 8_000_000, "system")

    def _storm(self, cpu: int, times: int) -> None:
        self._interrupt(str(NIC_IRQ + cpu), cpu, times)
        self._softirqs["NET_RX"][cpu] += times
        self._busy["irq"][cpu] += times * 3e-6 * _TICKS_PER_S
        self._busy["softirq"][cpu] += times * 5e-6 * _TICKS_PER_S

    def _interrupt(self, label: str, cpu: int, times: int) -> None:
        self._interrupts[label][cpu] += times

    def _run(self, pid: int, ran_ns: int, kind: str) -> None:
        name, cpu, before_ns = self._threads[pid]
        self._threads[pid] = (name, cpu, before_ns + ran_ns)
        self._files_by_pid[pid] = files_of_thread(pid, *self._threads[pid], self._at_home)
        self._ran_ns[cpu] += ran_ns
        self._busy[kind][cpu] += ran_ns / 1e9 * _TICKS_PER_S

    def files(self, online: list[int]) -> dict[str, str]:
        """Return the tables and the processes of this snapshot."""
        contents = {
            "/proc/interrupts": table(self._interrupts, online, self._tails),
            "/proc/softirqs": table(self._softirqs, range(self._count), {}),
            "/proc/stat": self._stat(online),
            "/proc/schedstat": "version 17\ntimestamp 4303\n"
            + "".join(f"cpu{cpu} 0 0 0 0 0 0 {self._ran_ns[cpu]} 0 1\n" for cpu in online),
        }
        for files in self._files_by_pid.values():
            contents |= files
        return contents

    def _stat(self, online: list[int]) -> str:
        rows = []
        for cpu in online:
            user, system, irq, softirq = (int(part[cpu]) for part in self._busy.values())
            idle = 100_000 + self._elapsed[cpu] - user - system - irq - softirq
            rows.append((f"cpu{cpu}", 1000 + user, 0, 500 + system, idle, 20, irq, 5 + softirq, 0, 0, 0))
        total = ("cpu", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True)))
        lines = [" ".join(map(str, row)) for row in (total, *rows)]
        return "\n".join(lines) + "\nintr 1 2 3\nctxt 5\nprocs_running 1\n"
