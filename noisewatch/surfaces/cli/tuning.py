"""What `tune`, `run --tune` and `run --reserve` share: plans from preflight's options, and reports around a command."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from noisewatch.errors import UsageError
from noisewatch.operations.machines import open_machine
from noisewatch.operations.tuning.guardian import tuned_host
from noisewatch.operations.tuning.plan import TuningPlan, read_plan
from noisewatch.operations.tuning.reserve import reserving_options, unreserved_reasons
from noisewatch.operations.tuning.tune import Restoring, failed, new_session
from noisewatch.operations.tuning.tuner import Changed, Outcome
from noisewatch.program import as_root, is_root
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands.preflight import preflight_options
from noisewatch.surfaces.cli.live import SilentListener
from noisewatch.surfaces.output import print_answer, takes_colour
from noisewatch.surfaces.reports.tuning.text import in_colours, text_of_restoring, text_of_tuning


def plan_of(arguments: Namespace, reserves_only: bool = False) -> tuple[TuningPlan, bool]:
    """Return the plan for the given options of preflight, and whether the machine is this host.

    With `reserves_only`, the plan only keeps other work off the target CPUs. Raise UsageError if an option is invalid.
    """
    options = preflight_options(parse_arguments(["preflight", *preflight_words(arguments)]))
    options = reserving_options(options) if reserves_only else options
    machine = open_machine(options.machine)
    return read_plan(machine, options, SilentListener(), vars(arguments).get("set", ())), machine.is_live


def preflight_words(arguments: Namespace) -> list[str]:
    """Return the given options that preflight has too, as words of a command line."""
    given = vars(arguments)
    names = ("cpus", "sysroot", "replay", "profile", "config", "work")
    words = [word for name in names if (value := given.get(name)) for word in (f"--{name}", value)]
    for name in ("select", "ignore"):
        words += [word for value in given.get(name, ()) for word in (f"--{name}", value)]
    return words + ["--no-config"] * given.get("no_config", False)


def tuning_words(arguments: Namespace) -> list[str]:
    """Return the given options that decide what is tuned, as words of a command line."""
    words = preflight_words(arguments) + [word for request in arguments.set for word in ("--set", request)]
    words += ["--measure"] * vars(arguments).get("measure", False)
    length = vars(arguments).get("minutes")
    return words if length is None else [*words, "--minutes", f"{length:g}"]


def require_root(what: str, words: Sequence[str]) -> None:
    """Raise UsageError unless this process runs as root, with the command to type; `words` are its arguments."""
    if not is_root():
        raise UsageError(f"{what} needs root: {as_root(shlex.join(words), is_here=True)}")


@contextmanager
def reserved_for_command(plan: TuningPlan, is_quiet: bool = False) -> Iterator[None]:
    """Keep other work off the target CPUs, and restore the host at the end, as `tuned_for_command` does."""
    if not is_quiet:
        for reason in unreserved_reasons(plan):
            _print(f"noisewatch: {reason}\n")
    with tuned_for_command(plan, is_quiet):
        yield


@contextmanager
def tuned_for_command(plan: TuningPlan, is_quiet: bool = False) -> Iterator[None]:
    """Tune this host, and restore it at the end; both are reported on standard error.

    Standard output is the command's. Raise UsageError if the journal cannot be used, or the guardian cannot be started.
    """
    made: list[Changed] = []

    def report(restoring: Restoring) -> None:
        if restoring.outcomes or not restoring.is_complete:
            if not (is_quiet and restoring.is_complete):
                _print(text_of_restoring(restoring))
        elif any(changed.outcome == Outcome.DONE for changed in made):
            _print("noisewatch: the settings were restored before the command ended, by another noisewatch\n")

    session = new_session(plan.verdict.case.target, is_until_exit=True)
    with tuned_host(plan, session, report) as outcomes:
        made += outcomes
        if not is_quiet or failed(outcomes):
            _print(text_of_tuning(outcomes, "the command ends"))
        yield


def print_report(text: str, color: str) -> None:
    """Print a report of tune or restore to standard output, in the colours that --color requests."""
    print_answer(in_colours(text) if takes_colour(None, color) else text)


def _print(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
