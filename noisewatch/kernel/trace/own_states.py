"""Why threads of a command had no CPU, by the trace of the switches between threads.

A switch contains the state in which a thread leaves its CPU (prev_state, as `TASK_REPORT` in linux/sched.h):

    R, R+   0, 0x100   it could have gone on: another thread has the CPU, or its control group has used up its quota
    S       1          asleep
    D       2          waits in the kernel: for a disk, a lock, its child; also frozen by cgroup v1 (TASK_FROZEN)
    T       4          stopped by a signal
    t       8          stopped by a debugger
    Z, X    0x20, 0x10 ended (0x40 before Linux 4.14)

While a thread is ready and the CPU that it has left is idle, the scheduler holds it back.
"""

from __future__ import annotations

from noisewatch.records import dataclass

_WAIT, _STOP, _HOLD, _END = 2, 4, 8, 0x10 | 0x20 | 0x40
_ANY = 1 | _WAIT | _STOP | _HOLD | _END
_RUN, _IDLE, _BUSY = -1, -2, -3  # in place of a state: a thread has the CPU; what a CPU becomes


@dataclass(frozen=True, slots=True)
class StateTimes:
    """How long states of a command's threads lasted, in ns, each moment counted once.

    `stopped_ns`: a signal had stopped one, until it ran again. `held_ns`: one was ready to run, and the CPU that it had
    left was idle. `blocked_ns`: none ran or was ready, and one waited in the kernel or for a debugger.
    """

    stopped_ns: int = 0
    held_ns: int = 0
    blocked_ns: int = 0


def is_end(state: int) -> bool:
    """Return whether a thread that leaves its CPU in that state has ended."""
    return bool(state & _END)


class OwnStates:
    """The states of one command's threads. CPUs are taken in one after the other, each in order of time."""

    def __init__(self) -> None:
        self._times = StateTimes()
        self._events: list[tuple[int, int, int, int]] = []  # not in order yet: time, state, thread, CPU
        self._settled_ns = 0
        self._state: dict[int, int] = {}  # by thread that has no CPU
        self._left: dict[int, int] = {}  # the CPU that it has left, by thread that is ready
        self._tid_by_cpu: dict[int, int] = {}
        self._idle: set[int] = set()

    def run(self, tid: int, cpu: int, at_ns: int) -> None:
        """Add that the thread has the CPU from then on."""
        self._events.append((at_ns, _RUN, tid, cpu))

    def leave(self, tid: int, cpu: int, at_ns: int, state: int) -> None:
        """Add that the thread leaves the CPU in that state."""
        self._events.append((at_ns, state & _ANY, tid, cpu))

    def idle(self, cpu: int, at_ns: int) -> None:
        """Add that the CPU is idle from then on."""
        self._events.append((at_ns, _IDLE, 0, cpu))

    def busy(self, cpu: int, at_ns: int) -> None:
        """Add that the CPU is not idle any more."""
        self._events.append((at_ns, _BUSY, 0, cpu))

    def settle(self, until_ns: int) -> None:
        """Add up the states until the last event by then; the events of all CPUs are known until then."""
        self._events.sort()
        later = []
        for event in self._events:
            if event[0] > until_ns:
                later.append(event)
                continue
            self._count(event[0])
            self._change(*event[1:])
        self._events = later

    def times_until(self, ended_ns: int) -> StateTimes:
        """Return the sums until the command ended, by which all is settled."""
        self._count(ended_ns)
        return self._times

    def _count(self, now_ns: int) -> None:
        ns = now_ns - self._settled_ns
        if ns <= 0:
            return
        self._settled_ns = now_ns
        states = self._state.values()
        is_blocked = not self._tid_by_cpu and not self._left and any(state & (_WAIT | _HOLD) for state in states)
        is_held = not self._idle.isdisjoint(self._left.values())
        is_stopped = any(state & _STOP for state in states)
        if is_blocked or is_held or is_stopped:
            times = self._times
            self._times = StateTimes(
                stopped_ns=times.stopped_ns + ns * is_stopped,
                held_ns=times.held_ns + ns * is_held,
                blocked_ns=times.blocked_ns + ns * (is_blocked and not is_stopped),
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
