"""The options of `noisewatch history`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

from noisewatch.surfaces.cli.options.shared import USUAL_HISTORY, add_output


def fill_history(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch history`."""
    parser.add_argument(
        "action",
        metavar="accept",
        nargs="?",
        choices=("accept",),
        help="accept the machine as it is now: what is usual is what is measured from now on (an error where "
        "nothing was remembered yet)",
    )
    parser.add_argument("--why", metavar="TEXT", help="reason to keep with `accept`")
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        default=SUPPRESS,
        help="show the entries of these target CPUs (default: those of the newest entry)",
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        help=f"history to read (default: {USUAL_HISTORY})",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="all entries, not only the newest 20 (text)")
    add_output(parser, ("text", "json", "markdown", "svg"))
    parser.add_argument("--theme", choices=("dark", "light"), default="dark", help="colours of an SVG (default dark)")
