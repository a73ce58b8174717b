"""The options of `noisewatch history`."""

from __future__ import annotations

from argparse import ArgumentParser

from noisewatch.surfaces.cli.options.shared import add_output


def fill_history(parser: ArgumentParser) -> None:
    """What is shown, of which file, or that the machine is accepted."""
    parser.add_argument(
        "action",
        metavar="accept",
        nargs="?",
        choices=("accept",),
        help="from here on this is the machine: what came before is no longer what is usual",
    )
    parser.add_argument("--why", metavar="TEXT", help="reason to keep with `accept`")
    parser.add_argument(
        "--file",
        metavar="FILE",
        help="history to read (default: noisewatch/history.jsonl in /var/lib or ~/.local/state)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="all entries, not the newest 20 alone (text)")
    add_output(parser, ("text", "json"))
