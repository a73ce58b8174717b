"""Verdicts to render as reports, with names chosen by an attacker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from noisewatch.judgement.fixes.actions import Run
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Outcome, Status
from noisewatch.judgement.verdict import Finding, Verdict, outcome_of
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.operations.machines import MachineOptions, open_machine
from noisewatch.operations.preflight import PreflightOptions, preflight
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions
from tests.judgement.judging import judged
from tests.operations.listening import SilentListener
from tests.surfaces.running import record
from tests.written.quiet_machine import process, quiet_files, quiet_machine, stat_file

AT_S = 1_700_000_000.5
HOSTILE_NAMES = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\nb\r\nc",
    "::error::x",
    "##[error]x",
    "%0A::warning::x",
    "]]>",
    "<b>x</b>&amp;",
    "<!-- x",
    "</details>",
    "</failure>",
    "a|b",
    "a\\|b",
    "`x`",
    "```",
    "@somebody",
    "[x](//evil.org)",
    "www.evil.org",
    "**bold** _x_",
    "'x'=1;2;3",
    "\"x\" 'y'",
    "{x=\"y\"} 1",
    "\\n\\\"",
    "\u202egnp.exe",
    "\ufffe\x0b\x7f",
    "\udc80",
    "x\u2028y",
    "# x",
    "- x",
    "[bold]x[/]",
    "=cmd()",
    " ",
)  # fmt: skip
# The findings of the hostile verdict, by check.
_STATUS_BY_ID: Mapping[str, Status] = {
    "tasks-on-target": Status.FAIL,
    "device-interrupts-on-target": Status.FAIL,
    "target-not-isolated": Status.WARN,
    "governor-not-performance": Status.UNKNOWN,
    "frequency-window-open": Status.UNKNOWN,
    "default-irq-affinity-includes-target": Status.FAIL,
    "on-battery": Status.NOT_APPLICABLE,
    "turbo-enabled": Status.IGNORED,
}


def rendered(name: str, verdict: Verdict) -> str:
    """Return the report in a format, as the command line would write it."""
    return FORMATS[name].render(verdict, RenderOptions(FORMATS[name].exit_status(verdict), AT_S, 0.01))


@cache
def quiet_verdict() -> Verdict:
    """Return the verdict on the quiet machine."""
    return judged(quiet_machine())


@cache
def warned_verdict() -> Verdict:
    """Return a stable verdict with a warning."""
    return _with_statuses(quiet_verdict(), {"target-not-isolated": Status.WARN}, "cpu 2 is not isolated")


@cache
def unknown_verdict() -> Verdict:
    """Return a verdict with one unanswered blocking question."""
    return _with_statuses(quiet_verdict(), {"governor-not-performance": Status.UNKNOWN}, "no such file")


@cache
def strict_verdict(status: Status) -> Verdict:
    """Return a verdict that is unstable because of one warning, or one unknown, alone."""
    verdict = _with_statuses(quiet_verdict(), {"target-not-isolated": status}, "because")
    return replace(verdict, verdict=Outcome.UNSTABLE, is_strict=True)


@cache
def failed_verdict() -> Verdict:
    """Return a verdict with findings of each gravity and ordinary names."""
    return hostile_verdict("hog")


@cache
def verdict_on_nothing() -> Verdict:
    """Return a verdict without any selected check."""
    verdict = quiet_verdict()
    return _with_statuses(verdict, {finding.check.id: Status.IGNORED for finding in verdict.findings}, "not selected")


def hostile_verdict(name: str) -> Verdict:
    """Return a verdict with findings of each gravity and the name in every text."""
    return _with_statuses(quiet_verdict(), _STATUS_BY_ID, name)


def short_hostile_verdict(name: str) -> Verdict:
    """Return the hostile verdict with only the findings that contain the name."""
    verdict = hostile_verdict(name)
    findings = tuple(finding for finding in verdict.findings if finding.check.id in _STATUS_BY_ID)
    return replace(verdict, findings=findings)


def with_answer(check_id: str, **changes: object) -> Verdict:
    """Return the quiet verdict with some fields of the answer of one check changed."""
    verdict = quiet_verdict()
    findings = tuple(
        replace(finding, answer=replace(finding.answer, **changes)) if finding.check.id == check_id else finding
        for finding in verdict.findings
    )
    return replace(verdict, findings=findings)


@cache
def verdict_of_recording(path: Path, is_profile_given: bool = True) -> Verdict:
    """Return the verdict of `preflight --replay`; unless `is_profile_given`, the machine decides the profile."""
    rules = Rules(is_profile_given=is_profile_given)
    options = PreflightOptions(machine=MachineOptions(replay=str(path)), rules=rules)
    return preflight(open_machine(options.machine), options, SilentListener()).verdict


def _with_statuses(verdict: Verdict, status_by_id: Mapping[str, Status], text: str) -> Verdict:
    findings = tuple(
        _change_finding(finding, status_by_id[finding.check.id], text) if finding.check.id in status_by_id else finding
        for finding in verdict.findings
    )
    return replace(verdict, findings=findings, verdict=outcome_of(findings))


def _change_finding(finding: Finding, status: Status, text: str) -> Finding:
    culprits = (
        Disturbance(kind=Kind.THREAD, name=text, cpu=2, stolen_ns=1_500_000_000, share=0.5, rate_per_s=None, pid=900),
        Disturbance(
            kind=Kind.IRQ, name=text, cpu=3, stolen_ns=1_000, share=0.001, rate_per_s=30.0, irq=24, is_inferred=True
        ),
    )
    wrong = status in (Status.FAIL, Status.WARN)
    answer = replace(
        finding.answer,
        status=status,
        said=text,
        reason=None if wrong else text,
        culprits=culprits if wrong else (),
        fix=Fix((Run(((text,),), ((text,),), as_root=False),), (ByHand(text),)) if wrong else None,
    )
    return replace(finding, answer=answer)


def recording_with_hogs(path: Path, *names: str) -> Path:
    """Write a recording in which processes with these names share half of CPU 2; each name is also an interrupt's."""
    before, after = quiet_files(), quiet_files(3.0)
    for pid, name in enumerate(names, start=900):
        before |= process(pid, name, 2, 0, allowed="0-3")
        after |= process(pid, name, 2, 1_500_000_000 // len(names), allowed="0-3")
    rows = [f" {irq}: 0 0 %d 0 PCI-MSI {irq}-edge {name.splitlines()[0]}" for irq, name in enumerate(names, start=30)]
    for files, count in ((before, 0), (after, 3000)):
        files["/proc/interrupts"] = " CPU0 CPU1 CPU2 CPU3\n" + "".join(f"{row % count}\n" for row in _escape_rows(rows))
    after["/proc/stat"] = stat_file({2: 150}, 300)
    return record(path, before, after)


def _escape_rows(rows: list[str]) -> list[str]:
    """Escape every `%` in the rows except the placeholder of the count."""
    return [row.replace("%", "%%").replace("%%d", "%d", 1) for row in rows]
