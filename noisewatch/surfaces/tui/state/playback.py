"""A recording that plays: the picture goes on by itself, at its own pace or faster, and stops where it is told to."""

from __future__ import annotations

from noisewatch.surfaces.tui.state.screen_model import ScreenModel

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_NOT_READ_YET_S = 0.1
_SHORTEST_S, _LONGEST_S = 0.02, 10.0


class Playback:
    """Moves the cursor of the model. What is read of the recording runs ahead of it."""

    def __init__(self, model: ScreenModel) -> None:
        self._model = model
        self.has_begun = False

    def begin(self) -> None:
        """From the first interval."""
        self.has_begun = True
        if self._model.history.count:
            self._model.cursor, self._model.plays = self._model.history.first, True

    def toggle(self) -> None:
        """Stops, or goes on; from the beginning where the end was reached."""
        model = self._model
        if not model.history.count:
            return
        if not model.plays and self._is_at_end():
            self.begin()
        else:
            model.plays = not model.plays
        if model.cursor is None:
            model.cursor = model.history.count - 1

    def change_speed(self, steps: int) -> None:
        """So many steps faster, or slower."""
        at = SPEEDS.index(self._model.speed) + steps
        self._model.speed = SPEEDS[max(min(at, len(SPEEDS) - 1), 0)]

    @property
    def wait_s(self) -> float | None:
        """Until the next interval is to be shown; None while the picture stands."""
        model = self._model
        if not model.plays:
            return None
        following = model.number + 1
        if following >= model.history.count:
            return _NOT_READ_YET_S
        return min(max(model.history.frame(following).seconds / model.speed, _SHORTEST_S), _LONGEST_S)

    def advance(self) -> None:
        """Goes to the next interval, unless it was stopped since that was due; stops at the end, and at a spike that
        is to pause it."""
        model = self._model
        if not model.plays:
            return
        if self._is_at_end():
            model.plays = False
        elif model.number + 1 < model.history.count:
            model.cursor = model.number + 1
            if model.pauses_on_spike and model.history.is_spike(model.cursor):
                model.plays = model.pauses_on_spike = False

    def _is_at_end(self) -> bool:
        newest = self._model.newest
        return newest is not None and newest.is_last and self._model.number >= self._model.history.count - 1
