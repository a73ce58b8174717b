"""Files by descriptor: whole files, and those that are read again and again kept open.

Opening and closing a file of /proc costs three times as much as reading it.
"""

from __future__ import annotations

import os
from collections import OrderedDict

from noisewatch.errors import Unreadable

_MOST_KEPT = 256  # a quarter of what a process may usually have open
_MOST_SEEN = 4096
_LARGEST_FILE = 256 << 20  # /proc/interrupts of 1152 CPUs has 13 MB; nothing we read comes near this
_CHUNK = 1 << 18


def read_file(path: str) -> bytes:
    """The whole content of the file. Raises OSError, or Unreadable where it does not end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read_all(descriptor, path)
    finally:
        os.close(descriptor)


class OpenFiles:
    """The files read last, open: the kernel makes their content anew for each reading. Not for two threads at once."""

    def __init__(self) -> None:
        self._descriptor_by_path: OrderedDict[str, int] = OrderedDict()
        self._seen: set[str] = set()

    def read(self, path: str) -> bytes:
        """The whole content of the file; what is read a second time is kept open from then on. Raises as read_file."""
        kept = self._descriptor_by_path.get(path)
        if kept is not None:
            try:
                self._descriptor_by_path.move_to_end(path)
                return _read_all(kept, path)
            except OSError:  # its process ended, its device went: the path may mean another one by now
                os.close(self._descriptor_by_path.pop(path))
        if path not in self._seen:
            content = read_file(path)
            self._remember(path)
            return content
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._keep(path, descriptor)
        return _read_all(descriptor, path)

    def _remember(self, path: str) -> None:
        if len(self._seen) >= _MOST_SEEN:  # processes come and go for ever
            self._seen.clear()
        self._seen.add(path)

    def _keep(self, path: str, descriptor: int) -> None:
        self._descriptor_by_path[path] = descriptor
        if len(self._descriptor_by_path) > _MOST_KEPT:
            os.close(self._descriptor_by_path.popitem(last=False)[1])


def _read_all(descriptor: int, path: str) -> bytes:
    first = os.pread(descriptor, _CHUNK, 0)
    if not first:
        return first
    chunks, size = [first], len(first)
    while chunk := os.pread(descriptor, _CHUNK, size):
        chunks.append(chunk)
        size += len(chunk)
        if size > _LARGEST_FILE:
            raise Unreadable(path, f"larger than {_LARGEST_FILE >> 20} MiB")
    return first if len(chunks) == 1 else b"".join(chunks)
