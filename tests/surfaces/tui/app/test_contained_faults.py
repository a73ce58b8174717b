"""An internal fault disables only the part in which it happens (a check, an overlay, a sampler), which reports it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.faults import RAISED, contain_faults, describe_fault
from noisewatch.machine import Machine
from noisewatch.operations.frame.frame import encode_frame
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.line_view import LineView
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState, Show
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.app.piloting import key_of, lines_of, until, with_monitor
from tests.surfaces.tui.app.test_app_sampler import sampler_program
from tests.surfaces.tui.framing import culprit, frame


@pytest.fixture
def contained_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contain faults as outside of tests, instead of raising them."""
    monkeypatch.delenv(RAISED)


def test_an_interrupt_is_not_contained(contained_faults: None) -> None:
    def end() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        contain_faults(end, describe_fault)  # type: ignore[arg-type]  # is not called


def _raise_boom() -> Machine:
    raise KeyError("boom")


_LIVE = encode_frame(frame(4, (culprit("hog"),)))
_COUNT_STARTS = "n = len(os.listdir({folder!r})); open(os.path.join({folder!r}, str(n)), 'w').close()\n"


def _rows_after(
    keys: list[str],
    condition: Callable[[MonitorApp], bool],
    sampler: list[str],
    access: MachineAccess | None = None,
    announced: type[Overlay[Any]] | None = None,
) -> list[str]:
    """Return the rows after these keys once the condition holds; `announced` is an overlay to open before them."""
    rows: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.model.newest is not None)
        if announced is not None:
            app._overlays.announce(announced.of(app.model.newest))
        for key in keys:
            await pilot.press(key)
        await until(pilot, lambda: condition(app))
        await pilot.pause()
        rows.extend(lines_of(app))

    with_monitor(steps, sampler, access=access)
    return rows


def _start_count(folder: Path) -> int:
    return len(list(folder.iterdir()))


@pytest.mark.parametrize(("key", "starts"), [("c", 2), ("p", 2), ("t", 1)])
def test_an_overlay_whose_work_raises_reports_it_and_the_sampler_runs_again(
    key: str, starts: int, tmp_path: Path, contained_faults: None
) -> None:
    program = _COUNT_STARTS.format(folder=str(tmp_path)) + f"os.write(1, {_LIVE!r}); time.sleep(60)"
    access = MachineAccess(_raise_boom, PreflightOptions)

    def is_over(app: MonitorApp) -> bool:
        screen = app._overlays.shown
        return screen is not None and screen.state == OverlayState.OVER and _start_count(tmp_path) == starts

    rows = _rows_after([key, "enter"], is_over, sampler_program(program), access)
    assert "Failed: internal error: KeyError: 'boom' (test_contained_faults.py:" in " ".join(rows)


class _FailingOverlay(CalibrationOverlay):
    """A calibration overlay that fails while it handles its result."""

    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        def take() -> None:
            _raise_boom()

        return take


def test_an_overlay_that_cannot_handle_its_result_reports_it(tmp_path: Path, contained_faults: None) -> None:
    program = _COUNT_STARTS.format(folder=str(tmp_path)) + f"os.write(1, {_LIVE!r}); time.sleep(60)"

    def is_over(app: MonitorApp) -> bool:
        screen = app._overlays.shown
        return screen is not None and screen.state == OverlayState.OVER and _start_count(tmp_path) == 2

    rows = _rows_after(["enter"], is_over, sampler_program(program), announced=_FailingOverlay)
    assert "internal error: KeyError: 'boom'" in " ".join(rows)


def test_a_fault_in_advice_is_shown(contained_faults: None) -> None:
    program = f"os.write(1, {_LIVE!r}); time.sleep(60)"
    access = MachineAccess(_raise_boom)
    rows = _rows_after(
        [key_of(Screen.CULPRITS), "f"], lambda app: app.model.advice is not None, sampler_program(program), access
    )
    assert "No advice: internal error: KeyError: 'boom'" in " ".join(rows)


@pytest.mark.parametrize("key", ["1", key_of(Screen.CULPRITS)])
def test_a_screen_that_cannot_be_drawn_reports_it_and_recovers(key: str, contained_faults: None) -> None:
    undrawable = replace(culprit("hog"), kind="often")  # it raises when it is drawn

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press(key)
        app.show_frame(frame(4, (undrawable,)))
        await pilot.pause()
        rows = lines_of(app)
        assert f"could not draw the {app.model.screen}: internal error: AttributeError: " in " ".join(rows)
        assert "the next picture may work" in " ".join(rows)
        assert not any("CPU" in row for row in rows)  # nothing of the previous picture
        await pilot.press(key_of(Screen.EVENTS))
        assert "could not draw" not in " ".join(lines_of(app))
        await pilot.press(key)
        assert "could not draw" in " ".join(lines_of(app))
        app.show_frame(frame(4, (culprit("hog"),)))
        await pilot.pause()
        assert "hog" in " ".join(lines_of(app))

    with_monitor(steps)


def test_an_unknown_style_is_reported(contained_faults: None) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.query_one(LineView)._rows_of = lambda width, height: [[("text", "no style")]]  # type: ignore[list-item]
        app.draw()
        await pilot.pause()
        assert "could not draw the overview: internal error: KeyError: 'no style'" in lines_of(app)[0]

    with_monitor(steps)


_RESTART = "restart noisewatch: it or a dependency was reinstalled"


@pytest.mark.parametrize(
    ("key", "module"),
    [
        ("f", "operations.advise"),
        ("c", "surfaces.tui.overlays.calibration"),
        ("t", "surfaces.tui.overlays.trace"),
        ("p", "surfaces.tui.overlays.preflight"),
    ],
)
def test_a_missing_module_disables_only_the_key_that_needs_it(
    key: str, module: str, monkeypatch: pytest.MonkeyPatch, contained_faults: None
) -> None:
    monkeypatch.setitem(sys.modules, f"noisewatch.{module}", None)  # as if it were removed

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, (culprit("hog"),)))
        await pilot.press(key)
        assert f"could not do that: {_RESTART}" in " ".join(" ".join(lines_of(app)[-3:]).split())
        await pilot.press(key_of(Screen.EVENTS))
        assert app.model.screen == "events"

    with_monitor(steps, access=MachineAccess(_raise_boom))


def test_a_frame_that_cannot_be_handled_is_skipped(contained_faults: None) -> None:
    bad = replace(frame(4), cpus=(None,) * 4)  # not a CPU's line

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._add_frame_contained(bad, b"")
        await pilot.pause()
        assert "could not show the new frame: internal error: " in " ".join(lines_of(app))
        app._add_frame_contained(frame(4, (culprit("hog"),)), b"")
        app._draw_pending()
        assert "hog" in " ".join(lines_of(app))

    with_monitor(steps)


_UPDATE_PROGRAM = """\
import os, pathlib, noisewatch
from noisewatch.faults import contain_faults
os.environ.pop("NOISEWATCH_RAISE_FAULTS", None)
print(contain_faults(lambda: 1 / 0, str))
file = pathlib.Path(noisewatch.__file__)
file.with_name("new").write_bytes(file.read_bytes())
os.replace(file.with_name("new"), file)
print(contain_faults(lambda: 1 / 0, str))
file.unlink()
print(contain_faults(lambda: 1 / 0, str))
"""


def test_a_fault_after_an_update_asks_for_a_restart(tmp_path: Path) -> None:
    package = Path(sys.modules["noisewatch"].__file__ or "").parent
    (tmp_path / "noisewatch").mkdir()
    for name in ("__init__.py", "errors.py", "faults.py"):
        (tmp_path / "noisewatch" / name).write_bytes((package / name).read_bytes())
    result = subprocess.run(
        [sys.executable, "-c", _UPDATE_PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    message = "internal error: ZeroDivisionError: division by zero (<string>:4)"
    before, after, removed = result.stdout.splitlines()
    assert before == f"{message}; please report it"
    assert (after.startswith(_RESTART), removed.startswith(_RESTART)) == (True, True)


class _UndrawableApp(MonitorApp):
    """A monitor that cannot be drawn as SVG."""

    def picture(self) -> str:
        raise ZeroDivisionError("division\nby zero")


def test_a_fault_in_an_export_is_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contained_faults: None
) -> None:
    monkeypatch.chdir(tmp_path)

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press("e")
        await until(pilot, lambda: "nothing was written: internal error: " in (app.model.notice or ""))

    with_monitor(steps, kind=_UndrawableApp)


def test_a_failed_sampler_is_restarted_and_reported(tmp_path: Path) -> None:
    program = _COUNT_STARTS.format(folder=str(tmp_path)) + (
        f"os.write(1, {_LIVE!r})\nif n == 0:\n    sys.exit('boom')\nos.write(1, {_LIVE!r}); time.sleep(60)"
    )

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.model.history.count == 3)
        assert "the sampler ended and was restarted: boom" in lines_of(app)[-1]
        assert app.model.trouble is None
        await pilot.press(key_of(Screen.EVENTS))
        assert "monitor   the sampler ended and was restarted: boom" in " ".join(lines_of(app))

    with_monitor(steps, sampler_program(program))
    assert _start_count(tmp_path) == 2


def test_a_sampler_that_fails_again_is_not_restarted(tmp_path: Path) -> None:
    program = _COUNT_STARTS.format(folder=str(tmp_path)) + f"os.write(1, {_LIVE!r}); sys.exit(f'boom {{n}}')"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "the sampler ended: boom 1" in lines_of(app)[1])

    with_monitor(steps, sampler_program(program))
    assert _start_count(tmp_path) == 2


def test_a_failed_sampler_of_a_recording_is_not_restarted(tmp_path: Path) -> None:
    line = encode_frame(frame(4, origin="replay of x.nw"))
    program = _COUNT_STARTS.format(folder=str(tmp_path)) + f"os.write(1, {line!r}); sys.exit('boom')"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "the sampler ended: boom" in lines_of(app)[1])

    with_monitor(steps, sampler_program(program))
    assert _start_count(tmp_path) == 1


@pytest.mark.parametrize("options", ["[]", '{"replay": 5}'])
def test_the_sampler_reports_a_fault_in_one_line(options: str, contained_faults: None) -> None:
    command = [sys.executable, "-m", "noisewatch.operations.sampler", options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("internal error: ")
