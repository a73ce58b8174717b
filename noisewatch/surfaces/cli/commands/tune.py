"""`noisewatch tune`"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence

from noisewatch.errors import Unreadable, UsageError
from noisewatch.judgement.checks.cpus.isolation import target_not_isolated
from noisewatch.kernel.system.tuning import Session
from noisewatch.operations.machines import open_machine
from noisewatch.operations.preflight import preflight
from noisewatch.operations.tuning.guardian import run_command, tuned_host
from noisewatch.operations.tuning.plan import TuningPlan, plan_tuning
from noisewatch.operations.tuning.tune import failed, new_session, read_public_tuning, read_tuning, tune_host
from noisewatch.operations.tuning.tuner import Changed
from noisewatch.program import as_root
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands.preflight import preflight_options
from noisewatch.surfaces.cli.live import SilentListener
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.tuning.text import (
    NOT_TUNED,
    text_of_plan,
    text_of_restoring,
    text_of_status,
    text_of_tuning,
)

_YES = ("y", "yes")
_REFUSED = 3


def run(arguments: Namespace) -> int:
    """Show the changes and make them after a yes, or show what is tuned.

    Return 3 if a change was refused, or with --until-exit the command's exit status.
    """
    command = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if arguments.until_exit != bool(command):
        raise UsageError("--until-exit needs a command: noisewatch tune --until-exit -- COMMAND")
    if arguments.status:
        return _print_status()
    plan, is_live = _plan(arguments)
    if not arguments.dry_run:
        if not is_live:
            raise UsageError("only this host can be tuned; --dry-run lists the changes for a copy or a recording")
        require_root("tune", [*_words(arguments), *(["--until-exit", "--", *command] if command else [])])
    _print(text_of_plan(plan), bool(command))
    if arguments.dry_run or not (plan.steps or command):
        return 0
    if plan.steps and not arguments.yes and not _is_confirmed():
        print("noisewatch: nothing is changed", file=sys.stderr)
        return 0
    session = new_session(plan.verdict.case.target, is_until_exit=bool(command))
    if command:
        return _run_tuned(plan, session, command)
    try:
        outcomes = tune_host(plan, session, _ignore)
    except KeyboardInterrupt:
        print("noisewatch: interrupted: `noisewatch restore` restores what was changed", file=sys.stderr)
        raise
    print_answer(text_of_tuning(outcomes))
    return _REFUSED if failed(outcomes) else 0


def _plan(arguments: Namespace) -> tuple[TuningPlan, bool]:
    """Return the plan by a verdict on the settings, and whether the machine is this host."""
    options = preflight_options(parse_arguments(["preflight", "--sample", "0", "--no-calibration", *_words(arguments)]))
    machine = open_machine(options.machine)
    verdict = preflight(machine, options, SilentListener()).verdict
    return plan_tuning(verdict, target_not_isolated.id in options.rules.selected), machine.is_live


def _words(arguments: Namespace) -> list[str]:
    """Return the options that preflight has too."""
    names = ("cpus", "sysroot", "replay", "profile", "config")
    words = [word for name in names if (value := getattr(arguments, name)) for word in (f"--{name}", value)]
    for name in ("select", "ignore"):
        words += [word for value in getattr(arguments, name) for word in (f"--{name}", value)]
    return words + ["--no-config"] * arguments.no_config


def _is_confirmed() -> bool:
    """Return whether the user agrees. Raise UsageError if there is no terminal to ask on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("no terminal to ask on: add --yes to make these changes")
    print("Make these changes? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in _YES


def _run_tuned(plan: TuningPlan, session: Session, command: Sequence[str]) -> int:
    """Run the command on the tuned host, and return its exit status. Standard output is the command's."""
    restored: list[Changed] = []
    with tuned_host(plan, session, restored.append) as outcomes:
        restored.clear()
        _print(text_of_tuning(outcomes, "the command ends"), to_stderr=True)
        status = run_command(command)
    _print(text_of_restoring(restored), to_stderr=True)
    return status


def _print(text: str, to_stderr: bool) -> None:
    if to_stderr:
        print(text, end="", file=sys.stderr, flush=True)
    else:
        print_answer(text)


def _print_status() -> int:
    print_answer(text_of_status(read_tuning()) if os.geteuid() == 0 else _public_status())
    return 0


def _public_status() -> str:
    """Return what users other than root may know. Raise UsageError if nothing can be read."""
    as_words = as_root("tune --status", is_here=True)
    try:
        tuned = read_public_tuning()
    except Unreadable as error:
        raise UsageError(f"{error}; root can read it: {as_words}") from error
    return f"{tuned.summary}\nthe list: {as_words}\n" if tuned.sessions else NOT_TUNED


def require_root(command: str, words: Sequence[str]) -> None:
    """Raise UsageError, with the command to type, unless this process is root's."""
    if os.geteuid():
        raise UsageError(f"{command} needs root: {as_root(shlex.join([command, *words]), is_here=True)}")


def _ignore(changed: Changed) -> None:
    """Ignore one outcome: the report has all of them."""
