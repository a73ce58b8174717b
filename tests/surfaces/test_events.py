"""What changed between two frames."""

from __future__ import annotations

from dataclasses import replace

from noisewatch.surfaces.frame import OFFLINE, CpuLine, Frame
from noisewatch.surfaces.tui.events import EventLog, changes
from tests.surfaces.framing import cpu_line, findings, frame, model_of, screen_of


def _frame(second: int, **changes: object) -> Frame:
    lines = tuple(cpu_line(cpu, "target" if cpu else "housekeeping", governor="schedutil") for cpu in range(3))
    return replace(frame(lines, second=second), **changes)  # type: ignore[arg-type]  # passed through


def _said(after: Frame, before: Frame | None = None) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in changes(before or _frame(1), after)]


def test_where_nothing_changed_nothing_is_told() -> None:
    assert _said(_frame(2)) == []


def test_a_cpu_that_goes_and_one_that_comes_back() -> None:
    lines = _frame(1).cpus
    gone = _frame(2, cpus=(*lines[:2], CpuLine(2, OFFLINE)), target=(1,))
    assert _said(gone) == [
        ("hot-plug", "CPU 2 went offline"),
        ("target", "the target CPUs are now 1 (isolated), were 1-2"),
    ]
    assert _said(_frame(3), gone)[0] == ("hot-plug", "CPU 2 came online")


def test_governors_that_changed_together_are_one_event() -> None:
    tuned = tuple(replace(line, governor="performance") for line in _frame(1).cpus)
    assert _said(_frame(2, cpus=tuned)) == [("clock", "the governor of CPUs 0-2 is now performance, was schedutil")]
    unread = tuple(replace(line, governor=None) for line in _frame(1).cpus)
    assert _said(_frame(2, cpus=unread)) == []


def test_turbo_and_checks() -> None:
    assert _said(_frame(2, turbo=None)) == [("clock", "turbo is now unknown, was off")]
    noisy = _frame(2, verdict="unstable", findings=findings(("tasks-on-target", "cpu-quota")))
    assert _said(noisy) == [("check", "fails now: cpu-quota, tasks-on-target")]
    assert _said(_frame(3, findings=findings(("cpu-quota",))), noisy) == [("check", "fails no more: tasks-on-target")]
    assert _said(_frame(3, verdict=None), noisy) == []


def test_the_log_keeps_the_last_ones_and_the_screen_shows_the_newest_first() -> None:
    model = model_of(_frame(1), _frame(2, turbo="on"), _frame(5))
    lines = screen_of(model, "events")
    rows = [line.strip() for line in lines if " s  clock " in line]
    assert rows == ["0 s  clock     turbo is now off, was on", "3 s  clock     turbo is now on, was off"]
    log = EventLog()
    for second in range(3_000):
        log.compare(_frame(second), _frame(second + 1, turbo=str(second)))
    assert len(log.events) == 1000
