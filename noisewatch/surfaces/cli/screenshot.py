"""`noisewatch screenshot FILE`"""

from __future__ import annotations

import asyncio
import math
import re
from argparse import Namespace
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from noisewatch.errors import UsageError
from noisewatch.operations.machines import open_machine, snapshot_options
from noisewatch.operations.sampling import sample_frames
from noisewatch.surfaces.cli.common import machine_options, report_damage
from noisewatch.surfaces.cli.monitor import machine_access
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.picture import png_of

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_LARGEST = 1000


def run(arguments: Namespace) -> int:
    """Draws the last moment of a recording, or one interval of this host, as the monitor would."""
    width, height = _parse_size(arguments.size)
    keys = _parse_keys(arguments.keys)
    for name in arguments.files:
        if Path(name).suffix.lower() not in (".svg", ".png"):
            raise UsageError(f"{name}: wanted a name that ends in .svg or .png")
    with ExitStack() as stack:
        outputs = {name: stack.enter_context(opened_output(name)) for name in arguments.files}
        svg = asyncio.run(_draw(arguments, keys, width, height))
        for name, output in outputs.items():
            output.write(png_of(svg) if Path(name).suffix.lower() == ".png" else svg.encode())
    return 0


def _parse_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    size = (int(match[1]), int(match[2])) if match is not None else (0, 0)
    if not all(0 < each <= _LARGEST for each in size):
        raise UsageError(f"--size {text}: wanted columns and lines such as 100x30")
    return size


def _parse_keys(text: str) -> list[str]:
    """Textual's names of keys. Raises UsageError for a name that no key has: it would be pressed in vain."""
    from noisewatch.surfaces.tui.app.keys import KEY_NAMES, is_key

    keys = [key for key in text.split(",") if key]
    for key in keys:
        if not is_key(key):
            near = get_close_matches(key, KEY_NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else "wanted keys such as s, enter or question_mark,j"
            raise UsageError(f"--keys {key}: there is no such key; {hint}")
    return keys


def go_to(model: ScreenModel, at_s: float, begin_ns: int) -> None:
    """Shows the moment so long after the beginning. Raises UsageError where the recording, or what is kept, has none.

    Lengths are shown in whole seconds: as many are no mistake.
    """
    history, at_ns = model.history, begin_ns + round(at_s * 1e9)
    end_s = ((model.newest.taken_at_ns if model.newest is not None else begin_ns) - begin_ns) / 1e9
    if at_s > math.ceil(end_s):
        raise UsageError(f"--at {at_s:g}: the recording ends after {end_s:.1f} s")
    if history.first and at_ns < (kept_ns := history.frame(history.first).taken_at_ns):
        raise UsageError(
            f"--at {at_s:g}: of so long a recording only the end is kept, from {(kept_ns - begin_ns) / 1e9:.0f} s on"
        )
    model.go_to_time(at_ns)


async def _draw(arguments: Namespace, keys: list[str], width: int, height: int) -> str:
    """The screen after all frames and keys, as SVG; the same input makes the same bytes."""
    from noisewatch.surfaces.tui.app.monitor import MonitorApp
    from noisewatch.surfaces.tui.draw.glyphs import UNICODE

    machine = open_machine(machine_options(arguments))
    if arguments.at is not None and arguments.replay is None:
        raise UsageError("--at: only a recording has earlier snapshots (--replay FILE)")
    read_options = snapshot_options(machine_options(arguments), machine)
    app = MonitorApp(glyphs=UNICODE, access=machine_access(arguments))
    begin_ns: int | None = None
    async with app.run_test(size=(width, height)) as pilot:
        for frame in sample_frames(machine, read_options, arguments.interval):
            begin_ns = frame.taken_at_ns if begin_ns is None else begin_ns
            app.show_frame(frame)
            if machine.is_live and frame.seconds > 0:
                break
        report_damage(machine)
        if arguments.at is not None and begin_ns is not None:
            go_to(app.model, arguments.at, begin_ns)
            app.draw()
        await pilot.press(*keys)
        await app.workers.wait_for_complete()
        await pilot.pause()
        return app.picture()
