"""The command `noisewatch screenshot FILE`."""

from __future__ import annotations

import asyncio
import math
import re
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.machine.status_files import StatusFiles
from noisewatch.operations.machines import MachineOptions, open_machine, snapshot_options
from noisewatch.operations.records.receipt import read_receipt
from noisewatch.operations.sampling import sample_frames
from noisewatch.surfaces.cli.commands.monitor import machine_access
from noisewatch.surfaces.cli.common import machine_options, report_damage
from noisewatch.surfaces.cli.live import SilentListener
from noisewatch.surfaces.cli.parser import did_you_mean
from noisewatch.surfaces.cli.screen_part import ScreenPart
from noisewatch.surfaces.output import open_output
from noisewatch.surfaces.picture import THEMES, Still, animated_svg, svg_of_lines
from noisewatch.surfaces.raster import GIF, PNG, animation_of, png_of, require_raster, scaled
from noisewatch.text import printable

if TYPE_CHECKING:
    from noisewatch.operations.frame.frame import Frame
    from noisewatch.surfaces.poster import Poster
    from noisewatch.surfaces.tui.app.monitor import MonitorApp
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

    Press = Callable[[], Awaitable[None]]

SVG = ".svg"
_USUAL_SIZE = "100x30"
_MAX_SIDE = 1000
_MIN_STILL_S = 0.1


def run(arguments: Namespace) -> int:
    """Draw the monitor's screen: a moment or an animated part of a recording, or an interval of this host.

    With --poster, draw the result in a file instead.
    """
    _check_options(arguments)
    if arguments.poster is not None:
        return _draw_poster(arguments)
    size = _parse_size(arguments.size or _USUAL_SIZE)
    keys = _parse_keys(arguments.keys or "")
    screen_part = ScreenPart.of(arguments.panel, *size)
    suffixes = {name: Path(name).suffix.lower() for name in arguments.files}
    if {GIF, PNG} & set(suffixes.values()):
        require_raster(_is_animated(arguments))  # before a long recording is read
    with ExitStack() as stack:
        outputs = {name: stack.enter_context(open_output(name)) for name in arguments.files}
        film = asyncio.run(_draw(arguments, keys, screen_part))
        content_by_suffix = {suffix: film.content(suffix, arguments) for suffix in suffixes.values()}
        for name, output in outputs.items():
            output.write(content_by_suffix[suffixes[name]])
    return 0


def _draw_poster(arguments: Namespace) -> int:
    from noisewatch.surfaces.poster import poster_svg

    if any(Path(name).suffix.lower() == PNG for name in arguments.files):
        require_raster()
    with ExitStack() as stack:
        outputs = {name: stack.enter_context(open_output(name)) for name in arguments.files}
        poster = _read_poster(arguments)
        if arguments.title is not None:
            poster = replace(poster, heading=printable(arguments.title))
        svg = scaled(poster_svg(poster, THEMES[arguments.theme]), arguments.scale)
        for name, output in outputs.items():
            output.write(png_of(svg) if Path(name).suffix.lower() == PNG else svg.encode())
    return 0


def _read_poster(arguments: Namespace) -> Poster:
    """Return the poster of a receipt, or of the calibration in a recording.

    Raise UsageError if the file is neither or is damaged, and CannotMeasure for a recording without a calibration.
    """
    path = arguments.poster
    receipt = read_receipt(path)
    if receipt is not None:
        from noisewatch.surfaces.reports.run.poster import poster_of_run

        if arguments.cpus is not None:
            raise UsageError("--cpus: not with a receipt, whose poster is about the target CPUs of its runs")
        return poster_of_run(receipt)
    from noisewatch.operations.calibrate import CalibrateOptions, calibrate
    from noisewatch.surfaces.reports.calibration.poster import poster_of_calibration

    options = MachineOptions(replay=path, cpus=arguments.cpus)
    machine = open_machine(options)
    try:
        result = calibrate(machine, CalibrateOptions(machine=options), SilentListener())
    except CannotMeasure as error:
        raise CannotMeasure(f"{path}: no poster of a calibration: {error}") from error
    report_damage(machine)
    return poster_of_calibration(result)


class _Film(Struct, frozen=True):
    """The drawn screens: a single one, or those of an animation."""

    stills: Sequence[Still]
    columns: int
    title: str

    def content(self, suffix: str, arguments: Namespace) -> bytes:
        """Return the content of a file with this suffix."""
        theme = THEMES[arguments.theme]
        title = self.title if arguments.title is None else printable(arguments.title)
        if _is_animated(arguments) and suffix == SVG:
            return scaled(animated_svg(self.stills, self.columns, title, theme), arguments.scale).encode()
        svgs = [scaled(svg_of_lines(still.lines, self.columns, title, theme), arguments.scale) for still in self.stills]
        if _is_animated(arguments):
            return animation_of(svgs, [still.seconds for still in self.stills], suffix, theme.background)
        return svgs[0].encode() if suffix == SVG else png_of(svgs[0])


def _check_options(arguments: Namespace) -> None:
    """Raise UsageError for file names and moments that cannot be drawn."""
    for name in arguments.files:
        suffix = Path(name).suffix.lower()
        if suffix not in (SVG, PNG, GIF):
            raise UsageError(f"{name}: expected a name that ends in .svg, .png or .gif")
        if suffix == GIF and arguments.poster is not None:
            raise UsageError(f"{name}: a poster is a still picture; expected a name that ends in .svg or .png")
        if suffix == GIF and not _is_animated(arguments):
            raise UsageError(f"{name}: a GIF is an animation of --from to --to; use .png for a single moment")
    if arguments.poster is not None:
        _refuse_screen_options(arguments)
    for option, value in (("--at", arguments.at), ("--from", arguments.begin_s), ("--to", arguments.end_s)):
        if value is not None and arguments.replay is None:
            raise UsageError(f"{option}: needs a recording (--replay FILE)")
    if not _is_animated(arguments):
        return
    if arguments.at is not None:
        raise UsageError("--at draws a single moment, --from and --to an animation; use one or the other")
    if arguments.end_s is not None and arguments.end_s < (arguments.begin_s or 0.0):
        raise UsageError(f"--to {arguments.end_s:g} is before --from {arguments.begin_s:g}")


_OF_SCREENS = {
    "--replay": "replay",
    "--sysroot": "sysroot",
    "--size": "size",
    "--keys": "keys",
    "--panel": "panel",
    "--at": "at",
    "--from": "begin_s",
    "--to": "end_s",
}


def _refuse_screen_options(arguments: Namespace) -> None:
    """Raise UsageError if --poster is combined with an option that only changes the monitor's screen."""
    for option, name in _OF_SCREENS.items():
        if getattr(arguments, name) is not None:
            raise UsageError(f"{option}: not with --poster, which draws the result in its file, not the monitor")


def _is_animated(arguments: Namespace) -> bool:
    return arguments.begin_s is not None or arguments.end_s is not None


def _parse_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    size = (int(match[1]), int(match[2])) if match is not None else (0, 0)
    if not all(0 < side <= _MAX_SIDE for side in size):
        raise UsageError(f"--size {text}: expected columns and lines such as 100x30")
    return size


def _parse_keys(text: str) -> list[str]:
    """Return Textual's names of the keys. Raise UsageError for an unknown name."""
    from noisewatch.surfaces.tui.app.keys import KEY_NAMES, is_key

    keys = [key for key in text.split(",") if key]
    for key in keys:
        if not is_key(key):
            hint = did_you_mean(key, KEY_NAMES, "; expected keys such as s, enter or question_mark,j")
            raise UsageError(f"--keys {key}: there is no such key{hint}")
    return keys


def go_to(model: ScreenModel, at_s: float, begin_ns: int) -> None:
    """Show the moment `at_s` seconds after `begin_ns`. Raise UsageError if it is not in the kept part of the recording.

    A moment less than a second after the end is accepted, because lengths are shown in whole seconds.
    """
    history, at_ns = model.history, begin_ns + round(at_s * 1e9)
    end_s = ((model.newest.taken_at_ns if model.newest is not None else begin_ns) - begin_ns) / 1e9
    if at_s > math.ceil(end_s):
        raise UsageError(f"--at {at_s:g}: the recording ends after {end_s:.1f} s")
    if history.first and at_ns < (kept_ns := history.frame(history.first).taken_at_ns):
        raise UsageError(
            f"--at {at_s:g}: a recording this long can be drawn only from {(kept_ns - begin_ns) / 1e9:.0f} s on"
        )
    model.go_to_time(at_ns)


async def _draw(arguments: Namespace, keys: list[str], screen_part: ScreenPart) -> _Film:
    """Return the screens, drawn with the requested keys pressed; the same input gives the same screens."""
    from noisewatch.surfaces.drawing.glyphs import TONED
    from noisewatch.surfaces.tui.app.monitor import MonitorApp

    machine = open_machine(machine_options(arguments))
    read_options = replace(snapshot_options(machine_options(arguments), machine), asks_runs=StatusFiles().texts)
    app = MonitorApp(glyphs=TONED, access=machine_access(arguments))
    async with app.run_test(size=(screen_part.width, screen_part.height)) as pilot:

        async def pressed() -> None:
            await pilot.press(*screen_part.keys, *keys)
            await app.workers.wait_for_complete()
            await pilot.pause()

        frames = sample_frames(machine, read_options, arguments.interval)
        if _is_animated(arguments):
            stills = await _draw_stills(app, pressed, frames, arguments, screen_part)
            report_damage(machine)
            return _Film(stills, screen_part.width, app.title_of_picture)
        begin_ns: int | None = None
        for frame in frames:
            begin_ns = frame.taken_at_ns if begin_ns is None else begin_ns
            app.pass_over(frame)
            if machine.is_live and frame.seconds > 0:
                break
        report_damage(machine)
        if arguments.at is not None and begin_ns is not None:
            go_to(app.model, arguments.at, begin_ns)
        app.draw()
        await pressed()
        return _Film([Still(screen_part.lines_of(app), 0.0)], screen_part.width, app.title_of_picture)


async def _draw_stills(
    app: MonitorApp, pressed: Press, frames: Iterable[Frame], arguments: Namespace, screen_part: ScreenPart
) -> list[Still]:
    """Return the monitor's screens between --from and --to.

    Each frame is shown until the next frame, and the last for its own interval (at least 0.1 s each). Raise UsageError
    if the recording has no frame in that time.
    """
    begin_s, end_s = arguments.begin_s or 0.0, arguments.end_s
    begin_ns: int | None = None
    at_s = 0.0
    stills: list[Still] = []
    for frame in frames:
        begin_ns = frame.taken_at_ns if begin_ns is None else begin_ns
        at_s = (frame.taken_at_ns - begin_ns) / 1e9
        if end_s is not None and at_s > end_s:
            break
        if at_s < begin_s:
            app.pass_over(frame)
            continue
        app.show_frame(frame)
        if not stills:
            await pressed()
        seconds = max(frame.seconds, _MIN_STILL_S)
        stills = [
            *stills[:-1],
            *(replace(still, seconds=seconds) for still in stills[-1:]),
            Still(screen_part.lines_of(app), seconds),
        ]
    if not stills:
        ends = at_s < begin_s
        raise UsageError(
            f"--from {begin_s:g}: the recording "
            + (f"ends after {at_s:.1f} s" if ends else f"has no snapshot from there to {end_s:g} s")
        )
    return stills
