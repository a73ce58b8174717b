"""Whether the machine runs on mains power.

    /sys/class/power_supply/AC/{type,online}          Mains, 1
    /sys/class/power_supply/BAT0/{type,status,scope}  Battery, Discharging   (scope Device: a mouse's battery)

https://docs.kernel.org/power/power_supply_class.html
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.errors import Absent, Unreadable
from noisewatch.sources.numbers import parse_integer, parse_word
from noisewatch.sources.reader import Reader

FOLDER = "/sys/class/power_supply"
NO_SUPPLY = "none"
_POWERED_STATES = frozenset({"Charging", "Full", "Not charging"})


@dataclass(frozen=True, slots=True)
class MainsPower:
    """True or False, `none` for a machine without power supplies that tell, None for unknown."""

    is_on: bool | str | None
    said_by: str | None = None  # the file


def read_mains_power(reader: Reader) -> MainsPower:
    """What the adapters say; without any, what the batteries say."""
    try:
        names = reader.names(FOLDER)
    except Absent:
        return MainsPower(NO_SUPPLY)
    except Unreadable:
        return MainsPower(None)
    supplies = {name: reader.parsed(f"{FOLDER}/{name}/type", parse_word) for name in names}
    own = {name: kind for name, kind in supplies.items() if not _is_of_a_device(reader, name)}
    if not own:
        return MainsPower(NO_SUPPLY)
    said = _by_adapters(reader, own)
    if said is None:
        said = _by_batteries(reader, own)
    return said or MainsPower(None)


def _is_of_a_device(reader: Reader, name: str) -> bool:
    return (reader.text_or_none(f"{FOLDER}/{name}/scope", expected=False) or "").strip() == "Device"


def _by_adapters(reader: Reader, supplies: dict[str, str | None]) -> MainsPower | None:
    adapters = [name for name, kind in supplies.items() if kind is not None and kind != "Battery" and kind != "UPS"]
    online = {name: reader.parsed(f"{FOLDER}/{name}/online", parse_integer) for name in adapters}
    for name, is_online in online.items():
        if is_online:
            return MainsPower(True, f"{FOLDER}/{name}/online")
    if online and all(is_online == 0 for is_online in online.values()):
        return MainsPower(False, f"{FOLDER}/{adapters[0]}/online")
    return None


def _by_batteries(reader: Reader, supplies: dict[str, str | None]) -> MainsPower | None:
    for name, kind in supplies.items():
        if kind != "Battery":
            continue
        path = f"{FOLDER}/{name}/status"
        status = reader.parsed(path, parse_word)
        if status == "Discharging":
            return MainsPower(False, path)
        if status in _POWERED_STATES:
            return MainsPower(True, path)
    return None
