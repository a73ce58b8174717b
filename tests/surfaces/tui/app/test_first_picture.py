"""The first picture: it equals Textual's later picture, and the terminal is always restored at exit."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.pilot import Pilot

from noisewatch.errors import UsageError
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.line_view import LineView
from noisewatch.surfaces.tui.first_picture import TO_ALTERNATE, FirstPicture
from tests.surfaces.tui.app.piloting import with_monitor

_PATIENCE_S = 30.0  # the limit for a hanging test
_FROM_ALTERNATE = b"\x1b[?1049l"
_KEYS = b"1-8"  # in the last row
_ONE_ROW = re.compile(r"\x1b\[\d+;1H")
_WITHOUT_TLS = """
import sys
from noisewatch.surfaces.cli.commands.monitor import import_asyncio_without_tls

def report():
    print("imported:", ", ".join(sorted({"asyncio", "ssl"} & set(sys.modules))))

import_asyncio_without_tls()
report()
import ssl
report()
"""
_FULL = """
os.set_blocking(2, False)
try:
    while True: os.write(2, b'x' * 1000)
except BlockingIOError: pass
"""


def _picture_command(work: str, before: str = "") -> list[str]:
    """Return the arguments of a Python that shows the first picture during this work."""
    program = f"""
import fcntl, os, signal, sys, termios, time
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.first_picture import FirstPicture
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C interrupts
{before}
with FirstPicture(UNICODE, 1.0) as picture:
    {work}
"""
    return ["-c", program]


class _Terminal:
    """A program in a terminal."""

    def __init__(self, command: list[str]) -> None:
        self._keyboard, self._child = pty.openpty()
        termios.tcsetwinsize(self._child, (24, 80))
        self.modes = termios.tcgetattr(self._child)
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=self._child,
            stdout=self._child,
            stderr=self._child,
            env=environment | {"TERM": "xterm-256color"},
            start_new_session=True,
        )
        self.output = b""

    def read_until(self, text: bytes) -> bytes:
        """Return the whole output once it contains this text."""
        while text not in self.output:
            self._read()
        return self.output

    def type(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def wait_for_exit(self) -> tuple[int, list[Any]]:
        """Wait for the process, and return its exit status and the terminal's modes."""
        while self.process.poll() is None:
            self._read(0.05)
        self._read(0)
        return self.process.wait(), termios.tcgetattr(self._child)

    def _read(self, wait_s: float = _PATIENCE_S) -> None:
        ready = select.select([self._keyboard], [], [], wait_s)[0]
        assert ready or wait_s < _PATIENCE_S, self.output
        if ready:
            self.output += os.read(self._keyboard, 1 << 16)

    def hang_up(self) -> None:
        """Close the terminal's other side: nothing is read or typed any more."""
        os.close(self._keyboard)
        self._keyboard = os.open(os.devnull, os.O_RDWR)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._keyboard)
        os.close(self._child)


@contextmanager
def _terminal(*command: str) -> Iterator[_Terminal]:
    terminal = _Terminal([*command])
    try:
        yield terminal
    finally:
        terminal.close()


def _cells(segments: Iterable[Segment]) -> list[str]:
    """Return each character as written with its style."""
    return [
        (style or Style.null()).render(character, color_system=ColorSystem.TRUECOLOR)
        for text, style, _ in segments
        for character in text
    ]


def _first_rows(width: int, height: int, glyphs: Glyphs) -> list[list[Segment]]:
    console = Console(width=width, color_system="truecolor")
    lines = _ONE_ROW.split(FirstPicture(glyphs, 1.0)._render(width, height))[1:]
    return [[*next(iter(AnsiDecoder().decode(line))).render(console, "")] for line in lines]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (300, 90), (20, 5), (7, 1)])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_the_first_picture_equals_that_of_textual(size: tuple[int, int], glyphs: Glyphs) -> None:
    rows: list[list[Segment]] = []

    class Monitor(MonitorApp):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **(options | {"glyphs": glyphs}))

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        view = app.query_one(LineView)
        rows.extend(list(view.render_line(number)) for number in range(size[1]))

    with_monitor(steps, size=size, kind=Monitor)
    first = _first_rows(*size, glyphs)
    assert [_cells(row) for row in first] == [_cells(row) for row in rows]
    assert {sum(cell_len(text) for text, _, _ in row) for row in first} == {size[0]}


@pytest.mark.parametrize(
    ("pace_s", "opened", "text"),
    [
        (1.0, None, "measuring: the first second is not over"),
        (0.5, None, "measuring: the first 0.5 s are not over"),
        (1.0, "noise.nw", "reading noise.nw …"),
    ],
)
def test_the_first_picture_shows_what_it_waits_for(pace_s: float, opened: str | None, text: str) -> None:
    assert text in FirstPicture(UNICODE, pace_s, opened)._render(80, 24)


def test_the_first_picture_respects_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[1;7;33m" in FirstPicture(UNICODE, 1.0)._render(80, 24)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3\dm", FirstPicture(UNICODE, 1.0)._render(80, 24))


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("pass", b""),
        ("raise RuntimeError('boom')", b"boom"),
        ("raise KeyboardInterrupt", b"KeyboardInterrupt"),
        ("os.environ['COLUMNS'] = '1'; FirstPicture(None, 1.0).__enter__()", b"AttributeError"),
    ],
    ids=["done", "fault", "interrupted", "not drawn"],
)
def test_the_terminal_is_restored_at_the_end(work: str, expected: bytes) -> None:
    with _terminal(*_picture_command(work)) as terminal:
        output = terminal.read_until(_FROM_ALTERNATE)
        modes = terminal.wait_for_exit()[1]
        assert (modes, output.count(TO_ALTERNATE.encode())) == (terminal.modes, 1)
        before, _, after = terminal.output.partition(_FROM_ALTERNATE)
        assert (b"\x1b[?7h" in before, b"\x1b[?25h" in after, expected in after) == (True, True, True)


def test_a_slow_non_blocking_terminal_gets_the_whole_picture() -> None:
    with _terminal(*_picture_command("pass", _FULL)) as terminal:
        assert terminal.read_until(_FROM_ALTERNATE).count(_KEYS) == 1


def test_a_closed_terminal_is_not_a_fault() -> None:
    stays = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    with _terminal(*_picture_command("while os.isatty(0): time.sleep(0.01)", stays)) as terminal:
        terminal.read_until(_KEYS)
        terminal.hang_up()
        assert terminal.process.wait(_PATIENCE_S) == 0


def test_ctrl_c_ends_the_first_picture() -> None:
    naps = "while True: time.sleep(0.01)"  # Python sleeps on when a signal comes just before a sleep
    with _terminal(*_picture_command(naps)) as terminal:
        terminal.read_until(_KEYS)
        terminal.type(b"\x03")
        terminal.read_until(_FROM_ALTERNATE)
        status, modes = terminal.wait_for_exit()
        assert (status, modes) == (-signal.SIGINT, terminal.modes)


def test_keys_typed_during_the_first_picture_are_not_echoed_and_stay_readable() -> None:
    work = "typed = b''\n    while len(typed) < 8: typed += os.read(0, 99)\nos.write(1, ascii(typed).encode())"
    with _terminal(*_picture_command(work)) as terminal:
        terminal.read_until(_KEYS)
        terminal.type(b"a\r\x1a\x1c\x13\x1b[A")
        terminal.wait_for_exit()
        assert terminal.output.endswith(rb"b'a\r\x1a\x1c\x13\x1b[A'")
        assert b"^[" not in terminal.output


def test_the_monitor_replaces_the_first_picture_and_gets_earlier_keys() -> None:
    with _terminal("-m", "noisewatch") as terminal:
        terminal.read_until(_KEYS)
        terminal.type(b"q")
        status, modes = terminal.wait_for_exit()
        assert (status, modes) == (0, terminal.modes)
        assert terminal.output.count(TO_ALTERNATE.encode()) == terminal.output.count(_FROM_ALTERNATE) == 1


def test_no_blank_picture_follows_the_first_one() -> None:
    with _terminal("-m", "noisewatch") as terminal:
        terminal.read_until(b"CPUs")  # which is not in the first picture
        assert not re.search(rb"\x1b\[1;1H {20}", terminal.output)


def test_asyncio_is_imported_without_tls_which_stays_importable() -> None:
    lines = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TLS], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines == ["imported: asyncio", "imported: asyncio, ssl"]


def test_a_terminal_closed_before_the_first_picture_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    os.close(master)
    with open(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        with pytest.raises(UsageError, match="the terminal is gone"), FirstPicture(UNICODE, 1.0):
            pass
