"""The monitor's connection to the sampler's process: it sends requests, and receives frames."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import IO

from noisewatch.operations.frame.frame import NO_FIELDS, Frame, decode_frame, stable_fields
from noisewatch.operations.sampler import start
from noisewatch.text import printable

_LONGEST_LINE = 1 << 24  # a frame of thousands of CPUs
_CHUNK = 1 << 18


class SamplerProcess:
    """A sampler's process, which writes one frame per line to standard output, and reads one request per line."""

    def __init__(self, command: Sequence[str], process: subprocess.Popen[bytes] | None = None) -> None:
        """Set the command; pass `process` if the command is already running."""
        self._command = command
        self._process = process
        self._requests: asyncio.WriteTransport | None = None
        self._is_reading = asyncio.Event()
        self._is_reading.set()
        self.asked: dict[str, object] = {}

    def read_on(self, is_reading: bool) -> None:
        """Set whether frames are read; otherwise the sampler waits."""
        if is_reading:
            self._is_reading.set()
        else:
            self._is_reading.clear()

    def ask(self, name: str, value: object) -> None:
        """Send a setting to the sampler, now and at each restart. Frames report whether the setting is in effect."""
        self.asked[name] = value
        self._send({name: value})

    def _send(self, requests: Mapping[str, object]) -> None:
        """Send requests without waiting; buffer them while the sampler does not read, and drop them if none runs."""
        if self._requests is not None and not self._requests.is_closing():
            self._requests.write(json.dumps(requests).encode() + b"\n")

    async def follow(self, show: Callable[[Frame, bytes], None], draw: Callable[[], None]) -> str | None:
        """Show frames until they end; return the reason, or None after the last frame of a recording or after `stop`.

        Frames that arrive together are drawn once.
        """
        process = self._process = self._process or start(self._command)
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("a started sampler has pipes")
        frames, errors = await _reader_of(process.stdout), await _reader_of(process.stderr)
        self._requests = requests = await _writer_to(process.stdin)
        if self.asked:
            self._send(self.asked)
        is_last, omitted = False, NO_FIELDS
        try:
            async for lines in _lines_of(frames):
                for line in lines:
                    await self._is_reading.wait()
                    frame = decode_frame(line, omitted)
                    is_last, omitted = frame.is_last, stable_fields(frame)
                    show(frame, line)
                draw()
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
        """Kill the process, and return it so that the caller can wait for it; None if none is running."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        return process


async def _lines_of(reader: asyncio.StreamReader) -> AsyncIterator[list[bytes]]:
    """Yield lists of lines that arrive together. Raise ValueError for a line of more than _LONGEST_LINE bytes."""
    unfinished = b""
    while chunk := await reader.read(_CHUNK):
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        if len(unfinished) > _LONGEST_LINE:
            raise ValueError
        if lines:
            yield lines
    if unfinished:
        yield [unfinished]


async def _reader_of(pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(_CHUNK)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer_to(pipe: IO[bytes]) -> asyncio.WriteTransport:
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
    return transport


def toggle_idle_probe(sampler: SamplerProcess | None, frame: Frame | None) -> str | None:
    """Ask the sampler to toggle the idle probe; return None, or why there is no idle probe."""
    if sampler is None or frame is None:
        return "no idle probe: the sampler has not started"
    if frame.origin is not None:
        return f"no idle probe: a {frame.origin} has no CPUs to spin on"
    sampler.ask("idle_probe", sampler.asked.get("idle_probe", frame.has_idle_probe) is not True)
    return None
