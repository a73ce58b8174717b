"""The terminal, read and written by the loop itself: Textual's threads wake ten times a second, and thrice a draw."""

from __future__ import annotations

import os
from asyncio import TimerHandle
from codecs import getincrementaldecoder
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from noisewatch.surfaces.tui.first_picture import TO_ALTERNATE, FirstPicture, send

_CHUNK = 4096  # bytes, as much as a terminal holds


class HungUp(Message):
    """The terminal is gone: nothing more can be read from it, or drawn on it."""


class CalmDriver(LinuxDriver):
    """As Textual's driver, which starts and ends the terminal's modes, but for who waits."""

    _file: TextIOWrapper  # a terminal, or there would be no screen

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._parser = XTermParser(self._debug)
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._tick: TimerHandle | None = None

    def run_input_thread(self) -> None:
        """Ends the thread that Textual starts for it: the loop waits for the terminal as for all else."""
        self._loop.call_soon_threadsafe(self._loop.add_reader, self.fileno, self._read)

    def disable_input(self) -> None:
        """Reads no more."""
        self._loop.remove_reader(self.fileno)
        super().disable_input()

    def _read(self) -> None:
        typed = b""  # also where reading fails: the terminal is gone
        with suppress(OSError):
            typed = os.read(self.fileno, _CHUNK)
        if not typed:
            self._loop.remove_reader(self.fileno)  # it would be ready for ever
            self.process_message(HungUp())
            return
        if text := self._decode(typed):
            for message in self._parser.feed(text):
                self.process_message(message)
        if self._tick is not None:
            self._tick.cancel()
        self._tick = self._loop.call_later(ESCAPE_DELAY, self._end_escape)

    def _end_escape(self) -> None:
        """An escape that nothing followed was that key."""
        for message in self._parser.tick():
            self.process_message(message)

    def write(self, data: str) -> None:
        """Sends it at once. Where the terminal is gone, its reader tells."""
        send(data, self._file)


def taking_over(picture: FirstPicture) -> type[CalmDriver]:
    """The driver of a terminal on which the first picture stands: it stays there, until something else is drawn."""

    class TakingOver(CalmDriver):
        def start_application_mode(self) -> None:
            super().start_application_mode()  # type: ignore[no-untyped-call]
            self.attrs_before = picture.attributes

        def write(self, data: str) -> None:
            if data != TO_ALTERNATE or not picture.take_over():
                super().write(data)

    return TakingOver
