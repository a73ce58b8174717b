"""The rooms of the package, and the direction of their imports."""

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
OTHER_FOLDERS = {"kernel": {"snapshot"}, "judgement/checks": {"calibration"}}
LONGEST_FILE = 600
TESTS = Path(__file__).parent
MEASURING = {"sched_setaffinity", "sleep", "fork", "SharedBuffer"}
SURFACES = ("surfaces/drawing", "surfaces/reports", "surfaces/tui", "surfaces/cli")
_DRIVEN_BY_TEXTUAL = ("calm_driver", "monitor", "keys", "palette", "player")
_DRAWN_WITH_RICH = ("tui/draw/line_view", "drawing/text_row")
FROM_SPINNING = {"Progress", "DUTY_SHARE"}  # a record and a figure, neither of which spins


@cache
def _tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _statements_of(path: Path) -> Iterator[ast.AST]:
    """Yield the statements and exception handlers of a file, without their expressions, which are ten times as many."""
    nodes: list[ast.AST] = [_tree_of(path)]
    while nodes:
        node = nodes.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, name, [])
            nodes += below if isinstance(below, list) else []


def _imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules that a file imports, with the name imported from each."""
    for node in _statements_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)


@cache
def _imports(path: Path) -> frozenset[str]:
    return frozenset(module for module, _ in _imported_names(path))


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
    """Return the files that import the library, or a part of it, although they are in another room."""
    return {
        name
        for name, path in _modules_of(root).items()
        for module in _imports(path)
        if (module == library or module.startswith(f"{library}.")) and not name.startswith(f"{room}/")
    }


def _measuring_surfaces(root: Path) -> set[str]:
    """Return the surfaces that pin, sleep or spin themselves."""
    violations = set()
    for name, path in _modules_of(root, "surfaces").items():
        calls = {node.attr for node in ast.walk(_tree_of(path)) if isinstance(node, ast.Attribute)}
        imported = {
            f"{module}.{attribute}"
            for module, attribute in _imported_names(path)
            if "machine.spinning" in module and attribute not in FROM_SPINNING
        }
        violations |= {f"{name}: {call}" for call in (calls & (MEASURING - {"sleep"})) | imported}
        if "sleep" in calls and "time" in _imports(path):
            violations.add(f"{name}: sleep")
    return violations


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
        if folder.name not in FAMILIES | OTHER_FOLDERS[floor]
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
        if node.type is None or "Exception" in {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)}
    }


def test_no_property_test_has_a_deadline() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_room_imports_only_from_the_rooms_to_its_left() -> None:
    assert all(len(_modules_of(ROOT, room)) > 1 for room in ROOMS)
    assert _wrong_directions(ROOT) == set()


def test_monitor_is_above_reports_and_both_are_above_drawing() -> None:
    assert all(len(_modules_of(ROOT, room)) > 1 for room in SURFACES)
    assert _wrong_directions(ROOT, SURFACES) == set()
    users = {
        name for name in _users_outside(ROOT, "noisewatch.surfaces.reports", "surfaces/reports") if "/tui/" in name
    }
    assert {name for name in users if "/overlays/" not in name} == {"surfaces/tui/app/export.py"}  # they show reports


def test_no_record_has_a_dataclasses_field_as_a_default() -> None:
    """msgspec takes such a field for the value, and mypy sees no difference."""
    for module in pkgutil.walk_packages(noisewatch.__path__, "noisewatch."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    records, parents = set(), [msgspec.Struct]
    while parents:
        subclasses = parents.pop().__subclasses__()
        records |= set(subclasses)
        parents += subclasses
    assert len(records) > 300
    wrong = [kind for kind in records for value in kind.__struct_defaults__ if isinstance(value, dataclasses.Field)]
    assert wrong == []


def _imported_first(path: Path) -> set[str]:
    """Return the names that a file imports when it is itself imported: neither for types alone, nor in a function."""
    names = set()
    for node in _tree_of(path).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return names


def test_no_file_imports_itself_through_others() -> None:
    module_by_file = {name: f"noisewatch.{name.removesuffix('.py').replace('/', '.')}" for name in _modules_of(ROOT)}
    modules = set(module_by_file.values())
    order = TopologicalSorter({name: _imported_first(ROOT / file) & modules for file, name in module_by_file.items()})
    assert len(list(order.static_order())) == len(modules)  # a circle raises CycleError


def test_parser_is_imported_only_in_the_command_line() -> None:
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


def test_each_floor_and_its_tests_have_the_same_families() -> None:
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
    ("name", "text", "check", "is_violation"),
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
def test_violation_of_a_rule_is_detected(
    tmp_path: Path, name: str, text: str, check: Callable[[Path], set[str]], is_violation: bool
) -> None:
    for folder in (*FLOORS, *ROOMS):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert bool(check(tmp_path)) == is_violation


@pytest.mark.parametrize(
    ("package", "only"),
    [
        (
            "textual",
            {
                f"surfaces/tui/{name}.py"
                for name in (
                    *(f"app/{module}" for module in _DRIVEN_BY_TEXTUAL),
                    "draw/line_view",
                    "overlays/overlay",
                )
            },
        ),
        ("rich", {f"surfaces/{name}.py" for name in ("cli/commands/monitor", "picture", *_DRAWN_WITH_RICH)}),
        ("pyudev", {"kernel/interrupts/irqs.py", "kernel/device_events.py"}),
        ("prometheus_client", {f"surfaces/reports/{report}/prometheus.py" for report in ("fleet", "verdict")}),
        ("psutil", {"kernel/tasks/sessions.py"}),
        ("cronsim", {"judgement/checks/tasks/jobs.py"}),
        ("markdown_it", {"surfaces/reports/topics/report.py"}),
    ],
)
def test_library_is_imported_only_in_its_place(package: str, only: set[str]) -> None:
    assert _users_outside(ROOT, package, "nowhere") == only


@pytest.mark.parametrize("room", ["model", "judgement", "documents"])
def test_pure_rooms_import_no_input_and_output(room: str) -> None:
    outside = {"os", "sys", "time", "pathlib", "subprocess", "socket", "io", "threading"}
    users = {name: _imports(path) & outside for name, path in _modules_of(ROOT, room).items()}
    assert {path: names for path, names in users.items() if names} == {}
