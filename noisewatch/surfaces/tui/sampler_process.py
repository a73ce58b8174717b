"""The sampler's process, as the screen sees it: what it is asked for, its frames, and why they ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from noisewatch.sources.names import clean
from noisewatch.surfaces.frame import Frame, decode_frame

_LONGEST_LINE = 1 << 24  # a frame of thousands of CPUs


class SamplerProcess:
    """Runs the command, which writes a frame a line to standard output, and takes a request a line on its input."""

    def __init__(self, command: Sequence[str], show: Callable[[Frame, bytes], None]) -> None:
        self._command = command
        self._show = show
        self._process: asyncio.subprocess.Process | None = None
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
        stdin = self._process.stdin if self._process is not None else None
        if stdin is not None and not stdin.is_closing():
            stdin.write(json.dumps(requests).encode() + b"\n")

    async def follow(self) -> str | None:
        """Shows the frames until there are no more; why, or None where it was stopped or there were to be no more."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LONGEST_LINE
        )
        self._process = process
        if self.asked:
            self._send(self.asked)
        if process.stdout is None or process.stderr is None:
            return None
        is_last = False
        try:
            while line := await process.stdout.readline():
                frame = decode_frame(line)
                is_last = frame.is_last
                self._show(frame, line)
                await self._may_read.wait()
        except ValueError:  # a frame that was cut short, or is longer than any machine's
            _kill(process)
        said = (await process.stderr.read()).decode("utf-8", "replace").strip().splitlines()
        await process.wait()
        if self._process is not process or (is_last and not process.returncode):
            return None
        return clean(said[-1]) if said else f"status {process.returncode}"

    def stop(self) -> asyncio.subprocess.Process | None:
        """Ends it, and nothing is told of that; the process, to be waited for."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            _kill(process)
        return process


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
