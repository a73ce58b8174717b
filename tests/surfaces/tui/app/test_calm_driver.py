"""The driver that waits only for the terminal: input gets through, and no thread wakes periodically."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.plumbing.waiting import wait_until

_REPORTING = """
import asyncio, os, signal, sys, threading
from textual.app import App
from textual.widgets import Static
from noisewatch.surfaces.tui.app.calm_driver import CalmDriver

class Reporting(App):
    def compose(self):
        filling = Static()
        filling.styles.height = "100%"
        yield filling
    def report(self, *values):
        os.write(int(sys.argv[1]), (" ".join(map(str, values)) + "\\n").encode())
    def on_key(self, event):
        self.report("key", event.key)
        if event.key == "t":
            self.report("threads", *[thread.name for thread in threading.enumerate()])
        elif event.key == "w":
            self._driver.write("written\\u2713")
            self.report("wrote")
        elif event.key == "q":
            self.exit()
    def on_paste(self, event):
        self.report("paste", event.text)
    def on_mouse_down(self, event):
        self.report("mouse", event.x, event.y)
    def on_resize(self, event):
        if event.size != (80, 24):
            self.report("size", *event.size)
    def on_ready(self):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)  # any signal wakes the loop
        self.report("ready")
    def on_hung_up(self):
        self.report("hung up")
        self.exit()

Reporting(driver_class=CalmDriver).run()
"""

_SIZE = ("COLUMNS", "LINES")  # variables that would override the size of the terminal
_PATIENCE_S = 20.0  # the limit for a hanging test

_MONITOR = "from noisewatch.surfaces.tui.app.monitor import MonitorApp; MonitorApp().run()"


class _Terminal:
    """An application in a terminal that reports its input through a pipe."""

    def __init__(self, program: str) -> None:
        self.keyboard, self._child = pty.openpty()
        self.resize(80, 24)
        self.modes = termios.tcgetattr(self._child)
        self._reports, report_end = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(report_end)],
            stdin=self._child,
            stdout=self._child,
            stderr=self._child,
            pass_fds=[report_end],
            env={name: value for name, value in os.environ.items() if name not in _SIZE} | {"TERM": "xterm-256color"},
        )
        os.close(report_end)
        self._buffer = b""

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)

    def next_report(self) -> str:
        """Return the next report, or an empty text after the application's end."""
        while b"\n" not in self._buffer:
            assert select.select([self._reports], [], [], _PATIENCE_S)[0]
            read = os.read(self._reports, 1 << 16)
            if not read:
                break
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def read_output(self) -> bytes:
        """Return the output that has not been read yet, without waiting for more."""
        os.set_blocking(self.keyboard, False)
        read = b""
        try:
            while True:
                read += os.read(self.keyboard, 1 << 16)
        except BlockingIOError:
            return read

    def current_modes(self) -> list[object]:
        return termios.tcgetattr(self._child)

    def hang_up(self) -> None:
        """Close the terminal's other side: nothing is read or typed any more."""
        os.close(self.keyboard)
        self.keyboard = os.open(os.devnull, os.O_RDWR)

    def close(self) -> None:
        for descriptor in (self.keyboard, self._child, self._reports):
            os.close(descriptor)


@contextmanager
def _terminal(program: str = _REPORTING) -> Iterator[_Terminal]:
    terminal = _Terminal(program)
    try:
        if program == _REPORTING:
            assert terminal.next_report() == "ready"
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()
        terminal.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[_Terminal]:
    """Return one terminal for all tests that only type."""
    with _terminal() as terminal:
        yield terminal


@pytest.mark.parametrize(
    ("keys", "reports"),
    [
        (b"a", ["key a"]),
        (b"\x1b[A", ["key up"]),
        (b"\x1b", ["key escape"]),
        ("é".encode(), ["key é"]),
        (b"\x1b[200~two\nlines\x1b[201~", ["paste two", "lines"]),
        (b"\x1b[<0;12;4M", ["mouse 11 3"]),
        (b"\xffb", ["key replacement_character", "key b"]),
    ],
)
def test_typed_pasted_and_clicked_input_gets_through(shared: _Terminal, keys: bytes, reports: list[str]) -> None:
    shared.type(keys)
    assert [shared.next_report() for _ in reports] == reports


def test_a_sequence_in_two_parts_is_one_key() -> None:
    with _terminal() as terminal:
        terminal.type(b"\x1b[")
        terminal.type(b"B")
        assert terminal.next_report() == "key down"
        for part in "ü".encode():
            terminal.type(bytes([part]))
        assert terminal.next_report() == "key ü"


def test_a_new_size_is_reported() -> None:
    with _terminal() as terminal:
        terminal.resize(100, 40)
        terminal.process.send_signal(signal.SIGWINCH)
        assert terminal.next_report() == "size 100 40"


def test_no_thread_polls_the_terminal() -> None:
    with _terminal() as terminal:
        terminal.type(b"t")
        assert terminal.next_report() == "key t"
        assert "textual-input" not in terminal.next_report().split()


def test_output_is_on_the_terminal_at_once() -> None:
    with _terminal() as terminal:
        terminal.type(b"w")
        assert (terminal.next_report(), terminal.next_report()) == ("key w", "wrote")
        assert "written✓".encode() in terminal.read_output()


def test_the_end_restores_the_terminal() -> None:
    with _terminal() as terminal:
        assert terminal.current_modes() != terminal.modes
        terminal.type(b"q")
        assert (terminal.next_report(), terminal.next_report()) == ("key q", "")
        assert terminal.process.wait() == 0
        assert terminal.current_modes() == terminal.modes
        assert b"\x1b[?1049l\x1b[?25h\x1b[?1004l" in terminal.read_output()


def test_after_a_stop_the_driver_reads_and_draws_again() -> None:
    with _terminal() as terminal:
        terminal.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert terminal.current_modes() == terminal.modes
        assert b"\x1b[?1049l" in terminal.read_output()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.type(b"a")
        assert terminal.next_report() == "key a"
        assert b"\x1b[?1049h" in terminal.read_output()


def test_a_closed_terminal_is_reported_once() -> None:
    with _terminal() as terminal:
        terminal.hang_up()
        assert (terminal.next_report(), terminal.next_report()) == ("hung up", "")


def test_after_a_stop_the_monitor_draws_its_whole_screen_again() -> None:
    with _terminal(_MONITOR) as terminal:
        wait_until(lambda: b"overview" in terminal.read_output())
        terminal.process.send_signal(signal.SIGTSTP)
        os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert b"overview" not in terminal.read_output()
        terminal.process.send_signal(signal.SIGCONT)
        wait_until(lambda: b"overview" in terminal.read_output())


def test_with_an_incompatible_textual_its_own_thread_reads_the_terminal() -> None:
    without_parser = "import noisewatch.surfaces.tui.app.calm_driver as driver\ndriver.XTermParser = None\n"
    with _terminal(without_parser + _REPORTING) as terminal:
        assert terminal.next_report() == "ready"
        terminal.type(b"t")
        assert [terminal.next_report().split()[0] for _ in range(2)] == ["key", "threads"]
        terminal.type(b"q")
        assert terminal.next_report() == "key q"
        assert terminal.process.wait(_PATIENCE_S) == 0
