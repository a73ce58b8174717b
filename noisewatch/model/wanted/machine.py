"""The machine that a user requires: the allowed values of each fact."""

from __future__ import annotations

from noisewatch.model.history.facts import FactClass
from noisewatch.model.wanted.scales import scale_of, shown
from noisewatch.records import dataclass

ANY_TEXT = "*"
_LONGEST = 160  # characters


@dataclass(frozen=True, slots=True)
class WantedFact:
    """A required fact: any of the values, in which `*` matches any text, or at least an amount; never both."""

    of_class: FactClass
    name: str
    any_of: tuple[str, ...] = ()
    at_least: str | None = None

    def __str__(self) -> str:
        """Return a text such as `at least "64 GiB"` or `"2" or "4"`."""
        if self.at_least is not None:
            return f"at least {in_quotes(self.at_least)}"
        return " or ".join(in_quotes(shown(self.name, value)) for value in self.any_of)

    def is_met_by(self, found: str) -> bool | None:
        """Return whether a machine with this value meets the requirement, or None if it is not comparable."""
        if self.at_least is None:
            return any(_is_same(self.name, found, value) for value in self.any_of)
        scale = scale_of(self.name)
        return None if scale is None else scale.is_at_least(found, self.at_least)


def in_quotes(value: str) -> str:
    """Return the value in quotes, shortened for people; the evidence contains all of it."""
    return f'"{value if len(value) <= _LONGEST else value[:_LONGEST] + "…"}"'


def _is_same(name: str, found: str, wanted: str) -> bool:
    scale = scale_of(name)
    return _matches(wanted, found) or (scale is not None and scale.is_same(found, wanted))


def _matches(pattern: str, text: str) -> bool:
    """Return whether the text matches the pattern, in which `*` matches any text."""
    first, *others = pattern.split(ANY_TEXT)
    if not others:
        return text == pattern
    *middle, last = others
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.startswith(first) and text.endswith(last) and at + len(last) <= len(text)


@dataclass(frozen=True, slots=True)
class WantedMachine:
    """The requirements of a description: one fact or more."""

    file: str
    facts: tuple[WantedFact, ...]
    text: str  # the description as it was written
