"""Frames for the screen, written by hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from noisewatch.judgement.terms import Counts, Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import CpuLine, CulpritLine, FindingLine, Frame
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

SECOND_NS = 1_000_000_000


def cpu_line(cpu: int, role: str = Role.HOUSEKEEPING, lost_ns: float | None = 20_000.0, **rest: Any) -> CpuLine:
    """One CPU that loses so much a second."""
    figures = CpuLine(
        cpu, Role(role), lost_ns, interrupts_per_s=12.0, softirqs_per_s=3.0, busy_share=0.02, current_khz=3_000_000
    )
    return replace(figures, **rest)


def culprit(name: str, cpu: int = 2, lost_ns: float = 4_000_000.0, role: str = Role.TARGET, **rest: Any) -> CulpritLine:
    """A thread that takes so much a second."""
    line = CulpritLine(
        cpu=cpu,
        role=Role(role),
        kind=Kind.THREAD,
        name=name,
        pid=4711,
        tid=4711,
        rate_per_s=None,
        stolen_ns_per_s=lost_ns,
        is_estimate=False,
    )
    return replace(line, **{**rest, "kind": Kind(rest.get("kind", line.kind))})


def findings(failed: tuple[str, ...] = (), unknown: tuple[str, ...] = ()) -> tuple[FindingLine, ...]:
    """Checks that failed, and checks without an answer that leave the verdict open."""
    return (
        *(
            FindingLine(id=name, status="fail", weight="blocking", gravity=Gravity.FAILED, said=f"{name} was found")
            for name in failed
        ),
        *(
            FindingLine(
                id=name, status="unknown", weight="blocking", gravity=Gravity.UNANSWERED, said=f"{name} is not known"
            )
            for name in unknown
        ),
    )


def frame(
    cpus: tuple[CpuLine, ...] | int = 4,
    culprits: tuple[CulpritLine, ...] = (),
    second: int = 1,
    failed: tuple[str, ...] = (),
    unknown: tuple[str, ...] = (),
    **rest: Any,
) -> Frame:
    """An interval of a second; `cpus` is a count, of which the last is the target, or the lines themselves."""
    if isinstance(cpus, int):
        cpus = tuple(cpu_line(cpu, Role.TARGET if cpu == cpus - 1 else Role.HOUSEKEEPING) for cpu in range(cpus))
    target = tuple(line.cpu for line in cpus if line.role == Role.TARGET)
    whole = Frame(
        taken_at_ns=second * SECOND_NS,
        seconds=1.0,
        machine="benchmark-host",
        target=target,
        target_chosen_by="isolated",
        housekeeping=(0, 1),
        online_count=len(cpus),
        turbo="off",
        verdict="stable",
        findings=findings(failed, unknown),
        passed=40,
        judged_s=5.0,
        cpus=cpus,
        culprits=culprits,
        sampler_cpu_s=None,
    )
    whole = replace(whole, **rest)
    return replace(whole, counts=counts_of(whole.findings, whole.passed or 0)) if whole.counts is None else whole


def counts_of(findings: tuple[FindingLine, ...], passed: int) -> Counts:
    """Count the findings by status, next to `passed` other checks that have passed."""
    fails, unknowns = ([each for each in findings if each.status == status] for status in ("fail", "unknown"))
    return Counts(
        fail=len(fails),
        blocking_fail=sum(each.gravity == Gravity.FAILED for each in fails),
        warn=sum(each.status == "warn" for each in findings),
        unknown=len(unknowns),
        blocking_unknown=sum(each.gravity == Gravity.UNANSWERED for each in unknowns),
        passed=passed,
        not_applicable=0,
        ignored=0,
    )


def model_of(*frames: Frame) -> ScreenModel:
    """The screen's model after these frames."""
    model = ScreenModel()
    for each in frames:
        model.add(each)
    return model


def text_of(row: Row) -> str:
    """The row without its styles."""
    return "".join(text for text, _ in row)


def screen(model: ScreenModel, width: int = 100, height: int = 30) -> list[str]:
    """The whole screen as the terminal shows it, a text a row, without the edges at the left."""
    return [unframed(strip_of(row, width).text) for row in overview_rows(model, width, height, UNICODE)]


def unframed(line: str) -> str:
    """The line as it would be without a frame, in as many columns."""
    return f"{line[2:-2]}    " if line.startswith(("│ ", "| ")) else line


def screen_of(
    model: ScreenModel, name: str, width: int = 100, height: int = 30, glyphs: Glyphs | None = UNICODE
) -> list[str]:
    """Another screen of the monitor."""
    model.go_to(name)
    return [unframed(strip_of(row, width).text) for row in rows_of_screen(model, width, height, glyphs or ASCII)]


def cpu_order(lines: list[str]) -> list[int]:
    """The CPUs of the rows of the CPU panel, from its heading down to the culprits' heading."""
    first = next(number for number, line in enumerate(lines) if line.startswith("   CPU "))
    last = next(number for number, line in enumerate(lines) if line.lstrip().startswith("CPU kind"))
    return [int(line[3:6]) for line in lines[first + 1 : last] if line[3:6].strip().isdigit()]
