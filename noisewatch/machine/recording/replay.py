"""A recording as a machine: it answers from the current snapshot, and `advance` goes to the next one."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from noisewatch.errors import NOT_RECORDED, Absent, Malformed, Unreadable, UsageError, damaged_words
from noisewatch.machine import Json, T
from noisewatch.machine.recording.format import (
    ASIDE,
    FORMAT_VERSION,
    Answers,
    Failure,
    begins_sample,
    decode,
    decode_aside,
)

_END = object()
_LONGEST_HEADER = 1_000_000  # bytes
_UNASKED = Failure(NOT_RECORDED, is_absent=False)


class Recording:
    """The machine recorded in the file `path`, at one of its snapshots."""

    is_live = False

    def __init__(self, path: str) -> None:
        """Open the recording at its first snapshot. Raise UsageError if `path` is not a recording, or is empty."""
        self.name = path
        self.damage: str | None = None  # why the replay ended early
        self.frame_count = 0
        self._known: Answers = {}
        self._asides: Answers = {}
        self._encoded: dict[str, tuple[str, bytes]] = {}  # the last answer, by path
        self._aside_count = 0
        self._pending: Json = None  # a frame that was read already; it follows an aside
        self._ahead: deque[Json] = deque()  # lines that were read ahead in search of a sample
        self._now_ns = 0
        self._lines = _lines_of(path)
        header = self._next_line()
        if not isinstance(header, dict) or "noisewatch_recording" not in header:
            raise UsageError(f"{path}: {self.damage or 'not a recording of noisewatch'}")
        if header["noisewatch_recording"] != FORMAT_VERSION:
            version = header["noisewatch_recording"]
            raise UsageError(f"{path}: recorded in format {version}, but this noisewatch reads format {FORMAT_VERSION}")
        own_pids = header.get("own_pids")
        self.own_pids = (
            frozenset(pid for pid in own_pids if isinstance(pid, int)) if isinstance(own_pids, list) else frozenset()
        )
        if not self.advance():
            raise UsageError(f"{path}: {self.damage or 'contains no snapshot'}")

    def advance(self, past_asides: bool = True) -> bool:
        """Go to the next snapshot; return False at the end, or if the recording is damaged (see `damage`).

        Without `past_asides`, also return False once at an answer between two snapshots; the next call goes on.
        """
        try:
            asides_before = self._aside_count
            line, self._pending = self._pending or self._next_frame(), None
            if line is _END:
                return False
            if not past_asides and self._aside_count > asides_before:
                self._pending = line
                return False
            self._now_ns, self._known = decode(line, self._known)
        except Malformed as error:
            self.damage = damaged_words(str(error), f"after {self.frame_count} snapshots")
            return False
        self.frame_count += 1
        return True

    def _next_frame(self) -> Json:
        """Return the next frame, or _END; keep the asides before it. Raise Malformed."""
        while self._ahead or self.damage is None:
            line = self._ahead.popleft() if self._ahead else self._next_line()
            if not isinstance(line, dict) or ASIDE not in line:
                return line
            if begins_sample(line):
                continue
            self._asides.update(decode_aside(line))
            self._aside_count += 1
        return _END

    def go_to_end(self) -> None:
        """Go to the last snapshot."""
        while self.advance():
            pass

    def go_to_sample(self) -> None:
        """Go to the first snapshot of the last sample, if samples are marked; otherwise stay at the first snapshot.

        Earlier snapshots were taken while the machine settled, or belong to a sample that was discarded.
        """
        line = self._next_line()
        if not begins_sample(line):
            self._ahead.append(line)
            return
        while line is not _END:
            while begins_sample(line) and self._ahead:
                if not self.advance():
                    self._ahead.clear()
                    return
            self._ahead.append(line)
            line = self._next_line()
        self.advance()

    def go_to_aside(self) -> bool:
        """Go to the last snapshot before the next answer between snapshots, or to the end; return whether it moved."""
        moved = False
        while self.advance(past_asides=False):
            moved = True
        return moved

    def now_ns(self) -> int:
        return self._now_ns

    def read_bytes(self, path: str) -> bytes:
        return self._encoded_text(path, str(self._answer("text", path)))

    def _encoded_text(self, path: str, text: str) -> bytes:
        earlier, content = self._encoded.get(path, (None, b""))
        if text is not earlier:
            content = text.encode("utf-8", "surrogateescape")
            self._encoded[path] = (text, content)
        return content

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        answers: list[tuple[int, bytes | None]] = []
        for at, (path, before) in enumerate(files):
            answer = self._look_up("text", path)
            if isinstance(answer, Failure):
                if before is not None or not answer.is_absent:
                    answers.append((at, None))
            elif (content := self._encoded_text(path, str(answer))) != before:
                answers.append((at, content))
        return answers

    def list_names(self, path: str) -> list[str]:
        return list(self._answer("names", path))

    def mode(self, path: str) -> int:
        return int(self._answer("mode", path))

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        return self._answer("ask", question)

    def begin_snapshot(self) -> None:
        """Do nothing: each frame is a snapshot already."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        return work()

    def _answer(self, kind: str, path: str) -> Json:
        answer = self._look_up(kind, path)
        if isinstance(answer, Failure):
            raise (Absent if answer.is_absent else Unreadable)(path, answer.reason)
        return answer

    def _look_up(self, kind: str, path: str) -> Json:
        """Return the recorded answer or the recorded Failure."""
        question = f"{kind} {path}"
        return self._known.get(question, self._asides.get(question, _UNASKED))

    def _next_line(self) -> Json:
        try:
            text = next(self._lines, None)
            return _END if text is None else json.loads(text)
        except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
            self.damage = damaged_words(str(error), f"after {self.frame_count} snapshots")
            return _END


def is_recording(path: str) -> bool:
    """Return whether the file begins as a recording, of any format version."""
    try:
        with gzip.open(path, "rb") as file:
            header = json.loads(file.readline(_LONGEST_HEADER))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "noisewatch_recording" in header


def _lines_of(path: str) -> Iterator[bytes]:
    """Yield the lines of the gzip file. Raise UsageError at once if it cannot be opened."""
    try:
        file = gzip.open(path, "rb")  # noqa: SIM115 - closed by the iteration over its lines
        file.peek(1)
    except (OSError, EOFError, zlib.error) as error:
        reason = (
            error.strerror.lower() if isinstance(error, OSError) and error.strerror else "not a recording of noisewatch"
        )
        raise UsageError(f"{path}: {reason}") from error
    return _lines_then_close(file)


def _lines_then_close(file: gzip.GzipFile) -> Iterator[bytes]:
    with file:
        yield from file
