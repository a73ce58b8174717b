"""`noisewatch` without a command: the monitor."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from noisewatch.errors import UsageError
from noisewatch.operations.machines import MachineOptions, open_machine, parse_cpus, snapshot_options
from noisewatch.operations.pinning import read_allowed_cpus
from noisewatch.operations.sampler import SamplerOptions, start
from noisewatch.surfaces.cli.common import machine_options
from noisewatch.surfaces.output import ALWAYS, NEVER, encoding_of, is_interactive, print_answer, width

if TYPE_CHECKING:
    from noisewatch.machine import Machine
    from noisewatch.operations.preflight import PreflightOptions
    from noisewatch.surfaces.drawing.glyphs import Glyphs
    from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_PLAIN_HEIGHT = 40


def run(arguments: Namespace) -> int:
    """Open the monitor; without a terminal, print one picture of it."""
    _check_options(arguments)  # before the screen is taken over
    if not is_interactive():
        if arguments.idle_probe:
            raise UsageError(
                "--idle-probe: needs the monitor in a terminal; without a terminal use `noisewatch calibrate`"
            )
        return _print_once(arguments)
    options = SamplerOptions(
        machine=machine_options(arguments),
        interval_s=arguments.interval,
        idle_probe=arguments.idle_probe,
        allowed=read_allowed_cpus(),
        observer=os.getpid(),
    )
    _choose_colours(arguments.color)
    process = start(options.command())  # the sampler starts while everything else is imported
    from noisewatch.surfaces.tui.first_picture import FirstPicture

    opened = arguments.replay or arguments.sysroot
    with FirstPicture(_glyphs(arguments), arguments.interval, opened) as picture:
        import_asyncio_without_tls()
        from rich.console import Console  # Textual needs it as well

        from noisewatch.surfaces.tui.app.calm_driver import driver_taking_over
        from noisewatch.surfaces.tui.app.monitor import MonitorApp
        from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess

        terminal = Console(stderr=True)
        glyphs = _glyphs(arguments, None if terminal.no_color else terminal.color_system)
        sampler = SamplerProcess(options.command(), process)
        app = MonitorApp(sampler, glyphs, machine_access(arguments), arguments.interval, driver_taking_over(picture))
        app.model.opened = opened
        app.run(mouse=not arguments.no_mouse)
    return 0


def _choose_colours(choice: str) -> None:
    """Set or remove NO_COLOR in the environment, as --color requests; Textual has no other way."""
    if choice == NEVER:
        os.environ["NO_COLOR"] = "1"
    elif choice == ALWAYS:
        os.environ.pop("NO_COLOR", None)


def import_asyncio_without_tls() -> None:
    """Import asyncio without ssl: OpenSSL takes a tenth of the memory, and noisewatch uses no network."""
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # makes the import fail (Python reference, 5.3.1)
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]


def _check_options(arguments: Namespace) -> None:
    """Raise UsageError if the requested machine or CPUs do not exist, or cannot have an idle probe."""
    if machine_options(arguments) == MachineOptions():
        return  # nothing to check on this host with default CPUs; a check delays the first picture
    machine = open_machine(machine_options(arguments))
    if arguments.cpus is not None:
        parse_cpus("--cpus", arguments.cpus, machine)
    if arguments.idle_probe and not machine.is_live:
        raise UsageError(f"--idle-probe: needs this host; {machine.name} has no CPUs to spin on")


def _glyphs(arguments: Namespace, colours: str | None = None) -> Glyphs:
    from noisewatch.surfaces.drawing.glyphs import ASCII, glyphs_for

    return ASCII if arguments.ascii else glyphs_for(encoding_of(sys.stderr), os.environ.get("TERM", ""), colours)


def machine_access(arguments: Namespace) -> MachineAccess:
    """Return the functions with which the monitor's overlays open the machine and get their preflight options."""
    from noisewatch.surfaces.tui.overlays.overlay import MachineAccess

    machine, allowed = machine_options(arguments), read_allowed_cpus()

    def preflight_options() -> PreflightOptions:
        from noisewatch.surfaces.cli.commands.preflight import monitor_options

        return monitor_options(machine, allowed)

    return MachineAccess(partial(open_machine, machine), preflight_options)


def _print_once(arguments: Namespace) -> int:
    from rich.cells import set_cell_size

    from noisewatch.surfaces.drawing.glyphs import ASCII, glyphs_for
    from noisewatch.surfaces.drawing.text_row import to_ascii
    from noisewatch.surfaces.tui.screens.overview import overview_rows

    machine = open_machine(machine_options(arguments))
    model = _model_of(machine, arguments)
    glyphs = ASCII if arguments.ascii else glyphs_for(encoding_of(sys.stdout))
    rows = overview_rows(model, width(), _PLAIN_HEIGHT, glyphs)
    lines = [set_cell_size("".join(text for text, _ in row), width()).rstrip() for row in rows[:-1]]
    lines = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    text = "\n".join([*lines, *_interval_lines(model)]).rstrip() + "\n"
    print_answer(text if glyphs.has_braille else to_ascii(text))
    if machine.is_live:
        print("noisewatch: there is no suitable terminal, so only one picture is printed", file=sys.stderr)
    return 0


def _model_of(machine: Machine, arguments: Namespace) -> ScreenModel:
    """Return the model of the printed picture; for a recording it shows the noisiest interval."""
    from noisewatch.machine.status_files import StatusFiles
    from noisewatch.operations.sampling import sample_frames
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

    model = ScreenModel()
    read_options = replace(snapshot_options(machine_options(arguments), machine), asks_runs=StatusFiles().texts)
    for frame in sample_frames(machine, read_options, arguments.interval):
        model.add(frame)
        if machine.is_live and frame.seconds > 0:
            break
    if not machine.is_live and model.history.count:
        model.go_to_number(model.history.worst_number())
    return model


def _interval_lines(model: ScreenModel) -> list[str]:
    """Return a line that names the interval in the picture; no line for this host, which is measured only once."""
    if model.cursor is None:
        return []
    history = model.history
    unknown = history.count_noisy(history.kept)[1]
    doubt = f" ({unknown} unknown)" if unknown else ""
    kept = history.count - history.first
    chosen = f"the worst of the {'last ' if history.first else ''}{kept} intervals" if kept > 1 else "the only interval"
    at = f"{chosen}{doubt}, at {model.into_s():.0f} s"
    return [f"shown: {at}; noisewatch screenshot --at SECONDS draws another"]
