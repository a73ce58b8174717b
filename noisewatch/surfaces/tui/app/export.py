"""Exports of the monitor: its screen and fix scripts as files, and a command for the clipboard."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count

from noisewatch.cpus import format_cpu_list, name_cpus
from noisewatch.errors import UsageError, system_reason
from noisewatch.judgement.terms import FOR_GOOD, label_of, tally
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CauseLine, CpuLine, CulpritLine, Frame, frame_fields
from noisewatch.surfaces.drawing.tables import cell, code, prose, table
from noisewatch.surfaces.reports.verdict.fix_script import FIXES, NOT_UNDONE, RESTORES, script, script_steps
from noisewatch.surfaces.tui.draw.clock_facts import helpful_findings
from noisewatch.surfaces.tui.draw.headline import qualifications_of, verdict_of
from noisewatch.surfaces.tui.events.kinds import Event
from noisewatch.surfaces.tui.screens.event_list import fix_of, frame_of
from noisewatch.surfaces.tui.screens.preflight import NOT_NOW
from noisewatch.surfaces.tui.state.filters import noise_or_grave
from noisewatch.surfaces.tui.state.irq_table import disturbs_target
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, worst_of
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import is_same
from noisewatch.units import describe_count, short_duration, short_rate, short_seconds, short_share


def pictures_of(svg: str) -> dict[str, str | bytes]:
    """Return the pictures by suffix: SVG, and PNG if its library and font are installed."""
    from noisewatch.surfaces.raster import png_of  # imported late, so that the monitor starts sooner

    pictures: dict[str, str | bytes] = {"svg": svg}
    with suppress(UsageError):
        pictures["png"] = png_of(svg)
    return pictures


def export(text_by_suffix: Mapping[str, str | bytes], now: time.struct_time) -> str:
    """Write new files into the working directory; return a message with their names, or with the error."""
    name, reason = export_files(text_by_suffix, now)
    return reason or f"written: ./{name} {' '.join(f'.{suffix}' for suffix in text_by_suffix)}"


def export_files(text_by_suffix: Mapping[str, str | bytes], now: time.struct_time) -> tuple[str, str | None]:
    """Write new files with a common stem; return the stem, and the error or None. Scripts are executable."""
    stem = time.strftime("noisewatch-%Y%m%d-%H%M%S", now)
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    name = next(free for free in names if not any(os.path.lexists(f"{free}.{suffix}") for suffix in text_by_suffix))
    for index, (suffix, text) in enumerate(text_by_suffix.items()):
        path = f"{name}.{suffix}"
        try:
            with open(path, "xb") as file:
                file.write(text.encode() if isinstance(text, str) else text)
                if suffix.endswith(".sh"):
                    os.fchmod(file.fileno(), _RUNNABLE)
        except OSError as error:
            reason = system_reason(error)
            return name, f"{'written in part' if index else 'nothing was written'}: {path}: {reason}"
    return name, None


def export_scripts(scripts: Mapping[str, str]) -> str:
    """Write the scripts; return a message with their names (at most 80 columns), or the error."""
    name, reason = export_files(scripts, time.localtime())
    if reason is not None:
        return reason
    fix, *others = scripts
    return f"written: ./{name}.{fix} {' '.join(f'.{suffix}' for suffix in others)}: read, then run as root"


_RUNNABLE = 0o755
_MOST_CPUS, _MOST_CULPRITS, _MOST_EVENTS = 32, 20, 20
_EXPORTED_NAMES = {"origin": "source"}  # the exported name of a field of a frame
_FIELDS_SENT_ON_CHANGE = ("places", "irq_settings")  # sent only if they changed, so most frames lack them


def window_reports(model: ScreenModel, intervals: int) -> dict[str, str]:
    """Return reports of the last `intervals` intervals up to the shown one, by suffix; empty before the first frame."""
    frame = model.frame
    if frame is None:
        return {}
    numbers = range(max(model.number + 1 - intervals, model.history.first), model.number + 1)
    return {"json": _json(model, frame, numbers), "md": "\n".join(_sections(model, frame, numbers))}


def _json(model: ScreenModel, frame: Frame, numbers: range) -> str:
    """Return JSON with the shown interval, and each CPU's noise by interval, the oldest first; null means unknown.

    Processes are described without their arguments, because the file may be published.
    """
    lost = {str(line.cpu): model.history.noise(line.cpu, numbers) for line in frame.cpus}
    window = {"intervals": len(numbers), "lost_ns_per_s_by_cpu": lost}
    described = {
        _EXPORTED_NAMES.get(name, name): value
        for name, value in frame_fields(frame).items()
        if name not in _FIELDS_SENT_ON_CHANGE
    }
    described["processes"] = [{"pid": process.pid, "surroundings": process.surroundings} for process in frame.processes]
    return json.dumps({"schema": 1, **described, "window": window}, indent=1) + "\n"


def _sections(model: ScreenModel, frame: Frame, numbers: range) -> Iterator[str]:
    target = f"target {format_cpu_list(frame.target) or 'none'} ({frame.target_chosen_by})"
    is_now = model.cursor is None
    doubt = (model.trouble or model.silence) if is_now else None
    yield f"## noisewatch: {verdict_of(model)[0].strip()}\n"
    yield from (f"{prose(remark)}\n" for remark in (doubt, *qualifications_of(model), frame.remark) if remark)
    yield f"{prose(frame.machine)}, {frame.online_count} CPUs, {prose(target)}"
    moment = "" if is_now else f", {model.behind_s():.0f} s before the newest"
    which = "one interval" if len(numbers) == 1 else f"the last of {len(numbers)} intervals"
    yield f"{prose(frame.origin or 'live')}, {which} of {frame.seconds:.1f} s{moment}\n"
    yield _cpu_table(model, frame, numbers)
    if frame.culprits:
        header = ["CPU", "kind", "who", "/s", "noise/s", "share"]
        yield table(header, [_culprit_cells(line) for line in frame.culprits[:_MOST_CULPRITS]])
        if len(frame.culprits) > _MOST_CULPRITS or frame.is_cut:
            yield f"These are the {min(len(frame.culprits), _MOST_CULPRITS)} costliest; there are more.\n"
        yield "`~` marks an estimate: a typical cost, or noise that may have moved between CPUs.\n"
    yield from _checks(frame)
    events = [event for event in model.log.events if _is_in(model, event.at_ns, numbers)][-_MOST_EVENTS:]
    if events:
        yield "### What changed\n"
        yield from (f"- {_when(model, frame, event)}: {event.kind}: {prose(event.text)}" for event in events)
        yield ""


def _when(model: ScreenModel, frame: Frame, event: Event) -> str:
    """Return the event's time in the recording; on a live machine, how long before the shown interval it was."""
    if model.is_recorded:
        return f"at {(event.at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    return f"{(frame.taken_at_ns - event.at_ns) / 1e9:.0f} s earlier"


def _cpu_table(model: ScreenModel, frame: Frame, numbers: range) -> str:
    """Return the table of CPUs: target CPUs first, then the others, the noisiest first in each group."""
    listed = [line for line in frame.cpus if line.role != Role.OFFLINE or line.cpu in frame.target]
    ordered = sorted(
        listed, key=lambda line: (line.cpu not in frame.target, -noise_or_grave(line.stolen_ns_per_s), line.cpu)
    )
    header = ["CPU", "role", "noise/s", "worst", "intervals over 0.5%", "irq/s", "softirq/s", "load"]
    rows = [_cpu_cells(line, model.history.noise(line.cpu, numbers)) for line in ordered[:_MOST_CPUS]]
    more = f"\nand {len(ordered) - _MOST_CPUS} more CPUs\n" if len(ordered) > _MOST_CPUS else ""
    return table(header, rows) + more


def _cpu_cells(line: CpuLine, lost: Sequence[float | None]) -> list[str]:
    mark = "~" if line.is_estimate and line.stolen_ns_per_s else ""
    figures = [short_rate(line.interrupts_per_s), short_rate(line.softirqs_per_s), short_share(line.busy_share)]
    over = str(sum((noise_ns or 0) >= GRAVE_NS for noise_ns in lost))
    unknown_count = lost.count(None)
    over += f" ({unknown_count} unknown)" if unknown_count else ""
    return [
        str(line.cpu),
        line.role,
        mark + short_duration(line.stolen_ns_per_s),
        short_duration(worst_of(lost)),
        over,
        *figures,
    ]


def _culprit_cells(line: CulpritLine) -> list[str]:
    lost = ("~" if line.is_estimate else "") + short_duration(line.stolen_ns_per_s)
    often = "" if line.rate_per_s is None else short_rate(line.rate_per_s)
    return [
        str(line.cpu),
        line.kind,
        cell(line.label),
        often,
        lost,
        short_share(line.stolen_ns_per_s / 1e9),
    ]


def _checks(frame: Frame) -> Iterator[str]:
    if not frame.findings:
        return
    sample = f"{short_seconds(frame.judged_s)} sample" if frame.judged_s is not None else "no sample"
    yield f"### Checks that did not pass ({sample}, no calibration)\n"
    yield f"{tally(frame.number_of)}\n"
    for finding in frame.findings:
        fix = f" Fix: {code(finding.fix) if finding.is_command else prose(finding.fix)}" if finding.fix else ""
        label = label_of(finding.status, finding.gravity)
        yield f"- {label} {code(finding.id)} ({finding.weight}): {prose(finding.said)}{fix}"
    yield ""


def _is_in(model: ScreenModel, at_ns: int, numbers: range) -> bool:
    if not numbers:
        return False
    first, last = model.history.frame(numbers[0]), model.history.frame(numbers[-1])
    return first.taken_at_ns <= at_ns <= last.taken_at_ns


def command_to_copy(model: ScreenModel) -> tuple[str | None, str]:
    """Return a shell command and a notice; if there is no command, None and the reason."""
    if model.screen == Screen.PREFLIGHT:
        return _command_of_check(model)
    if model.screen == Screen.CLOCK:
        return _command_of_clock(model)
    if model.screen == Screen.EVENTS:
        return _command_of_event(model)
    advice = model.advice
    if model.awaits_fix:
        return None, "nothing to copy yet: the fix is being looked up"
    if advice is None:
        row = model.irq_listing().selected if model.screen == Screen.IRQS else None
        is_harmless = row is not None and not disturbs_target(model, row)
        return _nothing_to_copy("the IRQ disturbs no target CPU" if is_harmless else "press f for a fix")
    if not advice.commands:
        return _by_hand_notice(advice.by_hand)
    (purpose, command), *others = advice.commands
    return _command_with_notice(command, purpose, [other for other, _ in others])


def _command_of_check(model: ScreenModel) -> tuple[str | None, str]:
    finding = model.selected_finding()
    findings = model.frame.findings if model.frame is not None else ()
    if finding is None:
        return _nothing_to_copy("no check is selected")
    if not any(is_same(finding, other) for other in findings):
        return _nothing_to_copy(NOT_NOW)
    cause = model.frame.cause_of(finding) if model.frame is not None else None
    if cause is not None:
        return (
            _command_with_notice(cause.command, "now") if cause.command is not None else _by_hand_notice(cause.by_hand)
        )
    return _command_with_notice(finding.command, "now") if finding.command is not None else _by_hand_notice(finding.fix)


def _command_of_clock(model: ScreenModel) -> tuple[str | None, str]:
    """Return the first command that fixes a check on the clock, and a notice; without one, None and the reason."""
    if model.frame is None or model.frame.verdict is None:
        return _nothing_to_copy("not judged yet")
    findings = helpful_findings(model.frame.findings)
    commands = [(finding.id, finding.command) for finding in findings if finding.command is not None]
    if commands:
        (purpose, command), *others = commands
        return _command_with_notice(command, purpose, [other for other, _ in others])
    return (
        _by_hand_notice(next((finding.fix for finding in findings if finding.fix), None))
        if findings
        else _nothing_to_copy("no check on this screen fails or warns")
    )


def _command_of_event(model: ScreenModel) -> tuple[str | None, str]:
    """Return the event's fix if the newest frame still proposes it, and a notice; otherwise None and the reason."""
    event = model.log.selected()
    frame = frame_of(model, event) if event is not None else None
    if event is None or frame is None:
        return _nothing_to_copy("no event is selected")
    cause = fix_of(frame, event)
    if cause is None or cause.command is None:
        return _nothing_to_copy("no fix is known for this event")
    advised = [newest_cause.command for newest_cause in model.newest.causes] if model.newest is not None else []
    return (
        _command_with_notice(cause.command, "now")
        if cause.command in advised
        else _nothing_to_copy("the event's fix is no longer needed")
    )


def _by_hand_notice(what: str | None) -> tuple[None, str]:
    return _nothing_to_copy("no fix is known") if what is None else (None, f"to be done by hand: {what}")


def _nothing_to_copy(reason: str) -> tuple[None, str]:
    return None, f"no command to copy: {reason}"


def _command_with_notice(command: str, purpose: str, others: Sequence[str] = ()) -> tuple[str, str]:
    """Return the command, and a notice that contains it and the purposes of the other shown commands."""
    also = f"; also shown: {', '.join(others)}" if others else ""
    which = f" ({purpose}{also})" if others or purpose != "now" else ""
    return command, f"copied{which}, not run: {command}"


def export_fixes(frame: Frame) -> str:
    """Write scripts that fix the frame's causes and undo the fixes; return a message with their names, or the error."""
    return export_scripts(_scripts(frame)) if frame.causes else "no fix script: no check fails or warns"


def _scripts(frame: Frame) -> dict[str, str]:
    """Return the fix script and its undo script, by suffix."""
    headings = [_heading(frame, number) for number in range(1, len(frame.causes) + 1)]
    headed_causes = list(zip(headings, frame.causes, strict=True))
    names = {pid: name for cause in frame.causes for pid, name in cause.names}
    causes = describe_count(len(headed_causes), "cause")
    about = f"{frame.machine}; {name_cpus(frame.target)}; {causes}, as shown by the monitor"
    fixable = [(heading, cause) for heading, cause in headed_causes if cause.command is not None]
    by_hand = [(heading, cause) for heading, cause in headed_causes if cause.command is None]
    undo_commands = [(heading, cause.undo) for heading, cause in reversed(fixable)]
    fix = script(
        FIXES.format("shows"),
        about,
        script_steps((heading, cause.command) for heading, cause in fixable),
        {
            "To make the commands above permanent:": [
                f"{heading.partition(':')[0]}: {line}"
                for heading, cause in fixable
                for line in (cause.lines_of(FOR_GOOD) or "").splitlines()
            ],
            "To do by hand:": [f"{heading}: {what}" for heading, cause in by_hand for what in _step_lines(cause)],
            "No command is known for:": [heading for heading, cause in by_hand if not _step_lines(cause)],
        },
        names,
    )
    undo = script(
        RESTORES.format("fixes"),
        about,
        script_steps(undo_commands),
        {NOT_UNDONE: [heading for heading, command in undo_commands if command is None]},
        names,
    )
    return {"fix.sh": fix, "undo.sh": undo}


def _heading(frame: Frame, number: int) -> str:
    """Return the ids of the cause's checks, and the cause's text on the screen."""
    findings = [finding for finding in frame.findings if finding.cause == number]
    text = frame.causes[number - 1].said or "; ".join(finding.said for finding in findings)
    return f"{', '.join(finding.id for finding in findings)}: {text}"


def _step_lines(cause: CauseLine) -> list[str]:
    return [line for _, line in cause.steps]
