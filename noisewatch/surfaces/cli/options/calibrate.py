"""The options of `noisewatch calibrate`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

from noisewatch.surfaces.cli.options.shared import (
    MOST_AUTO_S,
    SHORTEST_CALIBRATION_S,
    add_budget,
    add_machine_options,
    add_output,
    add_record,
    or_auto,
    process_count,
    seconds,
    words,
)
from noisewatch.turbo import LEAST_S, LEAST_WORK_S

_SETTLE_S = 120.0


def fill_calibrate(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch calibrate`."""
    add_machine_options(parser, SUPPRESS)
    add_output(parser, ("text", "json", "pyperf", "markdown", "svg", "png"))
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=or_auto(seconds(SHORTEST_CALIBRATION_S)),
        default=5.0,
        help=f"total duration (default 5; auto: until the noise floor is known well enough, at most {MOST_AUTO_S:g}); "
        "with --under-load as long again",
    )
    parser.add_argument(
        "--settle",
        metavar="SECONDS",
        nargs="?",
        const=_SETTLE_S,
        type=seconds(LEAST_WORK_S),
        help="first work on all CPUs until their clocks are level, for SECONDS at most "
        f"({LEAST_WORK_S} or more, default {_SETTLE_S:g}), and tell when they had become level; a clock that is "
        f"level for less than {LEAST_S} is not believed, as a turbo budget may last so long",
    )
    parser.add_argument("--against", metavar="LIST", help="CPUs to compare the target CPUs with")
    parser.add_argument(
        "--under-load",
        metavar="N",
        nargs="?",
        const=0,
        type=process_count,
        help="calibrate again beside N busy processes, on all CPUs but isolated target CPUs (default one for each)",
    )
    parser.add_argument(
        "--workload",
        metavar="COMMAND",
        type=words,
        default=(),
        help="measure this command instead of the built-in work",
    )
    parser.add_argument(
        "--theme", choices=("dark", "light"), default="dark", help="colours of an SVG or PNG (default dark)"
    )
    add_budget(parser)
    add_record(parser)
