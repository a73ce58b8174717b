"""The temperature and power of the target CPUs' packages, and how often their limits were reached."""

from __future__ import annotations

import math
from collections.abc import Iterable

from noisewatch.cpus import parse_cpu_list
from noisewatch.operations.frame.frame import ClockPackage, Frame

HOT = 0.85  # of the critical temperature, or of the power limit


def share_of_heat(frame: Frame) -> float:
    """Return the hottest temperature as a share of the critical one, or NaN if unknown.

    It is unknown if one temperature is unknown and no other is HOT.
    """
    degrees = [(each.celsius, each.critical_celsius) for each in _packages(frame)]
    degrees += [(each.celsius, each.critical_celsius) for each in frame.conditions.temperatures]
    return _highest(degrees)


def share_of_power(frame: Frame) -> float:
    """Return the highest power of a target package as a share of PL1, or else of its rated power; NaN is unknown."""
    return _highest((each.watts, each.long_limit_w or each.rated_w) for each in _packages(frame))


def partly_known(frame: Frame) -> set[str]:
    """Return which of `heat` and `power` is known for at least one target package."""
    figures = {"heat": [each.celsius for each in _packages(frame)], "power": [each.watts for each in _packages(frame)]}
    return {name for name, found in figures.items() if any(each is not None for each in found)}


def times_limited(frame: Frame) -> dict[str, int]:
    """Return the number of times that each target package and core reached its power limit, where it is known."""
    counts = {f"package {each.package}": each.power_limit_count for each in _packages(frame)}
    cpus = frame.clock.cpus if frame.clock is not None else ()
    counts |= {f"core of {each.cpu}": each.power_limit_count for each in cpus if each.cpu in frame.target}
    return {what: count for what, count in counts.items() if count is not None}


def _packages(frame: Frame) -> list[ClockPackage]:
    packages, target = frame.clock.packages if frame.clock is not None else (), set(frame.target)
    return [each for each in packages if not target.isdisjoint(parse_cpu_list(each.cpus))]


def _highest(found: Iterable[tuple[float | None, float | None]]) -> float:
    shares = [value / limit if value is not None and limit else None for value, limit in found]
    highest = max((share for share in shares if share is not None), default=math.nan)
    return math.nan if None in shares and highest < HOT else highest
