"""Tracing the target CPUs in the monitor: announced, shown, and closed again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.trace import KeptTrace
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, OverlayState
from noisewatch.surfaces.tui.overlays.trace import TraceOverlay
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import texts_after, with_monitor
from tests.surfaces.tui.framing import frame, overlay_text
from tests.written.quiet_machine import quiet_files
from tests.written.trace import written_trace


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return record(tmp_path / "traced.nw", quiet_files(), quiet_files(3.0), trace=written_trace())


def _measure(screen: TraceOverlay, open_machine: Callable[[], Machine] | None) -> None:
    """Measure one window as the monitor does."""
    screen.measure(MachineAccess(open_machine), lambda change: change())()


def test_the_screen_announces_its_cost() -> None:
    text = overlay_text(TraceOverlay.of(frame(4, target=(2,))))
    assert "1 µs longer" in text
    assert "enter starts" in text
    assert not TraceOverlay.of(None).can_start
    assert "no target CPU" in overlay_text(TraceOverlay.of(None))


def test_windows_follow_each_other_until_the_overlay_is_closed(recording: Path) -> None:
    screen = TraceOverlay.of(frame(4, target=(2,)))
    screen.state = OverlayState.RUNNING
    assert "0.0 of 5 s" in overlay_text(screen)
    _measure(screen, lambda: Recording(str(recording)))
    assert screen.state == OverlayState.RUNNING
    text = overlay_text(screen)
    assert "bench (pid 890, thread 900) ran 95.0%" in text
    assert "flush_tlb_func, called by mapper" in text
    assert "window 2" in text


def test_only_the_longest_interruptions_of_the_last_minute_are_kept(tmp_path: Path) -> None:
    screen = TraceOverlay.of(frame(4, target=(2,)))
    screen.state = OverlayState.RUNNING
    rows: list[list[str]] = []
    for begin_s in (0, 30, 95):
        trace = written_trace(begin_ns=begin_s * 10**9)
        recording = str(record(tmp_path / f"{begin_s}.nw", quiet_files(), quiet_files(3.0), trace=trace))
        _measure(screen, partial(Recording, recording))
        text = overlay_text(screen, height=90).partition("the longest interruptions of the last minute")[2]
        rows.append([" ".join(line.split()) for line in text.splitlines() if "kworker" in line])
    assert rows == [
        [],
        ["2.0 s 2 3 ms kworker/2:1 3 ms", "32.0 s 2 3 ms kworker/2:1 3 ms"],
        ["2.0 s 2 3 ms kworker/2:1 3 ms"],
    ]


def test_a_replay_has_one_window(recording: Path) -> None:
    screen = TraceOverlay.of(frame(4, target=(2,), origin="replay of x.nw"))
    assert "the replay of x.nw" in overlay_text(screen)
    _measure(screen, lambda: Recording(str(recording)))
    assert screen.state == OverlayState.OVER


def test_the_screen_shows_why_there_is_no_trace(tmp_path: Path) -> None:
    single = record(tmp_path / "still.nw", quiet_files())
    screen = TraceOverlay.of(frame(4, target=(2,)))
    _measure(screen, lambda: Recording(str(single)))
    assert screen.state == OverlayState.OVER
    assert "No trace: the recording has only one snapshot" in overlay_text(screen)
    without_machine = TraceOverlay.of(frame(4, target=(2,)))
    _measure(without_machine, None)
    assert "No trace: there is no machine" in overlay_text(without_machine)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 5), (40, 10), (80, 24), (140, 40)])
def test_the_screen_fits_any_size(recording: Path, width: int, height: int) -> None:
    screen = TraceOverlay.of(frame(4, target=(2,)))
    for state in (OverlayState.ANNOUNCED, OverlayState.RUNNING):
        screen.state = state
        assert len(screen.rows(width, height, in_unicode=True)) == height
    _measure(screen, lambda: Recording(str(recording)))
    rows = screen.rows(width, height, in_unicode=True)
    assert len(rows) == height
    assert all(sum(len(text) for text, _ in row) <= width for row in rows)


class _CountingTrace(KeptTrace):
    """A kept trace that counts how often it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.close_count = 0

    def close(self) -> None:
        self.close_count += 1
        super().close()


def test_resources_kept_for_the_next_window_are_released_on_escape(recording: Path) -> None:
    trace = _CountingTrace()

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press("t")
        assert isinstance(app._overlays.shown, TraceOverlay)
        app._overlays.shown.kept = trace
        await pilot.press("enter", "escape")
        await app.workers.wait_for_complete()

    with_monitor(steps, access=MachineAccess(lambda: Recording(str(recording))))
    assert trace.close_count == 1


def test_the_trace_of_a_recording_is_shown_at_once_and_escape_goes_back(tmp_path: Path) -> None:
    trace = written_trace()
    trace["cpus"][0]["cpu"] = 3
    recording = record(tmp_path / "traced.nw", quiet_files(), quiet_files(3.0), trace=trace)

    over, left = texts_after("t", "escape", open_machine=lambda: Recording(str(recording)))
    assert "ran 95.0%" in over
    assert "q quit" in left
