"""The driver that waits for nothing but the terminal: what is typed gets through it, and no thread ticks."""

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

_TELLING = """
import asyncio, os, signal, sys, threading
from textual.app import App
from textual.widgets import Static
from noisewatch.surfaces.tui.app.calm_driver import CalmDriver

class Telling(App):
    def compose(self):
        filling = Static()
        filling.styles.height = "100%"
        yield filling
    def tell(self, *said):
        os.write(int(sys.argv[1]), (" ".join(map(str, said)) + "\\n").encode())
    def on_key(self, event):
        self.tell("key", event.key)
        if event.key == "t":
            self.tell("threads", *[each.name for each in threading.enumerate()])
        elif event.key == "w":
            self._driver.write("written\\u2713")
            self.tell("wrote")
        elif event.key == "q":
            self.exit()
    def on_paste(self, event):
        self.tell("paste", event.text)
    def on_mouse_down(self, event):
        self.tell("mouse", event.x, event.y)
    def on_resize(self, event):
        if event.size != (80, 24):
            self.tell("size", *event.size)
    def on_ready(self):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)  # any signal wakes the loop
        self.tell("ready")
    def on_hung_up(self):
        self.tell("hung up")
        self.exit()

Telling(driver_class=CalmDriver).run()
"""

_SIZE = ("COLUMNS", "LINES")  # that a terminal is believed to have, whatever it has
_PATIENCE_S = 20.0  # ends what hangs

_MONITOR = "from noisewatch.surfaces.tui.app.monitor import MonitorApp; MonitorApp().run()"


class _Terminal:
    """An application in a terminal, that tells what gets through to it."""

    def __init__(self, program: str) -> None:
        self.keyboard, self._child = pty.openpty()
        self.resize(80, 24)
        self.modes = termios.tcgetattr(self._child)
        self._told, telling = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(telling)],
            stdin=self._child,
            stdout=self._child,
            stderr=self._child,
            pass_fds=[telling],
            env={name: value for name, value in os.environ.items() if name not in _SIZE} | {"TERM": "xterm-256color"},
        )
        os.close(telling)
        self._unread = b""

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)

    def told(self) -> str:
        """The next thing; empty when the application has ended."""
        while b"\n" not in self._unread:
            assert select.select([self._told], [], [], _PATIENCE_S)[0]
            read = os.read(self._told, 1 << 16)
            if not read:
                break
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def drawn(self) -> bytes:
        """What was sent to the terminal and not read yet, without waiting for more."""
        os.set_blocking(self.keyboard, False)
        read = b""
        try:
            while True:
                read += os.read(self.keyboard, 1 << 16)
        except BlockingIOError:
            return read

    def modes_now(self) -> list[object]:
        return termios.tcgetattr(self._child)

    def hang_up(self) -> None:
        """Close the terminal's other side: nothing is read or typed any more."""
        os.close(self.keyboard)
        self.keyboard = os.open(os.devnull, os.O_RDWR)

    def close(self) -> None:
        for each in (self.keyboard, self._child, self._told):
            os.close(each)


@contextmanager
def _terminal(program: str = _TELLING) -> Iterator[_Terminal]:
    terminal = _Terminal(program)
    try:
        if program == _TELLING:
            assert terminal.told() == "ready"
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()
        terminal.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[_Terminal]:
    """One for all that only type."""
    with _terminal() as terminal:
        yield terminal


@pytest.mark.parametrize(
    ("typed", "told"),
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
def test_what_is_typed_pasted_and_clicked_gets_through(shared: _Terminal, typed: bytes, told: list[str]) -> None:
    shared.type(typed)
    assert [shared.told() for _ in told] == told


def test_a_sequence_that_comes_in_two_parts_is_one_key() -> None:
    with _terminal() as terminal:
        terminal.type(b"\x1b[")
        terminal.type(b"B")
        assert terminal.told() == "key down"
        for part in "ü".encode():
            terminal.type(bytes([part]))
        assert terminal.told() == "key ü"


def test_another_size_is_told() -> None:
    with _terminal() as terminal:
        terminal.resize(100, 40)
        terminal.process.send_signal(signal.SIGWINCH)
        assert terminal.told() == "size 100 40"


def test_no_thread_waits_for_the_terminal_with_a_clock() -> None:
    with _terminal() as terminal:
        terminal.type(b"t")
        assert terminal.told() == "key t"
        assert "textual-input" not in terminal.told().split()


def test_what_is_written_is_on_the_terminal_at_once_and_no_thread_wakes_for_it() -> None:
    with _terminal() as terminal:
        terminal.type(b"w")
        assert (terminal.told(), terminal.told()) == ("key w", "wrote")
        assert "written✓".encode() in terminal.drawn()


def test_the_end_restores_the_terminal() -> None:
    with _terminal() as terminal:
        assert terminal.modes_now() != terminal.modes
        terminal.type(b"q")
        assert (terminal.told(), terminal.told()) == ("key q", "")
        assert terminal.process.wait() == 0
        assert terminal.modes_now() == terminal.modes
        assert b"\x1b[?1049l\x1b[?25h\x1b[?1004l" in terminal.drawn()


def test_after_a_stop_it_reads_and_draws_again() -> None:
    with _terminal() as terminal:
        terminal.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert terminal.modes_now() == terminal.modes
        assert b"\x1b[?1049l" in terminal.drawn()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.type(b"a")
        assert terminal.told() == "key a"
        assert b"\x1b[?1049h" in terminal.drawn()


def test_a_terminal_that_is_gone_is_told_once() -> None:
    with _terminal() as terminal:
        terminal.hang_up()
        assert (terminal.told(), terminal.told()) == ("hung up", "")


def test_after_a_stop_the_monitor_draws_all_of_its_screen_again() -> None:
    with _terminal(_MONITOR) as terminal:
        wait_until(lambda: b"overview" in terminal.drawn())
        terminal.process.send_signal(signal.SIGTSTP)
        os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert b"overview" not in terminal.drawn()
        terminal.process.send_signal(signal.SIGCONT)
        wait_until(lambda: b"overview" in terminal.drawn())


def test_where_textual_has_changed_inside_its_own_thread_reads_the_terminal() -> None:
    without_parser = "import noisewatch.surfaces.tui.app.calm_driver as driver\ndriver.XTermParser = None\n"
    with _terminal(without_parser + _TELLING) as terminal:
        assert terminal.told() == "ready"
        terminal.type(b"t")
        assert [terminal.told().split()[0] for _ in range(2)] == ["key", "threads"]
        terminal.type(b"q")
        assert terminal.told() == "key q"
        assert terminal.process.wait(_PATIENCE_S) == 0
