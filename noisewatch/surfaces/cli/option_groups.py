"""Options that several commands share."""

from __future__ import annotations

from argparse import ArgumentParser

from noisewatch.kinds import Tracer
from noisewatch.surfaces.cli.values import inflation, sample_count, sample_length, seconds, share

_SHORTEST_INTERVAL_S = 0.1


def add_machine_options(parser: ArgumentParser, default: object) -> None:
    """Which machine, and which of its CPUs."""
    group = parser.add_argument_group("what to look at")
    group.add_argument(
        "--cpus",
        metavar="LIST",
        default=default,
        help="the target CPUs, such as 2-7 or 1,3 (kernel list syntax)",
    )
    machine = group.add_mutually_exclusive_group()
    machine.add_argument(
        "--sysroot",
        metavar="DIR",
        default=default,
        help="a copied tree of /proc and /sys instead of this host",
    )
    machine.add_argument("--replay", metavar="FILE", default=default, help="a recording instead of this host")


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
    told = f"how the answer is written: {', '.join(formats)} (default {formats[0]})"
    parser.add_argument("--format", choices=formats, default=formats[0], metavar="FORMAT", help=told)
    parser.add_argument("--output", metavar="FILE", default=None, help="write there instead of to standard output")


def add_budget(parser: ArgumentParser) -> None:
    """What the benchmark to come is like."""
    group = parser.add_argument_group("what is to be measured afterwards")
    group.add_argument(
        "--at", metavar="DURATION", type=sample_length, default="100ms", help="how long a sample lasts (default 100ms)"
    )
    group.add_argument(
        "--samples", metavar="N", type=sample_count, default="25", help="how many samples are taken (default 25)"
    )
    group.add_argument(
        "--max-cv",
        metavar="SHARE",
        type=share,
        default="1%",
        help="how much samples may vary: their relative standard deviation (default 1%%)",
    )
    group.add_argument(
        "--max-inflation",
        metavar="FACTOR",
        type=inflation,
        help="how much longer the worst sample may take than the median, such as 1.2 (default: any)",
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
        help="how the kernel tells (as root) who interrupts: by the events of all its parts, which name the most; by "
        "its osnoise tracer, which costs less where the kernel has it; or not at all (default events)",
    )


def add_record(parser: ArgumentParser) -> None:
    """A recording made on the way."""
    parser.add_argument("--record", metavar="FILE", help="also record what the answer rests on, so that it replays")
