"""The options of `noisewatch preflight`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

from noisewatch.judgement.rules import MICRO, PROFILES
from noisewatch.surfaces.cli.option_groups import add_budget, add_machine_options, add_output, add_record
from noisewatch.surfaces.cli.values import calibration_seconds, sample_seconds, seconds
from noisewatch.surfaces.reports.verdict.formats import FORMATS


def _add_rules(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what is asked, and how much it weighs")
    group.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        default=MICRO,
        help="; ".join(f"{name}: {what}" for name, what in PROFILES.items()) + f" (default {MICRO})",
    )
    for name, what in (("--select", "ask only these checks"), ("--ignore", "do not ask these checks")):
        group.add_argument(name, metavar="LIST", action="append", default=[], help=f"{what} or areas")
    group.add_argument(
        "--severity", metavar="CHECK=LEVEL", action="append", default=[], help="blocking, warning or information"
    )
    group.add_argument(
        "--limit",
        metavar="CHECK[.KEY]=VALUE",
        action="append",
        default=[],
        help="another limit, such as target-cpu-busy=2%%",
    )
    group.add_argument(
        "--expect",
        metavar="SECONDS",
        type=seconds(0),
        help="how long the benchmark will take: what is scheduled until then is named",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="read options from there (default: the nearest noisewatch.toml, or pyproject.toml with [tool.noisewatch])",
    )
    group.add_argument("--no-config", action="store_true", help="read no file of options")
    parser.set_defaults(configured_by=None)


def fill_preflight(parser: ArgumentParser) -> None:
    """All of them."""
    add_machine_options(parser, SUPPRESS)
    add_output(parser, tuple(FORMATS))
    parser.add_argument(
        "--sample",
        metavar="SECONDS",
        type=sample_seconds,
        default=3.0,
        help="how long to look (default 3; 0: settings only; at a recording: all of it)",
    )
    parser.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=calibration_seconds,
        default=3.0,
        help="how long to run the microbenchmark after that (default 3; 0: not at all; of a recording: the one in it)",
    )
    parser.add_argument(
        "--no-calibration",
        action="store_const",
        const=0.0,
        dest="calibration",
        help="run no microbenchmark: the verdict rests on settings and sample",
    )
    _add_rules(parser)
    add_budget(parser)
    add_record(parser)
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=seconds(0),
        default=0.0,
        help="look again and again until the machine is fit, for so long at most (exit status 4: it never was)",
    )
    parser.add_argument(
        "--lock",
        action="store_true",
        help="take the machine for the process that calls this one, until it ends: nobody else may start",
    )
    for name, what in (("--fix-script", "fixes what failed"), ("--undo-script", "brings back what was read")):
        parser.add_argument(
            name,
            metavar="FILE",
            nargs="?",
            const="-",
            help=f"also write the shell script that {what} (without FILE: print it in place of the report)",
        )
    parser.add_argument("-v", "--verbose", action="store_true", help="tell of all checks what they found (text)")
    parser.add_argument("--strict", action="store_true", help="warnings and unknowns make the verdict unstable")
    parser.add_argument("--exit-zero", action="store_true", help="report only: exit 0 whatever the verdict")
