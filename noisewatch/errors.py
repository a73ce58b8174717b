"""Everything that noisewatch raises on purpose.

NoisewatchError
├── UsageError        what was asked for cannot be done: exit status 2
├── CannotMeasure     nothing could be measured: exit status 3
├── CannotStart       a command could not be started: exit status 125, 126 or 127
├── Unreadable        a file gave no answer, and why
│   └── Absent        the kernel itself says that there is no such file
└── Malformed         a file says something that its format does not allow
"""

from __future__ import annotations

from typing import Self

NO_SUCH_FILE = "no such file"
NOT_RECORDED = "not in the recording"
_LONGEST_QUOTE = 40


def quoted(found: str) -> str:
    """The text in quotes, what is unprintable in it escaped, and no more of it than helps."""
    return repr(found if len(found) <= _LONGEST_QUOTE else found[:_LONGEST_QUOTE] + "…")


def damaged_words(why: str, where: str = "") -> str:
    """`damaged in line 3: no JSON object`: the words for whatever file of ours is not as it was written."""
    return f"damaged{f' {where}' if where else ''}: {why}"


class NoisewatchError(Exception):
    """The root of the tree; its text is fit for a user."""


class UsageError(NoisewatchError):
    """A request that cannot be met; the text says what and where."""


class NothingUndisturbed(NoisewatchError):
    """No run was undisturbed, and the format that was wanted holds no others. It says who disturbed them."""


class CannotMeasure(NoisewatchError):
    """A measurement that could not be made at all."""


class CannotStart(NoisewatchError):
    """A command that could not be started; `status` is what env(1) and timeout(1) would end with."""

    NOT_FOUND, NOT_EXECUTABLE, OURS = 127, 126, 125

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason

    def __str__(self) -> str:
        return self.reason


class Unreadable(NoisewatchError):
    """A file or question without an answer: unknown, with the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"

    @property
    def is_missing(self) -> bool:
        """Whether there is nothing to read, rather than something that cannot be read."""
        return self.reason in (NO_SUCH_FILE, NOT_RECORDED)

    def again(self) -> Self:
        """The same, without the frames that it was raised through."""
        return type(self)(self.path, self.reason)


class Absent(Unreadable):
    """The observed kernel says that there is no such file: known not to be there, not merely unknown."""


class Malformed(NoisewatchError):
    """A text that is not what its format says: `/proc/interrupts:7: wanted 64 counts, found 'rubbish'`."""

    def __init__(self, wanted: str, found: str, line: int | None = None, path: str = "") -> None:
        fault = f"wanted {wanted}, found {quoted(found)}"
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {fault}" if place else fault)
        self.wanted, self.found, self.line, self.path = wanted, found, line, path
        self.reason = fault if line is None else f"line {line}: {fault}"

    def at(self, path: str) -> Malformed:
        """The same fault, with the file that it was found in."""
        return Malformed(self.wanted, self.found, self.line, path)
