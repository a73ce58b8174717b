"""The part of the monitor's screen that a picture shows: all of it, or one panel (`screenshot --panel`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.errors import UsageError
from noisewatch.surfaces.cli.parser import did_you_mean

if TYPE_CHECKING:
    from noisewatch.surfaces.picture import Line
    from noisewatch.surfaces.tui.app.monitor import MonitorApp

_TIMELINE = "timeline"
_LEAST_HEIGHT = 40  # lines of a screen whose timeline has all its rows


class ScreenPart(Struct, frozen=True):
    """A part of the screen: the body of a screen, the timeline, or all if `panel` is None.

    `width` and `height` are the size of the whole screen on which it is drawn.
    """

    panel: str | None
    width: int
    height: int

    @classmethod
    def of(cls, panel: str | None, width: int, height: int) -> ScreenPart:
        """Return the part with this name, drawn in this size; the timeline has its own number of lines.

        Raise UsageError for an unknown name.
        """
        from noisewatch.surfaces.tui.screens.page import heights
        from noisewatch.surfaces.tui.state.screen_model import Screen

        if panel is None:
            return cls(None, width, height)
        names = [*map(str, Screen), _TIMELINE]
        if panel not in names:
            hint = did_you_mean(panel, names, f"; expected {', '.join(names)}")
            raise UsageError(f"--panel {panel}: there is no such panel{hint}")
        if panel == _TIMELINE:
            return cls(panel, width, max(height, _LEAST_HEIGHT))
        whole = height
        while heights(width, whole).body < height:
            whole += 1
        return cls(panel, width, whole)

    @property
    def keys(self) -> list[str]:
        """The keys that open the screen of the panel."""
        from noisewatch.surfaces.tui.state.screen_model import Screen

        return [str(Screen(self.panel).number)] if self.panel is not None and self.panel != _TIMELINE else []

    def lines_of(self, app: MonitorApp) -> Sequence[Line]:
        """Return the lines of this part of the current screen. Raise UsageError if it is not shown."""
        from noisewatch.surfaces.tui.screens.page import heights

        lines = app.lines()
        if self.panel is None:
            return lines
        if app.is_covered or self.panel not in (_TIMELINE, app.model.screen):
            raise UsageError(f"--panel {self.panel}: the keys of --keys have opened something else; leave them out")
        parts = heights(self.width, self.height, app.model.runs.has_any)
        body_end = parts.head + parts.body
        return lines[body_end : body_end + parts.timeline] if self.panel == _TIMELINE else lines[parts.head : body_end]
