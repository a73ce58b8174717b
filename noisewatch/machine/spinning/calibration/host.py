"""The spinners of a calibration, one process per CPU, and the host process that forks and ends them.

A spinner follows its slots and writes to its buffer. The host ends the spinners when its parent is gone. `run.py`
starts the host with a bare interpreter, because all imports here are in the memory of every spinner.
"""

from __future__ import annotations

import gc
import mmap
import os
import select
import signal
import time
from contextlib import ExitStack, suppress
from time import monotonic_ns
from types import ModuleType
from typing import Any

from noisewatch.machine.spinning.calibration.buffer import (
    ADD_NS,
    BANDWIDTH,
    CACHE,
    CHAIN_LENGTH,
    COMMAND,
    CYCLES,
    DONE,
    ERROR,
    FAILED,
    FETCH,
    GAPS,
    LATENCY,
    LOCKED_KB,
    MEMORY,
    MOVED,
    MULTIPLY_NS,
    NO_PRIORITY,
    READY,
    REFUSED,
    RESIDENT_KB,
    RUNNING,
    SPINS,
    START_NS,
    STARTED,
    STATE,
    STOP_NS,
    THROUGHPUT,
    TID,
    WORKING,
    CalibrationBuffer,
    Slot,
    buffer_words,
    starts_of,
)
from noisewatch.machine.spinning.hosting import receive_plan
from noisewatch.machine.spinning.loops import python_loops
from noisewatch.machine.spinning.loops.python_loops import Words

_CHAINS = 3  # chains per measurement; the fastest counts, because interruptions only add time
_FIRST_CHAINS = 25  # chains of the first measurement, the reference for all others
_BLOCK_NS = 20_000_000  # length of a block of work; the clock is measured after each block of interpreter work
# Time between checks that the host is alive and the CPU is ours; no gap is measured during a check.
_CHECK_NS = 100_000_000
_EARLY_NS = 300_000  # waking up takes time, so wake early and spin until the start
_WARM_NS = 3_000_000  # the first work after a pause is slower, because caches are cold
_COMMAND_GRACE_S = 5.0
_NO_EXIT_STATUS = 1 << 16


class CalibrationSpinner:
    """A spinner that measures on one CPU. It is ready once its memory is mapped and slow preparations are done."""

    def __init__(
        self,
        core: ModuleType,
        buffer: CalibrationBuffer,
        cpu: int,
        memories: dict[str, bytearray],
        plan: dict[str, Any],
        host_pid: int,
    ) -> None:
        self._core = core
        self._buffer = buffer
        self._cpu = cpu
        self._threshold_ns: int = plan["threshold_ns"]
        self._grain: int = plan["grain"]
        self._is_realtime: bool = plan["is_realtime"]
        self._command: list[str] = plan["command"]
        self._memories = {kind: memoryview(memory) for kind, memory in memories.items()}
        self._target = memoryview(mmap.mmap(-1, _TARGET_BYTES, mmap.MAP_PRIVATE))
        self._places = dict.fromkeys((*memories, BANDWIDTH), 0)
        self._host_pid = host_pid
        self._schedstat = -1

    def run(self, slots: list[Slot]) -> None:
        """Prepare, wait for the common start, and work through the slots."""
        if not self._prepare():
            return
        header = self._buffer.header
        header[STATE] = READY
        while not header[START_NS]:
            if not self._may_go_on():
                return
            time.sleep(0.001)
        start_ns = header[START_NS]
        header[STATE] = RUNNING
        for kind, begin, end in slots:
            if 0 < header[STOP_NS] <= begin:
                break
            if not self._measure(kind, start_ns + begin, start_ns + end):
                return
        header[STATE] = DONE

    def _prepare(self) -> bool:
        header = self._buffer.header
        header[TID] = os.getpid()
        refusal = REFUSED
        try:
            os.sched_setaffinity(0, {self._cpu})
            refusal = NO_PRIORITY
            if self._is_realtime:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError as error:
            header[ERROR], header[STATE] = error.errno or 0, refusal
            return False
        self._touch()
        self._core.lock_memory(self._buffer.words)
        header[LOCKED_KB], header[RESIDENT_KB] = _locked_and_resident_kb()
        self._schedstat = _open_if_present("/proc/thread-self/schedstat")
        header[MULTIPLY_NS] = self._quickest(self._core.multiplications_ns, _FIRST_CHAINS)
        header[ADD_NS] = self._quickest(self._core.additions_ns, _FIRST_CHAINS)
        return True

    def _touch(self) -> None:
        """Map every page of the buffers, so that no page fault occurs during measurements."""
        for words in (self._buffer.gaps, *self._buffer.samples.values()):
            for at in range(0, len(words), 512):
                words[at] = 0
        for at in range(0, _TARGET_BYTES, mmap.PAGESIZE):
            self._target[at] = 0

    def _quickest(self, chain_ns: object, tries: int) -> int:
        times = [chain_ns(CHAIN_LENGTH) for _ in range(tries)]  # type: ignore[operator]  # a core's function
        return -1 if times[0] is None else int(min(times))

    def _may_go_on(self) -> bool:
        """Return whether the host is alive and this process is still on its CPU."""
        if os.getppid() != self._host_pid:
            return False
        if os.sched_getaffinity(0) != {self._cpu}:  # the kernel moves this process if the CPU goes offline
            self._buffer.header[STATE] = MOVED
            return False
        return True

    def _measure(self, kind: str, begin_ns: int, end_ns: int) -> bool:
        if not self._may_go_on():
            return False
        has_rested = _rest_until(begin_ns)
        if has_rested and not self._may_go_on():
            return False
        if has_rested and kind in WORKING and kind not in STARTED:
            self._warm_up(begin_ns + _WARM_NS)
        if kind in FETCH:
            self._fetch(FETCH[kind], end_ns)
            return self._may_go_on()
        if kind == COMMAND:
            return self._run_commands(end_ns)
        at = monotonic_ns()
        while at < end_ns:
            until_ns = min(at + (_CHECK_NS if kind == GAPS else _BLOCK_NS), end_ns)
            self._measure_block(kind, until_ns)
            if not self._may_go_on():
                return False
            at = monotonic_ns()
        return True

    def _measure_block(self, kind: str, until_ns: int) -> None:
        core, buffer = self._core, self._buffer
        if kind == GAPS:
            start_ns = monotonic_ns()
            core.spin(buffer.gaps, buffer.totals, until_ns, self._threshold_ns, self._schedstat)
            buffer.add(SPINS, start_ns, monotonic_ns() - start_ns)
            return
        kind = STARTED.get(kind, kind)
        samples, count, grain = buffer.samples[kind], buffer.counts[kind], self._grain
        if kind in self._places:
            self._access(kind, samples, count, until_ns)
        elif kind == THROUGHPUT:
            core.dense(samples, count, until_ns, core.DENSE_ROUNDS * grain)
        elif kind == LATENCY:
            core.chain(samples, count, until_ns, core.CHAIN_LENGTH * grain)
        else:
            python_loops.interpret(samples, count, until_ns, python_loops.INTERPRETED_ROUNDS * grain)
            if buffer.header[MULTIPLY_NS] > 0:
                buffer.add(CYCLES, monotonic_ns(), self._quickest(core.multiplications_ns, _CHAINS))

    def _access(self, kind: str, samples: Words, count: Words, until_ns: int) -> None:
        """Walk through the kind's memory, or copy memory for BANDWIDTH, starting where the last access ended."""
        core, grain, place = self._core, self._grain, self._places[kind]
        if kind == BANDWIDTH:
            source, lines = self._memories[MEMORY], core.STREAM_LINES * grain
            place = core.stream(samples, count, until_ns, source, self._target, lines, place)
        else:
            steps = core.CHASE_STEPS if kind == CACHE else core.FAR_STEPS
            place = core.chase(samples, count, until_ns, self._memories[kind], steps * grain, place)
        self._places[kind] = place

    def _fetch(self, kind: str, until_ns: int) -> None:
        samples, count = (memoryview(bytearray(8 * words)).cast("q") for words in (python_loops.WORK_WORDS, 1))
        while monotonic_ns() < until_ns:
            count[0] = 0
            self._access(kind, samples, count, until_ns)

    def _warm_up(self, until_ns: int) -> None:
        words = memoryview(bytearray(8 * python_loops.WORK_WORDS)).cast("q")
        while monotonic_ns() < until_ns:
            python_loops.interpret(words, memoryview(bytearray(8)).cast("q"), until_ns, python_loops.INTERPRETED_ROUNDS)

    def _run_commands(self, end_ns: int) -> bool:
        """Run the user's command again and again, at least three times; return whether all runs succeeded."""
        count = self._buffer.counts[COMMAND]
        before = count[0]
        while monotonic_ns() < end_ns or count[0] - before < 3:
            start_ns = monotonic_ns()
            status = self._run_command(max(end_ns - start_ns, 0) / 1e9 + _COMMAND_GRACE_S)
            if status != 0:
                self._buffer.header[ERROR], self._buffer.header[STATE] = status, FAILED
                return False
            self._buffer.add(COMMAND, start_ns, monotonic_ns() - start_ns)
            if not self._may_go_on():
                return False
        return True

    def _run_command(self, limit_s: float) -> int:
        """Run the command and return its exit status, or 256 + errno if it cannot be started.

        If it takes too long, or the host is gone, kill it and this process.
        """
        nothing = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in range(3)]
        try:
            pid = os.posix_spawnp(self._command[0], self._command, os.environ, file_actions=actions)
        except OSError as error:
            return 256 + (error.errno or 0)
        finally:
            os.close(nothing)
        if not _wait_for_end(pid, self._host_pid, max(limit_s, 0.1)):
            self._buffer.header[ERROR], self._buffer.header[STATE] = _NO_EXIT_STATUS, FAILED
            os.killpg(0, signal.SIGKILL)  # the command, everything it has started, and this process
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status if status >= 0 else 128 - status


def _wait_for_end(pid: int, host_pid: int, timeout_s: float) -> bool:
    """Wait for the process's end; return whether it came in time, or False at once if the host is gone.

    This process sleeps until then, because regular wake-ups would disturb the command.
    """
    with ExitStack() as stack:
        watched = {}
        for watched_pid in (pid, host_pid):
            try:
                watched[watched_pid] = os.pidfd_open(watched_pid)
            except ProcessLookupError:
                return False
            stack.callback(os.close, watched[watched_pid])
        ends = select.poll()
        for descriptor in watched.values():
            ends.register(descriptor, select.POLLIN)
        return watched[pid] in dict(ends.poll(timeout_s * 1000))


def _rest_until(begin_ns: int) -> bool:
    """Sleep until shortly before `begin_ns`, then spin; return whether the rest was long enough to count as a pause."""
    left_ns = begin_ns - monotonic_ns()
    if left_ns > _EARLY_NS:
        time.sleep((left_ns - _EARLY_NS) / 1e9)
    while monotonic_ns() < begin_ns:
        pass
    return left_ns > _WARM_NS


def _open_if_present(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _locked_and_resident_kb() -> tuple[int, int]:
    """Return this process's locked and resident memory in kB; -1 if the kernel does not report a value."""
    kb_by_name = {"VmLck": -1, "VmRSS": -1}
    try:
        with open("/proc/self/status") as status:
            for line in status:
                name, _, rest = line.partition(":")
                if name in kb_by_name:
                    kb_by_name[name] = int(rest.split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return kb_by_name["VmLck"], kb_by_name["VmRSS"]


NAME = "noisewatch-spin"  # the process name that other programs see, `noisewatch preflight` among them: 15 bytes

# Larger than most second-level caches but within the shared last level; and larger than most last-level caches.
_BYTES = {CACHE: 1 << 22, MEMORY: 1 << 26}
_TARGET_BYTES = 1 << 20  # size of the target of copies; each spinner has its own
_POLL_NS = 50_000_000
_BUSY_BEFORE_NS, _BUSY_AFTER_NS = 60_000_000, 30_000_000  # about the time that a benchmark takes to start


def main() -> None:
    """Run the plan in the first line of standard input; the buffers are in the memory with the descriptor `argv[1]`."""
    plan, words, core = receive_plan(NAME)
    memories = {kind: core.chase_memory(size) for kind, size in _BYTES.items()}  # once for all spinners
    size = buffer_words(plan["capacities"])
    gc.disable()
    gc.freeze()  # a garbage collection would write to the pages shared by all spinners, and so copy them
    pids, own_pid = set(), os.getpid()
    for number, (cpu, slots) in enumerate(plan["slots"]):
        buffer = CalibrationBuffer(words[number * size : (number + 1) * size], plan["capacities"])
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)  # a group with everything it starts, so that all can be ended together
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            CalibrationSpinner(core, buffer, cpu, memories, plan, own_pid).run(slots)
            os._exit(0)
        pids.add(pid)
    starts = sorted({begin for _, slots in plan["slots"] for begin, _ in starts_of(slots)})
    if os.sched_getaffinity(0) & {cpu for cpu, _ in plan["slots"]}:
        starts = []  # no other CPU to be busy on: this process would be the noise
    _wait(pids, words, starts)


def _wait(pids: set[int], words: memoryview, starts: list[int]) -> None:
    """Wait until all spinners have ended. End them if standard input ends: the parent is gone, or has closed it.

    A process that starts a benchmark is busy at that moment. On a virtual machine this may slow the benchmark down: two
    CPUs that wake up together may share one core. To measure this effect, the host is busy at the `starts`, too.
    """
    while pids:
        pid, status = os.waitpid(-1, os.WNOHANG)
        pids.discard(pid)
        if pid and os.WIFSIGNALED(status):
            _end_group(pid)
        now_ns = monotonic_ns() - (words[START_NS] or monotonic_ns())
        starts = [start for start in starts if start + _BUSY_AFTER_NS > now_ns]
        if starts and now_ns >= starts[0] - _BUSY_BEFORE_NS and words[START_NS]:
            _be_busy(words[START_NS] + starts[0] + _BUSY_AFTER_NS)
        elif pid == 0 and select.select([0], [], [], _pause_s(starts, now_ns))[0]:
            for spinner_pid in pids:
                _end_group(spinner_pid)
                with suppress(ProcessLookupError):
                    os.kill(spinner_pid, signal.SIGKILL)  # it may not have its process group yet
            return


def _pause_s(starts: list[int], now_ns: int) -> float:
    """Return the time (s) until the next poll, or until the host gets busy for the next start, whichever is sooner."""
    next_ns = starts[0] - _BUSY_BEFORE_NS - now_ns if starts else _POLL_NS
    return min(max(next_ns, 0), _POLL_NS) / 1e9


def _be_busy(until_ns: int) -> None:
    while monotonic_ns() < until_ns:
        pass


def _end_group(pid: int) -> None:
    """Kill the spinner and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
