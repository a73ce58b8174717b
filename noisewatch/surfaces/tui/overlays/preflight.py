"""A whole `noisewatch preflight` in the monitor: announced, running, and the verdict as a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import NoisewatchError
from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Verdict
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.figures import Calibration
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.operations.preflight import preflight
from noisewatch.operations.progress import ProgressListener
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.calibration.picture import live_rows
from noisewatch.surfaces.reports.parts.marks import MEANINGS, mark_of
from noisewatch.surfaces.reports.verdict.fix_script import fix_script, undo_script
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE
from noisewatch.surfaces.tui.draw.text_row import Row, Style
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState, QuietListener, Show, wrapped

_STYLES: Mapping[str, Style] = {"STABLE": "good", "UNSTABLE": "bad", "UNKNOWN": "doubt"}  # first word of the report
_CAUSE = regex(r"( *\d+ )(\S)(?= )")
_STYLE_BY_MARK: Mapping[str, Style] = {
    mark_of(gravity, in_unicode): MEANINGS[gravity] or "plain" for gravity in Gravity for in_unicode in (True, False)
}
_REPORTS = {"json": "json", "md": "markdown"}  # by the suffix of the file


@dataclass(slots=True)
class PreflightOverlay(Overlay):
    """A preflight with a live histogram."""

    doing: str = "looking"
    live: LiveGaps = field(default_factory=LiveGaps)
    verdict: Verdict | None = None
    remarks: list[str] = field(default_factory=list)

    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        """Run preflight, or judge the recording; return the function that stores the result."""
        result = judge_machine(access, frozenset(self.target), _Listener(self, show))
        return lambda: self.finish(result)

    def finish(self, result: Verdict | str) -> None:
        """Store the verdict, or the reason of the failure."""
        self.state = OverlayState.OVER
        if isinstance(result, str):
            self.failure = f"No verdict: {result}"
        else:
            self.verdict = result

    def reports(self) -> dict[str, str]:
        """Return the verdict as files, by suffix; empty before there is one."""
        if self.verdict is None:
            return {}
        options = RenderOptions(self.verdict.exit_status, time.time())
        return {suffix: FORMATS[name].render(self.verdict, options) for suffix, name in _REPORTS.items()}

    @property
    def has_scripts(self) -> bool:
        return self.verdict is not None and bool(self.verdict.failures or self.verdict.warnings)

    def scripts(self) -> dict[str, str]:
        """Return the scripts that fix and undo, by suffix of the file; empty before there is a verdict."""
        if self.verdict is None or not self.has_scripts:
            return {}
        return {"fix.sh": fix_script(self.verdict), "undo.sh": undo_script(self.verdict)}

    @property
    def calibration(self) -> Calibration | None:
        calibrated = self.verdict.case.calibrated if self.verdict is not None else None
        return calibrated.calibration if calibrated is not None else None

    def rows(self, width: int, height: int, in_unicode: bool) -> list[Row]:
        lines = self._lines(width, max(height - 2, 1), in_unicode)
        return self.framed("preflight of", lines, width, height, in_unicode=in_unicode)

    def styled(self, line: str) -> Row:
        """Return the line with the verdict and the mark of each cause highlighted."""
        first, cause = line.partition(" ")[0], _CAUSE.match(line)
        if self.verdict is None or (first not in _STYLES and cause is None):
            return [(line, "plain")]
        if cause is None:
            return [(first, _STYLES[first]), (line[len(first) :], "strong")]
        number, mark = cause.groups()
        return [(number, "plain"), (mark, _STYLE_BY_MARK.get(mark, "plain")), (line[cause.end() :], "strong")]

    def _lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        if self.verdict is not None:
            options = RenderOptions(self.verdict.exit_status, 0.0, width=width, in_unicode=in_unicode)
            brief, everything = (
                FORMATS["text"].render(self.verdict, replace(options, is_verbose=is_verbose)).splitlines()
                for is_verbose in (False, True)
            )
            first, *report = brief
            return wrapped([first, *self.remarks, *report, "", *everything[1:]], width)
        if self.state == OverlayState.RUNNING:
            glyphs = UNICODE if in_unicode else ASCII
            return live_rows(self.live, width, height, glyphs) if self.live.by_cpu else [self.doing]
        return self.message(width)

    def announcement(self) -> list[str]:
        if self.origin is not None:
            return [f"Judges the {self.origin}, all of it, with its calibration if it has one."]
        return [
            "Runs `noisewatch preflight` with the same options file: samples the machine, runs the microbenchmark on "
            "the target CPUs, and says whether a benchmark may start.",
            "",
            "This disturbs any benchmark that runs there now. It leaves all other CPUs alone; the monitor pauses.",
        ]


class _Listener(QuietListener[PreflightOverlay]):
    """A listener that shows the progress of a preflight."""

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        self._show(lambda: setattr(self._overlay, "doing", f"{doing} {done_s:.1f} of {total_s:.1f} s"))

    def on_calibrating(self, progress: Progress) -> None:
        self._show(lambda: self._overlay.live.take(progress))

    def on_remark(self, text: str) -> None:
        self._show(lambda: self._overlay.remarks.append(text))


def judge_machine(access: MachineAccess, cpus: CpuSet, listener: ProgressListener) -> Verdict | str:
    """Return the verdict on the machine, with `cpus` as announced target CPUs, or the reason why there is none."""
    if access.preflight_options is None:
        return "there is no machine"
    try:
        options = replace(access.preflight_options(), announced=cpus)
        return preflight(access.opened(), options, listener).verdict
    except NoisewatchError as error:
        return str(error)
