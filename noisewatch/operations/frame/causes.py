"""The causes of checks that did not pass and the steps against them, as far as a screen shows them."""

from __future__ import annotations

from noisewatch.judgement.terms import FOR_GOOD, NOW, TRY, UNDO
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class CauseLine:
    """One cause; the findings that belong to it have its number, from 1.

    `names` are the names of threads that the steps refer to by number. `steps` are the actions, each with its purpose:
    `now`, `undo`, `for good`, `try`; a line without purpose continues the one before. `settles` are the ids of the
    checks that pass after them. `said` is None if the findings explain it all.
    """

    steps: tuple[tuple[str, str], ...] = ()
    settles: tuple[str, ...] = ()
    said: str | None = None
    is_open: bool = False  # questions without an answer
    names: tuple[tuple[int, str], ...] = ()

    @property
    def command(self) -> str | None:
        """The shell command for now, or None."""
        return self.lines_of(NOW)

    @property
    def undo(self) -> str | None:
        """The shell command that restores the current setting, or None."""
        return self.lines_of(UNDO)

    def lines_of(self, wanted: str) -> str | None:
        """Return the lines for this purpose, or None."""
        purposes = [purpose for purpose, _ in self.steps]
        if wanted not in purposes:
            return None
        first = purposes.index(wanted)
        lines = [self.steps[first][1]]
        for purpose, line in self.steps[first + 1 :]:
            if purpose:
                break
            lines.append(line)
        return "\n".join(lines)

    @property
    def by_hand(self) -> str | None:
        """The remaining action, in words or as options of noisewatch, or None."""
        return next((line for purpose, line in self.steps if purpose in (TRY, FOR_GOOD)), None)
