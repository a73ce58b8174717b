"""`noisewatch screenshot FILE`"""

from __future__ import annotations

import asyncio
import re
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from noisewatch.errors import UsageError
from noisewatch.surfaces.cli.machines import open_machine, report_damage, wish_of
from noisewatch.surfaces.cli.monitor import sources_of
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.picture import png_of
from noisewatch.surfaces.sampling import sample_frames

_LARGEST = 1000


def run(arguments: Namespace) -> int:
    """Draws the last moment of a recording, or one interval of this host, as the monitor would."""
    width, height = _parse_size(arguments.size)
    for name in arguments.files:
        if Path(name).suffix.lower() not in (".svg", ".png"):
            raise UsageError(f"{name}: wanted a name that ends in .svg or .png")
    with ExitStack() as stack:
        outputs = {name: stack.enter_context(opened_output(name)) for name in arguments.files}
        svg = asyncio.run(_draw(arguments, width, height))
        for name, output in outputs.items():
            output.write(png_of(svg) if Path(name).suffix.lower() == ".png" else svg.encode())
    return 0


def _parse_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    size = (int(match[1]), int(match[2])) if match is not None else (0, 0)
    if not all(0 < each <= _LARGEST for each in size):
        raise UsageError(f"--size {text}: wanted columns and lines such as 100x30")
    return size


async def _draw(arguments: Namespace, width: int, height: int) -> str:
    """The screen after all frames and keys, as SVG; the same input makes the same bytes."""
    from noisewatch.surfaces.tui.app import MonitorApp
    from noisewatch.surfaces.tui.glyphs import UNICODE

    machine = open_machine(arguments)
    wish = wish_of(arguments, machine)
    app = MonitorApp(glyphs=UNICODE, sources=sources_of(arguments))
    begin_ns: int | None = None
    async with app.run_test(size=(width, height)) as pilot:
        for frame in sample_frames(machine, wish, arguments.interval):
            begin_ns = frame.taken_at_ns if begin_ns is None else begin_ns
            app.show_frame(frame)
            if machine.is_live and frame.seconds > 0:
                break
        if arguments.at is not None and begin_ns is not None:
            app.model.go_to_time(begin_ns + round(arguments.at * 1e9))
            app.draw()
        await pilot.press(*filter(None, arguments.keys.split(",")))
        await app.workers.wait_for_complete()
        await pilot.pause()
        report_damage(machine)
        return app.picture()
