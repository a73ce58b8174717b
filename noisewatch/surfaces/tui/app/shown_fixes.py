"""What the screen says to do, as a shell script, and the script that undoes it: exactly the causes that it shows."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.cpus import name_cpus
from noisewatch.judgement.terms import FOR_GOOD
from noisewatch.operations.frame.causes import CauseLine
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.reports.verdict.fix_script import script, script_comments, script_head, script_steps


def shown_scripts(frame: Frame) -> dict[str, str]:
    """The fix script and its undo, by the suffix of their files; none where the frame shows no cause."""
    if not frame.causes:
        return {}
    headings = [_heading(frame, number) for number in range(1, len(frame.causes) + 1)]
    told = list(zip(headings, frame.causes, strict=True))
    names = {pid: name for cause in frame.causes for pid, name in cause.names}
    about = f"{frame.machine}; {name_cpus(frame.target)}; {len(told)} causes, as the monitor showed them"
    fixable = [(heading, cause) for heading, cause in told if cause.command is not None]
    by_hand = [(heading, cause) for heading, cause in told if cause.command is None]
    undone = [(heading, cause.undo) for heading, cause in reversed(fixable)]
    fix = script(
        script_head("Fixes for what noisewatch shows", about),
        script_steps((heading, cause.command) for heading, cause in fixable),
        [
            *script_comments("To make the commands above permanent:", _to_keep(fixable)),
            *script_comments(
                "To do by hand:", [f"{heading}: {what}" for heading, cause in by_hand for what in _rest(cause)]
            ),
            *script_comments("No command is known for:", [heading for heading, cause in by_hand if not _rest(cause)]),
        ],
        names,
    )
    undo = script(
        script_head("Restores what noisewatch read before the fixes", about),
        script_steps(undone),
        script_comments("Not undone by this script:", [heading for heading, command in undone if command is None]),
        names,
    )
    return {"fix.sh": fix, "undo.sh": undo}


def _heading(frame: Frame, number: int) -> str:
    """The checks of the cause, and what the screen says of it."""
    found = [each for each in frame.findings if each.cause == number]
    said = frame.causes[number - 1].said or "; ".join(each.said for each in found)
    return f"{', '.join(each.id for each in found)}: {said}"


def _to_keep(fixable: Iterable[tuple[str, CauseLine]]) -> list[str]:
    kept = ((heading.partition(":")[0], cause.lines_of(FOR_GOOD) or "") for heading, cause in fixable)
    return [f"{ids}: {line}" for ids, lines in kept for line in lines.splitlines()]


def _rest(cause: CauseLine) -> list[str]:
    return [line for _, line in cause.steps]
