"""One snapshot's look at a machine: each file is read once, and each failure is kept with its reason."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TypeVar

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.machine import Json, Machine
from noisewatch.sources.hidden import content_of, folders_that_tell, is_hidden_as
from noisewatch.sources.intrusive import interrupts

T = TypeVar("T")


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
        self._bytes: dict[str, bytes | Unreadable] = {}
        self._names: dict[str, list[str] | Unreadable] = {}

    def bytes(self, path: str, expected: bool = True) -> bytes:
        """The file's content. Raises Unreadable."""
        return self._once(self._bytes, path, lambda each: content_of(self.machine, each), expected)

    def text(self, path: str, expected: bool = True) -> str:
        """The file's content as text. Raises Unreadable."""
        return self.bytes(path, expected).decode("utf-8", "replace")

    def names(self, path: str, expected: bool = True) -> list[str]:
        """The directory's names. Raises Unreadable."""
        return self._once(self._names, path, self.machine.list_names, expected)

    def text_or_none(self, path: str, expected: bool = True) -> str | None:
        try:
            return self.text(path, expected)
        except Unreadable:
            return None

    def names_or_none(self, path: str, expected: bool = True) -> list[str] | None:
        try:
            return self.names(path, expected)
        except Unreadable:
            return None

    def parsed(self, path: str, parse: Callable[[str], T], expected: bool = True) -> T | None:
        """What `parse` makes of the file; None, with the reason kept, where it cannot be read or is malformed."""
        try:
            return parse(self.text(path, expected))
        except Unreadable:
            return None
        except Malformed as error:
            self.note(path, error.reason)
            return None

    def is_absent(self, path: str) -> bool:
        """Whether the kernel itself says that there is no such file or directory."""
        try:
            self.bytes(path, expected=False)
        except Absent:
            return True
        except Unreadable:
            return False
        return False

    def ask(self, question: str, answer: Callable[[], Json]) -> Json | None:
        """The answer to what no file says; None, with the reason kept, where it cannot be asked."""
        self.asked.add(question)
        try:
            self._refuse_intrusive(question)
            return self.machine.ask(question, answer)
        except Unreadable as error:
            self.note(question, error.reason)
            return None

    def note(self, path: str, reason: str) -> None:
        """Keeps the reason why `path` gave no answer."""
        self.reason_by_path.setdefault(path, reason)

    def _refuse_intrusive(self, question: str) -> None:
        if self.spared is not None and interrupts(question, self.spared.cpus, self.spared.release):
            raise Unreadable(question, NOT_ASKED)

    def _once(self, kept: dict[str, T | Unreadable], path: str, read: Callable[[str], T], expected: bool) -> T:
        if path not in kept:
            self.asked.add(path)
            try:
                self._refuse_intrusive(path)
                kept[path] = read(path)
            except Absent as error:
                kept[path] = self._believed(error)
            except Unreadable as error:
                kept[path] = error
        answer = kept[path]
        if isinstance(answer, Unreadable):
            if expected or not answer.is_missing:
                self.note(path, answer.reason)
            raise answer
        return answer

    def _believed(self, absent: Absent) -> Unreadable:
        """The same where it is a fact; where all around the path is hidden too, it is unknown."""
        hidden = next((folder for folder in folders_that_tell(absent.path) if self._is_hidden(folder)), None)
        return absent if hidden is None else Unreadable(absent.path, f"{absent.reason}, and nothing is in {hidden}")

    def _is_hidden(self, folder: str) -> bool:
        try:
            return not self.names(folder, expected=False)
        except Unreadable as error:
            return is_hidden_as(error, folder)
