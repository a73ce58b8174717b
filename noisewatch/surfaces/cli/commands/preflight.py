"""The command `noisewatch preflight`."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import UsageError
from noisewatch.judgement.cause_words import summary_of_verdict
from noisewatch.judgement.terms import EXIT_STATUS, Outcome
from noisewatch.judgement.verdict import Verdict
from noisewatch.operations.lock import Lock, lock_context
from noisewatch.operations.machines import MachineOptions, open_machine
from noisewatch.operations.preflight import PreflightOptions, preflight
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.common import (
    calibration_options,
    history_path,
    machine_options,
    open_report,
    recording_to,
    report_damage,
)
from noisewatch.surfaces.cli.live import listener_of
from noisewatch.surfaces.cli.options import FAIL, PASS
from noisewatch.surfaces.cli.rules import rules_of
from noisewatch.surfaces.output import append_step_summary, open_output, width
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions

_PRINTED, _TEXT = "-", "text"


def run(arguments: Namespace) -> int:
    """Sample, calibrate, judge and write the report. Return the verdict's exit status."""
    options, listener = preflight_options(arguments), listener_of(arguments)
    if arguments.show_options:
        return _show_options(arguments)
    machine = open_machine(options.machine)
    with ExitStack() as stack:
        scripts = stack.enter_context(_open_scripts(arguments))
        is_printed = any(script.is_printed for script in scripts)
        report = None if is_printed else stack.enter_context(open_report(arguments))
        source = stack.enter_context(recording_to(arguments, machine))
        lock = stack.enter_context(lock_context(machine, arguments.lock, listener))
        result = preflight(source, options, listener, lock)
        verdict, chosen_format = result.verdict, FORMATS[arguments.format]
        exit_status = 0
        if not arguments.exit_zero:
            exit_status = chosen_format.exit_status(verdict, result.has_run_out, status_if_unknown(arguments, lock))
        for script in scripts:
            script.write(verdict)
        if report is not None:
            render_options = RenderOptions(
                exit_status=exit_status,
                at_s=time.time(),
                own_cpu_share=result.own_cpu_share,
                width=width(),
                in_colour=report.in_colour,
                in_unicode=report.in_unicode,
                is_verbose=arguments.verbose,
                is_quiet=arguments.quiet and arguments.output is None,
                identifies=arguments.identify,
                host=os.uname().nodename if arguments.identify and verdict.case.snapshot.is_live else None,
            )
            write = report.write_text if arguments.format == _TEXT else report.write
            write(chosen_format.render(verdict, render_options))
        else:
            print(f"noisewatch: {summary_of_verdict(verdict, exit_status)}", file=sys.stderr)
        if lock is not None:
            may_start = verdict.verdict == Outcome.STABLE or (
                verdict.verdict == Outcome.UNKNOWN and arguments.on_unknown == PASS and exit_status == 0
            )
            lock.keep_if(may_start, listener)
    if chosen_format.fills_step_summary:
        trouble = append_step_summary(partial(_markdown, verdict))
        if trouble is not None:
            listener.on_remark(trouble)
    report_damage(machine)
    return exit_status


def _show_options(arguments: Namespace) -> int:
    from noisewatch.surfaces.cli.configuration import options_text  # only --show-options needs it

    with open_report(arguments) as report:
        report.write(options_text(arguments))
    return 0


def status_if_unknown(arguments: Namespace, lock: Lock | None) -> int | None:
    """Return the exit status of an unknown verdict, or None for the default.

    If the requested lock is not held, `--on-unknown pass` has no effect.
    """
    if arguments.on_unknown == PASS:
        return 0 if lock is None or lock.is_ours else None
    return EXIT_STATUS[Outcome.UNSTABLE] if arguments.on_unknown == FAIL else None


def preflight_options(arguments: Namespace) -> PreflightOptions:
    """Return the options of the command line and the options file. Raise UsageError for unknown names."""
    return PreflightOptions(
        machine=machine_options(arguments),
        sample_s=arguments.sample,
        calibration=calibration_options(arguments, arguments.calibration),
        rules=rules_of(arguments),
        is_strict=arguments.strict,
        wait_s=arguments.wait,
        history=history_path(arguments),
    )


def monitor_options(machine: MachineOptions, allowed: CpuSet) -> PreflightOptions:
    """Return the options of the monitor's preflight: the monitor's machine and CPUs, and the options file's rules.

    Each preflight reads the file again, as a new command would. Raise UsageError if it is invalid.
    """
    options = preflight_options(parse_arguments(["preflight"]))
    return replace(options, machine=machine, allowed=allowed, starts_benchmark=False)


class _Script(Struct, frozen=True):
    """The destination of a script, and the name of the function in `fix_script` that makes it from a verdict."""

    output: BinaryIO
    is_printed: bool
    name: str

    def write(self, verdict: Verdict) -> None:
        from noisewatch.surfaces.reports.verdict import fix_script  # most preflights write no script

        text: str = getattr(fix_script, self.name)(verdict)
        self.output.write(text.encode("utf-8", "replace"))


@contextmanager
def _open_scripts(arguments: Namespace) -> Iterator[list[_Script]]:
    """Yield the requested scripts, opened before the measurement. Raise UsageError if one cannot be written."""
    scripts = [(arguments.fix_script, "fix_script"), (arguments.undo_script, "undo_script")]
    requested = [(path, name) for path, name in scripts if path is not None]
    paths = [path for path in (arguments.output, arguments.record) if path is not None]
    paths += [path for path, _ in requested]
    if len(set(paths)) < len(paths):
        raise UsageError("--output, --record, --fix-script and --undo-script need different files")
    if any(path == _PRINTED for path, _ in requested) and arguments.output is not None:
        raise UsageError("--output: a script without a FILE is printed instead of the report; give the script a FILE")
    with ExitStack() as stack:
        yield [
            _Script(stack.enter_context(open_output(path, arguments.quiet)), path == _PRINTED, name)
            for path, name in requested
        ]


def _markdown(verdict: Verdict, max_bytes: int) -> str:
    from noisewatch.surfaces.reports.parts.sections import markdown_of_sections  # only a step with a summary needs it
    from noisewatch.surfaces.reports.verdict.markdown import sections_of

    return markdown_of_sections(sections_of(verdict), max_bytes)
