"""The fixes of a verdict as one shell script, and the script that brings back what was read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from noisewatch import __version__
from noisewatch.cpus import name_cpus
from noisewatch.judgement.fixes.fix import Fix, merged_arguments
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.text import printable

_PROLOGUE = """\
set -u
failures=$(mktemp) || exit 1
trap 'rm -f "$failures"' EXIT
# Works as root without sudo, too. A failed command is counted; the others still run.
sudo() {
    if [ "$(id -u)" = 0 ]; then "$@"; else command sudo "$@"; fi ||
        { echo "failed: $*" >&2; echo "$*" >>"$failures"; return 1; }
}"""
_EPILOGUE = """\
if [ -s "$failures" ]; then
    echo "$(wc -l <"$failures") of the commands failed" >&2
    exit 1
fi"""
_NOTHING = "# There is nothing to do."
_NOTHING_TO_RUN = "# There is nothing to run now."


def fix_script(verdict: Verdict) -> str:
    """What to run now; in its comments what needs a reboot, what would make it last, and what is left to people."""
    fixes = [(finding, fix) for finding in _fixable(verdict) if (fix := finding.answer.fix) is not None]
    arguments = merged_arguments(fix.kernel_arguments for _, fix in fixes)
    lasting = [(finding, fix) for finding, fix in fixes if fix.persist and not fix.kernel_arguments]
    steps = _steps((finding, fix.now) for finding, fix in fixes)
    what = "the rest" if steps else "the fix"
    comments = [
        *_comments(f"A reboot is needed for {what}: append this to the kernel command line.", [arguments]),
        *_comments(
            "The commands above last until the next boot. To make them permanent:",
            [_about(finding, fix.persist) for finding, fix in lasting if fix.now],
        ),
        *_comments("To do by hand:", [_about(finding, fix.persist) for finding, fix in lasting if not fix.now]),
        *_comments("No command is known for:", [_about(each, each.answer.said) for each in _unfixable(verdict)]),
    ]
    return _script(_head(verdict, "Fixes for what noisewatch found"), steps, comments)


def undo_script(verdict: Verdict) -> str:
    """Brings back the values that were read, in the reverse order."""
    fixes = [(finding, fix) for finding in _fixable(verdict) if (fix := finding.answer.fix) is not None]
    undone = [(finding, fix.undo) for finding, fix in reversed(fixes) if fix.now]
    silent = [_about(finding, "cannot be undone") for finding, undo in undone if not undo]
    comments = [
        *_comments(
            "If these were made permanent:",
            [
                _about(finding, fix.undo_persist)
                for finding, fix in reversed(fixes)
                if fix.undo_persist and not fix.undo_files
            ],
        ),
        *_comments(
            "If this was appended to the kernel command line, remove it and reboot:",
            [merged_arguments(fix.kernel_arguments for _, fix in fixes)],
        ),
        *_comments("Not undone by this script:", silent),
    ]
    head = _head(verdict, "Restores what noisewatch read before the fixes")
    return _script(head, _steps([*undone, *_files_gone(fixes)]), comments)


def _undo_of_units(fix: Fix) -> str | None:
    """It would start what nobody has disabled, and so is left to whoever knows."""
    return fix.undo_persist if fix.undo_files is None else None


def _files_gone(fixes: Iterable[tuple[Finding, Fix]]) -> Iterator[tuple[Finding, str | None]]:
    """Our own files go, of those that were made to last; each once."""
    by_command = {fix.undo_files: finding for finding, fix in fixes if fix.undo_files}
    return ((finding, command) for command, finding in by_command.items())


def _fixable(verdict: Verdict) -> Iterator[Finding]:
    """What failed or warned and has a fix, the gravest first; each fix once."""
    seen = set()
    for finding in [*verdict.failures, *verdict.warnings]:
        fix = finding.answer.fix
        if fix is not None and fix not in seen:
            seen.add(fix)
            yield finding


def _unfixable(verdict: Verdict) -> list[Finding]:
    return [each for each in [*verdict.failures, *verdict.warnings] if each.answer.fix is None]


def _head(verdict: Verdict, what: str) -> list[str]:
    snapshot = verdict.case.snapshot
    about = f"{describe_platform(snapshot)}; {name_cpus(verdict.case.target)}, profile {verdict.profile}"
    return [
        "#!/bin/sh",
        f"# {what} (version {__version__}).",
        f"# {_one_line(about)}",
        "# It needs root, or sudo, and may be run twice. noisewatch itself changes nothing.",
    ]


def _script(head: list[str], steps: list[str], comments: list[str]) -> str:
    """What to run, or that nothing is; and what else there is to do, for people."""
    body = [_PROLOGUE, *steps, "", _EPILOGUE] if steps else ["", _NOTHING_TO_RUN if comments else _NOTHING]
    return "\n".join([*head, *body, *comments, ""])


def _steps(commands: Iterable[tuple[Finding, str | None]]) -> list[str]:
    """The commands, one after the other."""
    return [line for finding, command in commands if command for line in _step(finding, command)]


def _step(finding: Finding, command: str) -> list[str]:
    return [
        "",
        f"echo {shlex.quote(_one_line(f'{finding.check.id}: {finding.answer.said}'))}",
        f"{{ {command}; }} >/dev/null",
    ]


def _comments(heading: str, lines: list[str]) -> list[str]:
    """The lines as comments below their heading; nothing where there are none."""
    said = [line for line in lines if line]
    return ["", f"# {heading}", *(f"#   {line}" for line in said)] if said else []


def _about(finding: Finding, text: str | None) -> str:
    return f"{finding.check.id}: {_one_line(text or '')}"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
