"""This host, which is read by plain system calls with a deadline for each file.

A hanging read occupies a thread until it returns, and is rarely retried.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from threading import local
from typing import Any, Generic, Protocol

from msgspec import Struct

from noisewatch.errors import NO_SUCH_FILE, Absent, CannotMeasure, Unreadable, system_reason
from noisewatch.machine import Json, T, wait_readable
from noisewatch.machine.reading.kept_files import LARGEST_FILE, File, KeptFiles, ReadProgress
from noisewatch.machine.threads import main_thread_signals_blocked

# Wait before another attempt, in deadlines: a file that keeps hanging delays us for at most 1/60 of the time.
AGAIN_AFTER = 60.0
_GROWS_BY = 2.0  # factor by which the wait grows each time that a file hangs again
_LONGEST_WAIT_S = 3600.0  # longest wait: a recovered machine is read completely within the hour
# Maximum number of hanging threads; if more files hang, the whole machine does, and each file costs another deadline.
MOST_STUCK = 32


class Threadlike(Protocol):
    """A thread, or another object that can end."""

    def is_alive(self) -> bool:
        """Return whether the object has not ended."""


class _Hung(Struct, frozen=True):
    thread: Threadlike
    wait_s: float
    again_at_s: float


class HungReads:
    """The hanging reads by path, with the thread that was abandoned in each. Times are on CLOCK_MONOTONIC."""

    def __init__(self, again_after: float = AGAIN_AFTER) -> None:
        self._again_after = again_after
        self._by_path: dict[str, _Hung] = {}

    def add(self, path: str, thread: Threadlike, deadline_s: float, now_s: float) -> None:
        """Record that the thread's read of `path` missed its deadline."""
        earlier = self._by_path.get(path)
        wait_s = earlier.wait_s * _GROWS_BY if earlier is not None else self._again_after * deadline_s
        wait_s = min(wait_s, _LONGEST_WAIT_S)
        self._by_path[path] = _Hung(thread, wait_s, now_s + wait_s)

    def __contains__(self, path: object) -> bool:
        return path in self._by_path

    def may_try(self, path: str, now_s: float) -> bool:
        """Return whether the file may be read: it has not hung recently, and no thread still hangs in it."""
        hung = self._by_path.get(path)
        return hung is None or (now_s >= hung.again_at_s and not hung.thread.is_alive())

    def forget(self, path: str) -> None:
        """Forget that `path` ever hung."""
        self._by_path.pop(path, None)

    @property
    def stuck(self) -> list[str]:
        """The paths whose reads have not returned."""
        return sorted(path for path, hung in self._by_path.items() if hung.thread.is_alive())


READ_DEADLINE_S = 1.0  # the slowest working file so far, cpufreq on old kernels, takes 0.02 s per CPU
_ASK_DEADLINE_S = 10.0  # a question may import a library that enumerates all devices: 1.5 s on an emulated machine

_REASONS = {
    errno.ENOENT: NO_SUCH_FILE,
    errno.ENOTDIR: NO_SUCH_FILE,
    errno.ESRCH: "the process is gone",
    errno.EACCES: "permission denied",
    errno.EPERM: "operation not permitted",
    errno.EFBIG: f"larger than {LARGEST_FILE >> 20} MiB",
    errno.EOPNOTSUPP: "not supported by this kernel",
}


def unreadable(path: str, error: OSError) -> Unreadable:
    """Return the error to raise for a failed read of `path`: Absent if it does not exist, otherwise Unreadable."""
    kind = Absent if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESRCH) else Unreadable
    return kind(path, reason_of(error))


def reason_of(error: OSError) -> str:
    """Return the reason for the error as text."""
    return _REASONS.get(error.errno or 0) or system_reason(error)


class LiveMachine:
    """This host."""

    is_live = True
    name = "this host"

    def __init__(
        self,
        own_pids: Iterable[int] = (),
        deadline_s: float = READ_DEADLINE_S,
        again_after: float = AGAIN_AFTER,
        files: Callable[[], KeptFiles] = KeptFiles,
    ) -> None:
        self.own_pids = frozenset({os.getpid(), *own_pids})
        self._deadline_s = deadline_s
        self._new_files = files
        self._files = files()
        self._hung = HungReads(again_after)

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def read_bytes(self, path: str) -> bytes:
        return self._read_within_deadline(path, self._files.read, path)

    def reread(self, files: Sequence[File]) -> list[tuple[int, bytes | None]]:
        """Reread the files in one call; each file has its own deadline."""
        attempt, progress = _current_attempt(), ReadProgress()
        if attempt is None:
            return self._files.reread(files, progress, self._hung)
        attempt.begin_reads(progress, self._deadline_s)
        try:
            return self._files.reread(files, progress, self._hung)
        finally:
            attempt.end_read()

    def list_names(self, path: str) -> list[str]:
        return sorted(self._read_within_deadline(path, os.listdir, path))

    def mode(self, path: str) -> int:
        return stat.S_IMODE(self._read_within_deadline(path, os.stat, path).st_mode)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        return self._read_within_deadline(question, answer, own_deadline_s=_ASK_DEADLINE_S)

    def begin_snapshot(self) -> None:
        self._files.begin_snapshot()

    def within_deadline(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread. If a read is stuck, abandon the thread and start `work` over.

        A read that the kernel does not finish cannot be interrupted by the process, so its thread is abandoned. Raise
        CannotMeasure if too many reads are stuck at once.
        """
        while True:
            with closing(_Attempt(work)) as attempt:
                attempt.start()
                # A path has to be overdue in two checks in a row, because this process may have been stopped.
                suspect: str | None = None
                while not attempt.wait_for_end(self._deadline_s / 4):
                    path, suspect = suspect, attempt.overdue()
                    if path is not None and path == suspect:
                        self._give_up(attempt, path)
                        break
                else:
                    return attempt.result()

    def _give_up(self, attempt: _Attempt[T], path: str) -> None:
        attempt.give_up()
        self._hung.add(path, attempt, attempt.deadline_s, time.monotonic())
        self._files.close_others(path)
        self._files = self._new_files()  # the stuck thread keeps using the old object
        stuck = self._hung.stuck
        if len(stuck) >= MOST_STUCK:
            raise CannotMeasure(f"{len(stuck)} files do not answer, {stuck[0]} and {path} among them")

    def _read_within_deadline(
        self, path: str, read: Callable[..., T], *arguments: str, own_deadline_s: float | None = None
    ) -> T:
        deadline_s = own_deadline_s or self._deadline_s
        attempt = _current_attempt()  # without a watching thread there is no retry
        if path in self._hung and (attempt is None or not self._hung.may_try(path, time.monotonic())):
            raise Unreadable(path, f"did not respond within {deadline_s:g} s")
        if attempt is not None:
            attempt.begin_read(path, deadline_s)
        try:
            return read(*arguments)
        except OSError as error:
            raise unreadable(path, error) from error
        finally:
            if attempt is not None:
                attempt.end_read()
                if not attempt.is_given_up:
                    self._hung.forget(path)


class _Abandoned(BaseException):
    """Ends an abandoned attempt whose read has returned after a new attempt was started."""


class _Attempt(Generic[T]):
    """One run of `work` in its own thread. threading.Thread and Event would wake the caller six times, not once."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.is_given_up = False
        self.deadline_s = math.inf  # deadline of the read that was started last
        # the path and deadline of the file being read, or the progress of many reads
        self._reads: tuple[str, float] | ReadProgress | None = None
        self._work = work
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._has_ended = False
        self._end_reader, self._end_writer = os.pipe2(os.O_CLOEXEC)

    def start(self) -> None:
        """Start the thread without waiting for it to begin."""
        with main_thread_signals_blocked():
            start_new_thread(self._run, ())

    def wait_for_end(self, seconds: float) -> bool:
        """Wait for the attempt's end; return whether it came in time."""
        return wait_readable(self._end_reader, seconds)

    def close(self) -> None:
        """Close the descriptor that signals the end, because no thread waits for it any more."""
        os.close(self._end_reader)

    def is_alive(self) -> bool:
        """Return whether the attempt has not ended."""
        return not self._has_ended

    def begin_read(self, path: str, deadline_s: float) -> None:
        """Record which file is being read, and its deadline. Raise _Abandoned if the attempt was abandoned."""
        if self.is_given_up:
            raise _Abandoned
        self.deadline_s = deadline_s
        self._reads = (path, time.monotonic() + deadline_s)

    def begin_reads(self, progress: ReadProgress, deadline_s: float) -> None:
        """Keep the progress of many reads, each with its own deadline.

        Raise _Abandoned if the attempt was abandoned.
        """
        if self.is_given_up:
            raise _Abandoned
        self.deadline_s = deadline_s
        self._reads = progress

    def end_read(self) -> None:
        """Record the end of a read. Raise _Abandoned if some of many files were not read."""
        is_cut = self.is_given_up and isinstance(self._reads, ReadProgress)
        self._reads = None
        if is_cut:
            raise _Abandoned

    def give_up(self) -> None:
        """Abandon the attempt: the caller no longer waits for it."""
        self.is_given_up = True
        if isinstance(self._reads, ReadProgress):
            self._reads.give_up()

    def overdue(self) -> str | None:
        """Return the path whose read has missed its deadline, or None."""
        reads = self._reads
        if isinstance(reads, ReadProgress):
            path, since_s = reads.since() or (None, math.inf)
            until_s = since_s + self.deadline_s
        else:
            path, until_s = reads or (None, math.inf)
        return path if time.monotonic() > until_s else None

    def _run(self) -> None:
        _IN_THIS_THREAD.attempt = self
        try:
            self._values.append(self._work())
        except BaseException as error:  # noqa: BLE001 - handed over to the waiting thread, which raises it
            self._error = error
        finally:
            self._has_ended = True
            os.close(self._end_writer)  # wakes the waiting thread, which sees the end of the pipe

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._values[0]


_IN_THIS_THREAD = local()


def _current_attempt() -> _Attempt[Any] | None:
    return getattr(_IN_THIS_THREAD, "attempt", None)
