"""The sampler's process, as the screen sees it: what it is asked for, its frames, and why they ended."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import IO

from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.line import NOTHING_TOLD, decode_frame, standing_of
from noisewatch.operations.sampler import start
from noisewatch.text import printable

_LONGEST_LINE = 1 << 24  # a frame of thousands of CPUs
_CHUNK = 1 << 18


class SamplerProcess:
    """Runs the command, which writes a frame a line to standard output, and takes a request a line on its input."""

    def __init__(self, command: Sequence[str], process: subprocess.Popen[bytes] | None = None) -> None:
        """With a `process` the command was started already."""
        self._command = command
        self._process = process
        self._requests: asyncio.WriteTransport | None = None
        self._may_read = asyncio.Event()
        self._may_read.set()
        self.asked: dict[str, object] = {}

    def read_on(self, wanted: bool) -> None:
        """Whether frames are taken in; where they are not, the sampler waits."""
        if wanted:
            self._may_read.set()
        else:
            self._may_read.clear()

    def ask(self, name: str, wanted: object) -> None:
        """Tells the sampler what is wanted, now and whenever it is started anew. Whether it is so, its frames tell."""
        self.asked[name] = wanted
        self._send({name: wanted})

    def _send(self, requests: Mapping[str, object]) -> None:
        """Never waits: what a stopped sampler does not read is kept for it."""
        if self._requests is not None and not self._requests.is_closing():
            self._requests.write(json.dumps(requests).encode() + b"\n")

    async def follow(self, show: Callable[[Frame, bytes], None], draw: Callable[[], None]) -> str | None:
        """Shows the frames until there are no more; why, or None where it was stopped or there were to be no more.

        What came together is drawn once.
        """
        process = self._process = self._process or start(self._command)
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("a sampler that has begun has its pipes")
        errors = await _reader_of(process.stderr)
        self._requests = requests = await _writer_to(process.stdin)
        if self.asked:
            self._send(self.asked)
        is_last, told = False, NOTHING_TOLD
        try:
            with process.stdout as pipe:
                async for lines in _lines_of(pipe):
                    for line in lines:
                        frame = decode_frame(line, told)
                        is_last, told = frame.is_last, standing_of(frame)
                        show(frame, line)
                        await self._may_read.wait()
                    draw()
        except ValueError:  # a frame that was cut short, or is longer than any machine's
            process.kill()
        said = (await errors.read()).decode("utf-8", "replace").strip().splitlines()
        status = await asyncio.to_thread(process.wait)
        requests.close()
        if self._process is not process:
            return None
        self._process = None
        if is_last and not status:
            return None
        return printable(said[-1]) if said else f"status {status}"

    def stop(self) -> subprocess.Popen[bytes] | None:
        """Ends it, and nothing is told of that; the process, to be waited for."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        return process


async def _lines_of(pipe: IO[bytes]) -> AsyncIterator[list[bytes]]:
    """Those that have come together. Raises ValueError for one that does not end."""
    unfinished = b""
    while found := await _read(pipe.fileno()):
        *lines, unfinished = (unfinished + found).split(b"\n")
        if len(unfinished) > _LONGEST_LINE:
            raise ValueError
        if lines:
            yield lines
    if unfinished:
        yield [unfinished]


async def _read(descriptor: int) -> bytes:
    """What there is, as soon as there is something: fewer turns of the loop than a StreamReader takes."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, ready.set_result, None)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK)


async def _reader_of(pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer_to(pipe: IO[bytes]) -> asyncio.WriteTransport:
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
    return transport


def toggle_idle_probe(sampler: SamplerProcess | None, frame: Frame | None) -> str | None:
    """Asks the sampler to switch it on, or off; the reason where there is nothing to spin on."""
    if sampler is None or frame is None:
        return "no idle probe: the sampler has not started"
    if frame.origin is not None:
        return f"no idle probe: a {frame.origin} has no CPUs to spin on"
    sampler.ask("idle_probe", sampler.asked.get("idle_probe", frame.has_idle_probe) is not True)
    return None
