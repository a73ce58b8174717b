"""One snapshot's look at a machine: each file is read once, and each failure is kept with its reason."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.hidden import content_of, folders_that_tell, is_hidden_as
from noisewatch.kernel.snapshot.intrusive import interrupts
from noisewatch.machine import Json, Machine

T = TypeVar("T")
_Content = bytes | Unreadable

NOT_ASKED = "not asked while a benchmark may run: the CPU would be interrupted to answer"


@dataclass(frozen=True, slots=True)
class Spared:
    """The CPUs that nothing may interrupt, None being all of them, and the Linux that decides what does."""

    cpus: Set[int] | None
    release: tuple[int, int] | None


class Reader:
    """A machine for the length of one snapshot.

    Sources read through it. `expected=False` says that a file is one of several ways to an answer, so that its
    absence is no news; that it is there and cannot be read is.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.spared: Spared | None = None
        self.reason_by_path: dict[str, str] = {}
        self.asked: set[str] = set()
        self._read_content = partial(content_of, machine)
        self._content_by_path: dict[str, _Content] = {}
        self._names_by_path: dict[str, list[str] | Unreadable] = {}

    def bytes(self, path: str, expected: bool = True) -> bytes:
        """The file's content. Raises Unreadable."""
        return _or_raised(self._content(path, expected))

    def text(self, path: str, expected: bool = True) -> str:
        """The file's content as text. Raises Unreadable."""
        return _text_of(self.bytes(path, expected))

    def names(self, path: str, expected: bool = True) -> list[str]:
        """The directory's names. Raises Unreadable."""
        return _or_raised(self._listing(path, expected))

    def text_or_none(self, path: str, expected: bool = True) -> str | None:
        content = self._content(path, expected)
        return None if isinstance(content, Unreadable) else _text_of(content)

    def names_or_none(self, path: str, expected: bool = True) -> list[str] | None:
        names = self._listing(path, expected)
        return None if isinstance(names, Unreadable) else names

    def parsed(self, path: str, parse: Callable[[str], T], expected: bool = True) -> T | None:
        """What `parse` makes of the file; None, with the reason kept, where it cannot be read or is malformed."""
        content = self._content(path, expected)
        if isinstance(content, Unreadable):
            return None
        try:
            return parse(_text_of(content))
        except Malformed as error:
            self.note(path, error.reason)
            return None

    def is_absent(self, path: str) -> bool:
        """Whether the kernel itself says that there is no such file or directory."""
        return isinstance(self._content(path, expected=False), Absent)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json | None:
        """The answer to what no file says; None, with the reason kept, where it cannot be asked."""
        self.asked.add(question)
        try:
            return self.machine.ask(question, answer)
        except Unreadable as error:
            self.note(question, error.reason)
            return None

    def note(self, path: str, reason: str) -> None:
        """Keeps the reason why `path` gave no answer."""
        self.reason_by_path.setdefault(path, reason)

    def _refuse_intrusive(self, path: str) -> None:
        if self.spared is not None and interrupts(path, self.spared.cpus, self.spared.release):
            raise Unreadable(path, NOT_ASKED)

    def _content(self, path: str, expected: bool) -> _Content:
        return self._once(self._content_by_path, path, self._read_content, expected)

    def _listing(self, path: str, expected: bool) -> list[str] | Unreadable:
        return self._once(self._names_by_path, path, self.machine.list_names, expected)

    def _once(
        self, kept: dict[str, T | Unreadable], path: str, read: Callable[[str], T], expected: bool
    ) -> T | Unreadable:
        """The answer. An error that was raised is never kept: it keeps the frames that it came through."""
        if path not in kept:
            self.asked.add(path)
            try:
                self._refuse_intrusive(path)
                kept[path] = read(path)
            except Absent as error:
                kept[path] = self._believed(error)
            except Unreadable as error:
                kept[path] = error.again()
        answer = kept[path]
        if isinstance(answer, Unreadable) and (expected or not answer.is_missing):
            self.note(path, answer.reason)
        return answer

    def _believed(self, absent: Absent) -> Unreadable:
        """The same where it is a fact; where all around the path is hidden too, it is unknown."""
        hidden = next((folder for folder in folders_that_tell(absent.path) if self._is_hidden(folder)), None)
        if hidden is None:
            return absent.again()
        return Unreadable(absent.path, f"{absent.reason}, and nothing is in {hidden}")

    def _is_hidden(self, folder: str) -> bool:
        names = self._listing(folder, expected=False)
        return is_hidden_as(names, folder) if isinstance(names, Unreadable) else not names


def _or_raised(answer: T | Unreadable) -> T:
    if isinstance(answer, Unreadable):
        raise answer.again()
    return answer


def _text_of(content: bytes) -> str:
    return content.decode("utf-8", "replace")
