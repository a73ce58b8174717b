"""Reports writes by any process to files of this host as they happen (inotify(7)).

Watching costs nothing while nothing is written. Writes to control group files are reported, too, and for event files
also the kernel's events (docs.kernel.org/admin-guide/cgroup-v2.html, "[Un]populated Notification").
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
from collections.abc import Callable

from noisewatch.machine.threads import main_thread_signals_blocked

_IN_MODIFY, _IN_IGNORED = 0x2, 0x8000  # linux/inotify.h
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
_LONGEST = 4096


class FileChanges:
    """A watcher whose thread calls `note` with the path of each written file, until it is closed."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._library = ctypes.CDLL(None)
        self._path_by_watch: dict[int, str] = {}
        self._thread: threading.Thread | None = None
        self._descriptor = self._ended = -1

    def watch(self, path: str) -> bool:
        """Report writes to the file from now on; return False if the kernel or its limits do not allow it."""
        if path in self._path_by_watch.values():
            return True
        if self._thread is None and not self._begin():
            return False
        watch = self._library.inotify_add_watch(self._descriptor, os.fsencode(path), _IN_MODIFY)
        if watch >= 0:
            self._path_by_watch[watch] = path
        return bool(watch >= 0)

    def close(self) -> None:
        """Stop reporting."""
        if self._thread is not None:
            os.eventfd_write(self._ended, 1)
            self._thread.join()
            self._thread = None
            os.close(self._descriptor)
            os.close(self._ended)

    def _begin(self) -> bool:
        self._descriptor = self._library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            return False
        self._ended = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._report, daemon=True)
        with main_thread_signals_blocked():
            self._thread.start()
        return True

    def _report(self) -> None:
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        waiting.register(self._ended, select.POLLIN)
        while self._ended not in dict(waiting.poll()):
            events, at = os.read(self._descriptor, _LONGEST), 0
            while at < len(events):
                watch, mask, _, length = _EVENT.unpack_from(events, at)
                at += _EVENT.size + length
                if mask & _IN_IGNORED:  # the file is gone
                    self._path_by_watch.pop(watch, None)
                elif watch in self._path_by_watch:
                    self._note(self._path_by_watch[watch])
