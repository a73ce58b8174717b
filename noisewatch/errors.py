"""The exceptions that noisewatch raises on purpose.

NoisewatchError
├── UsageError        the request cannot be met: exit status 2
│   └── UsageErrors   the request has several faults
├── NothingUndisturbed  no run was undisturbed, so the requested format has no values
├── CannotMeasure     nothing could be measured: exit status 3
├── CannotStart       a command could not be started: exit status 125, 126 or 127
├── Unreadable        a file could not be read, with the reason
│   └── Absent        the kernel itself reports that there is no such file
└── Malformed         a file's content violates its format
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

NO_SUCH_FILE = "no such file"
NOT_RECORDED = "not in the recording"
_LONGEST_QUOTE = 40


def quote(text: str) -> str:
    """Return the text in quotes, with unprintable characters escaped, cut to a readable length."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")


def damaged_words(detail: str, where: str = "") -> str:
    """Return the message for a damaged file of noisewatch, such as `damaged in line 3: no JSON object`."""
    return f"damaged{f' {where}' if where else ''}: {detail}"


class NoisewatchError(Exception):
    """The base of all errors raised on purpose; its text is for the user."""


class UsageError(NoisewatchError):
    """A request that cannot be met; the text names the request and the reason."""


class UsageErrors(UsageError):
    """A request that cannot be met for several reasons; `messages` has one text per reason."""

    def __init__(self, messages: Sequence[str]) -> None:
        super().__init__("; ".join(messages))
        self.messages = tuple(messages)


class NothingUndisturbed(NoisewatchError):
    """No run was undisturbed, so the requested format has no values. The text names the main culprit, if known."""


class CannotMeasure(NoisewatchError):
    """A measurement that was impossible."""


class CannotStart(NoisewatchError):
    """A command that could not be started; `status` is the exit status that env(1) and timeout(1) would return."""

    NOT_FOUND, NOT_EXECUTABLE, OURS = 127, 126, 125

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason

    def __str__(self) -> str:
        return self.reason


class Unreadable(NoisewatchError):
    """A file that could not be read, or a question that could not be answered, with the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"

    @property
    def is_missing(self) -> bool:
        """Whether the file is missing or was not recorded, rather than unreadable."""
        return self.reason in (NO_SUCH_FILE, NOT_RECORDED)

    def again(self) -> Self:
        """Return a copy of the error without its traceback, to raise it again."""
        return type(self)(self.path, self.reason)


class Absent(Unreadable):
    """A file that does not exist on the observed machine: the kernel reports its absence."""


class Malformed(NoisewatchError):
    """A text that violates its format: `/proc/interrupts:7: expected 64 counts, found 'rubbish'`."""

    def __init__(self, expected: str, actual: str, line: int | None = None, path: str = "") -> None:
        fault = f"expected {expected}, found {quote(actual)}"
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {fault}" if place else fault)
        self.expected, self.actual, self.line, self.path = expected, actual, line, path
        self.reason = fault if line is None else f"line {line}: {fault}"

    def at(self, path: str) -> Malformed:
        """Return a copy of the error with the file's path."""
        return Malformed(self.expected, self.actual, self.line, path)


def system_reason(error: OSError) -> str:
    """Return the operating system's reason for the error, in lower case: `permission denied`."""
    return (error.strerror or str(error)).lower()
