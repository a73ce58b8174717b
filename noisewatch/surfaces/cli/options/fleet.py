"""The options of `noisewatch fleet`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError

from noisewatch.patterns import regex
from noisewatch.surfaces.cli.options.shared import add_output

_AGE = regex(r"(\d{1,9}(?:\.\d{1,3})?) ?(s|min|m|h|d)")
_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def fill_fleet(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch fleet`."""
    parser.add_argument(
        "places",
        metavar="FILE|DIR",
        nargs="+",
        help="verdicts (preflight --format json or jsonl), and folders with them, at any depth: HOST.json or "
        "HOST/verdict.json, unless the verdict names its host (preflight --identify)",
    )
    parser.add_argument(
        "--expect",
        metavar="FILE|LIST",
        help="hosts that should have reported: a file with one a line, or a list such as web1,web2",
    )
    parser.add_argument(
        "--max-age",
        metavar="AGE",
        type=_age,
        help="count reports as unknown that are older, such as 90min, 24h or 7d (default: any age counts)",
    )
    parser.add_argument(
        "--baseline",
        metavar="DIR",
        help="compare with the verdicts there (default: with the one before it of the same host); hosts that are only "
        "there count as missing, unless --expect lists who should report",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="all hosts, not only the first 40 (text, markdown)"
    )
    add_output(parser, ("text", "markdown", "json", "prometheus"))


def _age(text: str) -> float:
    """Parse an age such as 90min, 24h or 7d; return seconds."""
    match = _AGE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise ArgumentTypeError(f"wanted an age such as 90min, 24h or 7d, found {text!r}")
    return float(match[1]) * _SECONDS[match[2]]
