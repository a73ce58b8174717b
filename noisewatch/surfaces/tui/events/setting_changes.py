"""Settings that changed from one frame to the next: clocks, turbo, mains power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from noisewatch.cpus import CpuSet, name_cpus, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.operations.frame.frame import ClockLimits, Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.kinds import EventKind

_GOVERNOR, _LOWEST, _HIGHEST, _TURBO, _MAINS = "governor", "minimum frequency", "maximum frequency", "turbo", "mains"
Value = str | int | bool
Setting = tuple[str, int | None]  # what it is, and of which CPU


@dataclass(slots=True)
class KnownSettings:
    """The last value that is known of each setting: one that could not be read meanwhile is compared all the same."""

    _value_by_setting: dict[Setting, Value] = field(default_factory=dict)
    _turbo: str | None = None  # as the last frame had it
    _limits: tuple[ClockLimits, ...] = ()

    def changes(self, frame: Frame) -> Iterator[tuple[EventKind, str]]:
        """What is now another value than the last known one. What had none was not set, but found out."""
        if self._turbo is not None and frame.turbo is None:
            yield EventKind.CLOCK, f"turbo is now unknown, was {self._turbo}"
        cpus_by_change: dict[tuple[str, Value, Value], list[int]] = {}
        for setting, value in self._settings(frame):
            old = self._value_by_setting.get(setting)
            if old is not None and value is not None and old != value:
                cpus_by_change.setdefault((setting[0], old, value), []).append(setting[1] or 0)
            if value is not None:
                self._value_by_setting[setting] = value
        self._turbo, self._limits = frame.turbo, frame.conditions.clock_limits
        for (name, old, new), cpus in cpus_by_change.items():
            yield (
                (EventKind.POWER, _of_mains(old, new))
                if name == _MAINS
                else (EventKind.CLOCK, _of_clock(name, old, new, cpus))
            )

    def _settings(self, frame: Frame) -> Iterator[tuple[Setting, Value | None]]:
        """Limits only where they are not those of the last frame: hundreds of CPUs have the same, every time."""
        yield (_TURBO, None), frame.turbo
        yield (_MAINS, None), frame.conditions.mains_power
        for line in frame.cpus:
            yield (_GOVERNOR, line.cpu), line.governor
        for limits in frame.conditions.clock_limits if frame.conditions.clock_limits != self._limits else ():
            for cpu in _cpus(limits.cpus):
                yield (_LOWEST, cpu), limits.min_khz
                yield (_HIGHEST, cpu), limits.max_khz


def _cpus(text: str) -> CpuSet:
    try:
        return parse_cpu_list(text)
    except Malformed:
        return frozenset()


def _of_clock(name: str, old: Value, new: Value, cpus: list[int]) -> str:
    if name == _TURBO:
        return f"turbo is now {new}, was {old}"
    return f"the {name} of {name_cpus(cpus)} is now {_figure(new)}, was {_figure(old)}"


def _figure(value: Value) -> str:
    return f"{value / 1000:g} MHz" if isinstance(value, int) else value


def _of_mains(old: Value, new: Value) -> str:
    if new is False:
        return "mains power lost: running on battery"
    return (
        "mains power is back" if (old, new) == (False, True) else f"mains power is now {_power(new)}, was {_power(old)}"
    )


def _power(value: Value) -> str:
    return "on" if value is True else f"{value}"
