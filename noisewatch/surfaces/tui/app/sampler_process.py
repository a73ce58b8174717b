"""The sampler's process as the screen uses it: its requests, its frames, and why they ended."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import IO, Self

from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.line import NO_FIELDS, decode_frame, stable_fields
from noisewatch.operations.sampler import start
from noisewatch.text import printable

_LONGEST_LINE = 1 << 24  # a frame of thousands of CPUs
_CHUNK = 1 << 18


class SamplerProcess:
    """A sampler's process, which writes a frame a line to standard output, and reads a request a line."""

    def __init__(self, command: Sequence[str], process: subprocess.Popen[bytes] | None = None) -> None:
        """Set the command; `process` is given if the command was started already."""
        self._command = command
        self._process = process
        self._requests: asyncio.WriteTransport | None = None
        self._inflow: _Inflow | None = None
        self._is_reading = True
        self.asked: dict[str, object] = {}

    def read_on(self, is_reading: bool) -> None:
        """Set whether frames are read; while they are not, the sampler waits."""
        self._is_reading = is_reading
        if is_reading and self._inflow is not None:
            self._inflow.go_on()

    def ask(self, name: str, value: object) -> None:
        """Send a setting to the sampler, now and at each restart. Its frames report whether it applies."""
        self.asked[name] = value
        self._send({name: value})

    def _send(self, requests: Mapping[str, object]) -> None:
        """Send requests without waiting: requests to a stopped sampler are buffered."""
        if self._requests is not None and not self._requests.is_closing():
            self._requests.write(json.dumps(requests).encode() + b"\n")

    async def follow(self, show: Callable[[Frame, bytes], None], draw: Callable[[], None]) -> str | None:
        """Show frames until they end; return the reason, or None if it was stopped or the last frame came.

        Frames that come together are drawn once.
        """
        process = self._process = self._process or start(self._command)
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("a sampler that has begun has its pipes")
        errors = await _reader_of(process.stderr)
        self._requests = requests = await _writer_to(process.stdin)
        if self.asked:
            self._send(self.asked)
        is_last, omitted = False, NO_FIELDS

        def take(line: bytes) -> bool:
            nonlocal is_last, omitted
            frame = decode_frame(line, omitted)
            is_last, omitted = frame.is_last, stable_fields(frame)
            show(frame, line)
            return self._is_reading

        try:
            with process.stdout as pipe, _Inflow(pipe.fileno(), take, draw) as self._inflow:
                await self._inflow.ended
        except ValueError:  # a truncated frame, or one longer than any machine's
            process.kill()
        error_lines = (await errors.read()).decode("utf-8", "replace").strip().splitlines()
        status = await asyncio.to_thread(process.wait)
        requests.close()
        if self._process is not process:
            return None
        self._process = None
        if is_last and not status:
            return None
        return printable(error_lines[-1]) if error_lines else f"status {status}"

    def stop(self) -> subprocess.Popen[bytes] | None:
        """Kill the process silently, and return it so that it can be waited for."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        return process


class _Inflow:
    """A reader that passes lines to `take` until that returns False, and calls `draw` after lines that came together.

    The event loop's callback does all of it: a reading coroutine takes another turn of the loop and two system
    calls.
    """

    def __init__(self, descriptor: int, take: Callable[[bytes], bool], draw: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._take, self._draw = take, draw
        self._lines: deque[bytes] = deque()
        self._unfinished = b""
        self._waits = self._has_ended = False  # whether reading pauses, and whether the input has ended
        self.ended: asyncio.Future[None] = (
            self._loop.create_future()
        )  # holds an exception that was raised; ValueError for a line that does not end

    def __enter__(self) -> Self:
        self._loop.add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.remove_reader(self._descriptor)
        self.ended.cancel()

    def go_on(self) -> None:
        """Resume reading."""
        if self._waits:
            self._waits = False
            self._loop.add_reader(self._descriptor, self._read)
            self._loop.call_soon(self._hand_on)

    def _read(self) -> None:
        chunk = os.read(self._descriptor, _CHUNK)
        *lines, self._unfinished = (self._unfinished + chunk).split(b"\n")
        self._lines += lines
        if not chunk:
            self._has_ended = True
            self._lines += [self._unfinished] * bool(self._unfinished)
            self._unfinished = b""
            self._loop.remove_reader(self._descriptor)
        self._hand_on()

    def _hand_on(self) -> None:
        if self._waits or self.ended.done():
            return
        with _RaisedBy(self.ended):
            if len(self._unfinished) > _LONGEST_LINE:
                raise ValueError
            had_lines = bool(self._lines)
            while self._lines:
                if not self._take(self._lines.popleft()):
                    self._waits = True
                    self._loop.remove_reader(self._descriptor)
                    return
            if had_lines:
                self._draw()
            if self._has_ended:
                self.ended.set_result(None)


class _RaisedBy:
    """A context manager that passes exceptions of its block to a future."""

    def __init__(self, future: asyncio.Future[None]) -> None:
        self._future = future

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self._future.set_exception(error)
        return True


async def _reader_of(pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer_to(pipe: IO[bytes]) -> asyncio.WriteTransport:
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
    return transport


def toggle_idle_probe(sampler: SamplerProcess | None, frame: Frame | None) -> str | None:
    """Ask the sampler to toggle the idle probe; return the reason if there is no CPU to spin on."""
    if sampler is None or frame is None:
        return "no idle probe: the sampler has not started"
    if frame.origin is not None:
        return f"no idle probe: a {frame.origin} has no CPUs to spin on"
    sampler.ask("idle_probe", sampler.asked.get("idle_probe", frame.has_idle_probe) is not True)
    return None
