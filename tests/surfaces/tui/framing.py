"""Synthetic frames, and the screens that show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from noisewatch.judgement.terms import Counts, Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import CpuLine, CulpritLine, FindingLine, Frame
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.overlays.overlay import Overlay
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

SECOND_NS = 1_000_000_000


def cpu_line(cpu: int, role: str = Role.HOUSEKEEPING, lost_ns: float | None = 20_000.0, **rest: Any) -> CpuLine:
    """Return the line of a CPU that loses `lost_ns` per second."""
    figures = CpuLine(
        cpu, Role(role), lost_ns, interrupts_per_s=12.0, softirqs_per_s=3.0, busy_share=0.02, current_khz=3_000_000
    )
    return replace(figures, **rest)


def culprit(name: str, cpu: int = 2, lost_ns: float = 4_000_000.0, role: str = Role.TARGET, **rest: Any) -> CulpritLine:
    """Return the line of a thread that takes `lost_ns` per second."""
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
    """Return findings of failed checks, and of unknown checks that leave the verdict open."""
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
    """Return an interval of one second; `cpus` are lines, or a count of CPUs of which the last is the target."""
    if isinstance(cpus, int):
        cpus = tuple(cpu_line(cpu, Role.TARGET if cpu == cpus - 1 else Role.HOUSEKEEPING) for cpu in range(cpus))
    target = tuple(line.cpu for line in cpus if line.role == Role.TARGET)
    base = Frame(
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
    base = replace(base, **rest)
    return replace(base, counts=counts_of(base.findings, base.passed or 0)) if base.counts is None else base


def counts_of(findings: tuple[FindingLine, ...], passed: int) -> Counts:
    """Count the findings by status, next to `passed` other checks that have passed."""
    fails, unknowns = ([finding for finding in findings if finding.status == status] for status in ("fail", "unknown"))
    return Counts(
        fail=len(fails),
        blocking_fail=sum(finding.gravity == Gravity.FAILED for finding in fails),
        warn=sum(finding.status == "warn" for finding in findings),
        unknown=len(unknowns),
        blocking_unknown=sum(finding.gravity == Gravity.UNANSWERED for finding in unknowns),
        passed=passed,
        not_applicable=0,
        ignored=0,
    )


def model_of(*frames: Frame) -> ScreenModel:
    """Return the screen's model after these frames."""
    model = ScreenModel()
    for interval in frames:
        model.add(interval)
    return model


def text_of(row: Row) -> str:
    """Return the row without its styles."""
    return "".join(text for text, _ in row)


def text_of_rows(rows: Iterable[Row]) -> str:
    """Return the rows as lines of one text."""
    return "\n".join(map(text_of, rows))


def overlay_text(overlay: Overlay[Any], width: int = 120, height: int = 40) -> str:
    """Return the text of an overlay."""
    return text_of_rows(overlay.rows(width, height, in_unicode=True))


def screen(model: ScreenModel, width: int = 100, height: int = 30) -> list[str]:
    """Return the overview as the terminal shows it, one text per row, without its frame."""
    return [unframed(strip_of(row, width).text) for row in overview_rows(model, width, height, UNICODE)]


def unframed(line: str) -> str:
    """Return the line without the sides of a frame, in as many columns."""
    return f"{line[2:-2]}    " if line.startswith(("│ ", "| ")) else line


def screen_text(model: ScreenModel, width: int = 120, height: int = 34) -> str:
    """Return the text of the model's screen, with its frame."""
    return text_of_rows(rows_of_screen(model, width, height, UNICODE))


def framed_lines(model: ScreenModel, width: int = 120, height: int = 34) -> list[str]:
    """Return the model's screen as the terminal shows it, one text per row, with its frame."""
    return [strip_of(row, width).text for row in rows_of_screen(model, width, height, UNICODE)]


def screen_of(
    model: ScreenModel, name: str, width: int = 100, height: int = 30, glyphs: Glyphs | None = UNICODE
) -> list[str]:
    """Return the named screen as the terminal shows it, one text per row, without its frame."""
    model.go_to(name)
    return [unframed(strip_of(row, width).text) for row in rows_of_screen(model, width, height, glyphs or ASCII)]


def cpu_order(lines: list[str]) -> list[int]:
    """Return the CPUs in the rows of the CPU panel, from its heading down to the culprits' heading."""
    first = next(number for number, line in enumerate(lines) if line.startswith("   CPU "))
    last = next(number for number, line in enumerate(lines) if line.lstrip().startswith("CPU kind"))
    return [int(line[3:6]) for line in lines[first + 1 : last] if line[3:6].strip().isdigit()]
