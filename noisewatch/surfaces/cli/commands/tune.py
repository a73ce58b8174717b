"""The command `noisewatch tune`."""

from __future__ import annotations

import sys
from argparse import Namespace

from noisewatch.errors import Unreadable, UsageError
from noisewatch.operations.tuning.guardian import run_command
from noisewatch.operations.tuning.tune import (
    failed,
    new_session,
    read_public_tuning,
    read_tuning,
    require_untuned,
    tune_host,
)
from noisewatch.program import as_root, is_root
from noisewatch.surfaces.cli.measuring import measure, schedule_of
from noisewatch.surfaces.cli.tuning import plan_of, print_report, require_root, tuned_for_command, tuning_words
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.tuning.measured import text_of_schedule
from noisewatch.surfaces.reports.tuning.text import (
    NOT_TUNED,
    text_of_plan,
    text_of_status,
    text_of_tuning,
)

_YES = ("y", "yes")
_REFUSED = 3


def run(arguments: Namespace) -> int:
    """Show the changes and make them after a yes, measure whether they are worth it, or show what is tuned.

    Return 3 if a change was refused, or with --until-exit the command's exit status.
    """
    command = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if arguments.until_exit != bool(command):
        raise UsageError("a command and --until-exit need each other: noisewatch tune --until-exit -- COMMAND")
    _require_meaning(arguments)
    if arguments.status:
        print_report(text_of_status(read_tuning()) if is_root() else _public_status(), arguments.color)
        return 0
    plan, is_live = plan_of(arguments)
    if not arguments.dry_run:
        if not is_live:
            raise UsageError("only this host can be tuned; --dry-run lists the changes for a copy or a recording")
        require_root("tune", ["tune", *tuning_words(arguments), *(["--until-exit", "--", *command] if command else [])])
        if arguments.measure:
            require_untuned()
    schedule = schedule_of(arguments, plan) if arguments.measure else None
    if command:
        print(text_of_plan(plan), end="", file=sys.stderr, flush=True)
    else:
        print_report(text_of_plan(plan), arguments.color)
    if schedule is not None:
        print_answer(text_of_schedule(schedule))
    if arguments.dry_run or not (plan.has_changes or command):
        return 0
    question = "Make these changes?" if schedule is None else "Switch these settings on and off?"
    if plan.has_changes and not arguments.yes and not _is_confirmed(question):
        print("noisewatch: nothing was changed", file=sys.stderr)
        return 0
    if schedule is not None:
        return measure(plan, schedule, arguments.color)
    if command:
        with tuned_for_command(plan):
            return run_command(command)
    try:
        outcomes = tune_host(plan, new_session(plan.verdict.case.target))
    except KeyboardInterrupt:
        print("noisewatch: interrupted; `noisewatch restore` restores what was changed", file=sys.stderr)
        raise
    print_report(text_of_tuning(outcomes), arguments.color)
    return _REFUSED if failed(outcomes) else 0


def _require_meaning(arguments: Namespace) -> None:
    """Raise UsageError for options that exclude or need each other."""
    if arguments.measure and (arguments.status or arguments.until_exit):
        raise UsageError("--measure restores the settings itself, so it excludes --status and --until-exit")
    if not arguments.measure and (arguments.minutes is not None or arguments.work is not None):
        raise UsageError("--minutes and --work are options of --measure")


def _is_confirmed(question: str) -> bool:
    """Return whether the user agrees. Raise UsageError if there is no terminal to ask on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("no terminal to ask on: add --yes to make these changes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in _YES


def _public_status() -> str:
    """Return the status for users other than root. Raise UsageError if it cannot be read."""
    as_words = as_root("tune --status", is_here=True)
    try:
        tuned = read_public_tuning()
    except Unreadable as error:
        raise UsageError(f"{error}; root can read it: {as_words}") from error
    return f"{tuned.summary}\nthe list: {as_words}\n" if tuned.sessions else NOT_TUNED
