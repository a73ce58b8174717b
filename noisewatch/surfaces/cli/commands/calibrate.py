"""The command `noisewatch calibrate`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.operations.calibrate import CalibratedTarget, CalibrateOptions, calibrate
from noisewatch.operations.machines import open_machine
from noisewatch.surfaces.cli.common import (
    ReportOutput,
    budget_of,
    calibration_options,
    history_path,
    machine_options,
    open_report,
    recording_to,
    report_damage,
)
from noisewatch.surfaces.cli.live import listener_of
from noisewatch.surfaces.drawing.glyphs import UNICODE, glyphs_for
from noisewatch.surfaces.output import encoding_of, height, width
from noisewatch.surfaces.picture import THEMES, svg_of
from noisewatch.surfaces.raster import png_of, require_raster
from noisewatch.surfaces.reports.calibration.report import WIDTH, brief_sections_of, sections_of
from noisewatch.surfaces.reports.parts.sections import markdown_of_sections, text_of_sections


def run(arguments: Namespace) -> int:
    """Calibrate and write the report. Raise CannotMeasure if no CPU could be calibrated."""
    options = CalibrateOptions(
        machine=machine_options(arguments),
        against=arguments.against,
        busy_processes=arguments.under_load,
        calibration=calibration_options(arguments, arguments.duration),
        budget=budget_of(arguments),
        settle_s=arguments.settle,
        history=history_path(arguments),
    )
    if arguments.poster and arguments.format not in ("svg", "png"):
        raise UsageError("--poster: only with --format svg or png")
    if arguments.format == "png":
        require_raster()  # before the measurement
    machine = open_machine(options.machine)
    with open_report(arguments) as report, recording_to(arguments, machine) as source:
        try:
            result = calibrate(source, options, listener_of(arguments))
        except CannotMeasure as error:
            raise CannotMeasure(f"cannot calibrate: {error}") from error
        _write(report, result, arguments)
    report_damage(machine)
    return 0


def _write(report: ReportOutput, result: CalibratedTarget, arguments: Namespace) -> None:
    match arguments.format:
        case "pyperf" | "json":
            from noisewatch.surfaces.reports.calibration.json import describe_calibrated, describe_for_pyperf

            is_json = arguments.format == "json"  # otherwise only the parts that pyperf reads
            calibration = result.calibrated.calibration
            report.write_json(describe_calibrated(result) if is_json else describe_for_pyperf(calibration))
        case "svg" | "png":
            svg = _draw(result, arguments)
            report.write_bytes(png_of(svg) if arguments.format == "png" else svg.encode())
        case "markdown":
            report.write(markdown_of_sections(sections_of(result, WIDTH, UNICODE)))
        case _:
            terminal = glyphs_for(encoding_of(sys.stdout), os.environ.get("TERM", ""))
            glyphs = terminal if arguments.output is None else UNICODE
            room = None if arguments.output is not None else height()
            sections = (
                sections_of(result, width(), glyphs)
                if arguments.verbose
                else brief_sections_of(result, width(), glyphs, room)
            )
            report.write_text(text_of_sections(sections, width(), report.in_colour))


def _draw(result: CalibratedTarget, arguments: Namespace) -> str:
    """Return the report's picture, or its poster, as SVG."""
    theme = THEMES[arguments.theme]
    if arguments.poster:
        from noisewatch.surfaces.poster import poster_svg
        from noisewatch.surfaces.reports.calibration.poster import poster_of_calibration

        return poster_svg(poster_of_calibration(result), theme)
    picture = sections_of(result, WIDTH, UNICODE)[0]
    return svg_of([[(picture.title, picture.title_style)], *picture.chart], WIDTH, "noisewatch calibrate", theme)
