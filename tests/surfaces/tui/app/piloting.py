"""The monitor under Textual's pilot, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from textual.pilot import Pilot

from noisewatch.machine import Machine
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands.monitor import machine_access
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.draw.line_view import LineView
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.framing import frame, text_of_rows, unframed

Steps = Callable[[MonitorApp, Pilot[None]], Awaitable[None]]
PATIENCE_S = 60.0  # the limit for a hanging test: a sampler takes seconds to start on a busy machine


def with_monitor(
    steps: Steps,
    sampler: list[str] | None = None,
    size: tuple[int, int] = (100, 30),
    access: MachineAccess | None = None,
    patience_s: float = PATIENCE_S * 2,
    kind: type[MonitorApp] = MonitorApp,
) -> MonitorApp:
    """Run the monitor with these steps, and return it after its end."""

    async def follow() -> MonitorApp:
        app = kind(SamplerProcess(sampler) if sampler is not None else None, glyphs=UNICODE, access=access)
        async with app.run_test(size=size) as pilot:
            await steps(app, pilot)
        return app

    return asyncio.run(asyncio.wait_for(follow(), patience_s))


def replay_access(recording: Path) -> MachineAccess:
    """Return the access to the machine that `--replay` gives the monitor."""
    return machine_access(parse_arguments(["--replay", str(recording)]))


async def run_preflight(app: MonitorApp, pilot: Pilot[None]) -> None:
    """Run a whole preflight of the replay, which starts at once, and wait for its verdict."""
    app.show_frame(frame(4, target=(2, 3), origin="replay of machine.nw"))
    await pilot.press("p")
    await until(pilot, lambda: "CHECKS" in "".join(lines_of(app)))


def lines_of(app: MonitorApp) -> list[str]:
    """Return the rows of the screen as texts, without the sides of their frame."""
    view = app.query_one(LineView)
    return [unframed(view.render_line(row).text) for row in range(view.size.height)]


def screen_after(*keys: str, frames: Iterable[Frame] = (), size: tuple[int, int] = (100, 30)) -> list[str]:
    """Return the rows of the screen after these frames and keys."""
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for interval in frames:
            app.show_frame(interval)
        await pilot.press(*keys)
        await pilot.pause()
        lines.extend(lines_of(app))

    with_monitor(steps, size=size)
    return lines


def texts_after(*keys: str, open_machine: Callable[[], Machine]) -> list[str]:
    """Return the text of the screen after each key, in a replay of this machine."""
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, origin="replay of x.nw"))
        for key in keys:
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            texts.append(text_of_rows(app.rows(120, 40)))

    with_monitor(steps, size=(120, 40), access=MachineAccess(open_machine))
    return texts


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the monitor run until the condition holds. Raise TimeoutError, or AssertionError after the monitor's end."""

    async def work() -> None:
        while not condition():
            assert pilot.app.is_running
            await pilot.pause(0.01)

    await asyncio.wait_for(work(), PATIENCE_S)


def key_of(screen: Screen) -> str:
    """Return the digit that shows the screen."""
    return str(screen.number)
