"""What a command loads, and what comes before what."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "command",
    [["show"], ["preflight", "--sample", "0", "--no-calibration"], ["--version"], ["explain"]],
    ids=lambda command: command[0],
)
def test_a_command_for_scripts_loads_no_library_that_it_does_not_need(command: list[str]) -> None:
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
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout != ""
    assert ran.stderr.splitlines()[-1] == "[]"


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
def test_what_comes_first_is_imported_without_what_comes_later(program: str, rooms: tuple[str, ...]) -> None:
    loaded = f"{program}, sys; print(*(name for name in sys.modules if name.startswith('noisewatch.')))"
    ran = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    heavy = tuple(f"noisewatch.{room}" for room in rooms)
    assert [name for name in ran.stdout.split() if name.startswith(heavy)] == []
