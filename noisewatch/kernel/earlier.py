"""What is remembered of a machine from one snapshot to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from noisewatch.errors import Unreadable
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.reader import Spared

T = TypeVar("T")


@dataclass(slots=True)
class _Parsed:
    """What was made of a file's content."""

    content: bytes
    parse: Callable[[str], object]
    value: object


@dataclass(slots=True)
class Making:
    """All that was asked for while something was made of many files, and what was said of it."""

    given: object
    spared: Spared | None
    answer_by_path: dict[str, bytes | Unreadable] = field(default_factory=dict)  # of files
    names_by_path: dict[str, list[str] | Unreadable] = field(default_factory=dict)  # of folders
    notes: list[tuple[str, str]] = field(default_factory=list)
    value: object = None


def is_same(answer: object, earlier: object) -> bool:
    """Whether a file or folder says what it said, or cannot be read for the same reason."""
    if isinstance(answer, Unreadable) and isinstance(earlier, Unreadable):
        return type(answer) is type(earlier) and answer.reason == earlier.reason
    return answer == earlier


class EarlierSnapshots:
    """Which files recur, and what they said and meant.

    What says the same again means the same: no file is parsed twice for one content.
    """

    def __init__(self) -> None:
        self.recurring: list[tuple[str, bytes]] = []  # the files of the last two snapshots, in their order
        self.harmless: Set[str] = frozenset()  # the paths of those that were read again in one go ...
        self.spared: Spared | None = None  # ... as they interrupt none of these
        self._last: Set[str] = frozenset()
        self._parsed: dict[str, _Parsed] = {}  # since the settings were read
        self._older: dict[str, _Parsed] = {}  # since they were read before that
        self.making_by_name: dict[str, Making] = {}

    def begin_settings(self) -> None:
        """They are about to be read. What was not asked for since the last time is forgotten: groups come and go."""
        self._older, self._parsed = self._parsed, {}

    def take_in(self, content_by_path: Mapping[str, bytes]) -> None:
        """What a snapshot has read. What is read only when a run begins, as it interrupts a CPU, never recurs."""
        self.recurring = [(path, content) for path, content in content_by_path.items() if path in self._last]
        self._last = content_by_path.keys()

    def parsed(self, path: str, content: bytes, parse: Callable[[str], T]) -> T:
        """What `parse` makes of the content. Raises Malformed."""
        known = self._parsed.get(path) or self._older.get(path)
        if known is None or known.content != content or known.parse != parse:
            known = _Parsed(content, parse, parse(content.decode("utf-8", "replace")))
        self._parsed[path] = known
        return known.value  # type: ignore[return-value]  # that of the same parser
