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
    "root's is /var/lib/noisewatch/history.jsonl, anyone else's noisewatch/history.jsonl in $XDG_STATE_HOME or "
    "~/.local/state"
)
SHORTEST_SAMPLE_S = 0.5  # in less, a tick of 10 ms or a single interrupt could decide the verdict
SHORTEST_CALIBRATION_S = 0.5  # in less, some kinds of measurement would not take place
MOST_AUTO_S = 30.0  # the longest duration of a calibration as long as needed
FAIL, PASS = "fail", "pass"  # the values of --on-unknown
_MOST_SAMPLES = 10_000  # at least 2: a single one has no deviation
_SHORTEST_INTERVAL_S = 0.1

MACHINE, MEASUREMENT, REPORT = "machine", "measurement", "report"


class Options:
    """The options below one title of a command's help, or those of them that exclude each other."""

    def __init__(self, group: _ArgumentGroup) -> None:
        self._group = group

    def exclusive(self) -> Options:
        """Return options of this group that exclude each other."""
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
        """Add an option with a value, used as in `--cpus LIST`; a `const` is the value of the bare option."""
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
        """Add an option without a value, which is `const` for the option whose value goes to `dest`."""
        self._group.add_argument(name, action="store_const", const=const, dest=dest, help=what)

    def values(self, usage: str, what: str) -> None:
        """Add an option that may be given several times."""
        name, _, metavar = usage.partition(" ")
        self._group.add_argument(name, metavar=metavar, action="append", default=[], help=what)

    def choice(
        self, name: str, choices: Sequence[str], what: str, default: object = None, metavar: str | None = None
    ) -> None:
        """Add an option with one of these values."""
        self._group.add_argument(name, choices=choices, default=default, metavar=metavar, help=what)


def titled(parser: ArgumentParser, title: str) -> Options:
    """Return the options with this title in the help, which is added where there is none yet."""
    groups = (group for group in parser._action_groups if group.title == title)
    return Options(next(groups, None) or parser.add_argument_group(title))


def add_cpus(parser: ArgumentParser, default: object = SUPPRESS) -> None:
    """Add --cpus."""
    titled(parser, MACHINE).value(
        "--cpus LIST",
        "target CPUs, such as 2-7 or 1,3 (kernel list syntax); fast: those of the fastest kind (default: the "
        "isolated CPUs, else those that you may use without CPU 0's core; in both cases only the fastest kind of core, "
        "where the machine tells)",
        default=default,
    )


def add_machine(parser: ArgumentParser, default: object = SUPPRESS) -> None:
    """Add the options that choose the machine and its CPUs."""
    add_cpus(parser, default)
    machine = titled(parser, MACHINE).exclusive()
    machine.value("--sysroot DIR", "copied tree of /proc and /sys instead of this host", default=default)
    machine.value("--replay FILE", "recording instead of this host", default=default)


def add_interval(parser: ArgumentParser, default: object = SUPPRESS) -> None:
    """Add --interval."""
    what, parse = "time between two snapshots (default 1)", seconds(_SHORTEST_INTERVAL_S)
    titled(parser, MEASUREMENT).value("--interval SECONDS", what, parse, default)


def add_output(
    parser: ArgumentParser, formats: Sequence[str], what: str = "write to FILE instead of standard output"
) -> None:
    """Add --format, of which the first one is the default, and --output and --color."""
    report = titled(parser, REPORT)
    format_help = f"output format: {', '.join(formats)} (default {formats[0]})"
    report.choice("--format", formats, format_help, formats[0], "FORMAT")
    report.value("--output FILE", what)
    add_color(report)


def add_color(options: Options, default: str = SUPPRESS) -> None:
    """Add --color."""
    options.choice(
        "--color",
        (AUTO, ALWAYS, NEVER),
        "colours in text: always, never, or auto: by NO_COLOR, else FORCE_COLOR or CLICOLOR_FORCE, else on a "
        "terminal (default auto)",
        default,
    )


def add_verbose(options: Options, what: str) -> None:
    """Add -v."""
    options.flag("-v", "--verbose", what=what)


def add_quiet(options: Options, more: str = "") -> None:
    """Add -q; `more` says what else is not printed."""
    options.flag("-q", "--quiet", what=f"print no progress and no remarks{more}, only errors")


def add_theme(options: Options, of: str = "") -> None:
    """Add --theme; `of` says what the colours are those of."""
    options.choice("--theme", ("dark", "light"), f"colours{of} (default dark)", "dark")


def add_on_unknown(options: Options, what: str) -> None:
    """Add --on-unknown, the exit status for an unknown verdict."""
    options.choice("--on-unknown", (FAIL, PASS), what)


def add_budget(parser: ArgumentParser) -> None:
    """Add the options that describe the benchmark to come, and how the microbenchmark measures for it."""
    budget = titled(parser, "the benchmark to come")
    budget.value("--at DURATION", "length of one of its samples (default 100ms)", sample_length, "100ms")
    samples = whole_number(2, _MOST_SAMPLES, " of samples")
    budget.value("--samples N", "number of samples (default 25)", samples, "25")
    budget.value(
        "--max-cv SHARE",
        "highest acceptable CV (relative standard deviation) of its samples (default 1%%)",
        share,
        "1%",
    )
    budget.value(
        "--confidence SHARE",
        f"chance of staying within it from which on it passes, above 50%% (default {CONFIDENCE * 100:.0f}%%, with "
        f"profile shared {CONFIDENCE_IN[SHARED] * 100:.0f}%%); unstable where exceeding it is as likely, else unknown",
        chance,
    )
    budget.value(
        "--detect SHARE",
        "also print how many samples show a change of SHARE here, such as 2%%, by kind of work and length",
        share,
    )
    budget.value(
        "--max-inflation FACTOR", "highest acceptable worst sample, in medians, such as 1.2 (default: any)", inflation
    )
    budget.value(
        "--work KIND",
        "what its time depends on: latency = steps that wait for each other (not wake-ups: --profile latency); "
        "throughput = as many instructions a cycle as the core can do; interpreter; cache = what lies in "
        "the last-level cache; memory = what no cache holds; mixed = the first three (default: all have to stay "
        "within the budget; with --profile memory: memory)",
        kind_of_work,
    )
    measurement = titled(parser, MEASUREMENT)
    measurement.flag(
        "--realtime", what="run the microbenchmark with real-time priority, which is throttled for 50 ms in each second"
    )
    add_tracer(parser)
    measurement.value(
        "--history FILE",
        f"remember calibrations in FILE (default: {USUAL_HISTORY}), and "
        "widen the predicted intervals by how much the noise of this machine changed between them (drift)",
        const="",
    )


def add_tracer(
    parser: ArgumentParser, default: str | None = Tracer.EVENTS.value, default_words: str = "events"
) -> None:
    """Add --tracer."""
    titled(parser, MEASUREMENT).choice(
        "--tracer",
        [tracer.value for tracer in Tracer],
        "tracing backend (needs root): events = tracepoints, most detail; osnoise = lower overhead; none "
        f"(default {default_words})",
        default,
    )


def add_record(parser: ArgumentParser) -> None:
    """Add --record."""
    titled(parser, MEASUREMENT).value("--record FILE", "also record what the result rests on, for --replay")
