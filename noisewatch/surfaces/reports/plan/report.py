"""A plan as text, as a shell script, as options of the kernel's command line, and as a systemd unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from noisewatch import __version__
from noisewatch.cpus import cpu_list_argument, format_cpu_list, name_cpus
from noisewatch.judgement.cause_words import split_command
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.fixes.fix import BootOptions
from noisewatch.judgement.plan.plan import Judged, Plan
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.surfaces.drawing.accents import Accents, accent_lines
from noisewatch.surfaces.drawing.colours import paint
from noisewatch.surfaces.drawing.marks import paint_mark
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.surfaces.reports.verdict.fix_script import (
    NOT_UNDONE,
    REMOVE_ARGUMENTS,
    RESTORES,
    script,
    script_steps,
    undo_steps,
)
from noisewatch.text import one_line, printable


class PlanRenderOptions(Struct, frozen=True):
    """The options of a plan's text, and whether to render the script that undoes the plan."""

    width: int = 100
    in_colour: bool = False
    in_unicode: bool = True
    is_undo: bool = False


def render_plan(plan: Plan, form: str, options: PlanRenderOptions) -> str:
    """Return the plan in the format `form`."""
    match form:
        case "json":
            from noisewatch.surfaces.reports.plan.json import render  # text needs no JSON

            return render(plan)
        case "script":
            return _undo_script(plan) if options.is_undo else _script(plan)
        case "cmdline":  # the output can be added to a boot loader's configuration
            arguments = printable(plan.steps.kernel_arguments)
            return f"{arguments}\n" if arguments else ""
        case "systemd":
            return "\n".join([*_unit(plan), ""])
    parts = (
        _head(plan, options),
        _criteria_lines(plan, options),
        _immediate_steps(plan, options),
        _permanent_steps(plan, options),
    )
    return "\n\n".join("\n".join(lines) for lines in (*parts, _start_section(plan, options))) + "\n"


def plan_remarks(plan: Plan, form: str) -> Iterator[str]:
    """Yield remarks for `--format cmdline`, whose output has no comments: replaced options, and missing steps."""
    if form != "cmdline":
        return
    yield from _replaced_options(plan)
    if plan.no_partition_reason is not None:
        yield one_line(plan.no_partition_reason)
    yield from (f"left out: {option}" for option in _left_out_steps(plan))
    yield from (f"unknown: {one_line(check_reason)}" for check_reason in _unknown_checks(plan))


_GRAVITIES: Mapping[Status, Gravity] = {
    Status.PASS: Gravity.PASSED,
    Status.WARN: Gravity.WARNED,
    Status.FAIL: Gravity.FAILED,
    Status.UNKNOWN: Gravity.OPEN,
    Status.NOT_APPLICABLE: Gravity.LEFT_OUT,
    Status.IGNORED: Gravity.LEFT_OUT,
}
_NARROWEST = 40
_INDENT = "  "
_COLUMN = 11  # columns for the label before each command


def _head(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    given = "" if plan.proposal.is_given else "proposed: "
    cpus: Accents = {cpu_list_argument(plan.proposal.run): "strong", name_cpus(plan.proposal.run): "strong"}
    yield from accent_lines(_wrap(f"{given}{plan.headline}", options.width), cpus, options.in_colour)
    yield from _wrap(f"{_placement(plan)}; {plan.cost}", options.width)
    snapshot = plan.proposal.case.snapshot
    remark = "" if snapshot.is_live else f". {_NOT_HERE}"
    yield from _wrap(f"{describe_platform(snapshot)}{remark}", options.width)


def _criteria_lines(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    yield _heading("WHY THESE CPUS" if not plan.proposal.is_given else "ABOUT THESE CPUS", options)
    widest = max(len(judged_criterion.criterion) for judged_criterion in plan.criteria)
    for judged in plan.criteria:
        indent = " " * (len(_INDENT) + 2 + widest + 2)
        first, *more = _wrap(_answer_text(judged), options.width, indent, indent)
        mark = paint_mark(_GRAVITIES[judged.answer.status], options.in_unicode, options.in_colour)
        yield f"{_INDENT}{mark} {judged.criterion:<{widest}}  {first.strip()}"
        yield from more


def _answer_text(judged: Judged) -> str:
    answer = judged.answer
    if answer.status == Status.UNKNOWN:
        return f"unknown: {answer.reason}"
    return str(answer.reason if answer.status == Status.NOT_APPLICABLE and answer.reason else answer.said)


def _immediate_steps(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    yield _heading("NOW, until the next boot   (--format script; save the --undo script first)", options)
    for step in plan.steps.now:
        yield f"{_INDENT}{step.about}"
        for action in step.fix.actions:
            for line in split_command(action.do, options.width):
                yield f"{_INDENT * 2}{_command(line, options)}"
    if not plan.steps.now:
        yield f"{_INDENT}nothing to do, as far as is known" if plan.steps.unknown else f"{_INDENT}nothing to do"
    if plan.no_partition_reason is not None:
        yield from _wrap(plan.no_partition_reason, options.width, _INDENT)
    for line in _unknown_checks(plan):
        yield from _wrap(f"unknown: {line}", options.width, _INDENT, _INDENT * 2)


def _permanent_steps(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    arguments = plan.steps.kernel_arguments
    yield _heading("FOR GOOD, from the next boot on", options)
    if arguments:
        yield f"{_INDENT}add to the kernel command line and reboot"
        yield f"{_INDENT * 2}{_command(arguments, options)}"
    for step in plan.steps.lasting:
        yield f"{_INDENT}{step.about}"
        yield from (
            f"{_INDENT * 2}{_command(action.do, options)}"
            for action in step.fix.lasting
            if not isinstance(action, BootOptions)
        )
    if not arguments and not plan.steps.lasting:
        yield f"{_INDENT}nothing to do, as far as is known"
    notes = [*_boot_notes(plan), *(f"left out: {omission}" for omission in _left_out_steps(plan))]
    for note in notes:
        yield from _wrap(note, options.width, _INDENT, _INDENT)


def _start_section(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    yield _heading("RUN THE BENCHMARK", options)
    yield from (f"{_INDENT}{line.about:<{_COLUMN}}{_command(line.command, options)}" for line in plan.start_lines)
    for note in plan.notes:
        yield from _wrap(note, options.width, _INDENT, _INDENT)


def _heading(text: str, options: PlanRenderOptions) -> str:
    return paint(text, "title") if options.in_colour else text


def _command(text: str, options: PlanRenderOptions) -> str:
    return paint(printable(text), "command") if options.in_colour else printable(text)


def _wrap(text: str, width: int, first: str = "", further: str = _INDENT) -> list[str]:
    return wrap(printable(text), width, first, further, keep="hyphens", min_width=_NARROWEST)


_NOT_HERE = "Run these on the machine that was read, not here."


def _about(plan: Plan) -> str:
    """Return the machine and the CPUs in one line."""
    return f"{describe_host(plan.proposal.case.snapshot)}; {plan.headline}"


def _placement(plan: Plan) -> str:
    """Return `run on 2-3, leave 10-11 idle`."""
    proposal = plan.proposal
    idle = f", leave {format_cpu_list(proposal.idle)} idle" if proposal.idle else ""
    return f"run on {cpu_list_argument(proposal.run)}{idle}"


def _boot_notes(plan: Plan) -> Iterator[str]:
    """Yield notes on the kernel options."""
    arguments = plan.steps.kernel_arguments
    yield from _replaced_options(plan)
    if "nohz_full=" in arguments:
        yield (
            "nohz_full stops the tick only while a CPU has a single thread to run, and slows that thread's system "
            "calls."
        )
    if "isolcpus=" in arguments and plan.steps.partition is not None:
        yield (
            "Prefer the partition: it needs no reboot, and can be undone. isolcpus is deprecated, but only it keeps "
            "away interrupts that the kernel manages (managed_irq)."
        )


def _replaced_options(plan: Plan) -> Iterator[str]:
    """Yield notes on what to change before the options are added to the command line."""
    halves = frozenset().union(*(core.cpus for core in plan.proposal.cores if not core.has_siblings))
    if plan.steps.kernel_arguments and halves:
        yield f"Cannot tell which CPUs share a core with {name_cpus(halves)}. Add those CPUs to these options."
    if plan.steps.kernel_arguments and plan.proposal.case.snapshot.platform.options is None:
        yield "Cannot tell whether the command line already has any of these options."
    for name, value in plan.given_options.items():
        yield one_line(f"The command line already has {name}={value}: replace it.")


def _left_out_steps(plan: Plan) -> Iterator[str]:
    """Yield the check and the reason for each step that was left out: it is unsupported here, or has no command."""
    for check, reason in plan.steps.left_out.items():
        yield one_line(f"{check}: {reason}")


def _unknown_checks(plan: Plan) -> Iterator[str]:
    """Yield the checks that could not determine whether there is anything to do, with the reasons."""
    for check, reason in plan.steps.unknown.items():
        yield f"{check}: {reason}"


_SCRIPT = "Keeps other work off the CPUs of a benchmark, as `noisewatch tune` does without a script"


def _script(plan: Plan) -> str:
    """Return the script, with comments on permanent settings, unknown checks, and how to start the benchmark."""
    steps = plan.steps
    comments = {
        "Not isolated by this script:": [one_line(plan.no_partition_reason or "")],
        "For good: append this to the kernel command line, and reboot.": [steps.kernel_arguments],
        "Notes on these options:": list(_boot_notes(plan)) if steps.kernel_arguments else [],
        "To make the other changes permanent:": [f"{step.check.id}: {step.fix.persist}" for step in steps.lasting],
        "Left out:": list(_left_out_steps(plan)),
        "Unknown, and so left out:": list(_unknown_checks(plan)),
        "To run the benchmark:": [f"{line.about}: {line.command}" for line in plan.start_lines],
    }
    commands = script_steps((f"{step.check.id}: {step.about}", step.fix.now) for step in steps.now)
    return script(_SCRIPT, _about(plan), commands, comments)


def _undo_script(plan: Plan) -> str:
    """Return the script that restores the values that were read, in reverse order."""
    undone = [(step.check, step.fix.undo) for step in reversed(plan.steps.now)]
    files = [(step.check, step.fix.undo_files) for step in plan.steps.lasting if step.fix.undo_files]
    comments = {
        REMOVE_ARGUMENTS: [plan.steps.kernel_arguments],
        NOT_UNDONE: [check.id for check, command in undone if command is None],
    }
    return script(RESTORES.format("plan"), _about(plan), undo_steps(undone, files), comments)


_NAME = "benchmark.service"
_REST = "This unit does not move interrupts or the kernel's own work; noisewatch plan --format script does."


def _unit(plan: Plan) -> Iterator[str]:
    """Yield the lines of a systemd service that isolates the CPUs when it starts and releases them when it stops.

    The service's cgroup is directly below the root, where an isolated partition needs no other partition; the partition
    disappears with the cgroup. The kernel accepts `isolated` even for a partition that it then reports as invalid, so
    the unit reads the file back before the benchmark starts. The benchmark's command is a placeholder.
    https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html
    """
    proposal = plan.proposal
    yield f"# /etc/systemd/system/{_NAME} (noisewatch {__version__})"
    yield f"# {one_line(_about(plan))}: {_placement(plan)}"
    yield f"# {_REST}"
    yield from ["[Unit]", f"Description=Benchmark on {name_cpus(proposal.run)}", "", "[Service]"]
    yield from ["Type=oneshot", f"CPUAffinity={cpu_list_argument(proposal.run)}"]
    if plan.membind:
        yield from ["NUMAPolicy=bind", f"NUMAMask={plan.membind}"]
    partition = plan.steps.partition
    if partition is not None:
        file = f"{partition.folder.rpartition('/')[0]}/{_NAME}/cpuset.cpus.partition"
        yield "# An isolated partition with all CPUs of the cores: no other process can use them while the unit runs."
        yield from ["Slice=-.slice", f"AllowedCPUs={cpu_list_argument(proposal.reserved)}"]
        read_back = f"grep -qx isolated {file} || {{ cat {file} >&2; exit 1; }}"
        yield f"ExecStartPre=+/bin/sh -c 'echo isolated >{file}; {read_back}'"
    elif plan.partition is not None:
        yield f"# The CPUs are in the partition {printable(plan.partition)}, where no unit can run. Undo it first."
    if plan.no_partition_reason is not None:
        yield f"# {one_line(plan.no_partition_reason)}"
        yield "# This unit runs on these CPUs, but keeps nothing else off them."
    yield from ["# Put your benchmark's command here, with its absolute path.", "ExecStart=/bin/true"]
