"""The panel below the culprits: what is known of the selected one, and its fix in the same place."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.kinds import Kind, Role
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.advise import Advice
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, IrqLine, IrqSetting
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.culprits import _chart
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing, Selection
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import key_of, shown, until, with_monitor
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen_of, text_of
from tests.written.quiet_machine import process, quiet_files

_IRQ = culprit("205 eth0-TxRx-3 (Card)", 3, 9e7, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_200.0)
_SOFTIRQ = culprit("NET_RX", 3, 2e8, kind=Kind.SOFTIRQ, pid=None, tid=None, rate_per_s=41_200.0, is_estimate=True)
_SETTING = IrqSetting("205", Kind.IRQ, "eth0-TxRx-3", "Card (eth0)", "0-3", "1", movable=True, is_managed=False)


def _model(*culprits: CulpritLine) -> ScreenModel:
    """An IRQ that comes to CPU 3 in the third of four intervals, and the culprits from then on."""
    cpus = (cpu_line(0), cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))
    lines = (IrqLine("205", (3,), (41_200.0,)),)
    frames = [frame(cpus, (), second, irqs=lines, irq_settings=(_SETTING,)) for second in (1, 2)]
    moved = (replace(_SETTING, effective="3"),)
    frames += [frame(cpus, culprits, second, irqs=lines, irq_settings=moved) for second in (3, 4)]
    return model_of(*frames)


def _shown(model: ScreenModel, screen: str = Screen.OVERVIEW) -> str:
    return "\n".join(screen_of(model, screen, 120, 34))


@pytest.mark.parametrize("screen", WITH_CULPRITS)
def test_of_an_irq_it_tells_where_it_goes_since_when_and_what_it_costs(screen: Screen) -> None:
    model = _model(_IRQ)
    model.cpu = 3
    said = _shown(model, screen)
    assert "IRQ 205 · eth0-TxRx-3 · Card (eth0)" in said
    assert "CPU 3   may go to CPU 0-3   it can be moved" in said
    assert "came to CPU 3, was on CPU 1 (1 s ago)" in said
    assert "90 ms/s of CPU 3 (9.0%)   41 200/s" in said
    assert "median 45 ms/s, max 90 ms/s in 4 intervals, present for 2 intervals" in said


def test_softirqs_have_the_irq_that_is_likely_to_raise_them_and_an_estimate_says_so() -> None:
    said = _shown(_model(_SOFTIRQ, _IRQ))
    assert "softirq NET_RX on CPU 3" in said
    assert "IRQ 205 eth0-TxRx-3, 41 200/s: the most frequent one on CPU 3" in said
    assert "~200 ms/s of CPU 3 (20%)   41 200/s   ~ counted at a typical cost" in said
    assert "likely by" not in _shown(_model(replace(_SOFTIRQ, name="TIMER"), _IRQ))


def test_a_kernel_thread_is_explained_and_a_culprit_of_several_cpus_has_the_cost_of_each() -> None:
    worker = culprit("migration/3", 3, kind=Kind.KERNEL_THREAD, tid=21, pid=21)
    assert "does " in _shown(_model(worker))
    tick = culprit("tick", 3, 5e6, kind=Kind.TICK, pid=None, tid=None)
    said = _shown(_model(tick, replace(tick, cpu=2, stolen_ns_per_s=4e6)))
    assert "tick tick on CPUs 2-3" in said
    assert "5.0 ms/s of CPU 3 (0.5%), 4.0 ms/s of CPU 2" in said


def test_each_row_has_its_last_intervals_beside_it() -> None:
    model = _model(_IRQ, _SOFTIRQ)
    lines = screen_of(model, Screen.OVERVIEW, 300, 80)
    heading = next(line for line in lines if "last 4" in line and "share" in line)
    row = next(line for line in lines if "eth0-TxRx" in line and " irq " in line)
    at = heading.index("last 4")
    assert row[at : at + 5] == "__▇▇ "
    listing = Listing((_IRQ,), 0, is_chosen=True, is_gone=True)
    heading, row = map(text_of, culprit_table(listing, "who", 200, 2, UNICODE, None, lambda _, __: [3e8, 0.0]))
    assert heading.index("last 2") == row.index("█")


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_where_others_kept_it_out_it_is_not_followed_rather_than_quiet_or_unknown(glyphs: Glyphs) -> None:
    many = tuple(culprit(f"hog{number}", 2, 9e7, tid=number) for number in range(MOST_CULPRITS))
    cpus = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))
    cut, unread = frame(cpus, many, 2), frame((cpus[0], cpu_line(3, Role.TARGET, None)), (), 3)
    model = model_of(frame(cpus, (), 1), cut, unread, frame(cpus, (_IRQ,), 4))
    model.screen = Screen.OVERVIEW
    rows = rows_of_screen(model, 300, 80, glyphs)
    lane = next(row for row in rows if "eth0-TxRx" in text_of(row) and " irq " in text_of(row))
    assert lane[lane.index((f"_{glyphs.not_followed}", "faint")) + 1] == ("?", "unknown")
    said = "\n".join(text_of(row) for row in rows)
    assert f"last 4  {glyphs.not_followed} not followed" in said
    assert "history   max 90 ms/s in 2 of 4 intervals, present for at least 1 interval" in said
    assert f"{glyphs.not_followed} 1 not followed: not among the 64 costliest here   ? 1 unknown: not read" in said
    narrow = "\n".join(text_of(row) for row in rows_of_screen(model, 70, 24, glyphs))
    assert f"{glyphs.not_followed} 1 not followed   ? 1 unknown\n" in narrow


def test_of_one_that_is_kept_out_now_the_cost_is_unknown() -> None:
    many = tuple(culprit(f"hog{number}", 2, 9e7, tid=number) for number in range(MOST_CULPRITS))
    cpus = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))
    model = model_of(frame(cpus, (_IRQ,), 1))
    model.selection = Selection(_IRQ)
    for frame_after, said in ((frame(cpus, many, 2), "unknown: not among the 64"), (frame(cpus, (), 3), "not seen in")):
        model.add(frame_after)
        assert f"costs     {said}" in "\n".join(text_of(row) for row in rows_of_screen(model, 120, 34, UNICODE))


@pytest.mark.parametrize("height", range(2, 17))
def test_the_scale_of_a_chart_names_where_a_bar_of_that_noise_ends(height: int) -> None:
    rows = _chart([8e6, 1e6], 40, height, ASCII)
    figures = {text_of(row)[:10].strip(): at for at, row in enumerate(rows)}
    tops = [next(at for at, row in enumerate(rows) if text_of(row)[column] != " ") for column in (10, 11)]
    assert figures["200 ms"] == 0
    assert figures.get("1.0 ms", tops[1]) == tops[1]
    assert figures.get("10 ms", tops[0]) <= tops[0] <= figures.get("3.0 ms", height)


def test_the_chart_of_few_intervals_begins_beside_its_scale() -> None:
    lines = screen_of(_model(_IRQ), Screen.OVERVIEW, 300, 80)
    assert any(line.startswith("   10 ms    ██  ") for line in lines)


def test_without_a_culprit_there_is_no_panel() -> None:
    said = _shown(_model())
    assert "no culprit seen" in said
    assert "costs" not in said


@pytest.mark.parametrize("size", [(120, 34), (80, 24)])
def test_while_the_machine_is_read_the_panel_says_so(size: tuple[int, int]) -> None:
    model = _model(_SOFTIRQ, _IRQ)
    model.ask_for_fix(_SOFTIRQ)
    said = "\n".join(text_of(row) for row in rows_of_screen(model, *size, UNICODE))
    assert "looking up the fix" in said
    model.close_fix()
    assert "looking up the fix" not in "\n".join(text_of(row) for row in rows_of_screen(model, *size, UNICODE))


def test_f_follows_the_selection_and_closes_where_it_opened(tmp_path: Path) -> None:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3") | process(901, "cat", 2, 5, allowed="0-3")
    recording = record(tmp_path / "machine.nw", files)
    hog, cat = culprit("hog", 2, 9e6, pid=900, tid=900), culprit("cat", 2, 1e6, pid=901, tid=901)
    seen: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        def names(tid: int) -> bool:
            advice: Advice | None = app.model.advice
            return advice is not None and advice.about.tid == tid

        app.show_frame(frame(4, (hog, cat), target=(2, 3)))
        await pilot.press(key_of(Screen.OVERVIEW), "f")
        await until(pilot, lambda: names(900))
        seen.append("\n".join(shown(app)))
        await pilot.press("down")
        await until(pilot, lambda: names(901))
        seen.append("\n".join(shown(app)))
        await pilot.press("f")
        seen.extend([str(app.model.screen), "\n".join(shown(app))])
        await pilot.press("f", "escape")
        seen.append(str(app.model.shows_fix))

    with_monitor(steps, access=MachineAccess(lambda: Recording(str(recording))), size=(120, 34))
    assert "taskset -pc 0-1 900" in seen[0]
    assert "taskset -pc 0-1 901" in seen[1]
    assert "taskset -pc 0-1 900" not in seen[1]
    assert seen[2] == Screen.OVERVIEW
    assert "taskset" not in seen[3]
    assert seen[4] == "False"


def test_where_there_is_little_room_the_count_of_intervals_goes_first() -> None:
    said = "\n".join(screen_of(_model(_IRQ), Screen.OVERVIEW, 100, 34))
    assert "median 45 ms/s, max 90 ms/s" in said
    assert "present for 2 intervals" in said


def test_no_median_is_told_of_a_culprit_one_of_whose_cpus_was_not_always_read() -> None:
    tick = culprit("tick", 2, 1e6, kind=Kind.TICK, pid=None, tid=None)
    loud = replace(tick, cpu=3, stolen_ns_per_s=3e8)
    cpus = (cpu_line(0), cpu_line(2, Role.TARGET, 1e6), cpu_line(3, Role.TARGET, 3e8))
    blind = (*cpus[:2], cpu_line(3, Role.TARGET, None))
    model = model_of(frame(cpus, (tick, loud)), frame(blind, (tick,), 2), frame(cpus, (tick, loud), 3))
    said = _shown(model, Screen.CULPRITS)
    assert "max 300 ms/s in 2 of 3 intervals" in said
    assert "median" not in said
    assert "? 1 unknown: not read" in said


@pytest.mark.parametrize(("glyphs", "sign"), [(UNICODE, "≥"), (ASCII, ">")])
def test_threads_beyond_the_costliest_make_the_noise_of_a_process_at_least_that(glyphs: Glyphs, sign: str) -> None:
    cpus = (cpu_line(0), cpu_line(3, Role.TARGET, 8e8))
    threads = tuple(culprit("pool", 3, 4e6, pid=900, tid=1000 + at) for at in range(MOST_CULPRITS))
    for kept, is_cut in ((threads, True), (threads[1:], False)):
        model = model_of(frame(cpus, kept))
        said = "\n".join(screen_of(model, Screen.CULPRITS, 120, 34, glyphs))
        assert (f" {sign}25" in said) == is_cut
        assert ("at least 256 ms/s of CPU 3" in said) == is_cut
        assert ("max 256 ms/s or more in 1 interval" in said) == is_cut
