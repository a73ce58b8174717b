"""Text on a cause that all reports and screens share: what is wrong, what to do, and which findings that settles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from noisewatch.cpus import CpuSet, cpu_list_argument
from noisewatch.errors import NO_SUCH_FILE
from noisewatch.judgement.case import Case
from noisewatch.judgement.causes import Cause, Way
from noisewatch.judgement.finding_words import culprit_line, sentence, unnamed_culprits
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.terms import FIXES, FOR_GOOD, HELPS, NOW, OPEN, SEE, STEP, TRY, UNDO
from noisewatch.judgement.verdict import Finding
from noisewatch.program import as_root
from noisewatch.text import printable

_LONGEST_LINE = 200  # columns of commands on one line
_LONGEST_TITLE = 150
_LONG_LIST = 40
_MOST_CULPRITS = 6
_ABSENT = f": {NO_SUCH_FILE}"


def title_of(cause: Cause, case: Case) -> str:
    """Return what is wrong, with figures, limits and names: the gravest finding, then others as far as they fit."""
    if cause.way is not None and cause.way != Way.NONE:
        return _ABOUT_OPEN[cause.way](len(cause.findings), case)
    title = sentence(cause.findings[0])
    for finding in cause.findings[1:]:
        more = sentence(finding)
        if len(title) + len(more) <= _LONGEST_TITLE:
            title += f"; {more}"
    return title


def _questions(number: int) -> str:
    return f"{number} blocking question{'s' if number > 1 else ''}"


def _origin(case: Case) -> str:
    return "a copied tree" if case.interval is None else "a recording"


_ABOUT_OPEN: Mapping[Way, Callable[[int, Case], str]] = {
    Way.SAMPLE: lambda count, _: f"take a sample (--sample 3): {_questions(count)} open without one",
    Way.CALIBRATION: lambda count, _: f"calibrate (--calibration 3): {_questions(count)} open without it",
    Way.LIVE: lambda count, case: (
        f"run noisewatch on the machine itself: {_origin(case)} cannot answer {_questions(count)}"
    ),
    Way.ROOT: lambda count, case: (
        f"ask again as root ({as_root('preflight', case.snapshot.is_live)}): {_questions(count)} need it"
    ),
}


def culprits_of(cause: Cause, title: str) -> str | None:
    """Return the culprits, the costliest first, or None if the title names all of them."""
    culprits = unnamed_culprits(cause.findings[0], title)
    named = [culprit_line(each) for each in culprits[:_MOST_CULPRITS]]
    named += [f"{len(culprits) - _MOST_CULPRITS} more"] if len(culprits) > _MOST_CULPRITS else []
    return "; ".join(named) or None


def steps_against(cause: Cause) -> list[tuple[str, str]]:
    """Return lines of what to do: commands for `now`, to `undo` them, and `for good`; CPUs or advice to `try`."""
    lines: list[tuple[str, str]] = []
    if cause.is_about_target:
        lines.append((TRY, "other target CPUs (--cpus)" if cause.target is None else _proposal(cause.target)))
    if cause.fix is not None:
        lines += commands_against(cause.fix)
    if cause.advice is not None:
        lines.append((TRY, printable(cause.advice)))
    return lines


def _proposal(cpus: CpuSet) -> str:
    listed = cpu_list_argument(cpus)
    words = f"   a thread of each of {len(cpus)} cores below one last-level cache" if len(cpus) > 1 else ""
    return f"--cpus {listed}{words if len(listed) < _LONG_LIST else ''}"


@lru_cache(maxsize=64)  # a monitor asks for the same ones every second
def commands_against(fix: Fix) -> tuple[tuple[str, str], ...]:
    """Return the fix's commands as (name, line) pairs: now, undo, for good.

    The commands of one name share a line if they fit; otherwise each action has its own lines, and the first has the
    name.
    """
    parts: tuple[tuple[str, list[str | None], str], ...] = (
        (NOW, [each.do for each in fix.actions], " && "),
        (UNDO, [each.undo for each in reversed(fix.actions)], "; "),
        (FOR_GOOD, [each.do for each in fix.lasting], " && " if fix.persist_is_command else "; "),
    )
    lines: list[tuple[str, str]] = []
    for name, commands, separator in parts:
        single = [each for each in commands if each is not None]
        if single and len(single) == len(commands):
            whole = separator.join(single)
            shown = [whole] if len(whole) <= _LONGEST_LINE else [part for each in single for part in parted(each)]
            lines += [(name if not at else "", printable(line)) for at, line in enumerate(shown)]
    return tuple(lines)


def parted(command: str, longest: int = _LONGEST_LINE) -> list[str]:
    """Split a long command after each `&&`, where a shell waits for the next line. Quoted commands are not split."""
    if len(command) <= longest or "'" in command or "{" in command:
        return [command]
    *first, last = command.split(" && ")
    return [*(f"{part} &&" for part in first), last]


def checks_of(cause: Cause) -> str:
    """Return `fixes turbo-enabled; helps clock-capped`, or `see noisewatch explain swapping` if no remedy is known.

    Open questions: `open swapping (/proc/meminfo: no such file)`, with the reason unless the title has it.
    """
    if cause.way is not None:
        return f"{OPEN:<{STEP - 1}} {'; '.join(_with_reasons(cause))}"
    if not cause.settles and not cause.helps:
        return f"{SEE:<{STEP - 1}} {', '.join(f'noisewatch explain {each.check.id}' for each in cause.findings)}"
    named = ((FIXES, cause.settles), (HELPS, cause.helps))
    first, *more = (f"{name:<{STEP - 1}} {_ids(findings)}" for name, findings in named if findings)
    return "; ".join([first, *(" ".join(each.split()) for each in more)])


def _with_reasons(cause: Cause) -> Iterator[str]:
    findings_by_reason: dict[str, list[Finding]] = {}
    for finding in cause.findings:
        findings_by_reason.setdefault(sentence(finding), []).append(finding)
    if cause.way == Way.NONE:
        yield from map(_ids, findings_by_reason.values())
        return
    absent = {reason: found for reason, found in findings_by_reason.items() if reason.endswith(_ABSENT)}
    absent = absent if len(absent) > 1 else {}  # one text for all of them
    for reason, findings in findings_by_reason.items():
        if reason not in absent:
            yield f"{_ids(findings)} ({reason})"
    if absent:
        named = (f"{_ids(findings)} ({reason.removesuffix(_ABSENT)})" for reason, findings in absent.items())
        yield f"missing files: {', '.join(named)}"


def _ids(findings: Iterable[Finding]) -> str:
    return ", ".join(each.check.id for each in findings)


def is_one_line(cause: Cause) -> bool:
    """Return whether the title says all of the cause: no fix, no advice, no other findings, no culprits."""
    return (
        cause.way in (None, Way.NONE)
        and cause.fix is None
        and cause.advice is None
        and not cause.is_about_target
        and len(cause.findings) == 1
        and not cause.findings[0].answer.culprits
    )
