"""The options of `noisewatch plan`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError

from noisewatch.surfaces.cli.options.shared import add_machine_options, add_output
from noisewatch.surfaces.reports.plan.formats import PLAN_FORMATS

_MOST_DIGITS = 10


def fill_plan(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch plan`."""
    parser.add_argument(
        "count",
        metavar="COUNT",
        nargs="?",
        type=core_count,
        help="number of whole cores (default 1: a benchmark of one thread, which takes the least from everybody else)",
    )
    parser.add_argument("--near", metavar="DEVICE", help="choose cores near this network device, disk or PCI address")
    parser.add_argument(
        "--undo",
        action="store_true",
        help="with --format script: the script that undoes the other one; write both before you run either",
    )
    add_machine_options(parser, SUPPRESS)
    add_output(parser, PLAN_FORMATS)


def core_count(text: str) -> int:
    """Parse a number of cores, 1 or more."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS or int(text) < 1:
        raise ArgumentTypeError(f"wanted a number of cores, from 1 on, found {text!r}")
    return int(text)
