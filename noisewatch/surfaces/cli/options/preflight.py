"""The options of `noisewatch preflight`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

from noisewatch.judgement.rules import MICRO, PROFILES, SHARED
from noisewatch.surfaces.cli.options.shared import (
    MEASUREMENT,
    MOST_AUTO_S,
    REPORT,
    SHORTEST_CALIBRATION_S,
    SHORTEST_SAMPLE_S,
    add_budget,
    add_machine_options,
    add_on_unknown,
    add_output,
    add_quiet,
    add_record,
    options_titled,
    or_auto,
    seconds,
    zero_or_seconds,
)
from noisewatch.surfaces.reports.verdict.formats import FORMATS


def _add_rules(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("checks, severities and limits")
    group.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        help="; ".join(f"{name}: {what}" for name, what in PROFILES.items())
        + f" (default {MICRO}; in a virtual machine, or a container that hides its host's settings, {SHARED})",
    )
    for name, what in (("--select", "run only these checks"), ("--ignore", "skip these checks")):
        group.add_argument(name, metavar="LIST", action="append", default=[], help=f"{what} or areas")
    group.add_argument(
        "--severity",
        metavar="CHECK=LEVEL",
        action="append",
        default=[],
        help="severity of a check: blocking, warning or information",
    )
    group.add_argument(
        "--limit",
        metavar="CHECK[.KEY]=VALUE",
        action="append",
        default=[],
        help="limit of a check, such as target-cpu-busy=2%%",
    )
    group.add_argument(
        "--expect",
        metavar="SECONDS",
        type=seconds(0),
        help="expected duration of the benchmark; reports jobs scheduled within it",
    )
    group.add_argument(
        "--machine",
        metavar="FILE",
        help="description of the machine wanted (`noisewatch show --format machine` writes one): unstable on any other",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="options file (default: the nearest noisewatch.toml, or pyproject.toml with [tool.noisewatch])",
    )
    group.add_argument("--no-config", action="store_true", help="ignore options files")
    group.add_argument(
        "--show-options",
        action="store_true",
        help="print each option with its value and where that comes from (command line, options file or default), "
        "and measure nothing",
    )
    parser.set_defaults(configured_by=None, configured_words=())


def fill_preflight(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch preflight`."""
    add_machine_options(parser, SUPPRESS)
    _add_measurement(parser)
    add_budget(parser)
    add_record(parser)
    _add_rules(parser)
    _add_start(parser)
    add_output(parser, tuple(FORMATS))
    _add_report(parser)
    _add_exit_status(parser)


def _add_measurement(parser: ArgumentParser) -> None:
    group = options_titled(parser, MEASUREMENT)
    group.add_argument(
        "--sample",
        metavar="SECONDS",
        type=zero_or_seconds(SHORTEST_SAMPLE_S),
        default=3.0,
        help="length of the sample (default 3; 0: settings only; of a recording: all of it)",
    )
    group.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=or_auto(zero_or_seconds(SHORTEST_CALIBRATION_S)),
        default=3.0,
        help=f"length of the microbenchmark after the sample (default 3; auto: until the noise floor is known well "
        f"enough, at most {MOST_AUTO_S:g}; 0: none; of a recording: the one in it)",
    )
    group.add_argument(
        "--no-calibration",
        action="store_const",
        const=0.0,
        dest="calibration",
        help="skip the microbenchmark: judge settings and sample alone",
    )


def _add_start(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("start of the benchmark")
    group.add_argument(
        "--wait",
        metavar="SECONDS",
        type=seconds(0),
        default=0.0,
        help="retry until stable, for at most SECONDS (then exit 4)",
    )
    group.add_argument(
        "--lock",
        action="store_true",
        help="lock the machine for the calling process until it exits",
    )


def _add_report(parser: ArgumentParser) -> None:
    group = options_titled(parser, REPORT)
    group.add_argument("--identify", action="store_true", help="include the host name (json, jsonl)")
    for name, what in (
        ("--fix-script", "fixes what failed"),
        ("--undo-script", "restores the settings that were read"),
    ):
        group.add_argument(
            name,
            metavar="FILE",
            nargs="?",
            const="-",
            help=f"also write a shell script that {what} (without FILE: print it instead of the report)",
        )
    length = group.add_mutually_exclusive_group()
    length.add_argument("-v", "--verbose", action="store_true", help="show the result of every check (text)")
    add_quiet(length, "; of the printed text only the last line, with the verdict")


def _add_exit_status(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("exit status")
    group.add_argument("--strict", action="store_true", help="treat warnings and unknowns as failures: unstable")
    add_on_unknown(
        group,
        "exit status of an unknown verdict: fail = 1, pass = 0 (default 3; after --wait 4); nagios and "
        "problem-detector always use 3",
    )
    group.add_argument("--exit-zero", action="store_true", help="exit 0 whatever the verdict: report only")
