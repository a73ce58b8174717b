"""The options of each command. Summaries and examples are in `help.py`, shared options in `options.py`."""

from __future__ import annotations

from argparse import REMAINDER, SUPPRESS, ArgumentParser

from noisewatch.judgement.rules import MICRO, PROFILES, SHARED
from noisewatch.kinds import Work
from noisewatch.surfaces.cli.options import (
    MACHINE,
    MAX_AUTO_S,
    MEASUREMENT,
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
    option_group,
)
from noisewatch.surfaces.cli.values import (
    age,
    core_count,
    kind_of_work,
    minutes,
    or_auto,
    scale,
    seconds,
    share_of_all,
    whole_number,
    words,
    zero_or_seconds,
)
from noisewatch.surfaces.reports.run.formats import RUN_FORMATS
from noisewatch.surfaces.reports.topics import ALL_TOPICS, GLOSSARY, TOPICS
from noisewatch.surfaces.reports.verdict.formats import FORMATS
from noisewatch.turbo import LEAST_S, LEAST_WORK_S

CALIBRATION_S = 1.0  # length of the calibrations before and after a series
MEASURE_MINUTES = 5.0
_SETTLE_S = 120.0
_RULES = "checks, severities and limits"
_MAX_PROCESSES = 4096
_MAX_RUNS = 1_000_000
LAYOUT = "layout"  # the value of --vary and --fixed


def _fill_preflight(parser: ArgumentParser) -> None:
    add_machine(parser)
    measurement = option_group(parser, MEASUREMENT)
    measurement.value(
        "--sample SECONDS",
        "how long to sample load, tasks and interrupts (default 3; 0: no sample). A recording is judged by its last "
        "sample, or as a whole if it has none",
        zero_or_seconds(SHORTEST_SAMPLE_S),
        3.0,
    )
    measurement.value(
        "--calibration SECONDS",
        "length of the microbenchmark after the sample (default 3; auto: until the noise floor is precise enough, at "
        f"most {MAX_AUTO_S:g}; 0: none). A recording contains its own calibration, if any",
        or_auto(zero_or_seconds(SHORTEST_CALIBRATION_S)),
        3.0,
    )
    skipped = "skip the microbenchmark, and judge only the settings and the sample"
    measurement.constant("--no-calibration", "calibration", 0.0, skipped)
    add_budget(parser)
    add_record(parser)
    _add_rules(parser)
    start = option_group(parser, "start of the benchmark")
    start.value("--wait SECONDS", "retry until stable, for at most SECONDS (then exit 4)", seconds(0), 0.0)
    start.flag(
        "--lock", what="if the benchmark may start, lock the machine until the calling process, such as a shell, exits"
    )
    add_output(parser, tuple(FORMATS))
    report = option_group(parser, REPORT)
    report.flag("--identify", what="include the host name, and the command lines of culprits (json, jsonl)")
    for name, effect in (
        ("--fix-script", "fixes failures and warnings"),
        ("--undo-script", "restores the settings as they were read"),
    ):
        what = f"also write a shell script that {effect} (without FILE: print it instead of the report)"
        report.value(f"{name} FILE", what, const="-")
    length = report.exclusive()
    add_verbose(length, "show the result of every check (text)")
    add_quiet(length, "print only errors and the verdict (the last line of the text)")
    status = option_group(parser, "exit status")
    status.flag("--strict", what="count warnings and unknown checks as failures, so that the verdict is unstable")
    add_on_unknown(
        status,
        "exit status of an unknown verdict: fail = 1, pass = 0 (default 3, or 4 after --wait); formats nagios and "
        "problem-detector always use 3",
    )
    status.flag("--exit-zero", what="exit with 0 whatever the verdict")


def _add_rules(parser: ArgumentParser) -> None:
    _add_selection(parser)
    rules = option_group(parser, _RULES)
    rules.values("--severity CHECK=LEVEL", "severity of a check: blocking, warning or information")
    rules.values("--limit CHECK[.KEY]=VALUE", "limit of a check, such as target-cpu-busy=2%%")
    expected = "expected duration of the benchmark; reports the jobs that are scheduled to start within it"
    rules.value("--expect SECONDS", expected, seconds(0))
    rules.value(
        "--machine FILE",
        "description of the required machine (`noisewatch show --format machine` writes one); on any other machine, "
        "the verdict is unstable",
    )
    _add_options_file(parser)
    rules.flag(
        "--show-options",
        what="print each option with its value and its origin (command line, options file or default), and measure "
        "nothing",
    )
    parser.set_defaults(configured_by=None, configured_words=())


def _add_selection(parser: ArgumentParser) -> None:
    """Add the options that choose the checks."""
    rules = option_group(parser, _RULES)
    rules.choice(
        "--profile",
        tuple(PROFILES),
        "; ".join(f"{name}: {what}" for name, what in PROFILES.items())
        + f" (default {MICRO}; in a virtual machine, or a container that hides its host's settings, {SHARED})",
    )
    rules.values("--select LIST", "run only these checks or areas")
    rules.values("--ignore LIST", "skip these checks or areas")


def _add_options_file(parser: ArgumentParser) -> None:
    rules = option_group(parser, _RULES)
    rules.value(
        "--config FILE", "options file (default: the nearest noisewatch.toml, or pyproject.toml with [tool.noisewatch])"
    )
    rules.flag("--no-config", what="ignore options files")


def _fill_tune(parser: ArgumentParser) -> None:
    add_machine(parser)
    _add_selection(parser)
    _add_options_file(parser)
    tuning = option_group(parser, "changes").exclusive()
    option_group(parser, "changes").flag(
        "--until-exit", what="restore the settings when COMMAND ends, or at once if noisewatch is killed"
    )
    option_group(parser, "changes").values(
        "--set NAME=VALUE", "also change a setting that no check asks for, such as aslr=off (repeatable)"
    )
    parser.add_argument("argv", metavar="COMMAND", nargs=REMAINDER, help="with --until-exit: the command to run")
    measurement = option_group(parser, MEASUREMENT)
    measurement.flag(
        "--measure",
        what="measure noise and speed with and without each check's changes, print which changes are worth it, and "
        "restore all settings",
    )
    measurement.value(
        "--minutes M",
        f"how long --measure may take (default {MEASURE_MINUTES:g}); if that is too short to measure the changes of "
        "all checks, only those of the most severe checks are measured",
        minutes,
    )
    measurement.value(
        "--work KIND",
        f"kind of work whose speed --measure compares: {', '.join(Work)} (default mixed = latency, throughput and "
        "interpreter)",
        kind_of_work,
    )
    tuning.flag("--dry-run", what="list the changes, and make none")
    tuning.flag("--yes", what="make the changes without asking")
    tuning.flag("--status", what="show what is tuned, and since when")


def _fill_restore(parser: ArgumentParser) -> None:
    restoring = option_group(parser, "changes")
    restoring.flag("--dry-run", what="list what would be restored, and restore nothing")
    restoring.flag("--force", what="also restore settings that another program has changed since noisewatch tuned them")
    restoring.flag(
        "--to-defaults", what="if the journal is lost: list the settings that differ from the kernel's defaults"
    )
    restoring.flag("--yes", what="with --to-defaults: set the listed settings to their defaults")


def _fill_plan(parser: ArgumentParser) -> None:
    parser.add_argument(
        "count",
        metavar="COUNT",
        nargs="?",
        type=core_count,
        help="number of whole cores (default 1, for a benchmark with one thread)",
    )
    near = "choose cores near this network device, disk or PCI address"
    option_group(parser, MACHINE).value("--near DEVICE", near)
    option_group(parser, REPORT).flag(
        "--undo", what="with --format script: print the undo script instead; save both scripts before you run either"
    )
    add_machine(parser)
    add_output(parser, ("text", "script", "cmdline", "systemd", "json"))


def default_runs(is_aa: bool, is_against: bool, varies_layout: bool = False) -> int:
    """Return the default of --runs: 1 for a single command, or enough runs for a comparison or for layouts."""
    return 30 if is_aa else 25 if is_against or varies_layout else 1


def _fill_run(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch run`; the command starts after `--` or at the first word that is not an option."""
    add_cpus(parser)
    _add_command_of_run(parser)
    _add_repetitions(parser)
    comparison = option_group(parser, "comparison").exclusive()
    against = "compare with another command: run both commands --runs times, in pairs, with a random order in each pair"
    comparison.value("--against COMMAND", against, words)
    comparison.flag(
        "--aa", what="compare the command with itself, to measure the smallest change that can be detected here"
    )
    option_group(parser, MEASUREMENT).value(
        "--calibration SECONDS",
        f"length of the microbenchmark before and after a series (default {CALIBRATION_S:g}; none for a single run)",
        zero_or_seconds(SHORTEST_CALIBRATION_S),
    )
    option_group(parser, MEASUREMENT).choice(
        "--counters",
        ("auto", "none"),
        "hardware events to count in the command, to explain why its runs differ: auto (default) = cycles, "
        "instructions, cache misses and branch misses; none",
        "auto",
    )
    option_group(parser, MEASUREMENT).flag(
        "--energy",
        what="measure the energy that the CPU packages use during each run, other processes included, where RAPL "
        "counts it (mostly for root only)",
    )
    option_group(parser, MEASUREMENT).value(
        "--load N",
        "keep N processes busy on the other CPUs during the series and its calibrations, but not on siblings of target "
        "CPUs (default 0)",
        whole_number(0, _MAX_PROCESSES, " of processes"),
        0,
    )
    add_tracer(parser, None, "events; for a single run without --results none, because starting the trace takes 0.2 s")
    add_record(parser)
    _add_report_of_run(parser)
    status = option_group(parser, "exit status")
    status.flag(
        "--gate",
        what="exit with 5 if fewer repetitions than --runs were undisturbed, or if the machine changed during the "
        "series; exit with 3 if either is unknown",
    )
    add_on_unknown(status, "exit status if --gate cannot be decided: fail = 5, pass = 0 (default 3)")
    parser.add_argument("argv", metavar="COMMAND", nargs=REMAINDER, help="the command and its arguments")


def _add_command_of_run(parser: ArgumentParser) -> None:
    command = option_group(parser, "command")
    command.value(
        "--membind NODES",
        "NUMA nodes to allocate memory on: a list, auto (the target CPUs' nodes), or none (no binding; the default)",
        default="none",
    )
    command.flag("--spread", what="pin each busy thread of the command to a target CPU of its own")
    preparation = command.exclusive()
    preparation.flag(
        "--tune",
        what="tune the machine as `noisewatch tune --yes` does, and restore it when the command ends; needs root",
    )
    preparation.flag(
        "--reserve",
        what="only keep other processes, interrupts and kernel work off the target CPUs until the command ends; "
        "needs root",
    )
    command.flag("--as-user", what="with sudo: run the command as the user who invoked sudo, not as root")
    command.flag(
        "--show-output",
        what="in a series, let the command, --prepare and --conclude use noisewatch's standard input, output and error "
        "(default: /dev/null)",
    )
    command.flag("--ignore-failure", what="continue a series if the command, --prepare or --conclude fails")


def _add_repetitions(parser: ArgumentParser) -> None:
    repetitions = option_group(parser, "repetitions")
    repetitions.value(
        "--runs N",
        "number of repetitions, each in a new process (default 1; 25 with --against or --vary, 30 with --aa)",
        whole_number(1, _MAX_RUNS),
    )
    repetitions.value(
        "--warmup N",
        "run each command N times before the --runs repetitions; the statistics leave these runs out (default 0)",
        whole_number(0, _MAX_RUNS),
        0,
    )
    repetitions.value(
        "--prepare COMMAND",
        "run COMMAND before each repetition, warm-ups included, on noisewatch's CPUs and outside of the measured time; "
        "for shell syntax use sh -c",
        words,
    )
    repetitions.value("--conclude COMMAND", "run COMMAND after each repetition, like --prepare", words)
    repetitions.value(
        "--retry N",
        "make up to N further repetitions (pairs with --against or --aa, layouts with --vary), until --runs of them "
        "have been undisturbed (default 0)",
        whole_number(0, _MAX_RUNS),
        0,
    )
    repetitions.value(
        "--wait SECONDS",
        "before each repetition, wait for the target CPUs to become idle, for at most SECONDS (default 0)",
        seconds(0),
        0.0,
    )
    layout = repetitions.exclusive()
    layout.choice(
        "--vary",
        (LAYOUT,),
        "layout: run the command twice in each of --runs memory layouts, with address randomization, a variable "
        "NOISEWATCH_LAYOUT of random size in the environment, and an argv[0] of random length; report how much of the "
        "variation the layout causes",
    )
    layout.choice(
        "--fixed",
        (LAYOUT,),
        "layout: switch off address randomization for the command, so that all runs share one memory layout (for "
        "bisecting)",
    )
    repetitions.value(
        "--min-undisturbed SHARE",
        "minimum share of undisturbed repetitions for a result (default 50%%)",
        share_of_all,
        "50%",
    )


def _add_report_of_run(parser: ArgumentParser) -> None:
    add_output(
        parser,
        RUN_FORMATS,
        "write the report to FILE, in the format of --format (default: a receipt in JSON Lines if FILE ends in .jsonl, "
        "otherwise text). Unless that format is text, a series also prints the text report to standard output",
    )
    parser.set_defaults(format=None)  # the file's name may imply the format
    report = option_group(parser, REPORT)
    add_quiet(
        report,
        "print no progress and no remarks; a single run then prints only errors, a series still prints its report",
    )
    report.flag(
        "--identify",
        what="include the arguments of commands and culprits, the host name, and the paths of the control group and "
        "the results file in the report (text on standard output always includes the arguments)",
    )
    report.value(
        "--results FILE",
        "file of pyperf results that the command writes; noisewatch prints to standard error which of the runs in it "
        "were undisturbed",
    )
    report.value("--filtered OUT", "write the undisturbed runs of the --results file to OUT")


def _fill_calibrate(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_output(parser, ("text", "json", "pyperf", "markdown", "svg", "png"))
    measurement = option_group(parser, MEASUREMENT)
    measurement.value(
        "--duration SECONDS",
        f"total duration (default 5; auto: until the noise floor is precise enough, at most {MAX_AUTO_S:g}); "
        "--under-load doubles it",
        or_auto(seconds(SHORTEST_CALIBRATION_S)),
        5.0,
    )
    measurement.value(
        "--settle SECONDS",
        "first keep the CPUs to calibrate busy until their clocks are stable, for at most SECONDS "
        f"({LEAST_WORK_S} or more, default {_SETTLE_S:g}), and report when they became stable. It takes at "
        f"least {LEAST_S} s, because clocks look stable until a turbo budget is used up",
        seconds(LEAST_WORK_S),
        const=_SETTLE_S,
    )
    measurement.value("--against LIST", "CPUs to compare the target CPUs with")
    measurement.value(
        "--under-load N",
        "calibrate again while N processes are busy on all CPUs except isolated target CPUs (default: one per CPU)",
        whole_number(1, _MAX_PROCESSES, " of processes"),
        const=0,
    )
    measurement.value("--workload COMMAND", "measure this command instead of the built-in work", words, ())
    report = option_group(parser, REPORT)
    add_theme(report, " of an SVG or PNG")
    report.flag("--poster", what="draw the SVG or PNG as a poster for a slide (16:9), with the conclusion as its title")
    add_verbose(report, "show the details below the picture: each CPU, the method, culprits, longest gaps (text)")
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
        help="part to show as text: all, cpus, topology, clock or irqs (default all)",
    )
    add_verbose(option_group(parser, REPORT), "show a row for each CPU and each IRQ (text)")
    add_machine(parser)
    add_output(parser, ("text", "json", "machine"))


def _fill_trace(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_output(parser, ("text", "json"))
    duration = "duration of the trace (default 5)"
    option_group(parser, MEASUREMENT).value("--duration SECONDS", duration, seconds(SHORTEST_SAMPLE_S), 5.0)
    add_tracer(parser)
    add_record(parser)
    add_quiet(option_group(parser, REPORT))


def _fill_explain(parser: ArgumentParser) -> None:
    page = parser.add_mutually_exclusive_group()
    page.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help=f"a check, such as tasks-on-target; an area; a topic ({', '.join(TOPICS)}); {ALL_TOPICS}, which lists "
        f"the topics; or a term that `explain {GLOSSARY}` lists, such as MDE (default: list all checks and topics, in "
        "JSON only the checks)",
    )
    page.add_argument(
        "--schema",
        nargs="?",
        const="preflight",
        choices=("preflight", "plan", "run", "compare", "history"),
        help="print the JSON Schema of a command's `--format json` (default preflight); the schema of run also covers "
        "its `--format jsonl`",
    )
    report = option_group(parser, REPORT)
    report.choice("--format", ("text", "markdown", "json"), "output format (default text)", "text")
    add_color(report)


def _fill_history(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="accept",
        nargs="?",
        choices=("accept",),
        help="make the current machine the new baseline (fails if the history has no entry for it)",
    )
    history = option_group(parser, "history")
    history.value("--why TEXT", "reason to store with `accept`")
    cpus = "show the entries of these target CPUs (default: the CPUs of the newest entry)"
    history.value("--cpus LIST", cpus, default=SUPPRESS)
    history.value("--file FILE", f"history to read (default: {USUAL_HISTORY})")
    report = option_group(parser, REPORT)
    add_verbose(report, "show all entries, not only the newest 20 (text)")
    add_output(parser, ("text", "json", "markdown", "svg"))
    add_theme(report, " of an SVG")


def _fill_compare(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch compare`; a file's kind is recognized by its content."""
    kinds = "a verdict, calibration or receipt (JSON, JSON Lines) or a recording"
    parser.add_argument("before", metavar="BEFORE", help=f"{kinds}, recognized by its content")
    parser.add_argument("after", metavar="AFTER", help="file to compare with, of the same or another kind")
    add_output(parser, ("text", "json", "markdown"))


def _fill_fleet(parser: ArgumentParser) -> None:
    parser.add_argument(
        "places",
        metavar="FILE|DIR",
        nargs="+",
        help="files with verdicts (preflight --format json or jsonl), or folders with such files at any depth; a "
        "file must be named HOST.json or HOST/verdict.json, unless its verdict contains the host name (preflight "
        "--identify)",
    )
    hosts = option_group(parser, "hosts")
    hosts.value(
        "--expect FILE|LIST",
        "hosts that should have reported: a file with one host per line, or a list such as web1,web2",
    )
    hosts.value(
        "--max-age AGE",
        "count reports older than AGE, such as 90min, 24h or 7d, as unknown (default: no limit)",
        age,
    )
    hosts.value(
        "--baseline DIR",
        "compare with the verdicts in DIR (default: with each host's previous verdict); unless --expect is given, "
        "hosts that are only in DIR count as missing",
    )
    add_verbose(option_group(parser, REPORT), "show all hosts, not only the first 40 (text, markdown)")
    add_output(parser, ("text", "markdown", "json", "prometheus"))


def _fill_record(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_interval(parser)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="recording to write; replaces an existing recording, but never another kind of file",
    )
    measurement, report = option_group(parser, MEASUREMENT), option_group(parser, REPORT)
    measurement.value(
        "--duration SECONDS", "length of the recording (default 60; Ctrl-C ends it early)", seconds(0), 60.0
    )
    measurement.value(
        "--calibration SECONDS",
        "length of a microbenchmark at the end (default 0: none)",
        zero_or_seconds(SHORTEST_CALIBRATION_S),
        0.0,
    )
    report.flag(
        "--identify", what="include the host name, the whole kernel command line, and the arguments of processes"
    )
    add_quiet(report, "print only errors: no progress, no remarks and no summary")


def _fill_screenshot(parser: ArgumentParser) -> None:
    add_machine(parser)
    add_interval(parser)
    suffixes = ".svg or, with the extra (pip install noisewatch[png]), .png, or .gif for an animation"
    parser.add_argument("files", metavar="FILE", nargs="+", help=f"picture to write: {suffixes}")
    picture = option_group(parser, "picture")
    picture.value("--size COLUMNSxLINES", "terminal size (default 100x30)")
    picture.value("--keys KEYS", "keys to press first, such as s or question_mark,j")
    panels = "a screen (overview, map, irqs, clock, cpu, events, preflight or culprits) or the timeline"
    picture.value("--panel NAME", f"draw only {panels}, without tabs, headline and keys, in this --size")
    result = "of a run, from its receipt (run --output FILE.jsonl), or of the calibration in a recording"
    picture.value("--poster FILE", f"draw a poster for a slide (16:9): {result}; the conclusion is its title")
    picture.value("--title TEXT", "title of the picture, or the line above a poster's title (default: what it shows)")
    picture.value("--scale FACTOR", "size in pixels, such as 2 for twice as large (default 1)", scale, 1.0)
    at = "snapshot to show, in seconds from the start of the recording (default: the last)"
    picture.value("--at SECONDS", at, seconds(0.0))
    begin = "start of an animation (SVG, GIF or PNG), in seconds from the start of the recording"
    picture.value("--from SECONDS", begin, seconds(0.0), dest="begin_s")
    picture.value("--to SECONDS", "end of the animation (default: the recording's end)", seconds(0.0), dest="end_s")
    add_theme(picture)


def _fill_integrations(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="integration (default: list all)")
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", help="folder for the files of the integration (default: noisewatch-NAME)"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print the page of the integration: what it does, where its files go, what happens on a noisy machine, "
        "and how to remove it",
    )
    parser.add_argument("--force", action="store_true", help="replace existing files with different content")


def _fill_completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


FILL_BY_COMMAND = {
    "preflight": _fill_preflight,
    "plan": _fill_plan,
    "tune": _fill_tune,
    "restore": _fill_restore,
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
