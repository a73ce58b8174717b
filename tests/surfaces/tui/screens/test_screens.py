"""The screens other than the overview: their contents at any size, and the keys to navigate them."""

from __future__ import annotations

import json
import time
from copy import copy
from functools import cache
from pathlib import Path

import pytest
from textual.pilot import Pilot

from noisewatch.errors import UsageError
from noisewatch.kinds import Role
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.advise import advise
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import export, window_reports
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import key_of, lines_of, until, with_monitor
from tests.surfaces.tui.crowd import crowded
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, culprit, frame, model_of, screen_of
from tests.written.quiet_machine import process, quiet_files

_CULPRITS = (
    culprit("hog", cpu=3, lost_ns=90_000_000.0),
    culprit("24 nvme0q1", cpu=3, lost_ns=3_000_000.0, kind="irq", pid=None, tid=None, rate_per_s=30.0, irq=24),
    culprit("away", cpu=0, lost_ns=5_000_000.0, role=Role.HOUSEKEEPING, pid=77, tid=77),
)


@cache
def _frame(cpus: int, second: int) -> Frame:
    return frame(cpus, _CULPRITS, second)


def _model(cpus: int = 4, count: int = 5) -> ScreenModel:
    return model_of(*(_frame(cpus, second) for second in range(count)))


@pytest.mark.parametrize("name", Screen)
@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 10), (80, 24), (140, 40), (300, 60)])
@pytest.mark.parametrize("cpus", [1, 4, 64, 512])
def test_every_screen_fits_any_size(name: str, size: tuple[int, int], cpus: int) -> None:
    width, height = size
    for model in (ScreenModel(), model_of(frame(cpus, seconds=0.0)), _model(cpus)):
        lines = screen_of(model, name, width, height)
        assert len(lines) == height
        assert all(len(line) == width and line.isprintable() for line in lines)


def test_the_map_has_a_row_for_each_cpu_or_for_a_group_of_cpus() -> None:
    rows = screen_of(_model(4), "map")
    assert [line[:4].strip() for line in rows[4:20] if line[:4].strip()] == ["0", "1", "2", "T 3"]
    rows = screen_of(_model(512), "map", 100, 31)
    assert "each row: worst of up to 24 CPUs" in rows[3]
    assert rows[4].startswith("  0-23 ")
    assert [line[:8].strip() for line in rows if "T " in line[:4]] == ["T 511"]


def test_on_the_map_housekeeping_cpus_do_not_hide_the_target() -> None:
    lines = tuple(
        cpu_line(cpu, Role.HOUSEKEEPING if cpu < 2 else Role.TARGET, 90e6 if cpu < 2 else 9.0) for cpu in range(64)
    )
    rows = screen_of(model_of(frame(lines)), "map", 80, 25)
    assert [line[:8].strip() for line in rows[4:6]] == ["0-1", "T 2-5"]
    assert [line.rstrip()[-1] for line in rows[4:6]] == ["▇", "▁"]


def test_the_map_shows_the_worst_cpu_of_a_shared_row() -> None:
    lines = tuple(cpu_line(cpu, lost_ns=200_000_000.0 if cpu == 100 else 0.0) for cpu in range(512))
    rows = screen_of(model_of(frame(lines)), "map", 100, 31)
    assert [line[:12].strip() for line in rows[4:] if "█" in line] == ["92-114"]


def test_on_the_map_an_offline_cpu_is_not_unknown() -> None:
    before, after = (cpu_line(1, Role.TARGET), cpu_line(1, Role.OFFLINE, None))
    model = model_of(*(frame((cpu_line(0), line), second=at) for at, line in enumerate((before, after, after), 1)))
    assert any(line.rstrip().endswith("xx") for line in screen_of(model, "map"))


def test_culprits_of_all_cpus_are_listed_and_can_be_filtered() -> None:
    model = _model()
    text = "".join(screen_of(model, "culprits"))
    assert all(name in text for name in ("hog [4711]", "24 nvme0q1", "away [77]"))
    assert "3 culprits, by cost" in text
    model.filter = "kind:irq"
    text = "".join(screen_of(model, "culprits"))
    assert "1 culprit, by cost" in text
    assert "filter: kind:irq" in text
    assert "hog" not in text


def test_on_a_small_screen_the_end_of_a_long_filter_is_visible() -> None:
    model = _model()
    model.filter, model.is_typing = "kind:irq !" + "x" * 40 + "end", True
    assert any(line.rstrip().endswith("xend_") for line in screen_of(model, "culprits", 40, 10))


def test_an_event_that_does_not_fit_continues_in_the_next_row() -> None:
    model = model_of(frame())
    model.log.add(Event(SECOND_NS, EventKind.DEVICE, "a device with a long name was added to one of the busses"))
    rows = [" ".join(line.split()) for line in screen_of(model, "events", 60, 20)]
    assert "a device with a long name was added to one of the busses" in " ".join(rows)
    assert all(len(row) <= 60 for row in rows)


def test_the_screen_of_a_cpu_has_figures_lanes_by_kind_and_culprits() -> None:
    model = _model()
    rows = screen_of(model, "cpu")
    assert rows[3].startswith(" CPU 3  target   noise 20 µs/s   12 irq/s   3.0 sirq/s")
    assert [line.split("│")[0].strip() for line in rows[4:7]] == ["noise", "irq", "thread"]
    assert rows[5].rstrip()[-5:] == "▅▅▅▅▅"
    assert "away" not in "".join(rows)


def test_a_cpu_without_any_of_the_costliest_culprits_is_not_shown_as_calm() -> None:
    many = tuple(culprit(f"hog{number}", cpu=3, kind="thread") for number in range(70))
    few = (*many[:10], culprit("away", cpu=0, role=Role.HOUSEKEEPING, kind="irq"))
    full = (*many[:10], *(culprit(f"away{number}", cpu=1, role=Role.HOUSEKEEPING) for number in range(54)))
    model = model_of(frame(4, few), frame(4, full, 2))
    model.cpu = 0
    assert "none among the 64 costliest culprits" in "".join(screen_of(model, "cpu"))
    assert "the costliest 64 culprits" in "".join(screen_of(model, "culprits"))
    assert model.history.noise_by_kind(0, range(2)) == {"irq": [4_000_000.0, None]}
    assert set(model.history.noise_by_kind(3, range(2))) == {"thread"}
    assert model.frame is not None
    assert [model.frame.has_all_culprits_of(cpu) for cpu in (3, 0, 9)] == [True, False, False]
    assert not frame(4, many[:64]).has_all_culprits_of(3)


def test_cpus_that_share_a_row_are_not_calm_while_one_is_unknown() -> None:
    cpus = [cpu_line(cpu, "target", 0.0) for cpu in range(512)]
    cpus[40] = cpu_line(40, "target", None)
    cpus[80], cpus[81] = cpu_line(80, "target", None), cpu_line(81, "target", 200_000_000.0)
    model = model_of(frame(tuple(cpus)))
    rows = {line[:12].strip(): line.rstrip()[-1] for line in screen_of(model, "map", 100, 31) if line[:2] == "T "}
    assert (rows["T 23-45"], rows["T 69-91"]) == ("?", "█")
    assert model.history.worst([0]) == [200_000_000.0]
    assert model_of(frame(tuple(cpus[:60]))).history.worst([0]) == [None]


@pytest.mark.parametrize("key", ["2", "slash", "f", "left", "w", "H", "tab", "space"])
def test_keys_pressed_in_an_overlay_do_not_change_the_monitor_below(key: str) -> None:
    before, after = _press("c")[0].model, _press("c", key)[0].model
    state = [
        (model.screen, model.cursor, model.zoom, model.pauses_on_spike, model.is_typing) for model in (before, after)
    ]
    assert state[0] == state[1]


def test_advice_reports_a_machine_that_cannot_be_opened() -> None:
    def refuse() -> Machine:
        raise UsageError("machine.nw: no such file or directory")

    lines = advise(refuse, frozenset({3}), _CULPRITS[0]).lines
    assert lines == ("No advice: machine.nw: no such file or directory",)


def _press(*keys: str, size: tuple[int, int] = (100, 30)) -> tuple[MonitorApp, list[str]]:
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for second in range(5):
            app.show_frame(frame(4, _CULPRITS, second))
        await pilot.press(*keys)
        lines.extend(lines_of(app))

    return with_monitor(steps, size=size), lines


@pytest.mark.parametrize(("key", "name"), [(str(screen.number), screen) for screen in Screen])
def test_a_digit_opens_each_screen_and_escape_goes_back(key: str, name: str) -> None:
    assert _press(key)[0].model.screen == name
    assert _press(key, "escape")[0].model.screen == "overview"


def test_tab_cycles_through_the_screens_or_through_the_cpus() -> None:
    assert _press("tab")[0].model.screen == "map"
    assert _press("shift+tab")[0].model.screen == tuple(Screen)[-1]
    assert _press(key_of(Screen.CPU), "tab")[0].model.cpu == 0
    assert _press(key_of(Screen.CPU), "shift+tab")[0].model.cpu == 2


def test_enter_opens_the_cpu_of_the_selected_culprit() -> None:
    assert _press("enter")[1][3].startswith(" CPU 3 ")
    assert _press(key_of(Screen.CULPRITS), "down", "enter")[1][3].startswith(" CPU 0 ")


def test_keys_typed_into_a_filter_have_no_other_effect() -> None:
    app, lines = _press(key_of(Screen.CULPRITS), "slash", "q", "h", "backspace", "backspace", *"hog")
    assert "filter: hog_" in "".join(lines)
    assert app.model.listed() == [_CULPRITS[0]]
    assert _press("slash", *"away", "enter")[0].model.filter == "away"
    assert _press("slash", *"away", "escape")[0].model.filter == ""
    assert not _press("slash", "ctrl+c")[0].is_running


@pytest.mark.parametrize(
    ("keys", "number", "zoom", "pauses_on_spike"),
    [
        (("left",), 3, 1, False),
        (("shift+left",), 0, 1, False),
        (("left", "left", "right"), 3, 1, False),
        (("left_parenthesis", "shift+right"), 4, 1, False),
        (("left_parenthesis",), 0, 1, False),
        (("left_parenthesis", "right_parenthesis"), 4, 1, False),
        (("left_square_bracket",), 4, 1, False),
        (("right_square_bracket",), 4, 1, False),
        (("H",), 4, 1, True),
        (("w",), 4, 2, False),
    ],
)
def test_keys_move_in_time(keys: tuple[str, ...], number: int, zoom: int, pauses_on_spike: bool) -> None:
    model = _press(*keys)[0].model
    assert (model.number, model.zoom, model.pauses_on_spike) == (number, zoom, pauses_on_spike)


def test_advice_on_the_selected_culprit_is_shown_with_its_command(tmp_path: Path) -> None:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3")
    recording = record(tmp_path / "machine.nw", files)
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, (culprit("hog", cpu=2, pid=900, tid=900),), target=(2, 3)))
        await pilot.press(key_of(Screen.CULPRITS), "f")
        await until(pilot, lambda: "taskset" in "".join(lines_of(app)))
        lines.extend(lines_of(app))

    with_monitor(steps, access=MachineAccess(lambda: Recording(str(recording))))
    assert any("now: sudo taskset -pc 0-1 900" in line for line in lines)


def test_the_map_can_be_drawn_in_ascii() -> None:
    assert all("▁" not in line for line in screen_of(_model(), "map", glyphs=None))
    assert UNICODE.ramp[1] in "".join(screen_of(_model(), "map"))


def test_the_screen_is_exported_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, lines = _press("left", "e")
    paths = {path.suffix: path for path in tmp_path.iterdir()}
    assert f"written: ./{paths['.svg'].stem} .s" in lines[-1]
    assert paths.keys() >= {".svg", ".json", ".md"}
    assert "hog" in paths[".svg"].read_text()
    data = json.loads(paths[".json"].read_text())
    assert data["taken_at_ns"] == 3_000_000_000
    assert data["window"] == {"intervals": 4, "lost_ns_per_s_by_cpu": {str(cpu): [20_000.0] * 4 for cpu in range(4)}}
    assert "| 3 | thread | `hog [4711]` |  | 90 ms | 9.0% |" in paths[".md"].read_text()


def test_the_exported_json_keeps_its_keys() -> None:
    model = model_of(frame(4, (culprit("hog", cpu=3),), origin="replay of x.nw"))
    exported = json.loads(str(window_reports(model, 10)["json"]))
    expected = (
        "schema taken_at_ns seconds machine target target_chosen_by housekeeping online_count turbo verdict findings "
        "passed judged_s cpus culprits sampler_cpu_s source sampler_wakeups is_last remark conditions has_idle_probe "
        "no_idle_probe_reason counts answers causes gravities wall_ns ahead_s irqs no_irqs_reason irq_balancer clock "
        "processes runs hypervisor tuned window"
    )
    assert sorted(exported) == sorted(expected.split(" "))
    assert exported["source"] == "replay of x.nw"
    assert (
        " ".join(exported["culprits"][0])
        == "cpu role kind name pid tid rate_per_s stolen_ns_per_s is_estimate irq program"
    )


def test_an_export_does_not_overwrite_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    now = time.strptime("2026-01-01", "%Y-%m-%d")
    assert export({"json": "one"}, now) == "written: ./noisewatch-20260101-000000 .json"
    assert export({"svg": b"two", "json": "two"}, now) == "written: ./noisewatch-20260101-000000-2 .svg .json"
    assert export({"md": "three"}, now) == "written: ./noisewatch-20260101-000000 .md"
    assert (tmp_path / "noisewatch-20260101-000000.json").read_text() == "one"


def test_the_window_in_markdown_lists_culprits_failures_and_changes() -> None:
    model = model_of(*(frame(2, (culprit("a|b"),), second, failed=("cpu-quota",)) for second in (1, 2)), frame(2))
    model.log.add(Event(3_000_000_000, EventKind.DEVICE, "sdb was added"))
    worker = culprit("worker", pid=4711, tid=4715)
    model.add(frame(2, (*_CULPRITS, worker), 3, failed=("cpu-quota",), unknown=("throttled",)))
    text = window_reports(model, 100)["md"]
    assert "worker [4711/4715]" in text
    assert "| 1 | target | 20 µs | 20 µs | 0 |" in text
    assert "- FAIL `cpu-quota` (blocking): cpu-quota was found" in text
    assert "- 0 s earlier: device: sdb was added" in text
    assert " s earlier: verdict: recovered: cpu-quota (last 5 s)" in text
    assert window_reports(ScreenModel(), 100) == {}


def test_a_failed_export_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert "nothing was written" in _press("e")[1][-1]


@pytest.mark.parametrize("screen", [Screen.OVERVIEW, Screen.IRQS, Screen.CLOCK, Screen.EVENTS, Screen.CULPRITS])
def test_only_the_edge_of_the_active_panel_is_lit(screen: Screen) -> None:
    model = copy(crowded(16))
    model.go_to(screen)
    edges = [
        style
        for row in rows_of_screen(model, 140, 40, UNICODE)[3:]
        for text, style in row[:1]
        if text.startswith(("╭", "│", "├", "╰"))
    ]
    assert set(edges) == {"plain", "faint"}
    lit = "".join("+" if style == "plain" else "-" for style in edges)
    assert len(lit.strip("-").strip("+").replace("+", "")) == 0, "one panel"
