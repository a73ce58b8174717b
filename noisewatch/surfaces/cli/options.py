"""Groups of options in a command's help, and the options that several commands share."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, _ArgumentGroup
from collections.abc import Callable, Sequence

from noisewatch.judgement.noise.budget import CONFIDENCE
from noisewatch.judgement.rules import CONFIDENCE_IN, SHARED
from noisewatch.kinds import Tracer
from noisewatch.surfaces.cli.values import chance, inflation, kind_of_work, sample_length, seconds, share, whole_number
from noisewatch.surfaces.output import ALWAYS, AUTO, NEVER

USUAL_HISTORY = (
    "/var/lib/noisewatch/history.jsonl for root, otherwise noisewatch/history.jsonl in $XDG_STATE_HOME or "
    "~/.local/state"
)
SHORTEST_SAMPLE_S = 0.5  # in a shorter sample, a tick of 10 ms or a single interrupt could decide the verdict
SHORTEST_CALIBRATION_S = 0.5  # a shorter calibration would skip some kinds of measurement
MAX_AUTO_S = 30.0  # upper limit for the duration of `auto`
FAIL, PASS = "fail", "pass"  # the values of --on-unknown
_MIN_SAMPLES, _MAX_SAMPLES = 2, 10_000  # a single sample has no deviation
_SHORTEST_INTERVAL_S = 0.1

MACHINE, MEASUREMENT, REPORT = "machine", "measurement", "report"


class Options:
    """A titled group of options in a command's help, or a group of mutually exclusive options."""

    def __init__(self, group: _ArgumentGroup) -> None:
        self._group = group

    def exclusive(self) -> Options:
        """Return a new group of mutually exclusive options within this group."""
        return Options(self._group.add_mutually_exclusive_group())

    def flag(self, *names: str, what: str) -> None:
        """Add an option without a value."""
        self._group.add_argument(*names, action="store_true", help=what)

    def value(
        self,
        usage: str,
        what: str,
        parse: Callable[[str], object] | None = None,
        default: object = None,
        *,
        const: object = None,
        **more: str,
    ) -> None:
        """Add an option with a value; `usage` is like `--cpus LIST`. With `const` the value is optional."""
        name, _, metavar = usage.partition(" ")
        nargs = None if const is None else "?"
        self._group.add_argument(
            name,
            metavar=metavar,
            help=what,
            type=parse or str,
            default=default,
            nargs=nargs,
            const=const,
            **more,  # type: ignore[arg-type]  # `dest`
        )

    def constant(self, name: str, dest: str, const: object, what: str) -> None:
        """Add an option without a value, which sets `dest` to `const`."""
        self._group.add_argument(name, action="store_const", const=const, dest=dest, help=what)

    def values(self, usage: str, what: str) -> None:
        """Add an option that may be repeated; its values are collected in a list."""
        name, _, metavar = usage.partition(" ")
        self._group.add_argument(name, metavar=metavar, action="append", default=[], help=what)

    def choice(
        self, name: str, choices: Sequence[str], what: str, default: object = None, metavar: str | None = None
    ) -> None:
        """Add an option whose value is one of `choices`."""
        self._group.add_argument(name, choices=choices, default=default, metavar=metavar, help=what)


def option_group(parser: ArgumentParser, title: str) -> Options:
    """Return the group of options with this title, which is added if it is missing."""
    groups = (group for group in parser._action_groups if group.title == title)
    return Options(next(groups, None) or parser.add_argument_group(title))


def add_cpus(parser: ArgumentParser, default: object = SUPPRESS) -> None:
    option_group(parser, MACHINE).value(
        "--cpus LIST",
        "target CPUs: a list such as 2-7 or 1,3 (kernel list syntax), or fast. Default: the isolated CPUs; if there "
        "are none, the CPUs that you may use, except CPU 0's core unless you may use no other; in both cases only the "
        "fastest kind of core among them. fast: like the default, but chosen only among the CPUs of the machine's "
        "fastest kind of core; an error if the kinds are unknown, or if none of these CPUs is allowed",
        default=default,
    )


def add_machine(parser: ArgumentParser, default: object = SUPPRESS) -> None:
    """Add the options that select the machine and its CPUs."""
    add_cpus(parser, default)
    machine = option_group(parser, MACHINE).exclusive()
    machine.value("--sysroot DIR", "read a copied tree of /proc and /sys instead of this host", default=default)
    machine.value("--replay FILE", "read a recording instead of this host", default=default)


def add_interval(parser: ArgumentParser, default: object = SUPPRESS) -> None:
    what, parse = "time between two snapshots (default 1)", seconds(_SHORTEST_INTERVAL_S)
    option_group(parser, MEASUREMENT).value("--interval SECONDS", what, parse, default)


def add_output(
    parser: ArgumentParser, formats: Sequence[str], what: str = "write to FILE instead of standard output"
) -> None:
    """Add --format, with the first of `formats` as the default, and --output and --color."""
    report = option_group(parser, REPORT)
    format_help = f"output format: {', '.join(formats)} (default {formats[0]})"
    report.choice("--format", formats, format_help, formats[0], "FORMAT")
    report.value("--output FILE", what)
    add_color(report)


def add_color(options: Options, default: str = SUPPRESS) -> None:
    options.choice(
        "--color",
        (AUTO, ALWAYS, NEVER),
        "colours in text: always, never, or auto (default), which obeys NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, "
        "and otherwise uses colours only in a terminal",
        default,
    )


def add_verbose(options: Options, what: str) -> None:
    options.flag("-v", "--verbose", what=what)


def add_quiet(options: Options, what: str = "print only errors: no progress and no remarks") -> None:
    options.flag("-q", "--quiet", what=what)


def add_theme(options: Options, of: str = "") -> None:
    """Add --theme; `of` completes its help text, such as " of an SVG"."""
    options.choice("--theme", ("dark", "light"), f"colours{of} (default dark)", "dark")


def add_on_unknown(options: Options, what: str) -> None:
    """Add --on-unknown, the exit status for an unknown verdict or gate."""
    options.choice("--on-unknown", (FAIL, PASS), what)


def add_budget(parser: ArgumentParser) -> None:
    """Add the options that describe the next benchmark, and the options of the microbenchmark."""
    budget = option_group(parser, "the next benchmark")
    budget.value("--at DURATION", "length of a sample (default 100ms)", sample_length, "100ms")
    samples = whole_number(_MIN_SAMPLES, _MAX_SAMPLES, " of samples")
    budget.value("--samples N", "number of samples (default 25)", samples, "25")
    budget.value(
        "--max-cv SHARE",
        "maximum CV (relative standard deviation) of the samples (default 1%%)",
        share,
        "1%",
    )
    budget.value(
        "--confidence SHARE",
        f"minimum chance (above 50%%; default {CONFIDENCE * 100:.0f}%%, or {CONFIDENCE_IN[SHARED] * 100:.0f}%% with "
        "profile shared) that the CV stays within --max-cv. If the CV exceeds --max-cv with at least this chance, the "
        "verdict is unstable; if neither chance is high enough, it is unknown",
        chance,
    )
    budget.value(
        "--detect SHARE",
        "also print how many samples are needed here to detect a change of SHARE, such as 2%%, for each kind of work "
        "and sample length",
        share,
    )
    budget.value(
        "--max-inflation FACTOR",
        "maximum length of the worst sample, as a multiple of the median, such as 1.2 (default: unlimited)",
        inflation,
    )
    budget.value(
        "--work KIND",
        "what the benchmark's time depends on: latency = a chain of dependent instructions (for wake-up latency see "
        "--profile latency); throughput = many independent instructions per cycle; interpreter = interpreted code; "
        "cache = data in the last-level cache; memory = data that does not fit in the caches; bandwidth = copies of "
        "such data; mixed = latency, throughput and interpreter (default: all kinds must stay within the budget; with "
        "--profile memory: memory)",
        kind_of_work,
    )
    measurement = option_group(parser, MEASUREMENT)
    measurement.flag(
        "--realtime",
        what="run the microbenchmark with real-time priority (the kernel usually stops real-time tasks for 50 ms in "
        "each second)",
    )
    add_tracer(parser)
    measurement.value(
        "--history FILE",
        f"store the calibration in FILE (default: {USUAL_HISTORY}), and learn from the stored "
        "calibrations how much this machine's noise drifts, instead of only assuming a default drift; preflight also "
        "checks whether the machine has changed",
        const="",
    )


def add_tracer(
    parser: ArgumentParser, default: str | None = Tracer.EVENTS.value, default_words: str = "events"
) -> None:
    option_group(parser, MEASUREMENT).choice(
        "--tracer",
        [tracer.value for tracer in Tracer],
        f"tracing backend (needs root): events = tracepoints, most detail; osnoise = lower overhead; none (default "
        f"{default_words})",
        default,
    )


def add_record(parser: ArgumentParser) -> None:
    option_group(parser, MEASUREMENT).value("--record FILE", "also record all data that was read, for --replay")
