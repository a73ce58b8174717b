"""The culprits that a screen lists: those of its CPUs, filtered, folded and sorted, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CulpritLine, Frame
from noisewatch.surfaces.tui.state import filters
from noisewatch.surfaces.tui.state.folding import folded
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel


def listed_culprits(model: ScreenModel) -> list[CulpritLine]:
    """Return the culprits that the screen lists, filtered, folded and sorted."""
    lines = unfolded(model)
    if model.folds and model.screen != "cpu":
        lines = folded(lines, lambda line: filters.weight_of(line, model.sort, model.baseline), cut_cpus(model.frame))
    return filters.culprits_in_order(lines, model.sort, model.baseline)


def unfolded(model: ScreenModel) -> list[CulpritLine]:
    """Return the culprits that the screen covers, one line for each CPU."""
    if model.screen == "cpu":
        return [line for line in model.culprits if line.cpu == model.cpu]
    if model.screen == "culprits":
        return filters.matching(model.culprits, model.filter)
    return [line for line in model.culprits if model.shows_all_cpus or line.role != Role.HOUSEKEEPING]


def listed_cpus(model: ScreenModel) -> CpuSet | None:
    """Return the CPUs whose culprits the screen lists, or None for all."""
    if model.screen == "cpu":
        return frozenset() if model.cpu is None else frozenset({model.cpu})
    if model.screen != "overview" or model.shows_all_cpus or model.frame is None:
        return None
    return frozenset(line.cpu for line in model.frame.cpus if line.role != Role.HOUSEKEEPING)


def cut_cpus(frame: Frame | None) -> CpuSet:
    """Return the CPUs whose culprits may be incomplete in a frame that has only the costliest."""
    if frame is None or not frame.is_cut:
        return frozenset()
    complete = frozenset(line.cpu for line in frame.cpus if frame.tells_all_on(line))
    return frozenset(line.cpu for line in frame.culprits) - complete


def unreadable_cpus(model: ScreenModel) -> list[int]:
    """Return the CPUs whose culprits the screen would list but could not be read; empty before there are rates."""
    if model.frame is None or model.frame.seconds <= 0:
        return []
    listed, asked = listed_cpus(model), filters.asked_cpus(model.filter) if model.screen == "culprits" else None
    return [
        line.cpu
        for line in model.frame.cpus
        if line.stolen_ns_per_s is None
        and line.role != Role.OFFLINE
        and all(cpus is None or line.cpu in cpus for cpus in (listed, asked))
    ]


def describe_culprit_count(model: ScreenModel, listing: Listing[CulpritLine]) -> str:
    """Return the number of listed culprits, and the CPUs without any known: `16 groups of 41, unknown on CPU 3`."""
    count, groups = len(unfolded(model)), listing.count
    most = "the costliest " if model.frame is not None and model.frame.is_cut else ""
    unknown_cpus = unreadable_cpus(model) if groups else []  # an empty list explains it in its own place
    doubt = f", unknown on {name_cpus(unknown_cpus)}" if unknown_cpus else ""
    if groups < count:
        return f"{describe_count(groups, 'group')} of {most}{count}{doubt}"
    return f"{most}{describe_count(count, 'culprit')}{doubt}"
