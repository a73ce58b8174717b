"""Options that several commands share."""

from __future__ import annotations

from argparse import ArgumentParser

from noisewatch.kinds import Tracer
from noisewatch.surfaces.cli.values import inflation, sample_count, sample_length, seconds, share

_SHORTEST_INTERVAL_S = 0.1


def add_machine_options(parser: ArgumentParser, default: object) -> None:
    """Which machine, and which of its CPUs."""
    group = parser.add_argument_group("machine")
    group.add_argument(
        "--cpus",
        metavar="LIST",
        default=default,
        help="target CPUs, such as 2-7 or 1,3 (kernel list syntax)",
    )
    machine = group.add_mutually_exclusive_group()
    machine.add_argument(
        "--sysroot",
        metavar="DIR",
        default=default,
        help="copied tree of /proc and /sys instead of this host",
    )
    machine.add_argument("--replay", metavar="FILE", default=default, help="recording instead of this host")


def add_interval(parser: ArgumentParser, default: object) -> None:
    """How often to look."""
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=seconds(_SHORTEST_INTERVAL_S),
        default=default,
        help="time between two snapshots (default 1)",
    )


def add_idle_probe(parser: ArgumentParser) -> None:
    """Whether the monitor measures while it watches."""
    parser.add_argument(
        "--idle-probe",
        action="store_true",
        help="measure what idle target CPUs lose, by spinning on each for 2 %% of the time (in the monitor: S)",
    )


def add_output(parser: ArgumentParser, formats: tuple[str, ...]) -> None:
    """In which format, and where to."""
    told = f"output format: {', '.join(formats)} (default {formats[0]})"
    parser.add_argument("--format", choices=formats, default=formats[0], metavar="FORMAT", help=told)
    parser.add_argument("--output", metavar="FILE", default=None, help="write to FILE instead of standard output")


def add_budget(parser: ArgumentParser) -> None:
    """What the benchmark to come is like."""
    group = parser.add_argument_group("the benchmark to come")
    group.add_argument(
        "--at",
        metavar="DURATION",
        type=sample_length,
        default="100ms",
        help="length of one of its samples (default 100ms)",
    )
    group.add_argument("--samples", metavar="N", type=sample_count, default="25", help="number of samples (default 25)")
    group.add_argument(
        "--max-cv",
        metavar="SHARE",
        type=share,
        default="1%",
        help="highest acceptable CV (relative standard deviation) of its samples (default 1%%)",
    )
    group.add_argument(
        "--max-inflation",
        metavar="FACTOR",
        type=inflation,
        help="highest acceptable worst sample, in medians, such as 1.2 (default: any)",
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="run the microbenchmark with real-time priority, which is throttled for 50 ms in each second",
    )
    add_tracer(parser)


def add_tracer(parser: ArgumentParser) -> None:
    """By what the kernel tells who takes time from a CPU."""
    parser.add_argument(
        "--tracer",
        choices=[each.value for each in Tracer],
        default=Tracer.EVENTS.value,
        help="tracing backend (needs root): events = tracepoints, most detail; osnoise = lower overhead; none "
        "(default events)",
    )


def add_record(parser: ArgumentParser) -> None:
    """A recording made on the way."""
    parser.add_argument("--record", metavar="FILE", help="also record what the result rests on, for --replay")
