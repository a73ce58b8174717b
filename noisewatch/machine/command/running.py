"""Runs commands one after the other; signals, stops and exit statuses pass as if noisewatch were not there.

Signals are blocked and handled one by one, so none is lost.

A guard process ends a command and all its descendants if noisewatch is killed. With PR_SET_PDEATHSIG (prctl(2)), the
kernel would end only the command itself: its descendants would run on, pinned to the target CPUs, without a sign of
their origin.
"""

from __future__ import annotations

import math
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic_ns
from types import FrameType, ModuleType, TracebackType
from typing import Self

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotStart, system_reason
from noisewatch.machine.command import load_launching
from noisewatch.machine.command.adopted import AdoptedProcesses, is_running, with_descendants
from noisewatch.machine.command.ending import AffinitySpan, EndedCommand, ResourceUsage
from noisewatch.machine.command.python_launching import GUARDED_PID
from noisewatch.machine.command.start import (
    CommandPlan,
    InheritedState,
    LaunchedProcess,
    inherited_state,
    launch_command,
    signal_bits,
)
from noisewatch.machine.threads import FOR_MAIN_THREAD

FROM_KERNEL = 0x80  # si_code SI_KERNEL: the terminal's driver, which signals the whole process group
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP})
_HEAD, _SIZE = struct.Struct("=IiiI"), 128  # of signalfd_siginfo, signalfd(2)


class PendingSignal(Struct, frozen=True):
    """A pending signal, with `si_code` and the pid of its sender."""

    number: signal.Signals
    code: int
    pid: int


class PendingSignals:
    """The signals that concern a command; from `begin` to `end` they are blocked, and pending until handled.

    Threads and processes started in between inherit the block. A signal ignored at noisewatch's start, like SIGHUP
    below nohup, stays ignored. Threads started before `begin` would take the signals unless they were started as in
    machine/threads.py.
    """

    def __init__(self) -> None:
        self._mask: set[int] = set()
        self._note: Callable[[], None] | None = None
        self._child_handler: signal._HANDLER = None
        self._descriptor = -1
        self._poll = select.poll()

    def begin(self, core: ModuleType) -> None:
        """Block the signals, so that they are pending until handled. If this raises OSError, nothing is changed."""
        ignored = {number for number in FOR_MAIN_THREAD if signal.getsignal(number) is signal.SIG_IGN}
        blocked = FOR_MAIN_THREAD - ignored | {signal.SIGCHLD}  # never ignored: children would leave no zombies
        self._descriptor = core.signalfd(signal_bits(blocked))
        self._child_handler = signal.signal(signal.SIGCHLD, self._on_child)
        self._poll.register(self._descriptor, select.POLLIN)
        self._mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, blocked))

    def end(self) -> None:
        """Restore the state before `begin`."""
        default = self._child_handler == signal.SIG_DFL
        signal.signal(signal.SIGCHLD, _ignore if default else self._child_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        self._poll.unregister(self._descriptor)
        os.close(self._descriptor)

    def wait(self, until_ns: int | None, ends: int | None = None) -> bool:
        """Wait for a signal, or for the end of the process with the pidfd `ends`; return False after a timeout.

        The limit `until_ns` is a time of CLOCK_MONOTONIC, or None for no limit.
        """
        left_ms = None if until_ns is None else max(math.ceil((until_ns - time.monotonic_ns()) / 1e6), 0)
        if ends is not None:
            self._poll.register(ends, select.POLLIN)
        try:
            return bool(self._poll.poll(left_ms))
        finally:
            if ends is not None:
                self._poll.unregister(ends)

    @contextmanager
    def calling_on_child_change(self, note: Callable[[], None]) -> Iterator[None]:
        """Call `note` from the SIGCHLD handler while the caller works in the context instead of waiting.

        In the context, SIGCHLD is not blocked.
        """
        self._note = note
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
            self._note = None

    def _on_child(self, number: int, frame: FrameType | None) -> None:
        if self._note is not None:
            self._note()

    def pending(self) -> Iterator[PendingSignal]:
        """Yield the pending signals."""
        with suppress(BlockingIOError):
            while True:
                number, _, code, pid = _HEAD.unpack_from(os.read(self._descriptor, _SIZE))
                yield PendingSignal(signal.Signals(number), code, pid)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing, like the default for SIGCHLD.

    Without a handler, CPython reports an error for a signal that arrived, in any thread, before its handler was
    removed.
    """


def stop_as_by_terminal() -> None:
    """Stop this process, visibly to a shell, until it is continued. An orphaned process group is not stopped."""
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
    if before is not None:
        signal.signal(signal.SIGTSTP, before)


_NO_COMMAND = 0


class CommandGuard:
    """A guard process, which ends the command when noisewatch's end of a pipe closes, however noisewatch ends.

    The guard sleeps until then. `guarded` is memory that it shares with the command. The command writes its PID there
    right before its execve, so it is guarded from its first instruction. Its daemons, adopted by noisewatch, survive.
    If the guard is killed first, everything survives.
    """

    def __init__(self) -> None:
        self.guarded = mmap.mmap(-1, GUARDED_PID.size)  # shared, so that the guard need not be woken for each command
        self._pid = 0
        self._alive = -1

    def begin(self) -> None:
        """Fork the guard. Raise OSError.

        The caller has blocked all signals that concern a command, so the guard survives them.
        """
        ends, self._alive = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(ends)
            os.close(self._alive)
            raise
        if self._pid == 0:
            try:
                self._guard(ends)
            finally:
                os._exit(0)
        os.close(ends)

    def rest(self) -> None:
        """Guard no command: the last one has ended."""
        GUARDED_PID.pack_into(self.guarded, 0, _NO_COMMAND)

    def end(self) -> None:
        """End the guard process."""
        self.rest()
        os.close(self._alive)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _guard(self, ends: int) -> None:
        os.setsid()  # not the target of signals to our process group
        os.closerange(0, ends)
        os.closerange(ends + 1, os.sysconf("SC_OPEN_MAX"))
        os.read(ends, 1)
        (pid,) = GUARDED_PID.unpack_from(self.guarded, 0)
        if pid != _NO_COMMAND:
            _end_all(pid)


def _end_all(pid: int) -> None:
    """Kill the process and its descendants. All are stopped first, because running ones could start more."""
    stopped: set[int] = set()
    while running := with_descendants([pid]) - stopped:
        for descendant in running:
            _send(descendant, signal.SIGSTOP)
        stopped |= running
    for descendant in stopped:
        _send(descendant, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended or changed its user
        os.kill(pid, number)


_PR_SET_CHILD_SUBREAPER = 36
_LONGEST_SCHEDULING = 100  # bytes: three numbers
# Interval at which threads yield. Python's own 5 ms would affect the time of a short command: a snapshot takes some ms.
_PROMPTLY_S = 0.0002
_MOST_SPANS = 1000  # if a command keeps changing its affinity, the last span gets the CPUs of all later ones too
_KB = 1024
_INEXACT_KB = 1024  # the kernel's error in counting a process's memory


class Commands:
    """A context manager for the main thread, which starts commands and handles signals.

    Threads and processes of noisewatch that are started in the context have these signals blocked, so a sampler must be
    started before it. A command still running at the end of the context continues until this process ends.
    """

    def __init__(self, inherited: InheritedState | None = None, core: ModuleType | None = None) -> None:
        self._inherited = inherited or inherited_state()
        self._core = core or load_launching()
        self._signals = PendingSignals()
        self._adopted = AdoptedProcesses(self._inherited.children)
        self._guard = CommandGuard()
        self._running: StartedCommand | None = None
        self._asked_to_end: signal.Signals | None = None

    def __enter__(self) -> Self:
        """Block the signals and start the guard. Raise CannotStart if the system refuses either."""
        self._core.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        with ExitStack() as undo:
            undo.callback(self._core.prctl, _PR_SET_CHILD_SUBREAPER, 0)
            try:
                self._signals.begin(self._core)
                undo.callback(self._signals.end)
                self._guard.begin()
            except OSError as error:
                reason = f"cannot supervise the command: {system_reason(error)}"
                raise CannotStart(CannotStart.OURS, reason) from error
            undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.take_signals()
        if self._running is None:
            self._guard.end()
        self._signals.end()
        self._core.prctl(_PR_SET_CHILD_SUBREAPER, 0)

    @property
    def asked_to_end(self) -> signal.Signals | None:
        """The first signal that asked noisewatch to end, whether or not the command reacted; None without one."""
        self.take_signals()
        return self._asked_to_end

    @property
    def ended_by(self) -> signal.Signals | None:
        """The first signal that asked noisewatch to end before the context was left; None without one."""
        return self._asked_to_end

    def start(self, plan: CommandPlan) -> StartedCommand:
        """Start the command after the previous one has ended. Raise CannotStart."""
        earlier = self._adopted.begin_command()
        try:
            launched = launch_command(self._core, plan, self._inherited, self._guard.guarded)
        except CannotStart:
            self._guard.rest()
            raise
        self._running = StartedCommand(launched, self, earlier)
        return self._running

    def pause(self, until_ns: int) -> bool:
        """Wait until CLOCK_MONOTONIC reaches `until_ns`; return False as soon as a signal asks noisewatch to end."""
        while self.asked_to_end is None:
            if not self._signals.wait(until_ns):
                return True
        return False

    def wait_for_news(self, until_ns: int | None, ends: int | None) -> bool:
        """Wait for a signal or the end of a process; return False if neither comes in time."""
        return self._signals.wait(until_ns, ends)

    @contextmanager
    def calling_on_child_change(self, note: Callable[[], None]) -> Iterator[None]:
        """Call `note` whenever a child changes state in the context; reap orphans afterwards.

        The call is in the main thread, to which file-reading threads yield soon.
        """
        before_s = sys.getswitchinterval()
        sys.setswitchinterval(_PROMPTLY_S)
        try:
            with self._signals.calling_on_child_change(note):
                yield
        finally:
            sys.setswitchinterval(before_s)
        self._poll_children()

    def take_signals(self) -> None:
        """Handle the pending signals."""
        for pending in self._signals.pending():
            self._take(pending)

    @property
    def may_be_others(self) -> bool:
        """Whether an older process may have started some of the processes that the command seems to have left."""
        return self._adopted.may_be_others

    def end_command(self, pid: int) -> tuple[frozenset[int] | None, ResourceUsage | None]:
        """Return the living processes that the command left, and the usage of those that have ended."""
        self._running = None
        self._guard.rest()
        return self._adopted.end_command(pid)

    def _take(self, pending: PendingSignal) -> None:
        number = pending.number
        command = self._running
        if number in ENDING and self._asked_to_end is None:
            self._asked_to_end = number
        if number == signal.SIGCHLD:
            self._poll_children()
        elif number == signal.SIGTSTP:
            self._stop(is_delivered=pending.code == FROM_KERNEL)
        elif command is not None and pending.code != FROM_KERNEL and pending.pid != command.pid:
            command.forward(number)

    def _poll_children(self) -> None:
        if self._running is not None:
            self._running.poll()
        self._adopted.reap(self._running.pid if self._running is not None else None)

    def _stop(self, is_delivered: bool) -> None:
        """Stop this process together with the command, until the shell or another process continues it."""
        since_ns, command = monotonic_ns(), self._running
        if command is not None and not is_delivered:
            command.forward(signal.SIGTSTP)
        stop_as_by_terminal()
        if command is not None:
            command.poll(since_ns)


class StartedCommand:
    """A command that is running or has ended.

    `earlier_pids` are processes of earlier commands that were alive at its start.
    """

    def __init__(
        self, launched: LaunchedProcess, commands: Commands, earlier_pids: frozenset[int] = frozenset()
    ) -> None:
        self.pid = launched.pid
        self.earlier_pids = earlier_pids
        self.began_ns = launched.began_ns or monotonic_ns()  # 0 if it was killed before it started
        self.launch_cpu_ns = launched.launch.cpu_ns  # usage before execve, on our CPUs: not the command's
        self.scheduling_at_begin = scheduling_of(self.pid)
        self._scheduling = self.scheduling_at_begin
        self._allowed: CpuSet | None = None
        self._affinities: list[AffinitySpan] = []
        self._launch = launched.launch
        self._commands = commands
        self._own_rss_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._stop_count, self._stopped_ns = 0, 0
        self._stopped_since_ns: int | None = None
        self._ended: EndedCommand | None = None
        self._is_polling, self._has_news = False, False
        self._polled_ns = self.began_ns
        self._ends = _descriptor_of(launched.pid)

    @property
    def has_ended(self) -> bool:
        """Whether the command had ended at the last `poll`."""
        return self._ended is not None

    def wait(self, until_ns: int | None = None) -> EndedCommand | None:
        """Handle signals until the command ends; return how it ended, or None if it still runs at `until_ns`.

        `until_ns` is a time of CLOCK_MONOTONIC.
        """
        self.poll()
        while self._ended is None and self._commands.wait_for_news(until_ns, self._ends):
            self.poll()
            self._commands.take_signals()
        return self._ended

    @contextmanager
    def noticing_end(self) -> Iterator[None]:
        """Notice the command's end at once while the caller works in the context instead of waiting."""
        with self._commands.calling_on_child_change(self._poll_once):
            self._poll_once()  # earlier events, whose signal another thread may have taken
            yield

    def _poll_once(self) -> None:
        """Poll the command. A call during a poll, from the signal handler, only requests another poll."""
        self._has_news = True
        while self._has_news and not self._is_polling:
            self._has_news, self._is_polling = False, True
            self.poll()
            self._is_polling = False

    def forward(self, number: signal.Signals) -> None:
        """Send the command a signal.

        SIGCONT is sent only if the command is stopped, because a shell already sends it to the whole process group.
        """
        if number == signal.SIGCONT and self._stopped_since_ns is None:
            return
        with suppress(PermissionError):  # it has changed its user
            os.kill(self.pid, number)

    def poll(self, stopped_since_ns: int | None = None) -> None:
        """Update the command's state. `stopped_since_ns` is when this process, and perhaps the command, was stopped."""
        while self._ended is None:
            has_ended, noticed_ns = not is_running(self.pid), monotonic_ns()  # reading files takes another 0.1 ms
            self._scheduling = scheduling_of(self.pid) or self._scheduling
            self._allowed = _allowed_cpus_of(self.pid) or self._allowed
            self._note_affinity()
            pid, status, used = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            now_ns = monotonic_ns()
            polled_ns, self._polled_ns = self._polled_ns, now_ns
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._stop_count += 1
                self._stopped_since_ns = self._stopped_since_ns or stopped_since_ns or now_ns
            elif os.WIFCONTINUED(status):  # a stop that was not noticed began at the last poll or later
                self._end_stop(now_ns, stopped_since_ns or polled_ns)
            else:
                self._end_stop(now_ns, None)
                self._end(status, used, noticed_ns if has_ended else now_ns)

    def _note_affinity(self) -> None:
        last = self._affinities[-1] if self._affinities else None
        if self._allowed is None:
            return
        if last is not None and last.allowed == self._allowed:
            last.last_scheduling = self._scheduling
        elif len(self._affinities) < _MOST_SPANS:
            self._affinities.append(AffinitySpan(self._allowed, self._scheduling, self._scheduling))
        elif last is not None:
            last.allowed |= self._allowed
            last.last_scheduling = self._scheduling

    def _end_stop(self, now_ns: int, stopped_since_ns: int | None) -> None:
        if self._stopped_since_ns is None and stopped_since_ns is not None:
            self._stop_count += 1
            self._stopped_since_ns = stopped_since_ns
        if self._stopped_since_ns is not None:
            self._stopped_ns += now_ns - self._stopped_since_ns
        self._stopped_since_ns = None

    def _end(self, status: int, used: resource.struct_rusage, now_ns: int) -> None:
        if self._ends is not None:
            os.close(self._ends)
        left, adopted = self._commands.end_command(self.pid)
        self._ended = EndedCommand(
            exit_status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal_number=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            has_dumped_core=os.WIFSIGNALED(status) and os.WCOREDUMP(status),
            ended_ns=now_ns,
            usage=ResourceUsage.of(used).less(self._launch),
            max_rss_bytes=used.ru_maxrss * _KB if used.ru_maxrss > self._own_rss_kb + _INEXACT_KB else None,
            stop_count=self._stop_count,
            stopped_ns=self._stopped_ns,
            left_pids=left,
            may_be_others=self._commands.may_be_others,
            adopted_usage=adopted,
            allowed=self._allowed,
            scheduling=self._scheduling,
            affinities=tuple(self._affinities),
        )


def scheduling_of(pid: int) -> str:
    """Return /proc/PID/schedstat of the main thread, "" if unreadable. It is readable until the process is reaped."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb", buffering=0) as file:
            return file.read(_LONGEST_SCHEDULING).decode("ascii", "replace")
    except OSError:
        return ""


def _allowed_cpus_of(pid: int) -> CpuSet | None:
    """Return the allowed CPUs of the process's main thread; they are readable until it is reaped."""
    try:
        return frozenset(os.sched_getaffinity(pid))
    except OSError:
        return None


def _descriptor_of(pid: int) -> int | None:
    """Return a pidfd, which becomes readable when the process ends, before it is reaped; None before Linux 5.3."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
