"""The rooms and the one direction in which they know each other."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from graphlib import TopologicalSorter
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings

import noisewatch

ROOT = Path(noisewatch.__file__).parent
ROOMS = ("machine", "kernel", "model", "judgement", "documents", "operations", "surfaces")


FLOORS = ("kernel", "judgement/checks")
FAMILIES = {"cpus", "interrupts", "frequency", "memory", "tasks", "cgroup", "system", "trace"}
BESIDE_FAMILIES = {"kernel": {"snapshot"}, "judgement/checks": {"calibration"}}
LONGEST_FILE = 600
TESTS = Path(__file__).parent
MEASURING = {"sched_setaffinity", "sleep", "fork", "SharedBuffer"}
SURFACES = ("surfaces/drawing", "surfaces/reports", "surfaces/tui", "surfaces/cli")
_DRIVEN_BY_TEXTUAL = ("calm_driver", "monitor", "keys", "palette", "player")
_DRAWN_WITH_RICH = ("tui/draw/line_view", "drawing/text_row")
FROM_SPINNING = {"Progress", "DUTY_SHARE"}  # a record and a figure: neither makes anything spin


@cache
def _tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _statements_of(path: Path) -> Iterator[ast.AST]:
    """The statements and exception handlers of a file, without their expressions, which are ten times as many."""
    waiting: list[ast.AST] = [_tree_of(path)]
    while waiting:
        node = waiting.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, name, [])
            waiting += below if isinstance(below, list) else []


def _named(path: Path) -> Iterator[tuple[str, str]]:
    """The modules that a file imports, with the name that it takes of each."""
    for node in _statements_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)


@cache
def _imports(path: Path) -> frozenset[str]:
    return frozenset(module for module, _ in _named(path))


def _modules_of(root: Path, room: str = ".") -> dict[str, Path]:
    """Return the modules below a room by their paths relative to the root."""
    return {str(path.relative_to(root)): path for path in sorted((root / room).rglob("*.py"))}


def _wrong_directions(root: Path, rooms: Sequence[str] = ROOMS) -> set[str]:
    packages = [f"noisewatch.{room.replace('/', '.')}" for room in rooms]
    return {
        f"{name} imports {module}"
        for number, room in enumerate(rooms)
        for name, path in _modules_of(root, room).items()
        for module in _imports(path)
        if module.startswith(tuple(packages[number + 1 :]))
    }


def _users_outside(root: Path, library: str, room: str) -> set[str]:
    """The files that import the library, or a part of it, although they are in another room."""
    return {
        name
        for name, path in _modules_of(root).items()
        for module in _imports(path)
        if (module == library or module.startswith(f"{library}.")) and not name.startswith(f"{room}/")
    }


def _measuring_surfaces(root: Path) -> set[str]:
    """Surfaces that would pin, sleep or spin by themselves."""
    found = set()
    for name, path in _modules_of(root, "surfaces").items():
        calls = {node.attr for node in ast.walk(_tree_of(path)) if isinstance(node, ast.Attribute)}
        taken = {f"{module}.{what}" for module, what in _named(path) if "machine.spinning" in module}
        taken = {each for each in taken if each.rpartition(".")[2] not in FROM_SPINNING}
        found |= {f"{name}: {what}" for what in (calls & (MEASURING - {"sleep"})) | taken}
        if "sleep" in calls and "time" in _imports(path):
            found.add(f"{name}: sleep")
    return found


def _machines_opened_outside(root: Path) -> set[str]:
    """Return the modules that open a machine although they are neither in `operations` nor in `machine`."""
    kinds = ("noisewatch.machine.live", "noisewatch.machine.copied", "noisewatch.machine.recording.replay")
    return {
        name
        for name, path in _modules_of(root).items()
        if _imports(path) & set(kinds) and not name.startswith(("operations/", "machine/"))
    }


def _strange_families(root: Path) -> set[str]:
    return {
        f"{floor}/{folder.name}"
        for floor in FLOORS
        for folder in (root / floor).iterdir()
        if folder.is_dir() and not folder.name.startswith("_")
        if folder.name not in FAMILIES | BESIDE_FAMILIES[floor]
    }


def _large(root: Path) -> set[str]:
    return {name for name, path in _modules_of(root).items() if len(path.read_text().splitlines()) > LONGEST_FILE}


def _broad_handlers(root: Path) -> set[str]:
    """Return the handlers that catch any exception: faults are left to the one boundary in faults.py."""
    return {
        f"{name}:{node.lineno}"
        for name, path in _modules_of(root).items()
        for node in _statements_of(path)
        if isinstance(node, ast.ExceptHandler)
        if node.type is None or "Exception" in {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)}
    }


def test_no_property_test_is_timed() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_a_room_imports_only_from_the_rooms_to_its_left() -> None:
    assert all(len(_modules_of(ROOT, room)) > 1 for room in ROOMS)
    assert _wrong_directions(ROOT) == set()


def test_the_monitor_is_above_reports_and_both_are_above_what_they_are_drawn_with() -> None:
    assert all(len(_modules_of(ROOT, room)) > 1 for room in SURFACES)
    assert _wrong_directions(ROOT, SURFACES) == set()
    users = {
        name for name in _users_outside(ROOT, "noisewatch.surfaces.reports", "surfaces/reports") if "/tui/" in name
    }
    assert {name for name in users if "/overlays/" not in name} == {"surfaces/tui/app/export.py"}  # which show reports


def test_no_record_has_a_field_of_dataclasses_as_a_default() -> None:
    """msgspec takes one for the value, and mypy sees no difference."""
    for module in pkgutil.walk_packages(noisewatch.__path__, "noisewatch."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    records, waiting = set(), [msgspec.Struct]
    while waiting:
        found = waiting.pop().__subclasses__()
        records |= set(found)
        waiting += found
    assert len(records) > 300
    wrong = [each for each in records for value in each.__struct_defaults__ if isinstance(value, dataclasses.Field)]
    assert wrong == []


def _imported_first(path: Path) -> set[str]:
    """Return the names that a file imports when it is itself imported: neither for types alone, nor in a function."""
    found = set()
    for node in _tree_of(path).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def test_no_file_imports_itself_by_way_of_others() -> None:
    module_by_file = {name: f"noisewatch.{name.removesuffix('.py').replace('/', '.')}" for name in _modules_of(ROOT)}
    known = set(module_by_file.values())
    order = TopologicalSorter({module: _imported_first(ROOT / name) & known for name, module in module_by_file.items()})
    assert len(list(order.static_order())) == len(known)  # a circle raises CycleError


def test_nothing_outside_the_command_line_sees_its_parser() -> None:
    assert _users_outside(ROOT, "argparse", "surfaces/cli") == set()
    assert _users_outside(ROOT, "noisewatch.surfaces.cli", "surfaces/cli") <= {"__main__.py"}


def test_no_surface_measures_sleeps_or_pins() -> None:
    assert _measuring_surfaces(ROOT) == set()


def test_only_operations_start_processes_that_measure() -> None:
    assert {name for name in _users_outside(ROOT, "subprocess", "machine") if name.startswith("surfaces")} == {
        "surfaces/tui/app/sampler_process.py"  # the sampler
    }


def test_only_operations_open_a_machine() -> None:
    assert _machines_opened_outside(ROOT) == set()


def test_each_floor_has_the_same_families_and_so_have_its_tests() -> None:
    assert _strange_families(ROOT) == set()
    assert _strange_families(TESTS) == set()
    assert {folder.name for folder in (ROOT / "kernel").iterdir()} >= FAMILIES
    assert {folder.name for folder in (ROOT / "judgement/checks").iterdir()} >= FAMILIES


def test_no_file_is_too_long() -> None:
    assert _large(ROOT) == set()
    assert _large(TESTS) == set()


def test_faults_end_at_one_boundary() -> None:
    assert _broad_handlers(ROOT) == set()


@pytest.mark.parametrize(
    ("name", "text", "check", "found"),
    [
        ("kernel/cpus/x.py", "from noisewatch.surfaces.cli import main", _wrong_directions, True),
        ("surfaces/x.py", "from noisewatch.kernel.reader import Reader", _wrong_directions, False),
        (
            "operations/x.py",
            "from argparse import Namespace",
            partial(_users_outside, library="argparse", room="s"),
            True,
        ),
        ("surfaces/x.py", "import time\ntime.sleep(1)", _measuring_surfaces, True),
        ("surfaces/x.py", "import os\nos.sched_setaffinity(0, {1})", _measuring_surfaces, True),
        ("surfaces/x.py", "from noisewatch.machine.spinning.loops import load_core", _measuring_surfaces, True),
        (
            "surfaces/x.py",
            "from noisewatch.machine.spinning.calibration.run import Progress",
            _measuring_surfaces,
            False,
        ),
        ("surfaces/x.py", "from noisewatch.machine.live import LiveMachine", _machines_opened_outside, True),
        ("operations/x.py", "from noisewatch.machine.live import LiveMachine", _machines_opened_outside, False),
        ("kernel/clocks/x.py", "", _strange_families, True),
        ("kernel/frequency/x.py", "", _strange_families, False),
        ("model/x.py", "pass\n" * (LONGEST_FILE + 1), _large, True),
        ("model/x.py", "pass\n" * LONGEST_FILE, _large, False),
        ("model/x.py", "try:\n    f()\nexcept (OSError, Exception):\n    pass", _broad_handlers, True),
        ("model/x.py", "try:\n    f()\nexcept:\n    pass", _broad_handlers, True),
        ("model/x.py", "try:\n    f()\nexcept (OSError, ValueError):\n    pass", _broad_handlers, False),
    ],
)
def test_what_breaks_a_rule_is_found(
    tmp_path: Path, name: str, text: str, check: Callable[[Path], set[str]], found: bool
) -> None:
    for folder in (*FLOORS, *ROOMS):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert bool(check(tmp_path)) == found


@pytest.mark.parametrize(
    ("package", "only"),
    [
        (
            "textual",
            {
                f"surfaces/tui/{name}.py"
                for name in (
                    *(f"app/{each}" for each in _DRIVEN_BY_TEXTUAL),
                    "draw/line_view",
                    "overlays/overlay",
                )
            },
        ),
        ("rich", {f"surfaces/{name}.py" for name in ("cli/commands/monitor", "picture", *_DRAWN_WITH_RICH)}),
        ("pyudev", {"kernel/interrupts/irqs.py", "kernel/device_events.py"}),
        ("prometheus_client", {f"surfaces/reports/{each}/prometheus.py" for each in ("fleet", "verdict")}),
        ("psutil", {"kernel/tasks/sessions.py"}),
        ("cronsim", {"judgement/checks/tasks/jobs.py"}),
        ("markdown_it", {"surfaces/reports/topics/report.py"}),
    ],
)
def test_a_library_has_its_place(package: str, only: set[str]) -> None:
    assert _users_outside(ROOT, package, "nowhere") == only


@pytest.mark.parametrize("room", ["model", "judgement", "documents"])
def test_the_pure_rooms_touch_nothing_outside(room: str) -> None:
    outside = {"os", "sys", "time", "pathlib", "subprocess", "socket", "io", "threading"}
    users = {name: _imports(path) & outside for name, path in _modules_of(ROOT, room).items()}
    assert {path: names for path, names in users.items() if names} == {}
