"""The options of each command; `help.py` has their summaries and examples, `options.py` what several share."""

from __future__ import annotations

from argparse import REMAINDER, SUPPRESS, ArgumentParser

from noisewatch.judgement.rules import MICRO, PROFILES, SHARED
from noisewatch.surfaces.cli.options import (
    MACHINE,
    MEASUREMENT,
    MOST_AUTO_S,
    REPORT,
    SHORTEST_CALIBRATION_S,
    SHORTEST_SAMPLE_S,
    USUAL_HISTORY,
    add_budget,
    add_color,
    add_cpus,
    add_interval,
    add_machine,
    add_on_unknown,
    add_output,
    add_quiet,
    add_record,
    add_theme,
    add_tracer,
    add_verbose,
    titled,
)
from noisewatch.surfaces.cli.values import (
    age,
    core_count,
    or_auto,
    seconds,
    share,
    whole_number,
    words,
    zero_or_seconds,
)
from noisewatch.surfaces.reports.run.formats import RUN_FORMATS
from noisewatch.surfaces.reports.topics import ALL_TOPICS, GLOSSARY, TOPICS
from noisewatch.surfaces.reports.verdict.formats import FORMATS
from noisewatch.turbo import LEAST_S, LEAST_WORK_S

CALIBRATION_S = 1.0  # of a series, before and after it
_SETTLE_S = 120.0
_MOST_PROCESSES = 4096
_MOST_RUNS = 1_000_000


def _fill_preflight(parser: ArgumentParser) -> None:
    add_machine(parser)
    measurement = titled(parser, MEASUREMENT)
    measurement.value(
        "--sample SECONDS",
        "length of the sample (default 3; 0: settings only; of a recording: all of it)",
        zero_or_seconds(SHORTEST_SAMPLE_S),
        3.0,
    )
    measurement.value(
        "--calibration SECONDS",
        "length of the microbenchmark after the sample (default 3; auto: until the noise floor is known well "
        f"enough, at most {MOST_AUTO_S:g}; 0: none; of a recording: the one in it)",
        or_auto(zero_or_seconds(SHORTEST_CALIBRATION_S)),
        3.0,
    )
    skipped = "skip the microbenchmark: judge settings and sample alone"
    measurement.constant("--no-calibration", "calibration", 0.0, skipped)
    add_budget(parser)
    add_record(parser)
    _add_rules(parser)
    start = titled(parser, "start of the benchmark")
    start.value("--wait SECONDS", "retry until stable, for at most SECONDS (then exit 4)", seconds(0), 0.0)
    start.flag("--lock", what="lock the machine for the calling process until it exits")
    add_output(parser, tuple(FORMATS))
    report = titled(parser, REPORT)
    report.flag("--identify", what="include the host name (json, jsonl)")
    for name, does in (
        ("--fix-script", "fixes what failed"),
        ("--undo-script", "restores the settings that were read"),
    ):
        what = f"also write a shell script that {does} (without FILE: print it instead of the report)"
        report.value(f"{name} FILE", what, const="-")
    length = report.exclusive()
    add_verbose(length, "show the result of every check (text)")
    add_quiet(length, "; of the printed text only the last line, with the verdict")
    status = titled(parser, "exit status")
    status.flag("--strict", what="treat warnings and unknowns as failures: unstable")
    add_on_unknown(
        status,
        "exit status of an unknown verdict: fail = 1, pass = 0 (default 3; after --wait 4); nagios and "
        "problem-detector always use 3",
    )
    status.flag("--exit-zero", what="exit 0 whatever the verdict: report only")


def _add_rules(parser: ArgumentParser) -> None:
    rules = titled(parser, "checks, severities and limits")
    rules.choice(
        "--profile",
        tuple(PROFILES),
        "; ".join(f"{name}: {what}" for name, what in PROFILES.items())
        + f" (default {MICRO}; in a virtual machine, or a container that hides its host's settings, {SHARED})",
    )
    rules.values("--select LIST", "run only these checks or areas")
    rules.values("--ignore LIST", "skip these checks or areas")
    rules.values("--severity CHECK=LEVEL", "severity of a check: blocking, warning or information")
    rules.values("--limit CHECK[.KEY]=VALUE", "limit of a check, such as target-cpu-busy=2%%")
    expected = "expected duration of the benchmark; reports jobs scheduled within it"
    rules.value("--expect SECONDS", expected, seconds(0))
    rules.value(
        "--machine FILE",
        "description of the machine wanted (`noisewatch show --format machine` writes one): unstable on any other",
    )
    rules.value(
        "--config FILE", "options file (default: the nearest noisewatch.toml, or pyproject.toml with [tool.noisewatch])"
    )
    rules.flag("--no-config", what="ignore options files")
    rules.flag(
        "--show-options",
        what="print each option with its value and where that comes from (command line, options file or default), "
        "and measure nothing",
    )
    parser.set_defaults(configured_by=None, configured_words=())


def _fill_plan(parser: ArgumentParser) -> None:
    parser.add_argument(
        "count",
        metavar="COUNT",
        nargs="?",
        type=core_count,
        help="number of whole cores (default 1: a benchmark of one thread, which takes the least from everybody else)",
    )
    near = "choose cores near this network device, disk or PCI address"
    titled(parser, MACHINE).value("--near DEVICE", near)
    titled(parser, REPORT).flag(
        "--undo", what="with --format script: the script that undoes the other one; write both before you run either"
    )
    add_machine(parser)
    add_output(parser, ("text", "script", "cmdline", "systemd", "json"))


def default_runs(is_aa: bool, has_other: bool) -> int:
    """Return the default of --runs: 1 for a single command, as an unaffected run; more to compare two."""
    return 30 if is_aa else 25 if has_other else 1


def _fill_run(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch run`; words after `--`, or from the first other word on, are the command."""
    add_cpus(parser)
    _add_command_of_run(parser)
    _add_repetitions(parser)
    other = titled(parser, "comparison").exclusive()
    against = "another command: the two run in pairs, in drawn order, each --runs times"
    other.value("--against COMMAND", against, words)
    other.flag("--aa", what="the command against itself: the smallest change that shows here")
    titled(parser, MEASUREMENT).value(
        "--calibration SECONDS",
        f"length of the microbenchmark before and after a series (default {CALIBRATION_S:g}; of one run none)",
        zero_or_seconds(SHORTEST_CALIBRATION_S),
    )
    add_tracer(parser, None, "events; of one run none, as switching the trace on takes a fifth of a second")
    add_record(parser)
    _add_report_of_run(parser)
    status = titled(parser, "exit status")
    status.flag(
        "--gate",
        what="exit with 5 where fewer repetitions than --runs were undisturbed, or the machine changed meanwhile; "
        "with 3 where that is unknown",
    )
    add_on_unknown(status, "with --gate, exit status where that is unknown: fail = 5, pass = 0 (default 3)")
    parser.add_argument("argv", metavar="COMMAND", nargs=REMAINDER, help="the command and its arguments")


def _add_command_of_run(parser: ArgumentParser) -> None:
    command = titled(parser, "command")
    command.value(
        "--membind NODES",
        "memory of these nodes only: a list, auto (those of the target CPUs), or none (no binding; the default)",
        default="none",
    )
    command.flag("--spread", what="pin each busy thread of the command to a target CPU of its own")
    command.flag(
        "--as-user", what="with sudo: run the command as the user who called sudo, and only noisewatch as root"
    )
    command.flag(
        "--show-output",
        what="in a series too, leave the command its standard input, output and error (default: /dev/null)",
    )
    command.flag("--ignore-failure", what="go on with a series where the command fails")


def _add_repetitions(parser: ArgumentParser) -> None:
    repetitions = titled(parser, "repetitions")
    repetitions.value(
        "--runs N",
        "repetitions, each a process of its own (default 1; with --against 25, with --aa 30)",
        whole_number(1, _MOST_RUNS),
    )
    repetitions.value(
        "--retry N",
        "at most N further repetitions, until --runs of them were undisturbed (default 0)",
        whole_number(0, _MOST_RUNS),
        0,
    )
    repetitions.value(
        "--wait SECONDS",
        "before each repetition, wait until the target CPUs are idle, for at most SECONDS (default 0)",
        seconds(0),
        0.0,
    )
    repetitions.value(
        "--min-undisturbed SHARE",
        "with a smaller share of undisturbed repetitions the report gives no result (default 50%%)",
        share,
        "50%",
    )


def _add_report_of_run(parser: ArgumentParser) -> None:
    add_output(
        parser,
        RUN_FORMATS,
        "write to FILE, in the --format (without one: a receipt in JSON Lines where FILE ends in .jsonl, else the "
        "text); the text of a series still goes to standard output, unless it is what FILE gets",
    )
    parser.set_defaults(format=None)  # the name of the file may imply it
    report = titled(parser, REPORT)
    add_quiet(report, ", nor the verdict of a single run")
    report.flag("--identify", what="include the commands' arguments and the control group in files")
    report.value(
        "--results FILE",
        "say on standard error which runs were undisturbed of those in FILE, which the command writes with pyperf",
    )
    report.value("--filtered OUT", "write the undisturbed runs of --results to OUT")


def _fill_calibrate(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_output(parser, ("text", "json", "pyperf", "markdown", "svg", "png"))
    measurement = titled(parser, MEASUREMENT)
    measurement.value(
        "--duration SECONDS",
        f"total duration (default 5; auto: until the noise floor is known well enough, at most {MOST_AUTO_S:g}); "
        "with --under-load as long again",
        or_auto(seconds(SHORTEST_CALIBRATION_S)),
        5.0,
    )
    measurement.value(
        "--settle SECONDS",
        "first work on all CPUs until their clocks are level, for SECONDS at most "
        f"({LEAST_WORK_S} or more, default {_SETTLE_S:g}), and tell when they had become level; a clock that is "
        f"level for less than {LEAST_S} does not count, as a turbo budget may last that long",
        seconds(LEAST_WORK_S),
        const=_SETTLE_S,
    )
    measurement.value("--against LIST", "CPUs to compare the target CPUs with")
    measurement.value(
        "--under-load N",
        "calibrate again beside N busy processes, on all CPUs but isolated target CPUs (default one for each)",
        whole_number(1, _MOST_PROCESSES, " of processes"),
        const=0,
    )
    measurement.value("--workload COMMAND", "measure this command instead of the built-in work", words, ())
    report = titled(parser, REPORT)
    add_theme(report, " of an SVG or PNG")
    add_budget(parser)
    add_record(parser)
    add_quiet(report)


def _fill_show(parser: ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        metavar="TOPIC",
        nargs="?",
        choices=("all", "cpus", "topology", "clock", "irqs"),
        default="all",
        help="all, cpus, topology, clock or irqs (default all; other formats than text are always all)",
    )
    add_verbose(titled(parser, REPORT), "a row for each CPU and each IRQ (text)")
    add_machine(parser)
    add_output(parser, ("text", "json", "machine"))


def _fill_trace(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_output(parser, ("text", "json"))
    duration = "duration of the trace (default 5)"
    titled(parser, MEASUREMENT).value("--duration SECONDS", duration, seconds(SHORTEST_SAMPLE_S), 5.0)
    add_tracer(parser)
    add_record(parser)
    add_quiet(titled(parser, REPORT))


def _fill_explain(parser: ArgumentParser) -> None:
    page = parser.add_mutually_exclusive_group()
    page.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help=f"a check, such as tasks-on-target; an area; a topic ({', '.join(TOPICS)}); {ALL_TOPICS}, which lists "
        f"these; or a term that `explain {GLOSSARY}` lists, such as MDE (default: a list of all checks and topics; as "
        "JSON of the checks alone)",
    )
    page.add_argument(
        "--schema",
        nargs="?",
        const="preflight",
        choices=("preflight", "plan", "run", "compare", "history"),
        help="print the JSON Schema of `--format json` of preflight, plan, compare or history, or of what `run` "
        "writes (json, jsonl)",
    )
    report = titled(parser, REPORT)
    report.choice("--format", ("text", "markdown", "json"), "output format (default text)", "text")
    add_color(report)


def _fill_history(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="accept",
        nargs="?",
        choices=("accept",),
        help="accept the machine as it is now: what is usual is what is measured from now on (an error where "
        "nothing was remembered yet)",
    )
    history = titled(parser, "history")
    history.value("--why TEXT", "reason to keep with `accept`")
    cpus = "show the entries of these target CPUs (default: those of the newest entry)"
    history.value("--cpus LIST", cpus, default=SUPPRESS)
    history.value("--file FILE", f"history to read (default: {USUAL_HISTORY})")
    report = titled(parser, REPORT)
    add_verbose(report, "all entries, not only the newest 20 (text)")
    add_output(parser, ("text", "json", "markdown", "svg"))
    add_theme(report, " of an SVG")


def _fill_compare(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch compare`; the kind of either file is recognized by its content."""
    kinds = "a verdict, calibration or receipt (JSON, JSON Lines) or a recording"
    parser.add_argument("before", metavar="BEFORE", help=f"{kinds}, recognized by its content")
    parser.add_argument("after", metavar="AFTER", help="the file to compare it with, of the same kind or another")
    add_output(parser, ("text", "json", "markdown"))


def _fill_fleet(parser: ArgumentParser) -> None:
    parser.add_argument(
        "places",
        metavar="FILE|DIR",
        nargs="+",
        help="verdicts (preflight --format json or jsonl), and folders with them, at any depth: HOST.json or "
        "HOST/verdict.json, unless the verdict names its host (preflight --identify)",
    )
    hosts = titled(parser, "hosts")
    hosts.value(
        "--expect FILE|LIST", "hosts that should have reported: a file with one a line, or a list such as web1,web2"
    )
    hosts.value(
        "--max-age AGE",
        "count reports as unknown that are older, such as 90min, 24h or 7d (default: any age counts)",
        age,
    )
    hosts.value(
        "--baseline DIR",
        "compare with the verdicts there (default: with the one before it of the same host); hosts that are only "
        "there count as missing, unless --expect lists who should report",
    )
    add_verbose(titled(parser, REPORT), "all hosts, not only the first 40 (text, markdown)")
    add_output(parser, ("text", "markdown", "json", "prometheus"))


def _fill_record(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_interval(parser)
    parser.add_argument(
        "file", metavar="FILE", help="recording to write; an older recording is overwritten, no other file is"
    )
    measurement, report = titled(parser, MEASUREMENT), titled(parser, REPORT)
    measurement.value("--duration SECONDS", "duration (default 60; Ctrl-C ends it sooner)", seconds(0), 60.0)
    measurement.value(
        "--calibration SECONDS",
        "length of a microbenchmark at the end (default 0: none)",
        zero_or_seconds(SHORTEST_CALIBRATION_S),
        0.0,
    )
    report.flag("--identify", what="include host name and full kernel command line")
    add_quiet(report, ", nor what was recorded")


def _fill_screenshot(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_interval(parser)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="picture to write: .svg, or .png (needs resvg-py); or both"
    )
    picture = titled(parser, "picture")
    picture.value("--size COLUMNSxLINES", "terminal size (default 100x30)", default="100x30")
    picture.value("--keys KEYS", "keys to press first, such as s or question_mark,j", default="")
    moment = seconds(0.0)
    at = "snapshot to show, in seconds from the start of the recording (default: the last)"
    picture.value("--at SECONDS", at, moment)
    begin = "draw an animated SVG of the recording from there on"
    picture.value("--from SECONDS", begin, moment, dest="begin_s")
    picture.value("--to SECONDS", "end of the animation (default: the end)", moment, dest="end_s")
    add_theme(picture)


def _fill_integrations(parser: ArgumentParser) -> None:
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


def _fill_completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


FILL_BY_COMMAND = {
    "preflight": _fill_preflight,
    "plan": _fill_plan,
    "run": _fill_run,
    "calibrate": _fill_calibrate,
    "show": _fill_show,
    "explain": _fill_explain,
    "history": _fill_history,
    "compare": _fill_compare,
    "fleet": _fill_fleet,
    "trace": _fill_trace,
    "record": _fill_record,
    "integrations": _fill_integrations,
    "completion": _fill_completion,
    "screenshot": _fill_screenshot,
}
