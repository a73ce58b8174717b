"""The threads of a traced command: which are its own, on which CPUs they ran, and why they did not run.

A command's own threads are its first one and all its descendants. While the command runs, a tid may be reused by
another of its threads, or by a foreign thread.

A thread that is queued on another CPU but does not run there has not moved: only CPUs on which it ran count.

A switch contains the state in which a thread leaves its CPU (prev_state, as `TASK_REPORT` in linux/sched.h):

    R, R+   0, 0x100   it could have continued: another thread gets the CPU, or its control group has used up its quota
    S       1          asleep
    D       2          waits in the kernel: for a disk, a lock, its child; also frozen by cgroup v1 (TASK_FROZEN)
    T       4          stopped by a signal
    t       8          stopped by a debugger
    Z, X    0x20, 0x10 ended (0x40 before Linux 4.14)

If a thread is ready although the CPU that it left is idle, the scheduler is holding it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.kernel.trace.sends import Birth
from noisewatch.text import clean


class OwnThreads:
    """A command's own threads: its first thread, and all descendants. Births are added in order of time."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.group = {pid}  # all threads that the command's first process ever had
        self._now = {pid}
        # By tid: times of changes, and whether the tid is the command's own from then on.
        self._then: dict[int, list[tuple[int, bool]]] = {}
        self.has_begun = False  # whether the birth of the first thread was traced

    def add_births(self, births: Iterable[Birth]) -> None:
        """Add all births since the last call, foreign ones too. `is_own` cannot look back beyond the last call."""
        self._then = {}
        for at_ns, tid, parent, is_thread in births:
            is_own = tid == self._pid or parent in self._now
            self.has_begun = self.has_begun or tid == self._pid
            if is_own != (tid in self._now):
                self._then.setdefault(tid, [(0, not is_own)]).append((at_ns, is_own))
            (self._now.add if is_own else self._now.discard)(tid)
            if is_thread and parent in self.group:
                self.group.add(tid)

    def is_own(self, tid: int, at_ns: int) -> bool:
        """Return whether one of the command's own threads had the tid at this time."""
        changes = self._then.get(tid)
        if changes is None:
            return tid in self._now
        return next(is_own for since_ns, is_own in reversed(changes) if since_ns <= at_ns)


_WAIT, _STOP, _HOLD, _END = 2, 4, 8, 0x10 | 0x20 | 0x40
_ANY = 1 | _WAIT | _STOP | _HOLD | _END
# Events other than a thread's state: a thread gets the CPU; the CPU becomes idle; the CPU becomes busy.
_RUN, _IDLE, _BUSY = -1, -2, -3


class StateTimes(Struct, frozen=True):
    """How long (ns) a command's threads were kept from running, by reason.

    A moment counts once for a reason, however many threads it applies to. Time in `blocked_ns` is not in `stopped_ns`.
    """

    stopped_ns: int = 0  # a thread was stopped by a signal, and had not run again
    held_ns: int = 0  # a thread was ready to run although the CPU that it had left was idle
    blocked_ns: int = 0  # no thread ran or was ready, and at least one waited in the kernel or for a debugger
    debugged_ns: int = 0  # the part of `blocked_ns` in which a thread waited for a debugger
    waits: int = 0  # how often a thread began to wait in the kernel


def is_end(state: int) -> bool:
    """Return whether a thread that leaves its CPU in this state has ended."""
    return bool(state & _END)


def is_ready(state: int) -> bool:
    """Return whether a thread that leaves its CPU in this state could have continued."""
    return not state & _ANY


class OwnStates:
    """The states of a command's threads. Events are added CPU by CPU, in order of time for each CPU."""

    def __init__(self) -> None:
        self._times = StateTimes()
        self._waits = 0
        self._events: list[tuple[int, int, int, int]] = []  # unsorted: time, state, thread, CPU
        self._settled_ns = 0
        self._state: dict[int, int] = {}  # state of each waiting or stopped thread
        self._left: dict[int, int] = {}  # the CPU that each ready thread left
        self._tid_by_cpu: dict[int, int] = {}
        self._idle: set[int] = set()

    def run(self, tid: int, cpu: int, at_ns: int) -> None:
        """Record that the thread has the CPU from `at_ns` on."""
        self._events.append((at_ns, _RUN, tid, cpu))

    def leave(self, tid: int, cpu: int, at_ns: int, state: int) -> None:
        """Record that the thread leaves the CPU at `at_ns`, in this state (prev_state)."""
        self._events.append((at_ns, state & _ANY, tid, cpu))

    def mark_idle(self, cpu: int, at_ns: int) -> None:
        """Record that the CPU is idle from `at_ns` on."""
        self._events.append((at_ns, _IDLE, 0, cpu))

    def mark_busy(self, cpu: int, at_ns: int) -> None:
        """Record that the CPU is not idle from `at_ns` on."""
        self._events.append((at_ns, _BUSY, 0, cpu))

    def settle(self, until_ns: int) -> None:
        """Sum the states up to the last event by `until_ns`. All CPUs' earlier events must have been added."""
        self._events.sort()
        later = []
        for event in self._events:
            if event[0] > until_ns:
                later.append(event)
                continue
            self._count(event[0])
            self._change(*event[1:])
        self._events = later

    def times_until(self, end_ns: int) -> StateTimes:
        """Return the sums up to `end_ns`, when the command ended."""
        self._count(end_ns)
        return replace(self._times, waits=self._waits)

    def _count(self, now_ns: int) -> None:
        ns = now_ns - self._settled_ns
        if ns <= 0:
            return
        self._settled_ns = now_ns
        states = self._state.values()
        is_blocked = not self._tid_by_cpu and not self._left and any(state & (_WAIT | _HOLD) for state in states)
        is_held = not self._idle.isdisjoint(self._left.values())
        is_stopped = any(state & _STOP for state in states)
        is_debugged = any(state & _HOLD for state in states)
        if is_blocked or is_held or is_stopped:
            times = self._times
            self._times = StateTimes(
                stopped_ns=times.stopped_ns + ns * is_stopped,
                held_ns=times.held_ns + ns * is_held,
                blocked_ns=times.blocked_ns + ns * (is_blocked and not is_stopped),
                debugged_ns=times.debugged_ns + ns * (is_blocked and is_debugged and not is_stopped),
            )

    def _change(self, state: int, tid: int, cpu: int) -> None:
        if state == _IDLE:
            self._idle.add(cpu)
        elif state == _BUSY:
            self._idle.discard(cpu)
        elif state == _RUN:
            self._tid_by_cpu[cpu] = tid
            self._state.pop(tid, None)
            self._left.pop(tid, None)
        else:
            if self._tid_by_cpu.get(cpu) == tid:
                del self._tid_by_cpu[cpu]
            if not state:
                self._left[tid] = cpu
            elif state & (_WAIT | _STOP | _HOLD) and not state & _END:
                self._state[tid] = state
                self._waits += bool(state & _WAIT)


MOST_THREADS = 1024  # threads that are kept individually; if there are many more, those that ran least are only summed


class TracedThread(Struct, frozen=True):
    """One thread: its time (ns) by CPU, and its moves by old and new CPU. Threads with the same tid count as one."""

    tid: int
    name: str
    ns_by_cpu: Mapping[int, int]
    moves: Mapping[tuple[int, int], int]

    @property
    def ran_ns(self) -> int:
        """The time (ns) on all CPUs."""
        return sum(self.ns_by_cpu.values())


class _Thread(Struct):
    name: str = ""
    cpu: int | None = None  # the last CPU
    ns_by_cpu: Counter[int] = field(default_factory=Counter)
    moves: Counter[tuple[int, int]] = field(default_factory=Counter)


class OwnPlaces:
    """The CPUs on which a command's threads ran. Runs are added CPU by CPU, in order of time for each CPU."""

    def __init__(self) -> None:
        self.other_ns = 0  # time of threads that are not kept individually
        self._threads: dict[int, _Thread] = {}
        self._runs: list[tuple[int, int, int]] = []  # unsorted: begin, thread, CPU

    def add(self, tid: int, name: str, cpu: int, begin_ns: int, end_ns: int) -> None:
        """Add a run of the thread on the CPU."""
        thread = self._threads.get(tid)
        if thread is None:
            thread = self._threads[tid] = _Thread()
        thread.name = name or thread.name
        thread.ns_by_cpu[cpu] += end_ns - begin_ns
        self._runs.append((begin_ns, tid, cpu))

    def settle(self, until_ns: int) -> None:
        """Count the moves between runs that began by `until_ns`. All CPUs' earlier runs must have been added."""
        later = []
        for run in sorted(self._runs):
            begin_ns, tid, cpu = run
            if begin_ns > until_ns:
                later.append(run)
                continue
            thread = self._threads[tid]
            if thread.cpu not in (None, cpu):
                thread.moves[thread.cpu, cpu] += 1
            thread.cpu = cpu
        self._runs = later
        if len(self._threads) > 2 * MOST_THREADS:
            self._sum_shortest_runs()

    def _sum_shortest_runs(self) -> None:
        awaited = {tid for _, tid, _ in self._runs}
        by_time = sorted(self._threads, key=lambda tid: -self._threads[tid].ns_by_cpu.total())
        for tid in by_time[MOST_THREADS:]:
            if tid not in awaited:
                self.other_ns += self._threads.pop(tid).ns_by_cpu.total()

    @property
    def threads(self) -> tuple[TracedThread, ...]:
        """The threads that are kept individually."""
        return tuple(
            TracedThread(tid, clean(thread.name), dict(thread.ns_by_cpu), dict(thread.moves))
            for tid, thread in self._threads.items()
        )
