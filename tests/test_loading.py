"""Modules that commands load, and their order."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "command",
    [["show"], ["preflight", "--sample", "0", "--no-calibration"], ["--version"], ["explain"]],
    ids=lambda command: command[0],
)
def test_command_for_scripts_loads_no_unused_library(command: list[str]) -> None:
    program = (
        "import sys\n"
        "from noisewatch.surfaces.cli import main\n"
        "try:\n"
        f"    main({command!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'textual', 'plotext', 'rich', 'hashlib', 'difflib'}), file=sys.stderr)\n"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout != ""
    assert process.stderr.splitlines()[-1] == "[]"


_MEASURING = ("kernel.trace.collector", "kernel.frequency.clock_readings", "model.trace", "operations.calibrate")
_FLOORS = ("judgement.noise.floor", "model.calibration")
_LIGHT = [
    ("import noisewatch.operations.frame.frame", ("judgement.checks", "kernel", "surfaces")),
    ("import noisewatch.surfaces.cli.commands.show", ("judgement.checks", "judgement.verdict")),
    (
        "import noisewatch.surfaces.cli.commands.preflight, noisewatch.surfaces.reports.verdict.text",
        _MEASURING + _FLOORS,
    ),
    ("import noisewatch.surfaces.cli.commands.monitor", ("judgement.checks", "kernel.reader", "machine.live", "model")),
    ("import noisewatch.surfaces.tui.first_picture", ("judgement.checks", "kernel.snapshot", "surfaces.tui.app")),
    ("import noisewatch.operations.sampler, noisewatch.kernel.snapshot.snapshot", ("judgement", "operations.frame")),
]


@pytest.mark.parametrize(("program", "rooms"), _LIGHT, ids=lambda value: str(value).rpartition(".")[2])
def test_early_modules_are_imported_without_later_ones(program: str, rooms: tuple[str, ...]) -> None:
    loaded = f"{program}, sys; print(*(name for name in sys.modules if name.startswith('noisewatch.')))"
    process = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    heavy = tuple(f"noisewatch.{room}" for room in rooms)
    assert [name for name in process.stdout.split() if name.startswith(heavy)] == []
