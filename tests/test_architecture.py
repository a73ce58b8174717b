"""The rooms and the one direction in which they know each other."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import noisewatch

ROOT = Path(noisewatch.__file__).parent
ROOMS = ("machine", "kernel", "model", "judgement", "operations", "surfaces")


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return named | {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}


def _modules_of(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_the_rooms_to_its_left(room: str) -> None:
    right = ROOMS[ROOMS.index(room) + 1 :]
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _modules_of(room)
        for name in _imports(path)
        for other in right
        if name.startswith(f"noisewatch.{other}")
    }
    assert len(_modules_of(room)) > 1
    assert wrong == set()


@pytest.mark.parametrize(
    ("package", "only"),
    [
        (
            "textual",
            {
                f"surfaces/tui/{name}.py"
                for name in (
                    "app/actions",
                    "app/monitor",
                    "app/keys",
                    "app/player",
                    "draw/line_view",
                    "overlays/stack",
                )
            },
        ),
        (
            "rich",
            {
                "surfaces/tui/draw/line_view.py",
                "surfaces/tui/draw/text_row.py",
                "surfaces/cli/monitor.py",
            },
        ),
        ("pyudev", {"kernel/interrupts/devices.py", "kernel/device_events.py"}),
        ("prometheus_client", {"surfaces/reports/verdict/prometheus.py"}),
        ("psutil", {"kernel/tasks/sessions.py", "kernel/tasks/threads.py"}),
        ("cronsim", {"model/cron_schedule.py"}),
    ],
)
def test_a_library_has_its_place(package: str, only: set[str]) -> None:
    users = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for name in _imports(path)
        if name.split(".")[0] == package
    }
    assert users == only


@pytest.mark.parametrize("room", ["model", "judgement"])
def test_the_pure_rooms_touch_nothing_outside(room: str) -> None:
    outside = {"os", "sys", "time", "pathlib", "subprocess", "socket", "io", "threading"}
    users = {str(path.relative_to(ROOT)): _imports(path) & outside for path in _modules_of(room)}
    assert {path: names for path, names in users.items() if names} == {}


@pytest.mark.parametrize(
    "command",
    [["show"], ["preflight", "--sample", "0", "--no-calibration"], ["--version"], ["explain"]],
    ids=lambda command: command[0],
)
def test_a_command_for_scripts_loads_neither_textual_nor_plotext(command: list[str]) -> None:
    program = (
        "import sys\n"
        "from noisewatch.surfaces.cli import main\n"
        "try:\n"
        f"    main({command!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'textual', 'plotext', 'rich'}), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout != ""
    assert ran.stderr.splitlines()[-1] == "[]"
