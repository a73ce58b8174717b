"""A fault of noisewatch's own costs the part that it happens in, which says so: a check, an overlay, a sampler."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.faults import RAISED, contained, describe_fault
from noisewatch.machine import Machine
from noisewatch.operations.frame.frame import encode_frame
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.line_view import LineView
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState, Show
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.app.piloting import key_of, shown, until, with_monitor
from tests.surfaces.tui.app.test_app_sampler import sampler_program
from tests.surfaces.tui.framing import culprit, frame


@pytest.fixture
def as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults are contained, as they are outside tests."""
    monkeypatch.delenv(RAISED)


def test_an_end_that_was_asked_for_is_not_contained(as_for_users: None) -> None:
    def end() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        contained(end, describe_fault)  # type: ignore[arg-type]  # is not called


def _boom() -> Machine:
    raise KeyError("boom")


_LIVE = encode_frame(frame(4, (culprit("hog"),)))
_COUNTING = "n = len(os.listdir({folder!r})); open(os.path.join({folder!r}, str(n)), 'w').close()\n"


def _after(
    keys: list[str],
    holds: Callable[[MonitorApp], bool],
    sampler: list[str],
    access: MachineAccess | None = None,
    announced: type[Overlay[Any]] | None = None,
) -> list[str]:
    """The rows when it holds, after these keys, which may be those of an overlay that is `announced`."""
    rows: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.model.newest is not None)
        if announced is not None:
            app._overlays.announce(announced.of(app.model.newest))
        for key in keys:
            await pilot.press(key)
        await until(pilot, lambda: holds(app))
        await pilot.pause()
        rows.extend(shown(app))

    with_monitor(steps, sampler, access=access)
    return rows


def _starts(folder: Path) -> int:
    return len(list(folder.iterdir()))


@pytest.mark.parametrize(("key", "starts"), [("c", 2), ("p", 2), ("t", 1)])
def test_a_screen_whose_work_raises_says_so_and_the_sampler_runs_again(
    key: str, starts: int, tmp_path: Path, as_for_users: None
) -> None:
    program = _COUNTING.format(folder=str(tmp_path)) + f"os.write(1, {_LIVE!r}); time.sleep(60)"
    access = MachineAccess(_boom, PreflightOptions)

    def is_over(app: MonitorApp) -> bool:
        screen = app._overlays.shown
        return screen is not None and screen.state == OverlayState.OVER and _starts(tmp_path) == starts

    rows = _after([key, "enter"], is_over, sampler_program(program), access)
    assert "Failed: internal error: KeyError: 'boom' (test_contained_faults.py:" in " ".join(rows)


class _Unusable(CalibrationOverlay):
    """A calibration overlay that fails while it handles its result."""

    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        def take() -> None:
            _boom()

        return take


def test_a_screen_that_cannot_take_in_its_result_says_so_too(tmp_path: Path, as_for_users: None) -> None:
    program = _COUNTING.format(folder=str(tmp_path)) + f"os.write(1, {_LIVE!r}); time.sleep(60)"

    def is_told(app: MonitorApp) -> bool:
        screen = app._overlays.shown
        return screen is not None and screen.state == OverlayState.OVER and _starts(tmp_path) == 2

    rows = _after(["enter"], is_told, sampler_program(program), announced=_Unusable)
    assert "internal error: KeyError: 'boom'" in " ".join(rows)


def test_an_advice_that_raises_is_told_beside_its_source(as_for_users: None) -> None:
    program = f"os.write(1, {_LIVE!r}); time.sleep(60)"
    access = MachineAccess(_boom)
    rows = _after(
        [key_of(Screen.CULPRITS), "f"], lambda app: app.model.advice is not None, sampler_program(program), access
    )
    assert "No advice: internal error: KeyError: 'boom'" in " ".join(rows)


@pytest.mark.parametrize("key", ["1", key_of(Screen.CULPRITS)])
def test_a_screen_that_cannot_be_drawn_says_so_and_the_next_picture_may_work(key: str, as_for_users: None) -> None:
    undrawable = replace(culprit("hog"), rate_per_s="often")  # it raises when it is drawn

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press(key)
        app.show_frame(frame(4, (undrawable,)))
        await pilot.pause()
        rows = shown(app)
        assert f"could not draw the {app.model.screen}: internal error: ValueError: " in " ".join(rows)
        assert "the next picture may work" in " ".join(rows)
        assert not any("CPU" in row for row in rows)  # nothing of the picture before
        await pilot.press(key_of(Screen.EVENTS))
        assert "could not draw" not in " ".join(shown(app))
        await pilot.press(key)
        assert "could not draw" in " ".join(shown(app))
        app.show_frame(frame(4, (culprit("hog"),)))
        await pilot.pause()
        assert "hog" in " ".join(shown(app))

    with_monitor(steps)


def test_a_style_that_nobody_knows_is_told_too(as_for_users: None) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.query_one(LineView)._rows_of = lambda width, height: [[("text", "no style")]]  # type: ignore[list-item]
        app.draw()
        await pilot.pause()
        assert "could not draw the overview: internal error: KeyError: 'no style'" in shown(app)[0]

    with_monitor(steps)


_ANEW = "restart noisewatch: it or a dependency was reinstalled"


@pytest.mark.parametrize(
    ("key", "module"),
    [
        ("f", "operations.advise"),
        ("c", "surfaces.tui.overlays.calibration"),
        ("t", "surfaces.tui.overlays.trace"),
        ("p", "surfaces.tui.overlays.preflight"),
    ],
)
def test_what_cannot_be_imported_any_more_costs_the_key_that_asked_for_it(
    key: str, module: str, monkeypatch: pytest.MonkeyPatch, as_for_users: None
) -> None:
    monkeypatch.setitem(sys.modules, f"noisewatch.{module}", None)  # as if it were there no more

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, (culprit("hog"),)))
        await pilot.press(key)
        assert f"could not do that: {_ANEW}" in " ".join(" ".join(shown(app)[-3:]).split())
        await pilot.press(key_of(Screen.EVENTS))
        assert app.model.screen == "events"

    with_monitor(steps, access=MachineAccess(_boom))


def test_a_frame_that_cannot_be_taken_in_costs_that_frame(as_for_users: None) -> None:
    bad = replace(frame(4), cpus=(None,) * 4)  # no CPU's line

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._take_in_contained(bad, b"")
        await pilot.pause()
        assert "could not show what the sampler saw: internal error: " in " ".join(shown(app))
        app._take_in_contained(frame(4, (culprit("hog"),)), b"")
        app._draw_pending()
        assert "hog" in " ".join(shown(app))

    with_monitor(steps)


_INSTALLED_ANEW = """\
import os, pathlib, noisewatch
from noisewatch.faults import contained
os.environ.pop("NOISEWATCH_RAISE_FAULTS", None)
print(contained(lambda: 1 / 0, str))
file = pathlib.Path(noisewatch.__file__)
file.with_name("new").write_bytes(file.read_bytes())
os.replace(file.with_name("new"), file)
print(contained(lambda: 1 / 0, str))
file.unlink()
print(contained(lambda: 1 / 0, str))
"""


def test_a_fault_after_an_update_asks_for_a_restart(tmp_path: Path) -> None:
    package = Path(sys.modules["noisewatch"].__file__ or "").parent
    (tmp_path / "noisewatch").mkdir()
    for name in ("__init__.py", "errors.py", "faults.py"):
        (tmp_path / "noisewatch" / name).write_bytes((package / name).read_bytes())
    ran = subprocess.run(
        [sys.executable, "-c", _INSTALLED_ANEW], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    said = "internal error: ZeroDivisionError: division by zero (<string>:4)"
    before, after, gone = ran.stdout.splitlines()
    assert before == f"{said}; please report it"
    assert (after.startswith(_ANEW), gone.startswith(_ANEW)) == (True, True)


class _Unpictured(MonitorApp):
    """Cannot be drawn as SVG."""

    def picture(self) -> str:
        raise ZeroDivisionError("division\nby zero")


def test_an_export_that_raises_is_told_in_the_last_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_for_users: None
) -> None:
    monkeypatch.chdir(tmp_path)

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press("e")
        await until(pilot, lambda: "nothing was written: internal error: " in (app.model.notice or ""))

    with_monitor(steps, kind=_Unpictured)


def test_a_sampler_that_an_error_ends_is_started_again_and_that_is_told(tmp_path: Path) -> None:
    program = _COUNTING.format(folder=str(tmp_path)) + (
        f"os.write(1, {_LIVE!r})\nif n == 0:\n    sys.exit('boom')\nos.write(1, {_LIVE!r}); time.sleep(60)"
    )

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.model.history.count == 3)
        assert "the sampler ended and was restarted: boom" in shown(app)[-1]
        assert app.model.trouble is None
        await pilot.press(key_of(Screen.EVENTS))
        assert "monitor   the sampler ended and was restarted: boom" in " ".join(shown(app))

    with_monitor(steps, sampler_program(program))
    assert _starts(tmp_path) == 2


def test_a_sampler_that_ends_again_is_left_and_says_why(tmp_path: Path) -> None:
    program = _COUNTING.format(folder=str(tmp_path)) + f"os.write(1, {_LIVE!r}); sys.exit(f'boom {{n}}')"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "the sampler ended: boom 1" in shown(app)[1])

    with_monitor(steps, sampler_program(program))
    assert _starts(tmp_path) == 2


def test_a_recording_whose_sampler_ends_is_not_read_anew(tmp_path: Path) -> None:
    line = encode_frame(frame(4, origin="replay of x.nw"))
    program = _COUNTING.format(folder=str(tmp_path)) + f"os.write(1, {line!r}); sys.exit('boom')"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "the sampler ended: boom" in shown(app)[1])

    with_monitor(steps, sampler_program(program))
    assert _starts(tmp_path) == 1


@pytest.mark.parametrize("options", ["[]", '{"replay": 5}'])
def test_the_sampler_tells_a_fault_in_one_line(options: str, as_for_users: None) -> None:
    command = [sys.executable, "-m", "noisewatch.operations.sampler", options]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("internal error: ")
