"""The monitor under Textual's pilot, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from textual.pilot import Pilot

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands.monitor import machine_access
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.draw.line_view import LineView
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.framing import frame, unframed

Steps = Callable[[MonitorApp, Pilot[None]], Awaitable[None]]
PATIENCE_S = 60.0  # ends what hangs: a sampler takes seconds to start where others work


def with_monitor(
    steps: Steps,
    sampler: list[str] | None = None,
    size: tuple[int, int] = (100, 30),
    access: MachineAccess | None = None,
    patience_s: float = PATIENCE_S * 2,
    kind: type[MonitorApp] = MonitorApp,
) -> MonitorApp:
    """The monitor, after these steps; it has ended by then."""

    async def follow() -> MonitorApp:
        app = kind(SamplerProcess(sampler) if sampler is not None else None, glyphs=UNICODE, access=access)
        async with app.run_test(size=size) as pilot:
            await steps(app, pilot)
        return app

    return asyncio.run(asyncio.wait_for(follow(), patience_s))


def replay_access(recording: Path) -> MachineAccess:
    """What `--replay` gives the monitor."""
    return machine_access(parse_arguments(["--replay", str(recording)]))


async def preflight_of_shown(app: MonitorApp, pilot: Pilot[None]) -> None:
    """Asks for a whole preflight of the replay, and waits for its verdict; before it `F` writes nothing."""
    app.show_frame(frame(4, target=(2, 3), origin="replay of machine.nw"))
    await pilot.press("p", "F")
    assert "Judges the whole replay of machine.nw" in "".join(shown(app))
    assert not list(Path().iterdir())
    await pilot.press("enter")
    await until(pilot, lambda: "CHECKS" in "".join(shown(app)))


def shown(app: MonitorApp) -> list[str]:
    """What is on the screen, a text a row, without the edges at the left."""
    view = app.query_one(LineView)
    return [unframed(view.render_line(row).text) for row in range(view.size.height)]


def screen_after(*keys: str, frames: Iterable[Frame] = (), size: tuple[int, int] = (100, 30)) -> list[str]:
    """The screen after these frames and keys."""
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for each in frames:
            app.show_frame(each)
        await pilot.press(*keys)
        await pilot.pause()
        lines.extend(shown(app))

    with_monitor(steps, size=size)
    return lines


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Lets the monitor work until the condition holds. Raises TimeoutError, or AssertionError when it has ended."""

    async def work() -> None:
        while not holds():
            assert pilot.app.is_running
            await pilot.pause(0.01)

    await asyncio.wait_for(work(), PATIENCE_S)


def key_of(screen: Screen) -> str:
    """The digit that shows the screen."""
    return str(screen.number)
