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
    """A file's content with its parsed value."""

    content: bytes
    parse: Callable[[str], object]
    value: object


@dataclass(slots=True)
class Making:
    """The inputs of a value made of many files: all answers that were read for it, and the notes."""

    given: object
    spared: Spared | None
    answer_by_path: dict[str, bytes | Unreadable] = field(default_factory=dict)  # of files
    names_by_path: dict[str, list[str] | Unreadable] = field(default_factory=dict)  # of folders
    notes: list[tuple[str, str]] = field(default_factory=list)
    value: object = None


def is_same(answer: object, earlier: object) -> bool:
    """Return whether a file or folder has the same content, or is unreadable for the same reason."""
    if isinstance(answer, Unreadable) and isinstance(earlier, Unreadable):
        return type(answer) is type(earlier) and answer.reason == earlier.reason
    return answer == earlier


class EarlierSnapshots:
    """The files that recur, with their contents and parsed values.

    An unchanged file has an unchanged meaning: no content is parsed twice.
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
        """Begin to read settings. Values not asked for since the last time are forgotten: groups come and go."""
        self._older, self._parsed = self._parsed, {}

    def take_in(self, content_by_path: Mapping[str, bytes]) -> None:
        """Keep what a snapshot has read. Files read only when a run begins, as they interrupt a CPU, never recur."""
        self.recurring = [(path, content) for path, content in content_by_path.items() if path in self._last]
        self._last = content_by_path.keys()

    def parsed(self, path: str, content: bytes, parse: Callable[[str], T]) -> T:
        """Return the parsed content, from the cache if possible. Raise Malformed."""
        known = self._parsed.get(path) or self._older.get(path)
        if known is None or known.content != content or known.parse != parse:
            known = _Parsed(content, parse, parse(content.decode("utf-8", "replace")))
        self._parsed[path] = known
        return known.value  # type: ignore[return-value]  # that of the same parser
