"""Every screen shows unknown values as unknown: never as calm, never as zero, never as the last known value."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.kinds import Kind, Role
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.advise import advise
from noisewatch.operations.frame.frame import KINDS, ClockFigures, ClockPackage, CpuLine, Frame, IrqLine, IrqSetting
from noisewatch.operations.frame.making import frame_of
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import window_reports
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.events.kinds import Event
from noisewatch.surfaces.tui.events.watches import WATCHES, Episodes
from noisewatch.surfaces.tui.screens.irq_panel import irq_facts, rates_of
from noisewatch.surfaces.tui.state.baseline import baseline_of
from noisewatch.surfaces.tui.state.history import History
from noisewatch.surfaces.tui.state.irq_history import IrqRow
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.judgement.judging import judged
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import with_monitor
from tests.surfaces.tui.framing import cpu_line, culprit, findings, frame, model_of, screen, screen_of, text_of
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, process, quiet_files

_PARTLY_READ = (cpu_line(0), cpu_line(2, Role.TARGET, None), cpu_line(3, Role.TARGET, 12_000.0))


def test_the_worst_cpu_is_unknown_while_an_unread_one_may_be_worse() -> None:
    model = model_of(frame(_PARTLY_READ))
    assert "noise unknown on CPU 2" in screen(model)[1]
    grave = (*_PARTLY_READ[:2], cpu_line(3, Role.TARGET, 50_000_000.0))
    assert "worst CPU 3: 50 ms/s" in screen(model_of(frame(grave)))[1]


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ((cpu_line(0), cpu_line(3, Role.TARGET)), "no culprit seen"),
        (_PARTLY_READ, "unknown on CPU 2"),
        ((cpu_line(0),), "there is no target CPU"),
    ],
)
def test_no_culprit_seen_is_shown_only_if_all_target_cpus_are_known(cpus: tuple[CpuLine, ...], expected: str) -> None:
    assert expected in "".join(screen(model_of(frame(cpus))))


@pytest.mark.parametrize("name", ["overview", "cpu", "culprits"])
@pytest.mark.parametrize("width", [80, 140])
def test_no_list_of_culprits_is_called_empty_while_a_cpu_is_unread(name: str, width: int) -> None:
    model = model_of(frame((cpu_line(0, lost_ns=None), cpu_line(2, Role.TARGET))))
    model.shows_all_cpus, model.cpu = True, 0
    lines = [line.strip() for line in screen_of(model, name, width, 34)]
    assert any(line.startswith("unknown on CPU 0") for line in lines)
    assert not any(line.startswith(("none", "no culprit")) for line in lines)
    snapshot = model_of(frame((cpu_line(0, lost_ns=None), cpu_line(2, Role.TARGET, None)), seconds=0.0))
    snapshot.cpu = 0
    reasons = [line.strip() for line in screen_of(snapshot, name, width, 34)]
    assert any(line.startswith("measuring: the first second is not over") for line in reasons)


@pytest.mark.parametrize(("name", "width"), [("overview", 140), ("culprits", 80), ("culprits", 140)])
def test_a_list_of_some_culprits_names_the_unread_cpus(name: str, width: int) -> None:
    model = model_of(frame(_PARTLY_READ, (culprit("hog", 3, 2e6),)))
    lines = [line for line in screen_of(model, name, width, 34) if "1 culprit" in line or "culprits on" in line]
    assert any("1 culprit, unknown on CPU 2" in line for line in lines)


def test_a_filter_shows_only_the_unread_cpus_that_match_it() -> None:
    model = model_of(frame(_PARTLY_READ))
    model.filter = "cpu:3"
    assert "unknown on CPU 2" not in "".join(screen_of(model, "culprits")[3:])
    model.filter = "cpu:2-3 hog"
    assert "unknown on CPU 2" in "".join(screen_of(model, "culprits")[3:])


def test_unknown_intervals_are_counted_as_unknown() -> None:
    model = model_of(*(frame(_PARTLY_READ, second=second) for second in range(5)))
    assert "over 0.5% in 0 of 5 intervals, 5 unknown" in "".join(screen(model, 140))


def test_a_notice_does_not_hide_the_shown_time_or_the_end_of_the_sampler() -> None:
    model = model_of(*(frame(second=second) for second in range(5)))
    model.step(-2)
    model.trouble, model.notice = "the sampler ended: boom", "written"
    _, head, *_, foot = screen(model, 140)
    assert "FROZEN 2 s before the last frame" in head
    assert "the sampler ended: boom" in head
    assert "written" in foot


def test_with_a_silent_sampler_nothing_is_shown_as_current() -> None:
    failing = [frame(4, second=second, verdict="unstable", failed=("cpu-quota",)) for second in range(20)]
    model = model_of(*failing)
    model.notice_silence(9.0)
    rows = screen(model, 140)
    assert "until then worst CPU" in rows[1]
    assert "was failing: cpu-quota" in rows[2]
    assert not [row for row in rows if row.rstrip().endswith("now")]


def test_a_remark_does_not_hide_a_failed_check() -> None:
    row = screen(model_of(frame(remark="noisewatch runs on them too", failed=("cpu-quota",))), 140)[2]
    assert row.startswith("noisewatch runs on them too")
    assert "failing (5 s): cpu-quota" in row


def test_without_softirqs_the_loss_of_a_cpu_is_unknown() -> None:
    machine = WrittenMachine(
        quiet_files() | {"/proc/softirqs": "rubbish"}, quiet_files(3.0) | {"/proc/softirqs": "rubbish"}, answers=ANSWERS
    )
    case = judged(machine, is_calibrated=False).case
    rest: dict[str, Any] = {"sampler_cpu_s": None, "origin": None, "is_last": False, "remark": None}
    interval = frame_of(case.snapshot, case.interval, None, **rest)
    assert {line.stolen_ns_per_s for line in interval.cpus} == {None}
    assert {line.taken_ns_per_s for line in interval.cpus} == {None}


def test_lanes_of_dropped_intervals_are_unknown_and_not_blank() -> None:
    time_ns = tuple(300_000_000 if kind == "thread" else 0 for kind in KINDS)
    lines = (cpu_line(0), cpu_line(1, Role.TARGET, 300_000_000.0, taken_ns_per_s=time_ns))
    model = model_of(*(frame(lines, second=second) for second in range(900)))
    model.zoom, model.cpu = 10, 1
    lane = next(row for row in screen_of(model, "cpu", 100) if row.startswith("thread│"))
    assert lane[7:].strip() == "?" * 50 + "█" * 40


def test_a_cpu_with_uncounted_interrupts_has_no_blank_cells() -> None:
    card = IrqSetting("204", Kind.IRQ, "eth0-TxRx-4", allowed="0-3", effective="1")
    lines = (cpu_line(1), cpu_line(3, Role.TARGET, None, interrupts_per_s=None))
    irqs = (IrqLine("204", (1,), (12.0,)),)
    table = screen_of(model_of(frame(lines, irqs=irqs, irq_settings=(card,))), "irqs", 120, 34)
    at = next(line for line in table if line.startswith("  IRQ ")).index(" 3 ")
    rows = [line for line in table if line.startswith(("  204 ", "      all"))]
    assert [row[at : at + 2] for row in rows] == ["??", "??"]
    assert any("rate      CPU 1: 12/s, unknown on CPU 3" in line for line in table)


def test_a_column_of_calm_and_unknown_intervals_is_unknown() -> None:
    card = IrqSetting("204", Kind.IRQ, "eth0-TxRx-4", allowed="0-3", effective="1")
    hot = [ClockFigures(packages=(ClockPackage(0, "0-3", celsius, 100.0),)) for celsius in (40.0, 99.0)]

    def at(second: int, rate: float, clock: ClockFigures) -> Frame:
        irqs = (IrqLine("204", (1,), (rate,)),) if second % 2 else None
        return frame(second=second, irqs=irqs, irq_settings=(card,), clock=clock if second % 2 else None)

    model = model_of(
        *(at(second, 12.0, hot[0]) for second in range(1, 21)), *(at(s, 9e4, hot[1]) for s in range(21, 41))
    )
    model.zoom = 10
    row = IrqRow("204", "eth0-TxRx-4", Kind.IRQ, None, settings=(card,))
    assert rates_of(model, row, 4) == [None, None, 9e4, 9e4]
    heat = next(line for line in screen_of(model, "clock", 120, 40) if line.startswith("heat "))
    assert heat.split()[1] == "??██"
    facts = "".join(text_of(fact) for fact in irq_facts(model, row, 120, 12, UNICODE))
    assert "in 40 intervals (20 unknown)" in facts


def test_a_recording_does_not_play_before_its_first_interval() -> None:
    model = ScreenModel()
    model.add(frame(seconds=0.0, origin="replay of x.nw"))
    Player(model, Mock(), Mock(), Mock()).toggle()
    assert (model.cursor, model.plays) == (None, False)


def test_a_dropped_interval_gives_a_notice() -> None:
    model = ScreenModel(history=History(3))
    for second in range(3):
        model.add(frame(second=second))
    model.step(-9)
    model.add(frame(second=3))
    assert model.notice == "that interval is no longer kept; this is the oldest"


def test_a_new_frame_clears_the_error() -> None:
    model = model_of(frame())
    model.trouble = "the sampler ended"
    model.add(frame(second=2))
    assert model.trouble is None


def test_a_verdict_that_changed_during_a_gap_is_an_event() -> None:
    model = model_of(frame(second=1), frame(second=2, verdict=None))
    model.add(frame(second=3, verdict="unstable", findings=findings(("cpu-quota",))))
    assert [event.text for event in model.log.events] == ["stable → unstable: cpu-quota"]


def test_the_markdown_shows_unknown_and_offline_targets_and_the_sampler_error() -> None:
    lines = (
        *(cpu_line(cpu, Role.TARGET, 1.0) for cpu in range(40)),
        cpu_line(40, Role.TARGET, None),
        CpuLine(41, Role.OFFLINE),
    )
    model = model_of(frame(lines, target=tuple(range(42)), remark="the recording is damaged"))
    model.trouble = "the sampler ended: boom"
    text = window_reports(model, 10)["md"]
    assert text.startswith("## noisewatch: UNKNOWN")
    assert "the sampler ended: boom" in text
    assert "the recording is damaged" in text
    assert "| 40 | target | ? | ? | 0 (1 unknown) |" in text
    assert "| 41 | offline |" in text


def test_a_culprit_that_is_not_in_all_frames_has_no_change() -> None:
    away = tuple(culprit(f"away{number}", cpu=3) for number in range(64))
    hog = culprit("hog", cpu=3, lost_ns=3_000_000.0)
    model = model_of(*(frame(4, away, second) for second in range(5)), frame(4, (hog, *away[1:]), 5))
    assert baseline_of(model.history, 5).change_of_culprit(hog) is None


def test_an_episode_ends_when_its_cpu_is_no_longer_a_target() -> None:
    hog = culprit("hog", cpu=3, lost_ns=900_000_000.0)
    busy = next(episodes for episodes in map(Episodes, WATCHES) if _changes(episodes, frame(4, (hog,), 1)))
    housekeeping = replace(frame(4, (replace(hog, role=Role.HOUSEKEEPING),), 20), cpus=(cpu_line(3),), target=())
    texts = [
        event.text
        for second in (20, 40)
        for event in busy.changes(replace(housekeeping, taken_at_ns=second * 10**9), 0)
    ]
    assert any("off CPU 3" in text for text in texts)


def _changes(episodes: Episodes, interval: Frame) -> list[Event]:
    return list(episodes.changes(interval, 0))


def test_no_command_is_given_for_an_exited_process(tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", quiet_files() | process(900, "sleep", 2, 5, allowed="0-3"))
    advice = advise(lambda: Recording(str(recording)), frozenset({2, 3}), culprit("backup-job", pid=900, tid=900))
    assert "It has exited" in " ".join(advice.lines)
    assert advice.commands == (("next time", "taskset -c 0-1 COMMAND"),)


def test_a_click_on_an_overlay_does_not_change_the_monitor_below() -> None:
    cursors: list[int | None] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for second in range(30):
            app.show_frame(frame(second=second))
        await pilot.press("c")
        await pilot.mouse_down(offset=(90, 27))
        cursors.append(app.model.cursor)

    with_monitor(steps)
    assert cursors == [None]
