"""Options that several commands share, and parsers of their values, whose errors name the accepted values."""

from __future__ import annotations

import math
import re
import shlex
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, _ArgumentGroup
from collections.abc import Callable

from noisewatch.judgement.noise.budget import CONFIDENCE
from noisewatch.judgement.rules import CONFIDENCE_IN, SHARED
from noisewatch.kinds import Tracer, Work
from noisewatch.surfaces.output import ALWAYS, AUTO, NEVER
from noisewatch.units import parse_duration

USUAL_HISTORY = (
    "root's is /var/lib/noisewatch/history.jsonl, anyone else's noisewatch/history.jsonl in $XDG_STATE_HOME or "
    "~/.local/state"
)
_LONGEST_S = 1e6
SHORTEST_SAMPLE_S = 0.5  # in less, a tick of 10 ms or a single interrupt could decide the verdict
SHORTEST_CALIBRATION_S = 0.5  # in less, some kinds of measurement would not take place
FAIL, PASS = "fail", "pass"  # the values of --on-unknown
AS_LONG_AS_NEEDED, MOST_AUTO_S = math.inf, 30.0  # a calibration as long as needed, and its longest duration
_SHORTEST_SAMPLE_NS, _LONGEST_SAMPLE_NS = 100_000, 100_000_000_000
_LARGEST_SHARE = 10.0
_MOST_DIGITS = 9  # of a whole number; int refuses some thousands
_LARGEST_INFLATION = 1e6
_MOST_SAMPLES = 10_000  # at least 2: a single one has no deviation
_SHORTEST_INTERVAL_S = 0.1


MACHINE, MEASUREMENT, REPORT = "machine", "measurement", "report"


def options_titled(parser: ArgumentParser, title: str) -> _ArgumentGroup:
    """Return the group of options with this title in the help; it is added where there is none yet."""
    groups = (group for group in parser._action_groups if group.title == title)
    return next(groups, None) or parser.add_argument_group(title)


def add_cpus(parser: ArgumentParser | _ArgumentGroup, default: object) -> None:
    """Add --cpus."""
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        default=default,
        help="target CPUs, such as 2-7 or 1,3 (kernel list syntax); fast: those of the fastest kind (default: the "
        "isolated CPUs, else those that you may use without CPU 0's core; in both cases only the fastest kind of core, "
        "where the machine tells)",
    )


def add_machine_options(parser: ArgumentParser, default: object) -> None:
    """Add the options that choose the machine and its CPUs."""
    group = options_titled(parser, MACHINE)
    add_cpus(group, default)
    machine = group.add_mutually_exclusive_group()
    machine.add_argument(
        "--sysroot",
        metavar="DIR",
        default=default,
        help="copied tree of /proc and /sys instead of this host",
    )
    machine.add_argument("--replay", metavar="FILE", default=default, help="recording instead of this host")


def add_interval(parser: ArgumentParser, default: object) -> None:
    """Add --interval."""
    options_titled(parser, MEASUREMENT).add_argument(
        "--interval",
        metavar="SECONDS",
        type=seconds(_SHORTEST_INTERVAL_S),
        default=default,
        help="time between two snapshots (default 1)",
    )


def add_idle_probe(parser: ArgumentParser) -> None:
    """Add --idle-probe."""
    options_titled(parser, MEASUREMENT).add_argument(
        "--idle-probe",
        action="store_true",
        help="measure what idle target CPUs lose, by spinning on each for 2%% of the time (in the monitor: S)",
    )


def add_output(
    parser: ArgumentParser, formats: tuple[str, ...], output_help: str = "write to FILE instead of standard output"
) -> None:
    """Add --format and --output."""
    format_help = f"output format: {', '.join(formats)} (default {formats[0]})"
    group = options_titled(parser, REPORT)
    group.add_argument("--format", choices=formats, default=formats[0], metavar="FORMAT", help=format_help)
    group.add_argument("--output", metavar="FILE", default=None, help=output_help)
    add_color(group, SUPPRESS)


def add_quiet(parser: _ArgumentGroup, more: str = "") -> None:
    """Add -q; `more` says what else is not printed."""
    parser.add_argument(
        "-q", "--quiet", action="store_true", help=f"print no progress and no remarks{more}, only errors"
    )


def add_color(parser: _ArgumentGroup, default: str) -> None:
    """Add --color."""
    parser.add_argument(
        "--color",
        choices=(AUTO, ALWAYS, NEVER),
        default=default,
        help="colours in text: always, never, or auto: by NO_COLOR, else FORCE_COLOR or CLICOLOR_FORCE, else on a "
        "terminal (default auto)",
    )


def add_on_unknown(parser: _ArgumentGroup, help_text: str) -> None:
    """Add --on-unknown, the exit status for an unknown verdict."""
    parser.add_argument("--on-unknown", choices=(FAIL, PASS), help=help_text)


def add_budget(parser: ArgumentParser) -> None:
    """Add the options that describe the benchmark to come."""
    group = parser.add_argument_group("the benchmark to come")
    group.add_argument(
        "--at",
        metavar="DURATION",
        type=sample_length,
        default="100ms",
        help="length of one of its samples (default 100ms)",
    )
    group.add_argument(
        "--samples",
        metavar="N",
        type=whole_number(2, _MOST_SAMPLES, " of samples"),
        default="25",
        help="number of samples (default 25)",
    )
    group.add_argument(
        "--max-cv",
        metavar="SHARE",
        type=share,
        default="1%",
        help="highest acceptable CV (relative standard deviation) of its samples (default 1%%)",
    )
    group.add_argument(
        "--confidence",
        metavar="SHARE",
        type=chance,
        help=f"chance of staying within it from which on it passes, above 50%% (default {CONFIDENCE * 100:.0f}%%, with "
        f"profile shared {CONFIDENCE_IN[SHARED] * 100:.0f}%%); unstable where exceeding it is as likely, else unknown",
    )
    group.add_argument(
        "--detect",
        metavar="SHARE",
        type=share,
        help="also print how many samples show a change of SHARE here, such as 2%%, by kind of work and length",
    )
    group.add_argument(
        "--max-inflation",
        metavar="FACTOR",
        type=inflation,
        help="highest acceptable worst sample, in medians, such as 1.2 (default: any)",
    )
    group.add_argument(
        "--work",
        metavar="KIND",
        type=kind_of_work,
        help="what its time depends on: latency = steps that wait for each other (not wake-ups: --profile latency); "
        "throughput = as many instructions a cycle as the core can do; interpreter; cache = what lies in "
        "the last-level cache; memory = what no cache holds; mixed = the first three (default: all have to stay "
        "within the budget; with --profile memory: memory)",
    )
    measurement = options_titled(parser, MEASUREMENT)
    measurement.add_argument(
        "--realtime",
        action="store_true",
        help="run the microbenchmark with real-time priority, which is throttled for 50 ms in each second",
    )
    add_tracer(parser)
    measurement.add_argument(
        "--history",
        metavar="FILE",
        nargs="?",
        const="",
        help=f"remember calibrations in FILE (default: {USUAL_HISTORY}), and "
        "widen the predicted intervals by how much the noise of this machine changed between them (drift)",
    )


def add_tracer(parser: ArgumentParser, default: Tracer | None = Tracer.EVENTS, default_words: str = "events") -> None:
    """Add --tracer."""
    options_titled(parser, MEASUREMENT).add_argument(
        "--tracer",
        choices=[tracer.value for tracer in Tracer],
        default=default.value if default is not None else None,
        help="tracing backend (needs root): events = tracepoints, most detail; osnoise = lower overhead; none "
        f"(default {default_words})",
    )


def add_record(parser: ArgumentParser) -> None:
    """Add --record."""
    options_titled(parser, MEASUREMENT).add_argument(
        "--record", metavar="FILE", help="also record what the result rests on, for --replay"
    )


def seconds(least: float) -> Callable[[str], float]:
    """Return a parser of seconds that accepts `least` or more."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= _LONGEST_S:
            raise ArgumentTypeError(f"wanted seconds from {least:g} to {_LONGEST_S:.0f}, found {text!r}")
        return value

    return parse


def zero_or_seconds(least: float) -> Callable[[str], float]:
    """Return a parser of seconds that accepts 0, and `least` or more."""

    def parse(text: str) -> float:
        value = seconds(0)(text)
        if 0 < value < least:
            raise ArgumentTypeError(f"wanted 0 or at least {least:g} seconds, found {text!r}")
        return value

    return parse


def or_auto(parse: Callable[[str], float]) -> Callable[[str], float]:
    """Return a parser that also accepts `auto`, for which it returns AS_LONG_AS_NEEDED."""
    return lambda text: AS_LONG_AS_NEEDED if text.strip() == "auto" else parse(text)


def kind_of_work(text: str) -> Work:
    """Parse the name of a kind of work."""
    try:
        return Work(text.strip())
    except ValueError:
        raise ArgumentTypeError(f"wanted one of {', '.join(Work)}, found {text!r}") from None


def sample_length(text: str) -> int:
    """Parse a duration such as 100ms, 10us or 1s; return ns."""
    length_ns = parse_duration(text.strip()) or 0
    if not _SHORTEST_SAMPLE_NS <= length_ns <= _LONGEST_SAMPLE_NS:
        raise ArgumentTypeError(f"wanted a duration from 100us to 100s, such as 10ms, found {text!r}")
    return round(length_ns)


def share(text: str) -> float:
    """Parse a share such as 2% or 0.02."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    is_clear = match is not None and (bool(match[2]) or value < 1)
    if not (is_clear and 0 < value <= _LARGEST_SHARE):
        raise ArgumentTypeError(f"wanted a share such as 5% or 0.05, found {text!r}")
    return value


def chance(text: str) -> float:
    """Parse a chance above 50%, such as 90% or 0.9."""
    value = share(text)
    if not 0.5 < value < 1:
        raise ArgumentTypeError(f"wanted a chance above 50% and below 100%, found {text!r}")
    return value


def inflation(text: str) -> float:
    """Parse a factor of 1 or more."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 1 <= value <= _LARGEST_INFLATION:
        raise ArgumentTypeError(f"wanted a factor of at least 1, such as 1.2, found {text!r}")
    return value


def whole_number(least: int, most: int, of: str = "") -> Callable[[str], int]:
    """Return a parser of whole numbers from `least` to `most`; its error names what they are a number `of`."""

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        value = int(text) if is_number else -1
        if not least <= value <= most:
            raise ArgumentTypeError(f"wanted a number{of} from {least} to {most}, found {text!r}")
        return value

    return parse


def words(text: str) -> tuple[str, ...]:
    """Split a command line into words as a shell would; no shell runs it."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from error
    if not words:
        raise ArgumentTypeError("wanted a command, found none")
    return words
