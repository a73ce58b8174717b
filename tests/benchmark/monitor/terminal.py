"""A program in a pseudo-terminal that discards its output, and measures when it drew what."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

_END_TIMEOUT_S = 3.0
_POLL_S = 0.1


class Terminal:
    """The output of a program so far."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes], started_s: float) -> None:
        self.process = process
        self.byte_count = 0
        self._started_s = started_s
        self._descriptor = descriptor
        self._drawn = b""
        self._is_open = True
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def seconds_to(self, pattern: bytes, timeout_s: float = 20.0) -> float | None:
        """Return the time from the start until `pattern` was on the screen, or None if it did not appear."""
        with self._grown:
            self._grown.wait_for(lambda: re.search(pattern, self._drawn), timeout_s)
            return time.monotonic() - self._started_s if re.search(pattern, self._drawn) else None

    def close(self) -> None:
        """Stop reading, and close the terminal."""
        self._is_open = False
        self._reader.join()
        os.close(self._descriptor)

    def _read(self) -> None:
        while self._is_open:
            if not select.select([self._descriptor], [], [], _POLL_S)[0]:
                continue
            try:
                chunk = os.read(self._descriptor, 1 << 16)
            except OSError:  # the program has closed its terminal
                return
            with self._grown:
                self.byte_count += len(chunk)
                self._drawn = (self._drawn + chunk)[-(1 << 18) :]
                self._grown.notify_all()


@contextmanager
def in_a_terminal(
    command: Sequence[str], columns: int, lines: int, more: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run a program in a terminal until the block ends."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **(more or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
    started_s = time.monotonic()
    process = subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True, close_fds=True
    )
    os.close(child)
    terminal = Terminal(parent, process, started_s)
    try:
        yield terminal
    finally:
        _end(process)
        terminal.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
