"""A complete `noisewatch preflight` in the monitor: its announcement, its progress, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Verdict
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.figures import Calibration
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.operations.preflight import preflight
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.marks import MEANINGS, mark_of
from noisewatch.surfaces.drawing.text_row import Row, Style
from noisewatch.surfaces.reports.calibration.picture import live_rows
from noisewatch.surfaces.reports.verdict.fix_script import fix_script, undo_script
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions
from noisewatch.surfaces.tui.overlays.overlay import (
    DISTURBS,
    MachineAccess,
    Overlay,
    OverlayState,
    QuietListener,
    Show,
    wrap_lines,
)

_STYLES: Mapping[str, Style] = {"STABLE": "good", "UNSTABLE": "bad", "UNKNOWN": "doubt"}  # by the report's first word
_CAUSE = regex(r"( *\d+ )(\S)(?= )")
_STYLE_BY_MARK: Mapping[str, Style] = {
    mark_of(gravity, in_unicode): MEANINGS[gravity] for gravity in Gravity for in_unicode in (True, False)
}
_REPORTS = {"json": "json", "md": "markdown"}  # format by suffix of the file


@dataclass(slots=True)
class PreflightOverlay(Overlay[Verdict]):
    """A preflight with a live histogram."""

    title = "preflight of"
    no_result = "No verdict: "
    step: str = "starting"
    live: LiveGaps = field(default_factory=LiveGaps)
    remarks: list[str] = field(default_factory=list)

    def measure_once(self, access: MachineAccess, show: Show) -> Verdict | str:
        """Run preflight on the announced target CPUs, or judge the recording."""
        if access.preflight_options is None:
            return "there is no machine"
        options = replace(access.preflight_options(), announced=frozenset(self.target))
        return preflight(access.open(), options, _Listener(self, show)).verdict

    def reports(self) -> dict[str, str]:
        """Return the verdict as files, by suffix; empty before the verdict."""
        if self.result is None:
            return {}
        options = RenderOptions(self.result.exit_status, time.time())
        return {suffix: FORMATS[name].render(self.result, options) for suffix, name in _REPORTS.items()}

    @property
    def has_scripts(self) -> bool:
        return self.result is not None and bool(self.result.failures or self.result.warnings)

    def scripts(self) -> dict[str, str]:
        """Return the fix script and its undo script, by suffix; empty if there is nothing to fix."""
        if self.result is None or not self.has_scripts:
            return {}
        return {"fix.sh": fix_script(self.result), "undo.sh": undo_script(self.result)}

    @property
    def calibration(self) -> Calibration | None:
        calibrated = self.result.case.calibrated if self.result is not None else None
        return calibrated.calibration if calibrated is not None else None

    def row_of_line(self, line: str) -> Row:
        """Return the line with the verdict or the mark of a cause highlighted."""
        first, cause = line.partition(" ")[0], _CAUSE.match(line)
        if self.result is None or (first not in _STYLES and cause is None):
            return [(line, "plain")]
        if cause is None:
            return [(first, _STYLES[first]), (line[len(first) :], "strong")]
        number, mark = cause.groups()
        return [(number, "plain"), (mark, _STYLE_BY_MARK.get(mark, "plain")), (line[cause.end() :], "strong")]

    def lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        if self.result is not None:
            options = RenderOptions(self.result.exit_status, 0.0, width=width, in_unicode=in_unicode)
            brief, everything = (
                FORMATS["text"].render(self.result, replace(options, is_verbose=is_verbose)).splitlines()
                for is_verbose in (False, True)
            )
            first, *report = brief
            return wrap_lines([first, *self.remarks, *report, "", *everything[1:]], width)
        if self.state == OverlayState.RUNNING:
            glyphs = UNICODE if in_unicode else ASCII
            return live_rows(self.live, width, height, glyphs) if self.live.by_cpu else [self.step]
        return self.message(width)

    def announcement(self) -> list[str]:
        if self.origin is not None:
            return [f"Judges the whole {self.origin}, with its calibration if it has one."]
        return [
            "Runs `noisewatch preflight` with your options file, if any: samples the machine, runs the microbenchmark "
            "on the target CPUs, and reports whether a benchmark may start.",
            "",
            DISTURBS,
        ]


class _Listener(QuietListener[PreflightOverlay]):
    """A listener that shows the progress of a preflight."""

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        self._show(lambda: setattr(self._overlay, "step", f"{doing} {done_s:.1f} of {total_s:.1f} s"))

    def on_calibrating(self, progress: Progress) -> None:
        self._show(lambda: self._overlay.live.take(progress))

    def on_remark(self, text: str) -> None:
        self._show(lambda: self._overlay.remarks.append(text))
