"""The types of a verdict's terms, and the number of checks by status.

The monitor needs them for its first picture, so this module imports no checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Status(StrEnum):
    """The status of an answer."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not-applicable"
    IGNORED = "ignored"


class Severity(StrEnum):
    """The weight of a failure, the heaviest first."""

    BLOCKING = "blocking"
    WARNING = "warning"
    INFORMATION = "information"


class Ground(StrEnum):
    """The reason why a failure of a check can block; `explain verdict` lists each check's."""

    INVALIDATES = "invalidates"  # no measurement can be trusted, so the check blocks whatever the effect
    EFFECT = "takes time"  # the check blocks if the measured loss of time is too large for the budget
    RISK = "risk"  # a short calibration may miss the effect; in a guest, a noise floor within the budget is the answer


FLOOR_CHECK = "noise-floor-above-budget"  # measures the effect that many other checks only infer

# The labels of lines below a cause: commands, options or advice to try, and the checks that they fix or help.
NOW, UNDO, FOR_GOOD, TRY = "now", "undo", "for good", "try"
FIXES, HELPS, OPEN, SEE = "fixes", "helps", "open", "see"
STEP = 9  # width in columns of the longest label and a blank


class Area(StrEnum):
    """The subject of a check, in the order of reports. Users can select and ignore whole areas."""

    CALIBRATION = "calibration"
    TARGET = "target"
    ISOLATION = "isolation"
    INTERRUPTS = "interrupts"
    LOAD = "load"
    FREQUENCY = "frequency"
    IDLE = "idle"
    HEAT = "heat"
    POWER = "power"
    CLOCK = "clock"
    MEMORY = "memory"
    SCHEDULER = "scheduler"
    KERNEL = "kernel"
    QUOTA = "quota"
    VIRTUAL = "virtual"
    PROCESS = "process"
    JOBS = "jobs"
    HARDWARE = "hardware"
    HISTORY = "history"


class Outcome(StrEnum):
    """The outcome of all findings."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    UNKNOWN = "unknown"


EXIT_STATUS = {Outcome.STABLE: 0, Outcome.UNSTABLE: 1, Outcome.UNKNOWN: 3}


class Gravity(StrEnum):
    """The effect of a finding on the verdict, the gravest first. Only the first two decide the verdict."""

    FAILED = "failed"
    UNANSWERED = "unanswered"
    WARNED = "warned"
    OPEN = "open"
    NOTED = "noted"
    PASSED = "passed"
    LEFT_OUT = "left out"


def tally(number_of: Mapping[Gravity, int]) -> str:
    """Return `2 block, 9 warn, 14 note, 3 unknown (1 blocking), 61 pass`."""
    blocking = number_of.get(Gravity.UNANSWERED, 0)
    unknown = blocking + number_of.get(Gravity.OPEN, 0)
    words = {
        "block": number_of.get(Gravity.FAILED, 0),
        "warn": number_of.get(Gravity.WARNED, 0),
        "note": number_of.get(Gravity.NOTED, 0),
        f"unknown ({blocking} blocking)" if blocking else "unknown": unknown,
        "pass": number_of.get(Gravity.PASSED, 0),
    }
    return ", ".join(f"{number} {word}" for word, number in words.items() if number or word != "note")


_DECIDING = (Gravity.FAILED, Gravity.UNANSWERED)
_LABELS: dict[str, str] = {Status.NOT_APPLICABLE: "n/a"}


def label_of(status: str, gravity: str) -> str:
    """Return the status as one word, in capitals if it decides the verdict."""
    label = _LABELS.get(status, status)
    return label.upper() if gravity in _DECIDING else label


class Counts(Struct, frozen=True):
    """The number of checks by status, and how many failures and unknowns block.

    An unknown that a measurement has answered does not block.
    """

    fail: int
    blocking_fail: int
    warn: int
    unknown: int
    blocking_unknown: int
    passed: int
    not_applicable: int
    ignored: int

    @property
    def failing(self) -> str:
        """The text `14 fail (4 blocking)`."""
        return _with_blocking(self.fail, "fail", self.blocking_fail)

    @property
    def unanswered(self) -> str:
        """The text `59 unknown (0 blocking)`."""
        return _with_blocking(self.unknown, "unknown", self.blocking_unknown)


def _with_blocking(number: int, status: str, blocking: int) -> str:
    return f"{number} {status} ({blocking} blocking)" if number else f"0 {status}"
