"""The poster of a calibration: what can be measured on its CPUs, the gaps by length and cause, and the noise floor."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch import __version__
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.terms import Status
from noisewatch.operations.calibrate import CalibratedTarget
from noisewatch.surfaces.drawing.colours import Meaning
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.drawing.text_row import Row, Style
from noisewatch.surfaces.poster import Body, Poster
from noisewatch.surfaces.reports.calibration.detection import opening_sentence
from noisewatch.surfaces.reports.calibration.picture import CalibrationPicture, picture_rows
from noisewatch.surfaces.reports.calibration.report import contrast_of
from noisewatch.surfaces.reports.calibration.side_by_side import contrast_rows
from noisewatch.surfaces.reports.calibration.text import headline

_MEANING: dict[Status, Meaning] = {Status.PASS: "good", Status.FAIL: "bad"}
# Least size with the causes next to the histogram, the noise floor and the conclusion.
_LEAST_COLUMNS, _LEAST_LINES = 110, 25


def poster_of_calibration(result: CalibratedTarget) -> Poster:
    """Return the poster of a calibration, or of its comparison with other CPUs or a load.

    Its title is the first sentence of the report.
    """
    contrast = contrast_of(result)
    if contrast is not None:

        def draw_contrast(columns: int, lines: int) -> list[Row]:
            return contrast_rows(contrast, columns, lines + 1, UNICODE)[1:]  # without the headline

        return _poster_of(result, contrast.headlines[0], "plain" if contrast.is_proof else "unknown", draw_contrast)
    picture = CalibrationPicture.of(result.calibrated)
    meaning = _MEANING.get(picture.conclusion.status, "doubt")

    def draw(columns: int, lines: int) -> list[Row]:
        return picture_rows(picture, columns, lines, UNICODE)

    return _poster_of(result, opening_sentence(result.calibrated), meaning, draw)


def _poster_of(result: CalibratedTarget, title: str, style: Style, draw: Body) -> Poster:
    def whole(columns: int, lines: int) -> Sequence[Row]:
        is_small = columns < _LEAST_COLUMNS or lines < _LEAST_LINES
        return [[]] * (lines + 1) if is_small else draw(columns, lines)

    machine = [] if result.machine is None else [describe_host(result.machine)]
    ours = f"noisewatch {__version__}"
    return Poster(
        heading=headline(result.calibrated.calibration, result.target),
        title=title,
        style=style,
        bodies=[whole, draw],
        source=[" · ".join([*machine, ours]), ours],
    )
