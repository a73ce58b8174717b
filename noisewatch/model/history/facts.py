"""Facts: a machine's parts and settings by class and name, for comparing two moments or two machines.

No fact is a hash, so every difference can be named. Values that change by themselves are not facts. An unknown fact
(None) never counts as different; it is reported as unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.text import clean

ABSENT = "none"
MEMORY = "memory"
_LONGEST = 4096  # characters
_SAME_MEMORY = 0.01  # the memory reserved by firmware and kernel changes with each release


class FactClass(StrEnum):
    """A class of facts: a part of the machine. Differences are listed in this order."""

    IDENTITY = "identity"
    HARDWARE = "hardware"
    FIRMWARE = "firmware"
    KERNEL = "kernel"
    SETTINGS = "settings"
    SURROUNDINGS = "surroundings"


FactsByName = Mapping[str, str | None]  # None means unknown
Facts = Mapping[FactClass, FactsByName]


class FactDifference(NamedTuple):
    """A fact with two different values. The value "none" means that the machine does not have it."""

    of_class: FactClass
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} → {self.after}"


def knob_name(knob: Knob) -> str:
    """Return the name of the knob's fact: `kernel.nmi_watchdog` as in sysctl(8), or the path."""
    return knob.removeprefix("/proc/sys/").replace("/", ".") if knob.startswith("/proc/sys/") else str(knob)


def plain_line(fact: str | None) -> str | None:
    """Return the fact as it is compared, stored and shown: one clean line of limited length; None means unknown."""
    return clean(" ".join(fact.split()))[:_LONGEST] if fact is not None else None


def parse_facts(value: object) -> Facts:
    """Return the facts in a parsed JSON value, cleaned for display; only classes that this version supports."""
    classes = value if isinstance(value, dict) else {}
    return {
        of_class: {
            str(plain_line(name)): plain_line(fact) if isinstance(fact, str) else None
            for name, fact in classes[of_class].items()
        }
        for of_class in FactClass
        if isinstance(classes.get(of_class), dict)
    }


def differences(before: Facts, after: Facts) -> tuple[FactDifference, ...]:
    """Return the facts that are known on both sides and differ, in the order of the classes."""
    return tuple(
        FactDifference(of_class, *change)
        for of_class in FactClass
        for change in changes(before.get(of_class, {}), after.get(of_class, {}))
    )


def changes(before: FactsByName, after: FactsByName) -> Iterator[tuple[str, str, str]]:
    """Yield the name and both values of each fact that is known on both sides and differs."""
    for name, one in before.items():
        other = after.get(name)
        if one is not None and other is not None and not _are_same(name, one, other):
            yield name, one, other


def names_only_in(facts: Facts, other: Facts) -> tuple[str, ...]:
    """Return the names of the facts that are known in `facts` but not in `other`."""
    return tuple(name for _, name, one, two in _pairs(facts, other) if one is not None and two is None)


def unknown_on_one_side(before: Facts, after: Facts) -> tuple[str, ...]:
    """Return the names of the facts that are known on one side only."""
    return tuple(name for _, name, one, other in _pairs(before, after) if (one is None) != (other is None))


def _pairs(before: Facts, after: Facts) -> Iterator[tuple[FactClass, str, str | None, str | None]]:
    """Yield class, name and both values of each fact that either side has; a missing value is None."""
    for of_class in FactClass:
        old, new = before.get(of_class, {}), after.get(of_class, {})
        for name in {**old, **new}:
            yield of_class, name, old.get(name), new.get(name)


def _are_same(name: str, one: str, other: str) -> bool:
    if name != MEMORY:
        return one == other
    first, second = _kb(one), _kb(other)
    return one == other if not first or not second else abs(second / first - 1) <= _SAME_MEMORY


def _kb(text: str) -> int:
    number = text.partition(" ")[0]
    return int(number) if number.isdecimal() else 0
