"""What to do about the checks that did not pass, as far as a screen shows it."""

from __future__ import annotations

from noisewatch.judgement.terms import FOR_GOOD, NOW, TRY, UNDO
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class CauseLine:
    """One cause; the findings that belong to it carry its number, from 1.

    `names` are those of the threads that the steps name by number. `steps` are what to do, each with its purpose:
    `now`, `undo`, `for good`, `try`; without one a line goes on the one before. `settles` are the ids that are
    over then. `said` is None where the findings say it all.
    """

    steps: tuple[tuple[str, str], ...] = ()
    settles: tuple[str, ...] = ()
    said: str | None = None
    is_open: bool = False  # questions without an answer
    names: tuple[tuple[int, str], ...] = ()

    @property
    def command(self) -> str | None:
        """The shell's command for now; None where nothing can be run."""
        return self.lines_of(NOW)

    @property
    def undo(self) -> str | None:
        """The shell's command that brings back what was read; None where there is none."""
        return self.lines_of(UNDO)

    def lines_of(self, wanted: str) -> str | None:
        """What is to be done for that purpose; None where nothing is."""
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
        """What else is to be done, in words or as options of noisewatch."""
        return next((line for purpose, line in self.steps if purpose in (TRY, FOR_GOOD)), None)
