"""What the kernel can slow the processor down with when it gets hot, and whether it does.

    /sys/class/thermal/cooling_device0/{type,cur_state}   Processor, 0
    /sys/class/thermal/cooling_device9/{type,cur_state}   intel_powerclamp, -1   (not in use; 0 of late)

https://docs.kernel.org/driver-api/thermal/sysfs-api.html. Fans, displays and radios are cooling devices as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.kernel.numbers import integer_from, parse_word
from noisewatch.kernel.reader import Reader

FOLDER = "/sys/class/thermal"
_NOT_IN_USE = -1
MOST_WATCHED = 512  # a file takes some microseconds; servers have one of these for each CPU
_NAME = re.compile(r"cooling_device(\d{1,6})")
_SLOWS_THE_PROCESSOR = re.compile(
    r"Processor|intel_powerclamp|cpufreq-\S+|thermal-cpufreq-\d+|idle-\S+|thermal-idle-\d+", re.ASCII
)
# Of the kernel's drivers: fans, screens, radios, chargers, GPUs, ports, and where the processor counts as hot.
_COOLS_ELSEWHERE = re.compile(
    r"\S*[Ff]an\S*|LCD\S*|(iwlwifi|ath\d+k|mt\d+|rtw|BAT|devfreq-gpu|PCIe_Port_)\S*|TCC Offset", re.ASCII
)


@dataclass(frozen=True, slots=True)
class CoolingDevice:
    """One that slows the processor down, or of which nobody knows what it does. None is unknown."""

    path: str
    kind: str | None
    state: int | None  # above 0: at work

    @property
    def slows_the_processor(self) -> bool | None:
        """Whether it does so when it is at work; None is unknown."""
        return True if self.kind is not None and _SLOWS_THE_PROCESSOR.fullmatch(self.kind) else None


@dataclass(frozen=True, slots=True)
class Cooling:
    """None of `devices` is unknown; `is_complete` says that the kernel itself has no further ones."""

    devices: tuple[CoolingDevice, ...] | None
    is_complete: bool


def read_cooling(reader: Reader) -> Cooling:
    """The devices and their states."""
    names = reader.names_or_none(FOLDER)
    if names is None:
        return Cooling(None, False)
    numbers = sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match is not None)
    devices = [_read_device(reader, f"{FOLDER}/cooling_device{number}") for number in numbers]
    following = max(numbers, default=-1) + 1
    return Cooling(
        tuple(device for device in devices if device is not None),
        reader.is_absent(f"{FOLDER}/cooling_device{following}"),
    )


def _read_device(reader: Reader, path: str) -> CoolingDevice | None:
    kind = reader.parsed(f"{path}/type", parse_word)
    if kind is not None and _COOLS_ELSEWHERE.fullmatch(kind) is not None:
        return None  # asking it may be slow, too
    return CoolingDevice(path, kind, reader.parsed(f"{path}/cur_state", parse_state))


def parse_state(text: str) -> int:
    """The state, -1 of one that is not in use. Raises Malformed."""
    return integer_from(_NOT_IN_USE)(text)


def read_cooling_states(reader: Reader, cooling: Cooling) -> Mapping[str, int | None]:
    """The states now, by path, of as many devices as can be asked each time."""
    watched = [device.path for device in cooling.devices or () if device.kind is not None][:MOST_WATCHED]
    return {path: reader.parsed(f"{path}/cur_state", parse_state) for path in watched}
