"""The options of `noisewatch integrations`."""

from __future__ import annotations

from argparse import ArgumentParser


def fill_integrations(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch integrations`."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="engine (default: list them all)")
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", help="folder to write its files into (default: noisewatch-NAME, here)"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print its page: what it does, where the files go, what happens on a noisy machine, how to take it "
        "out again",
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there with other content")
