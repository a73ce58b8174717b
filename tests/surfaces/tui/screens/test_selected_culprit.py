"""The panel below the culprits: facts about the selected one, or its fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.kinds import Kind, Role
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.advise import Advice
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, IrqLine, IrqSetting, ProcessLine
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.timeline import LABEL
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.culprits import _chart
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing, Selection
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import key_of, lines_of, until, with_monitor
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen_of, screen_text, text_of, text_of_rows
from tests.written.quiet_machine import process, quiet_files

_IRQ = culprit("205 eth0-TxRx-3 (Card)", 3, 9e7, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_200.0)
_SOFTIRQ = culprit("NET_RX", 3, 2e8, kind=Kind.SOFTIRQ, pid=None, tid=None, rate_per_s=41_200.0, is_estimate=True)
_SETTING = IrqSetting("205", Kind.IRQ, "eth0-TxRx-3", "Card (eth0)", "0-3", "1", movable=True, is_managed=False)


def _model(*culprits: CulpritLine) -> ScreenModel:
    """Return a model in which an IRQ moves to CPU 3 in the third of four intervals, with the culprits from then on."""
    cpus = (cpu_line(0), cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))
    lines = (IrqLine("205", (3,), (41_200.0,)),)
    frames = [frame(cpus, (), second, irqs=lines, irq_settings=(_SETTING,)) for second in (1, 2)]
    settings = (replace(_SETTING, effective="3"),)
    frames += [frame(cpus, culprits, second, irqs=lines, irq_settings=settings) for second in (3, 4)]
    return model_of(*frames)


def _screen_text(model: ScreenModel, screen: str = Screen.OVERVIEW) -> str:
    return "\n".join(screen_of(model, screen, 120, 34))


@pytest.mark.parametrize("screen", WITH_CULPRITS)
def test_the_panel_of_an_irq_shows_affinity_last_move_and_cost(screen: Screen) -> None:
    model = _model(_IRQ)
    model.cpu = 3
    text = _screen_text(model, screen)
    assert "IRQ 205 · eth0-TxRx-3 · Card (eth0)" in text
    assert "CPU 3   may go to CPU 0-3   it can be moved" in text
    assert "from CPU 1 to CPU 3 (1 s ago)" in text
    assert "90 ms/s of CPU 3 (9.0%)   41 200/s" in text
    assert "median 45 ms/s, max 90 ms/s in 4 intervals, present for 2 intervals" in text


def test_softirqs_have_their_likely_irq_and_an_estimate_is_marked() -> None:
    text = _screen_text(_model(_SOFTIRQ, _IRQ))
    assert "softirq NET_RX on CPU 3" in text
    assert "IRQ 205 eth0-TxRx-3, 41 200/s: the most frequent one on CPU 3" in text
    assert "~200 ms/s of CPU 3 (20%)   41 200/s   ~ counted at a typical cost" in text
    assert "likely by" not in _screen_text(_model(replace(_SOFTIRQ, name="TIMER"), _IRQ))


def test_a_kernel_thread_is_explained_and_costs_are_listed_by_cpu() -> None:
    worker = culprit("migration/3", 3, kind=Kind.KERNEL_THREAD, tid=21, pid=21)
    assert "does " in _screen_text(_model(worker))
    tick = culprit("tick", 3, 5e6, kind=Kind.TICK, pid=None, tid=None)
    text = _screen_text(_model(tick, replace(tick, cpu=2, stolen_ns_per_s=4e6)))
    assert "tick tick on CPUs 2-3" in text
    assert "5.0 ms/s of CPU 3 (0.5%), 4.0 ms/s of CPU 2" in text


def test_a_thread_is_shown_with_its_process_where_there_is_room() -> None:
    worker = culprit("tokio-rt-worker", 3, 9e6, pid=1, tid=33, program="process_api")
    process = ProcessLine(1, "/bin/process_api --x", "docker 3f4e8a0c9d1b", "process_api --x · docker 3f4e8a0c9d1b")
    model = model_of(frame((cpu_line(3, Role.TARGET),), (worker,), processes=(process,)))
    wide, narrow = ("\n".join(screen_of(model, Screen.OVERVIEW, width, 34)) for width in (240, 80))
    assert "process_api [1/33], thread tokio-rt-worker" in wide
    assert "tokio-rt-worker [1/33]" in narrow
    for text in (wide, narrow):
        assert "runs      /bin/process_api --x" in text
        assert "in        docker 3f4e8a0c9d1b" in text
        assert "process_api [1/33], thread tokio-rt-worker on CPU 3" in text


def test_a_low_screen_shows_the_command_of_the_selected_culprit() -> None:
    hog = culprit("python3", 3, 9e6)
    lesser = [culprit(f"worker-{index}", 3, 1e6 + index, pid=100 + index, tid=100 + index) for index in range(12)]
    process = ProcessLine(hog.pid or 0, "/usr/bin/python3 hog.py", "", "python3 hog.py")
    model = model_of(frame((cpu_line(3, Role.TARGET),), (hog, *lesser), processes=(process,)))
    for screen in (Screen.OVERVIEW, Screen.CULPRITS):
        assert "runs      /usr/bin/python3 hog.py" in "\n".join(screen_of(model, screen, 80, 24))


def test_a_row_has_the_details_of_its_process_if_they_fit() -> None:
    hog = culprit("python3", 3, 9e6)
    process = ProcessLine(4711, "/usr/bin/python3 -c pass", "", "python3 -c pass")
    interval = frame((cpu_line(3, Role.TARGET),), (hog,), processes=(process,))
    rows = {
        width: text_of(culprit_table(Listing((hog,), 0), "who", width, 2, UNICODE, frame=interval)[1])
        for width in (50, 80, 120)
    }
    assert ["python3 [4711] · python3 -c pass" in row for row in rows.values()] == [False, False, True]
    assert all("python3 [4711]" in row for row in rows.values())


def test_each_row_shows_its_last_intervals() -> None:
    model = _model(_IRQ, _SOFTIRQ)
    lines = screen_of(model, Screen.OVERVIEW, 300, 80)
    heading = next(line for line in lines if "last 4" in line and "who" in line)
    row = next(line for line in lines if "eth0-TxRx" in line and " irq " in line)
    at = heading.index("last 4")
    assert row[at : at + 5] == "__▇▇ "
    listing = Listing((_IRQ,), 0, is_gone=True)
    heading, row = map(text_of, culprit_table(listing, "who", 200, 2, UNICODE, None, lambda _, __: [3e8, 0.0]))
    assert heading.index("last 2") == row.index("█")


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_a_culprit_cut_off_by_others_is_not_followed_rather_than_quiet_or_unknown(glyphs: Glyphs) -> None:
    many = tuple(culprit(f"hog{number}", 2, 9e7, tid=number) for number in range(MOST_CULPRITS))
    cpus = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))
    full, unreadable = frame(cpus, many, 2), frame((cpus[0], cpu_line(3, Role.TARGET, None)), (), 3)
    model = model_of(frame(cpus, (), 1), full, unreadable, frame(cpus, (_IRQ,), 4))
    model.screen = Screen.OVERVIEW
    rows = rows_of_screen(model, 300, 80, glyphs)
    lane = next(row for row in rows if "eth0-TxRx" in text_of(row) and " irq " in text_of(row))
    assert lane[lane.index((f"_{glyphs.not_followed}", "faint")) + 1] == ("?", "unknown")
    text = text_of_rows(rows)
    assert f"last 4  {glyphs.not_followed} not followed" in text
    assert "history   max 90 ms/s in 2 of 4 intervals, present for at least 1 interval" in text
    assert f"{glyphs.not_followed} 1 not followed: not among the 64 costliest here   ? 1 unknown: not read" in text
    narrow = text_of_rows(rows_of_screen(model, 70, 24, glyphs))
    assert f"{glyphs.not_followed} 1 not followed   ? 1 unknown\n" in narrow


def test_the_current_cost_of_a_culprit_cut_off_by_others_is_unknown() -> None:
    many = tuple(culprit(f"hog{number}", 2, 9e7, tid=number) for number in range(MOST_CULPRITS))
    cpus = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))
    model = model_of(frame(cpus, (_IRQ,), 1))
    model.selection = Selection(_IRQ)
    for frame_after, cost in ((frame(cpus, many, 2), "unknown: not among the 64"), (frame(cpus, (), 3), "not seen in")):
        model.add(frame_after)
        assert f"costs     {cost}" in screen_text(model)


@pytest.mark.parametrize("height", range(2, 17))
def test_figures_on_the_scale_of_a_chart_match_the_tops_of_bars(height: int) -> None:
    cpus = (cpu_line(3, Role.TARGET),)
    noisy = [replace(_IRQ, stolen_ns_per_s=noise) for noise in (8e6, 1e6)]
    model = model_of(*(frame(cpus, (line,), second) for second, line in enumerate(noisy, 1)))
    rows = _chart(model, _IRQ, 40, height, ASCII)
    figures = {text_of(row)[:LABEL].strip(): at for at, row in enumerate(rows)}
    tops = [next(at for at, row in enumerate(rows) if text_of(row)[LABEL + column] != " ") for column in (0, 1)]
    assert figures["200 ms"] == 0
    assert figures.get("1.0 ms", tops[1]) == tops[1]
    assert figures.get("10 ms", tops[0]) <= tops[0] <= figures.get("3.0 ms", height)


def test_the_chart_of_few_intervals_starts_at_its_scale() -> None:
    lines = screen_of(_model(_IRQ), Screen.OVERVIEW, 300, 80)
    assert any(line.startswith(" 10 ms   ██  ") for line in lines)


@pytest.mark.parametrize("cursor", [None, 1])
@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 60)])
def test_the_chart_has_the_columns_of_the_timeline(size: tuple[int, int], cursor: int | None) -> None:
    cpus = (cpu_line(3, Role.TARGET, 2e8),)
    quiet = (cpu_line(3, Role.TARGET, 0.0),)
    frames = [frame(cpus, (_SOFTIRQ,), second) if second % 3 else frame(quiet, (), second) for second in range(1, 12)]
    model = model_of(*frames[:-1], replace(frames[-1], origin="replay of x.nw", is_last=True))
    model.cursor = cursor
    lines = screen_of(model, Screen.CULPRITS, *size)
    chart = next(line for line in lines if line.strip("│ ").startswith("200 ms ") and "█" in line)
    lane = next(line for line in lines if line.strip("│ ").startswith("target ") and "█" in line)
    assert [at for at, sign in enumerate(chart) if sign == "█"] == [at for at, sign in enumerate(lane) if sign == "█"]


def test_without_a_culprit_there_is_no_panel() -> None:
    text = _screen_text(_model())
    assert "no culprit seen" in text
    assert "costs" not in text


@pytest.mark.parametrize("size", [(120, 34), (80, 24)])
def test_the_panel_shows_that_the_machine_is_being_read(size: tuple[int, int]) -> None:
    model = _model(_SOFTIRQ, _IRQ)
    model.ask_for_fix(_SOFTIRQ)
    text = screen_text(model, *size)
    assert "looking up the fix" in text
    model.close_fix()
    assert "looking up the fix" not in screen_text(model, *size)


def test_a_fix_follows_the_selection_and_f_closes_it(tmp_path: Path) -> None:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3") | process(901, "cat", 2, 5, allowed="0-3")
    recording = record(tmp_path / "machine.nw", files)
    hog, cat = culprit("hog", 2, 9e6, pid=900, tid=900), culprit("cat", 2, 1e6, pid=901, tid=901)
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        def names(tid: int) -> bool:
            advice: Advice | None = app.model.advice
            return advice is not None and advice.about.tid == tid

        app.show_frame(frame(4, (hog, cat), target=(2, 3)))
        await pilot.press(key_of(Screen.OVERVIEW), "f")
        await until(pilot, lambda: names(900))
        texts.append("\n".join(lines_of(app)))
        await pilot.press("down")
        await until(pilot, lambda: names(901))
        texts.append("\n".join(lines_of(app)))
        await pilot.press("f")
        texts.extend([str(app.model.screen), "\n".join(lines_of(app))])
        await pilot.press("f", "escape")
        texts.append(str(app.model.shows_fix))

    with_monitor(steps, access=MachineAccess(lambda: Recording(str(recording))), size=(120, 34))
    assert "taskset -pc 0-1 900" in texts[0]
    assert "taskset -pc 0-1 901" in texts[1]
    assert "taskset -pc 0-1 900" not in texts[1]
    assert texts[2] == Screen.OVERVIEW
    assert "taskset" not in texts[3]
    assert texts[4] == "False"


def test_on_a_narrow_screen_the_count_of_intervals_is_dropped_first() -> None:
    text = "\n".join(screen_of(_model(_IRQ), Screen.OVERVIEW, 100, 34))
    assert "median 45 ms/s, max 90 ms/s" in text
    assert "present for 2 intervals" in text


def test_a_culprit_with_a_partly_unread_cpu_has_no_median() -> None:
    tick = culprit("tick", 2, 1e6, kind=Kind.TICK, pid=None, tid=None)
    noisy = replace(tick, cpu=3, stolen_ns_per_s=3e8)
    cpus = (cpu_line(0), cpu_line(2, Role.TARGET, 1e6), cpu_line(3, Role.TARGET, 3e8))
    blind = (*cpus[:2], cpu_line(3, Role.TARGET, None))
    model = model_of(frame(cpus, (tick, noisy)), frame(blind, (tick,), 2), frame(cpus, (tick, noisy), 3))
    text = _screen_text(model, Screen.CULPRITS)
    assert "max 300 ms/s in 2 of 3 intervals" in text
    assert "median" not in text
    assert "? 1 unknown: not read" in text


@pytest.mark.parametrize(("glyphs", "sign"), [(UNICODE, "≥"), (ASCII, ">")])
def test_threads_beyond_the_costliest_make_the_noise_of_a_process_a_minimum(glyphs: Glyphs, sign: str) -> None:
    cpus = (cpu_line(0), cpu_line(3, Role.TARGET, 8e8))
    threads = tuple(culprit("pool", 3, 4e6, pid=900, tid=1000 + at) for at in range(MOST_CULPRITS))
    for culprits, is_cut in ((threads, True), (threads[1:], False)):
        model = model_of(frame(cpus, culprits))
        text = "\n".join(screen_of(model, Screen.CULPRITS, 120, 34, glyphs))
        assert (f" {sign}25" in text) == is_cut
        assert ("at least 256 ms/s of CPU 3" in text) == is_cut
        assert ("max 256 ms/s or more in 1 interval" in text) == is_cut


def _model_of_hog(*rates_and_noise: tuple[float | None, float]) -> ScreenModel:
    """Return a model with one interval for each rate and noise (ns/s) of a hog on CPU 2; no noise: no hog."""
    cpus = (cpu_line(2, Role.TARGET),)
    return model_of(
        *(
            frame(cpus, (culprit("hog", 2, noise_ns, rate_per_s=rate),) if noise_ns else (), second)
            for second, (rate, noise_ns) in enumerate(rates_and_noise, start=1)
        )
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 60)])
def test_a_thread_with_a_steady_rate_shows_it_with_the_mean_length(size: tuple[int, int]) -> None:
    steady = _model_of_hog(*[(10.0, 50e6), (9.0, 45e6), (10.0, 50e6), (10.0, 50e6)] * 5)
    text = screen_text(steady, *size)
    assert "rate      9.8 times a second, 5 ms each on average" in text
    assert ("alike in 20 of 20 intervals" in text) == (size != (120, 34))  # there the side panel takes the room
    assert "times a second" not in screen_text(_model_of_hog(*[(10.0, 50e6), (40.0, 50e6)] * 10), *size)
    assert "times a second" not in screen_text(_model_of_hog(*[(None, 50e6)] * 20), *size)


def test_a_thread_with_a_period_of_several_intervals_shows_its_rhythm() -> None:
    model = _model_of_hog(*([(None, 0.0)] * 4 + [(2.0, 100e6)]) * 10)
    assert "rhythm    every 5 s, 100 ms each" in screen_text(model, 120, 34)
    irregular = [(2.0, 100e6 if number in (3, 9, 30, 41, 44, 49) else 0.0) for number in range(50)]
    assert "rhythm" not in screen_text(_model_of_hog(*irregular), 120, 34)


def test_the_cost_of_an_interrupt_is_typical_so_it_has_no_length() -> None:
    frames = [frame((cpu_line(3, Role.TARGET),), (replace(_IRQ, rate_per_s=10.0),), second) for second in range(1, 30)]
    assert "times a second" not in screen_text(model_of(*frames), 120, 34)
