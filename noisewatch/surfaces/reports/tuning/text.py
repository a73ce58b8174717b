"""The reports of `tune`, `tune --status` and `restore` as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import name_cpus, parse_cpu_list
from noisewatch.judgement.finding_words import full_statement
from noisewatch.judgement.fixes.shell import glob_of, products_of_paths
from noisewatch.judgement.noise.tuning_effect import Worth
from noisewatch.kernel.system.tuning import (
    Change,
    EventChange,
    FileChange,
    GroupChange,
    PropertyChange,
    ThreadChange,
    UnitChange,
    writable_value,
)
from noisewatch.operations.tuning.plan import PlannedChange, TuningPlan
from noisewatch.operations.tuning.states import requested_state
from noisewatch.operations.tuning.tune import AFTER_LOSS, Restoring, TuningStatus
from noisewatch.operations.tuning.tuner import Changed, Outcome
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.accents import accent_lines
from noisewatch.surfaces.drawing.text_row import Style
from noisewatch.text import printable
from noisewatch.units import describe_count, describe_minute

_NO_CHANGE = "There is nothing to tune: no check asks for a change that tune makes.\n"
_GUESS = (
    "No journal contains the earlier values, so these defaults are a guess: distributions, drivers and administrators\n"
    "may have set other values. Services, threads and partitions are not included. A reboot undoes all changes of tune."
)
NOT_TUNED = "not tuned: no change made by noisewatch tune is in effect\n"


_CHECK = regex(r"(?m)^[a-z0-9]+(?:-[a-z0-9]+)+(?=: )")
_NEW_VALUE = regex(r"(?m)-> .+$")
_COMMAND = regex(r"(?:sudo )?noisewatch (?:restore|tune|explain)(?: --[a-z-]+| ID)*")
_STYLE_BY_WORTH: Mapping[Worth, Style] = {
    Worth.BETTER: "calm",
    Worth.WORSE: "grave",
    Worth.BOTH: "notable",
    Worth.NOT_SHOWN: "faint",
}


def in_colours(text: str) -> str:
    """Return a report of tune or restore with a terminal's colours: checks, new values, failures, commands to copy."""
    accents: dict[str, Style] = dict.fromkeys(_CHECK.findall(text), "strong")
    accents |= dict.fromkeys(_NEW_VALUE.findall(text), "strong")
    accents |= dict.fromkeys((outcome for outcome in Outcome if outcome.is_failure), "grave")
    accents |= {"not restored": "grave", "not measured": "notable"}
    accents |= {str(worth): style for worth, style in _STYLE_BY_WORTH.items()}
    accents |= dict.fromkeys(_COMMAND.findall(text), "command")
    return "\n".join(accent_lines(text.split("\n"), accents, in_colour=True))


def text_of_plan(plan: TuningPlan) -> str:
    """Return the changes of each finding, then the findings that the user has to fix."""
    lines = [] if plan.has_changes else [_NO_CHANGE.rstrip()]
    for step in plan.steps:
        lines.append(f"{step.finding.check.id}: {full_statement(step.finding.answer)}")
        lines += _planned_lines(step.changes)
    if plan.requested:
        lines += ["requested by --set:", *_planned_lines(plan.requested)]
    tuned = plan.verdict.case.snapshot.settings.tuned
    if tuned is not None and tuned.sessions:
        is_brief = any(session.is_until_exit for session in tuned.sessions)
        lines.append(f"already {tuned.summary}{' (some until another command ends)' if is_brief else ''}")
    if plan.left:
        names = ", ".join(finding.check.id for finding in plan.left)
        lines += ["", f"Left to you, in whole or in part: {names}", "(noisewatch explain ID shows what to do)"]
    return "\n".join([*lines, ""])


def _planned_lines(changes: Iterable[PlannedChange]) -> list[str]:
    grouped: dict[tuple[str | None, str], list[Change]] = defaultdict(list)
    for planned in changes:
        before = None if planned.before is None else _short(planned.before)
        grouped[before, _short(requested_state(planned.change))].append(planned.change)
    return _lines_by_states(grouped)


def text_of_tuning(outcomes: Sequence[Changed], until: str = "`noisewatch restore` or the next boot") -> str:
    """Return how many settings were changed, and each change that was refused, with the kernel's reason."""
    done = sum(changed.outcome == Outcome.DONE for changed in outcomes)
    lines = _failure_lines(outcomes)
    lines.append(f"{describe_count(done, 'setting')} changed until {until}")
    return "\n".join([*lines, ""])


def text_of_restoring(restoring: Restoring, is_preview: bool = False) -> str:
    """Return how many settings were, or would be, restored, and each setting that was not, with the reason."""
    outcomes = restoring.outcomes
    if not outcomes and restoring.loss is None:
        return NOT_TUNED
    done = sum(changed.outcome == Outcome.DONE for changed in outcomes)
    lines = _state_lines(outcomes, is_back=True) if is_preview else []
    lines += _failure_lines(outcomes)
    lines.append(f"{describe_count(done, 'setting')} {'would be restored' if is_preview else 'restored'}")
    unchanged = sum(changed.outcome in (Outcome.UNCHANGED, Outcome.MISSING) for changed in outcomes)
    if unchanged:
        lines[-1] += f"; {unchanged} needed no restoring"
    if any(changed.outcome == Outcome.FOREIGN for changed in outcomes):
        lines.append("noisewatch restore --force also restores settings that another program has changed")
    if any(changed.outcome == Outcome.OFFLINE for changed in outcomes):
        lines.append("to restore the settings of offline CPUs, run noisewatch restore again when they are online")
    lines += loss_lines(restoring.loss)
    return "\n".join([*lines, ""])


def text_of_defaults(outcomes: Sequence[Changed], is_preview: bool) -> str:
    """Return the settings that differ (or differed) from the kernel's defaults; a preview calls these a guess."""
    if not outcomes:
        return "All settings that tune changes have the kernel's defaults, or their defaults are unknown.\n"
    done = sum(changed.outcome == Outcome.DONE for changed in outcomes)
    lines = [*_state_lines(outcomes), *_failure_lines(outcomes)]
    if not is_preview:
        count = f"{describe_count(done, 'setting')} set to the kernel's defaults"
        return "\n".join([*lines, f"{count}; services, threads and partitions are left as they are", ""])
    lines.append(f"{describe_count(done, 'setting')} would be set to the kernel's defaults (--yes sets them)")
    return "\n".join([*lines, _GUESS, ""])


def text_of_status(status: TuningStatus) -> str:
    """Return since when this host is tuned and for which CPUs, and the changes in effect."""
    if not status.changes:
        return NOT_TUNED if status.loss is None else "\n".join([*loss_lines(status.loss), ""])
    first = status.sessions[0]
    cpus = name_cpus({cpu for session in status.sessions for cpu in parse_cpu_list(session.cpus)})
    in_effect = sum(changed.outcome == Outcome.DONE for changed in status.changes)
    head = f"tuned since {describe_minute(first.began_s)} for {cpus}: {describe_count(in_effect, 'setting')}"
    lines = [head, *_state_lines(status.changes), *_failure_lines(status.changes), *loss_lines(status.loss)]
    return "\n".join([*lines, "restore: sudo noisewatch restore", ""])


def loss_lines(loss: str | None) -> list[str]:
    """Return a line on the changes that the journal has lost, and on what helps; no line if nothing is lost."""
    return [] if loss is None else [f"{loss}: {AFTER_LOSS}"]


def _state_lines(outcomes: Iterable[Changed], is_back: bool = False) -> list[str]:
    grouped: dict[tuple[str | None, str], list[Change]] = defaultdict(list)
    for changed in outcomes:
        if changed.outcome == Outcome.DONE:
            before, now = _short(changed.before or ""), _short(changed.now or "")
            grouped[(now, before) if is_back else (before, now)].append(changed.change)
    return _lines_by_states(grouped)


def _lines_by_states(grouped: Mapping[tuple[str | None, str], Sequence[Change]]) -> list[str]:
    """Return lines such as `  PATH: 1 -> 0`, grouped by old state (left out if unknown) and new state."""
    return [
        f"  {name}: {'' if old is None else f'{old} -> '}{new}"
        for (old, new), of_states in grouped.items()
        for name in _names(of_states)
    ]


def text_of_failures(outcomes: Iterable[Changed]) -> str:
    """Return the changes that were refused or left, with the reason; an empty text if there are none."""
    return "".join(f"{line}\n" for line in _failure_lines(outcomes))


def _failure_lines(outcomes: Iterable[Changed]) -> list[str]:
    grouped: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for changed in outcomes:
        if changed.outcome.is_failure or (changed.outcome == Outcome.MISSING and changed.before is None):
            now = "" if changed.outcome != Outcome.FOREIGN else f" to {_short(changed.now or '')}"
            grouped[f"{changed.outcome}{now}", changed.reason].append(changed.change)
    return [
        f"  {name}: {outcome}{f' ({printable(reason)})' if reason else ''}"
        for (outcome, reason), of_states in grouped.items()
        for name in _names(of_states)
    ]


def _names(changes: Sequence[Change]) -> list[str]:
    """Return the names of the settings; files whose paths differ in a number or a name share one name."""
    paths = [change.path for change in changes if isinstance(change, FileChange)]
    others = [_name(change) for change in changes if not isinstance(change, FileChange)]
    files = [printable(glob_of(product)) for product in products_of_paths(paths)] if paths else []
    return [*files, *others]


def _name(change: Change) -> str:
    match change:
        case FileChange(path=path):
            name = path
        case ThreadChange(tid=tid, name=thread, value=value):
            kind = "kernel thread" if value else "thread"
            name = f"CPUs of {kind} {tid}{f' ({thread})' if thread else ''}"
        case GroupChange(path=path):
            name = f"control group {path}"
        case EventChange(path=path, event=event):
            name = f"event {event} in {path}"
        case UnitChange(unit=unit):
            name = f"unit {unit}"
        case PropertyChange(unit=unit, name=key):
            name = f"{key} of unit {unit}"
    return printable(name)


def _short(state: str) -> str:
    return printable(" ".join(writable_value(state).split())) or "(empty)"
