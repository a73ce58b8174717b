"""Texts and glyphs for the places of CPUs: which CPUs share a core, a cache, a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from noisewatch.cpus import format_cpu_strides, name_cpus
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.drawing.glyphs import OFFLINE_MARK, Glyphs
from noisewatch.surfaces.drawing.text_row import Style
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

ROLE_STYLES: Mapping[Role, Style] = {Role.TARGET: "strong", Role.SIBLING: "plain"}
ROLE_MARKS = {Role.TARGET: "T", Role.SIBLING: "s", Role.OFFLINE: OFFLINE_MARK}


def role_of(model: ScreenModel, cpu: int) -> Role | None:
    """Return the CPU's role in the shown frame, or None if it has no line."""
    return next((line.role for line in model.cpus if line.cpu == cpu), None)


def in_topology_order(model: ScreenModel, lines: Sequence[CpuLine]) -> list[CpuLine]:
    """Return the CPUs by node, cache, core and sibling, or by number if places are unknown."""
    line_by_cpu = {line.cpu: line for line in lines}
    return [line_by_cpu[cpu] for cpu in model.in_order(line_by_cpu)]


def brackets(model: ScreenModel, lines: Sequence[CpuLine], glyphs: Glyphs) -> Mapping[int, str]:
    """Return the bracket glyph of each CPU that is listed directly above or below a sibling CPU."""
    places = model.places or {}
    core_by_cpu = {cpu: place.siblings for cpu, place in places.items() if place.siblings and len(place.siblings) > 1}
    cores = [core_by_cpu.get(line.cpu) for line in lines]
    glyph_by_cpu = {}
    for index, core in enumerate(cores):
        if core is None:
            continue
        follows, continues = index > 0 and cores[index - 1] == core, index + 1 < len(cores) and cores[index + 1] == core
        if follows or continues:
            glyph_by_cpu[lines[index].cpu] = glyphs.siblings[follows + (follows and not continues)]
    return glyph_by_cpu


def shared_words(model: ScreenModel, cpu: int) -> list[str]:
    """Return texts, the longest first, such as `shares its core with CPU 4, its L3#0 with CPUs 0-31`, then `""`."""
    places = model.places or {}
    place = places.get(cpu)
    if place is None:
        return [""]
    core = [sibling for sibling in place.siblings or () if sibling != cpu]
    cache = [other.cpu for other in places.values() if place.cache is not None and other.cache == place.cache]
    with_core = [f"its core with {name_cpus(core, format_cpu_strides)}"] if core else []
    with_cache = [f"its {place.cache} with {name_cpus(cache, format_cpu_strides)}"] if len(cache) > 1 else []
    texts = [", ".join([*with_core, *with_cache]), ", ".join(with_core)]
    return [*(f"shares {text}" for text in texts if text), ""]


def place_title(model: ScreenModel, lines: Sequence[CpuLine], glyphs: Glyphs) -> str:
    """Return the place that all the CPUs share, and the CPUs: `node 0 · L3#0 · CPUs 0-7`.

    Offline CPUs without a known place do not count.
    """
    places = model.places or {}
    placed = [line for line in lines if line.role != Role.OFFLINE or line.cpu in places]
    nodes = {places[line.cpu].node if line.cpu in places else None for line in placed}
    caches = {places[line.cpu].cache if line.cpu in places else None for line in placed}
    node = f"node {next(iter(nodes))}" if len(nodes) == 1 and None not in nodes else ""
    cache = str(next(iter(caches))) if len(caches) == 1 and None not in caches else ""
    cpus = name_cpus((line.cpu for line in lines), format_cpu_strides)
    return f" {glyphs.bullet} ".join(part for part in (node, cache, cpus) if part)
