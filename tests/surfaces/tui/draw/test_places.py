"""CPUs in topology order, with siblings side by side."""

from __future__ import annotations

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine, PlaceLine
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.tui.draw.places import brackets, in_topology_order, place_title, shared_words
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen, screen_of


def _hyperthreads(cores: int = 2) -> ScreenModel:
    """Return a model in which CPUs n and n + `cores` share a core, and all share a cache of node 0."""
    count = 2 * cores
    places = tuple(
        PlaceLine(cpu, 0, 0, cpu % cores, "L3#0", tuple(sorted({cpu % cores, cpu % cores + cores})))
        for cpu in range(count)
    )
    return model_of(frame(tuple(cpu_line(cpu, Role.TARGET) for cpu in range(count)), places=places))


def test_siblings_are_adjacent_and_bracketed() -> None:
    model = _hyperthreads()
    assert model.frame is not None
    lines = in_topology_order(model, model.frame.cpus)
    assert [line.cpu for line in lines] == [0, 2, 1, 3]
    assert brackets(model, lines, UNICODE) == {0: "┐", 2: "┘", 1: "┐", 3: "┘"}
    assert brackets(model, lines, ASCII) == {0: "\\", 2: "/", 1: "\\", 3: "/"}


def test_four_threads_of_a_core_have_a_sign_between() -> None:
    places = tuple(PlaceLine(cpu, siblings=(0, 1, 2, 3)) for cpu in range(4))
    model = model_of(frame(4, places=places))
    assert model.frame is not None
    assert "".join(brackets(model, model.frame.cpus, UNICODE).values()) == "┐┤┤┘"


def test_siblings_that_are_not_adjacent_have_no_bracket() -> None:
    model = _hyperthreads()
    assert model.frame is not None
    assert brackets(model, model.frame.cpus, UNICODE) == {}


def test_the_title_names_the_known_places_that_all_cpus_share() -> None:
    model = _hyperthreads()
    assert model.frame is not None
    assert place_title(model, model.frame.cpus, UNICODE) == "node 0 · L3#0 · CPUs 0-3"
    assert place_title(model_of(frame(2)), frame(2).cpus, UNICODE) == "CPUs 0-1"


def test_the_screen_of_a_cpu_names_the_cpus_that_share_its_core_and_cache() -> None:
    model = _hyperthreads()
    assert shared_words(model, 1) == [
        "shares its core with CPU 3, its L3#0 with CPUs 0-3",
        "shares its core with CPU 3",
        "",
    ]
    assert shared_words(model_of(frame(2)), 1) == [""]
    one_cpu = screen_of(_hyperthreads(), Screen.CPU, 120, 34)
    assert any("CPU 0 · shares its core with CPU 2, its L3#0 with CPUs 0-3" in line for line in one_cpu)


def test_a_cpu_that_is_offline_does_not_hide_the_place_of_the_others() -> None:
    model = _hyperthreads()
    assert model.frame is not None
    lines = (*model.frame.cpus, CpuLine(9, Role.OFFLINE))
    assert place_title(model, lines, UNICODE) == "node 0 · L3#0 · CPUs 0-3,9"


def test_the_overview_and_the_map_show_the_order() -> None:
    overview = screen(_hyperthreads(), 120, 34)
    rows = [line[2:8].strip() for line in overview if line.startswith(" T ")]
    assert rows == ["0┐", "2┘", "1┐", "3┘"]
    map_lines = screen_of(_hyperthreads(), Screen.MAP, 120, 34)
    assert [line.split()[1] for line in map_lines if line.startswith("T ")] == ["0┐", "2┘", "1┐", "3┘"]
