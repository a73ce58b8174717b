"""The fixes of a verdict as a shell script, and the script that restores the values that were read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from noisewatch import __version__
from noisewatch.cpus import name_cpus
from noisewatch.judgement.check import Check
from noisewatch.judgement.finding_words import full_statement
from noisewatch.judgement.fixes.fix import Fix, merge_arguments
from noisewatch.judgement.programs import names_in_fix
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.patterns import regex
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.text import one_line

_PROLOGUE = """\
set -u
failures=$(mktemp) || exit 1
trap 'rm -f "$failures"' EXIT
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    echo "$0: this needs root, or sudo" >&2
    exit 1
fi
# A failed command is counted; the others still run.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
counted() { as_root "$@" || { echo "failed: $*" >&2; echo "$*" >>"$failures"; return 1; }; }
"""
_ROOT = """root() { counted "$@"; }"""
_ROOT_FOR_THE_SAME = """\
# A pid may belong to another process by now, so a process whose name has changed is left alone.
is_same() {
    case $1 in
    {cases}
    *) echo "left alone: $1, whose name was unknown" >&2; return 1 ;;
    esac
    found=$(cat "/proc/$1/comm" 2>/dev/null || as_root cat "/proc/$1/comm" 2>/dev/null) || found="gone"
    [ "$found" = "$name" ] || { echo "left alone: $1 was $name, and is now $found" >&2; return 1; }
}
root() {
    pid=
    case $1 in
    chrt | renice | taskset)
        for pid in "$@"; do :; done
        if is_same "$pid"; then counted "$@"; fi
        ;;
    kill)
        signal=$2
        shift 2
        for pid in "$@"; do if is_same "$pid"; then counted kill "$signal" "$pid"; fi; done
        ;;
    *) counted "$@" ;;
    esac
}"""
_EPILOGUE = """\
if [ -s "$failures" ]; then
    echo "$(wc -l <"$failures") of the commands failed" >&2
    exit 1
fi"""
_NOTHING = "# There is nothing to do."
_NOTHING_TO_RUN = "# There is nothing to run now."


def fix_script(verdict: Verdict) -> str:
    """Return the script of all fixes.

    Comments list the steps that need a reboot, make the fixes permanent, or have to be done by hand.
    """
    fixes = [(finding, fix) for finding in _fixable_findings(verdict) if (fix := finding.answer.fix) is not None]
    arguments = merge_arguments(fix.kernel_arguments for _, fix in fixes)
    lasting = [(finding, fix) for finding, fix in fixes if fix.persist and not fix.kernel_arguments]
    steps = script_steps((f"{finding.check.id}: {full_statement(finding.answer)}", fix.now) for finding, fix in fixes)
    what = "the other fixes" if steps else "the fix"
    unfixable = [finding for finding in [*verdict.failures, *verdict.warnings] if finding.answer.fix is None]
    comments = {
        f"A reboot is needed for {what}: append this to the kernel command line.": [arguments],
        "The commands above last until the next boot. To make them permanent:": [
            _about(finding, fix.persist) for finding, fix in lasting if fix.now
        ],
        "To do by hand:": [_about(finding, fix.persist) for finding, fix in lasting if not fix.now],
        "No command is known for:": [_about(finding, full_statement(finding.answer)) for finding in unfixable],
    }
    return script(FIXES.format("found"), _about_verdict(verdict), steps, comments, _names(verdict, fixes))


def undo_script(verdict: Verdict) -> str:
    """Return the script that restores the values that were read, in reverse order."""
    fixes = [(finding, fix) for finding in _fixable_findings(verdict) if (fix := finding.answer.fix) is not None]
    undone = [(finding, fix.undo) for finding, fix in reversed(fixes) if fix.now]
    comments = {
        "To undo changes that were made permanent:": [
            _about(finding, fix.undo_persist)
            for finding, fix in reversed(fixes)
            if fix.undo_persist and not fix.undo_files
        ],
        REMOVE_ARGUMENTS: [merge_arguments(fix.kernel_arguments for _, fix in fixes)],
        NOT_UNDONE: [_about(finding, "cannot be undone") for finding, undo in undone if not undo],
    }
    finding_by_removal = {fix.undo_files: finding for finding, fix in fixes if fix.undo_files}  # each command once
    steps = undo_steps(
        [(finding.check, command) for finding, command in undone],
        [(finding.check, command) for command, finding in finding_by_removal.items()],
    )
    return script(RESTORES.format("fixes"), _about_verdict(verdict), steps, comments, _names(verdict, fixes))


FIXES = "Fixes for what noisewatch {}, as `noisewatch tune` makes them without a script"
RESTORES = "Restores the values that noisewatch read before the {}"
REMOVE_ARGUMENTS = "If this was appended to the kernel command line, remove it and reboot:"
NOT_UNDONE = "Not undone by this script:"


def undo_steps(undone: Iterable[tuple[Check, str | None]], removals: Iterable[tuple[Check, str | None]]) -> list[str]:
    """Return commands that restore the values that were read, then commands that remove files of permanent fixes."""
    restores = [(f"undo of {check.id}: restore the value that was read", command) for check, command in undone]
    files = [(f"undo of {check.id}: remove the files that make it permanent", command) for check, command in removals]
    return script_steps([*restores, *files])


def _names(verdict: Verdict, fixes: Iterable[tuple[Finding, Fix]]) -> dict[int, str]:
    return {pid: name for _, fix in fixes for pid, name in names_in_fix(fix, verdict.case)}


def _fixable_findings(verdict: Verdict) -> Iterator[Finding]:
    """Yield the failures and warnings that have a fix, the gravest first; no fix twice."""
    yielded = set()
    for finding in [*verdict.failures, *verdict.warnings]:
        fix = finding.answer.fix
        if fix is not None and fix not in yielded:
            yielded.add(fix)
            yield finding


def _about_verdict(verdict: Verdict) -> str:
    platform = describe_platform(verdict.case.snapshot)
    return f"{platform}; {name_cpus(verdict.case.target)}, profile {verdict.profile}"


def script(
    what: str,
    about: str,
    steps: Sequence[str],
    comments: Mapping[str, Sequence[str]],
    names: Mapping[int, str] | None = None,
) -> str:
    """Return the whole script: what it does, the machine that it is for, its steps, and comments below headings.

    The comments list what remains to be done by hand. `names` are the names of the threads that the steps
    address by number; a thread without one is left alone.
    """
    head = [
        "#!/bin/sh",
        f"# {what} (version {__version__}).",
        f"# {one_line(about)}",
        "# It needs root, or sudo, and may be run twice.",
    ]
    listed = {heading: [line for line in lines if line] for heading, lines in comments.items()}
    remarks = [
        line
        for heading, lines in listed.items()
        if lines
        for line in ("", f"# {heading}", *(f"#   {text}" for text in lines))
    ]
    nothing = _NOTHING_TO_RUN if remarks else _NOTHING
    names_threads = names is not None and any(map(_OF_THREADS.search, steps))
    body = [_PROLOGUE + _root(names if names_threads else None), *steps, "", _EPILOGUE] if steps else ["", nothing]
    return "\n".join([*head, *body, *remarks, ""])


_OF_THREADS = regex(r"\broot (?:chrt|kill|renice|taskset) ")


def _root(names: Mapping[int, str] | None) -> str:
    """Return the shell function that runs commands; with `names`, it changes a thread only if the name is unchanged."""
    cases = "\n    ".join(f"{pid}) name={shlex.quote(name)} ;;" for pid, name in sorted((names or {}).items()))
    return _ROOT_FOR_THE_SAME.replace("{cases}", cases) if names is not None else _ROOT


def script_steps(commands: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the commands in order, with their headings; pairs without a command are skipped."""
    return [line for heading, command in commands if command for line in _step(heading, command)]


def _step(heading: str, command: str) -> list[str]:
    counted = _SUDO.sub("root ", command)
    return ["", f"echo {shlex.quote(one_line(heading))}", f"{{ {counted}; }} >/dev/null"]


_SUDO = regex(r"(?:^|(?<=[|&;{(] )|(?<=\bdo ))sudo ")  # where a command begins


def _about(finding: Finding, text: str | None) -> str:
    return f"{finding.check.id}: {one_line(text or '')}"
