"""A machine that records all its answers (`noisewatch record`)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import BinaryIO

from noisewatch import __version__
from noisewatch.errors import Absent, Unreadable
from noisewatch.machine import Json, Machine, T
from noisewatch.machine.recording.format import ASIDE, FORMAT_VERSION, Answers, Failure, RecordedSnapshot, encode
from noisewatch.machine.recording.privacy import GZIP, HOST_NAME, Scrubber
from noisewatch.patterns import regex

KEY_FRAME_EVERY = 60  # at one frame per second, damage loses one minute at most
_COMPRESSION = 6
_PROCESS = regex(r"^\w+ (/proc/\d+)(?:/|$)")


class Recorder:
    """A wrapper around a machine that also writes each answer to `sink`, one frame per snapshot.

    The first frame also contains what `read_more` reads.
    """

    def __init__(
        self,
        machine: Machine,
        sink: BinaryIO,
        interval_s: float,
        identify: bool = False,
        read_more: Callable[[Machine], object] | None = None,
    ) -> None:
        self._machine = machine
        self._sink = sink
        self._gzip = zlib.compressobj(_COMPRESSION, wbits=GZIP)
        self._read_more = read_more
        self._scrub = Scrubber(_host_name(machine), identify)
        self._known: Answers = {}
        self._frame: RecordedSnapshot | None = None
        self._asked_since_key: set[str] = set()
        self.frame_count = 0
        header = {
            "noisewatch_recording": FORMAT_VERSION,
            "made_by": __version__,
            "own_pids": sorted(machine.own_pids),
            "interval_s": interval_s,
        }
        self._write(header)

    @property
    def is_live(self) -> bool:
        return self._machine.is_live

    @property
    def name(self) -> str:
        return self._machine.name

    @property
    def own_pids(self) -> frozenset[int]:
        return self._machine.own_pids

    def now_ns(self) -> int:
        now_ns = self._machine.now_ns()
        if self._frame is not None and self._frame.now_ns == 0:
            self._frame.now_ns = now_ns
        return now_ns

    def read_bytes(self, path: str) -> bytes:
        return self._read_and_record("text", path, lambda: self._machine.read_bytes(path), _as_text)

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        """Reread the files and record their contents, so that a replay finds the same files unchanged.

        Files that the machine leaves to `read_bytes`, such as unreadable ones, are recorded when they are read.
        """
        asked = self._frame.asked if self._frame is not None else {}
        answers = list(self._machine.reread(files))
        contents = [content for _, content in files]
        for at, content in answers:
            contents[at] = content
        for (path, _), content in zip(files, contents, strict=True):
            if content is not None:
                asked[f"text {self._scrub.path(path)}"] = self._scrub(path, _as_text(content))
        return answers

    def list_names(self, path: str) -> list[str]:
        return self._read_and_record("names", path, lambda: self._machine.list_names(path), _as_is)

    def mode(self, path: str) -> int:
        return self._read_and_record("mode", path, lambda: self._machine.mode(path), int)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        """Return the machine's answer, and record it.

        Within a snapshot it is recorded in the frame; otherwise, as for a calibration, in a line of its own."""
        if self._frame is not None:
            return self._read_and_record("ask", question, lambda: self._machine.ask(question, answer), _as_is)
        response = self._machine.ask(question, answer)
        self._write({ASIDE: {f"ask {question}": self._scrub(question, response)}})
        return response

    def begin_snapshot(self) -> None:
        """Begin a frame; an open frame is dropped, because its snapshot was started over."""
        self._machine.begin_snapshot()
        self._frame = RecordedSnapshot(now_ns=0)

    def within_deadline(self, work: Callable[[], T]) -> T:
        """Run `work`, then write the frame, so that no frame contains half a snapshot."""
        result = self._machine.within_deadline(work)
        if self._frame is not None and self._read_more is not None:
            read_more, self._read_more = self._read_more, None
            self._machine.within_deadline(lambda: read_more(self))
        self._finish_frame()
        return result

    def close(self) -> None:
        """End the recording; the sink stays open. Raise OSError if it cannot be written."""
        self._sink.write(self._gzip.flush(zlib.Z_FINISH))
        self._sink.flush()

    def _read_and_record(self, kind: str, path: str, read: Callable[[], T], keep: Callable[[T], Json]) -> T:
        """Read the answer and record it in the frame open at the call, even if this frame is abandoned meanwhile."""
        asked = self._frame.asked if self._frame is not None else {}
        question = f"{kind} {self._scrub.path(path)}"
        try:
            value = read()
        except Unreadable as error:
            asked[question] = Failure(error.reason, isinstance(error, Absent))
            raise
        asked[question] = self._scrub(path, keep(value))
        return value

    def _finish_frame(self) -> None:
        if self._frame is None:
            return
        frame, self._frame = self._frame, None
        is_key = self.frame_count % KEY_FRAME_EVERY == 0
        self._asked_since_key.update(filter(None, map(_process_of, frame.asked)))
        if is_key:
            self._known = {question: kept for question, kept in self._known.items() if self._is_current(question)}
            frame.asked = {**self._known, **frame.asked}
            self._asked_since_key = set()
        self._write(encode(frame, self._known, is_key))
        self._known.update(frame.asked)
        self.frame_count += 1

    def _is_current(self, question: str) -> bool:
        """Return whether a key frame includes the question; for a process, only if read since the last key frame."""
        process = _process_of(question)
        return process is None or process in self._asked_since_key

    def _write(self, line: Json) -> None:
        self._sink.write(self._gzip.compress(json.dumps(line, separators=(",", ":")).encode() + b"\n"))
        self._sink.write(self._gzip.flush(zlib.Z_SYNC_FLUSH))
        self._sink.flush()  # so that a killed recorder leaves all complete frames


def _process_of(question: str) -> str | None:
    match = _PROCESS.match(question)
    return None if match is None else match[1]


def _as_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _as_is(value: T) -> T:
    return value


def _host_name(machine: Machine) -> str:
    try:
        return machine.read_bytes(HOST_NAME).decode("utf-8", "replace").strip()
    except Unreadable:
        return ""
