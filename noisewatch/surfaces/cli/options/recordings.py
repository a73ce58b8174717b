"""The options of `noisewatch record` and `noisewatch screenshot`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

from noisewatch.surfaces.cli.options.shared import add_interval, add_machine_options, calibration_seconds, seconds


def fill_record(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch record`."""
    add_machine_options(parser, SUPPRESS)
    add_interval(parser, SUPPRESS)
    parser.add_argument(
        "file", metavar="FILE", help="recording to write; an older recording is overwritten, no other file is"
    )
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(0),
        default=60.0,
        help="duration (default 60; Ctrl-C ends it sooner)",
    )
    parser.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=calibration_seconds,
        default=0.0,
        help="length of a microbenchmark at the end (default 0: none)",
    )
    parser.add_argument("--identify", action="store_true", help="include host name and full kernel command line")


def fill_screenshot(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch screenshot`."""
    add_machine_options(parser, SUPPRESS)
    add_interval(parser, SUPPRESS)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="picture to write: .svg, or .png (needs resvg-py); or both"
    )
    parser.add_argument("--size", metavar="COLUMNSxLINES", default="100x30", help="terminal size (default 100x30)")
    parser.add_argument("--keys", metavar="KEYS", default="", help="keys to press first, such as s or question_mark,j")
    parser.add_argument(
        "--at",
        metavar="SECONDS",
        type=seconds(0.0),
        help="snapshot to show, in seconds from the start of the recording (default: the last)",
    )
    parser.add_argument(
        "--from",
        dest="begin_s",
        metavar="SECONDS",
        type=seconds(0.0),
        help="draw an animated SVG of the recording from there on",
    )
    parser.add_argument(
        "--to", dest="end_s", metavar="SECONDS", type=seconds(0.0), help="end of the animation (default: the end)"
    )
    parser.add_argument("--theme", choices=("dark", "light"), default="dark", help="colours (default dark)")
