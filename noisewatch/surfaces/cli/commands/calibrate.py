"""`noisewatch calibrate`"""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from noisewatch.errors import CannotMeasure
from noisewatch.operations.calibrate import CalibratedTarget, CalibrateOptions, calibrate
from noisewatch.operations.machines import open_machine
from noisewatch.surfaces.cli.common import (
    budget_of,
    calibration_options,
    history_path,
    machine_options,
    recorded_to,
    report_damage,
)
from noisewatch.surfaces.cli.live import listener_of
from noisewatch.surfaces.output import encoded, encoding_of, opened_output, takes_colour, width
from noisewatch.surfaces.picture import THEMES, png_of, svg_of
from noisewatch.surfaces.reports.calibration.report import (
    WIDTH,
    contrast_detail_lines,
    contrast_of,
    detail_lines,
    folded,
    markdown_of,
    report_rows,
    text_of,
)
from noisewatch.surfaces.reports.calibration.side_by_side import HEIGHT, Contrast, contrast_rows
from noisewatch.surfaces.reports.calibration.text import settling_line
from noisewatch.surfaces.tui.draw.glyphs import UNICODE, Glyphs, glyphs_for
from noisewatch.surfaces.tui.draw.text_row import Row


def run(arguments: Namespace) -> int:
    """Calibrate and report. Raise CannotMeasure if no CPU could be calibrated."""
    options = CalibrateOptions(
        machine=machine_options(arguments),
        against=arguments.against,
        busy_processes=arguments.under_load,
        calibration=calibration_options(arguments, arguments.duration),
        budget=budget_of(arguments),
        settle_s=arguments.settle,
        history=history_path(arguments),
    )
    if arguments.format == "png":
        png_of(svg_of([], 1, ""))  # raises UsageError for a missing library or font before anything is measured
    machine = open_machine(options.machine)
    with opened_output(arguments.output) as output, recorded_to(arguments.record, machine) as source:
        try:
            result = calibrate(source, options, listener_of(arguments))
        except CannotMeasure as error:
            raise CannotMeasure(f"cannot calibrate: {error}") from error
        output.write(_report(result, arguments))
    report_damage(machine)
    return 0


def _report(result: CalibratedTarget, arguments: Namespace) -> bytes:
    if arguments.format in ("pyperf", "json"):
        from noisewatch.documents.document import written  # imports the library of all documents
        from noisewatch.surfaces.reports.calibration.json import describe_calibrated, describe_for_pyperf

        is_whole = arguments.format == "json"
        described = describe_calibrated(result) if is_whole else describe_for_pyperf(result.calibrated.calibration)
        return written(described, indent=1).encode()
    contrast = contrast_of(result)
    if arguments.format in ("svg", "png"):
        return _picture(result, contrast, arguments)
    if arguments.format == "markdown":
        rows, details = _rows_and_details(result, contrast, WIDTH, UNICODE)
        return markdown_of(rows, details).encode()
    glyphs = (
        UNICODE if arguments.output is not None else glyphs_for(encoding_of(sys.stdout), os.environ.get("TERM", ""))
    )
    rows, details = _rows_and_details(result, contrast, width(), glyphs)
    return encoded(text_of(rows, details, takes_colour(arguments.output, arguments.color)), arguments.output)


def _rows_and_details(
    result: CalibratedTarget, contrast: Contrast | None, columns: int, glyphs: Glyphs
) -> tuple[list[Row], list[str]]:
    """Return the picture and the lines below it."""
    settling = [] if result.settling is None else folded([settling_line(result.settling), ""], columns)
    if contrast is not None:
        return contrast_rows(contrast, columns, HEIGHT, glyphs), settling + contrast_detail_lines(contrast, columns)
    rows = report_rows(result.calibrated, result.target, columns, glyphs)
    return rows, settling + detail_lines(result.calibrated, columns)


def _picture(result: CalibratedTarget, contrast: Contrast | None, arguments: Namespace) -> bytes:
    if contrast is not None:
        rows = contrast_rows(contrast, WIDTH, HEIGHT, UNICODE)
    else:
        rows = report_rows(result.calibrated, result.target, WIDTH, UNICODE)
    svg = svg_of(rows, WIDTH, "noisewatch calibrate", THEMES[arguments.theme])
    return png_of(svg) if arguments.format == "png" else svg.encode()
