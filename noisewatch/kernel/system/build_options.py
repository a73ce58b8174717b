"""The running kernel's build options, as far as they matter to noise, and its consoles.

    /proc/config.gz                 CONFIG_HZ=250                        (compressed; with CONFIG_IKCONFIG_PROC)
    /boot/config-RELEASE            CONFIG_NO_HZ_FULL=y
    /lib/modules/RELEASE/config     # CONFIG_KASAN is not set

https://docs.kernel.org/kbuild/kconfig.html; options are missing if their conditions are not met.

/proc/consoles lists the consoles to which the kernel prints messages:

    ttyS0                -W- (EC  p a)    4:64
    tty0                 -WU (EC p  )    4:1

E means enabled. https://docs.kernel.org/admin-guide/serial-console.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.numbers import lines_of, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.machine.recording.privacy import TELLING_CONFIG, gunzip
from noisewatch.patterns import regex
from noisewatch.text import clean

PACKED = "/proc/config.gz"
_FILES = ("/boot/config-{}", "/lib/modules/{}/config")
_RELEASE = regex(r"[\w.+~-]+", re.ASCII)
_OPTION = regex(
    rf"^(?:# )?CONFIG_(?P<name>{'|'.join(sorted(TELLING_CONFIG))})(?:=(?P<value>[ymn]|\d{{1,9}})| is not set)$",
    re.MULTILINE,
)
_LAST = "RUNTIME_TESTING_MENU"  # an option of every kernel since Linux 4.15, listed after all other options used here


class KernelConfig(Struct, frozen=True):
    """The options by name without CONFIG_; `n` means not set. With `is_whole`, missing options are not set either."""

    value_by_option: Mapping[str, str]
    is_whole: bool
    path: str = PACKED

    def is_set(self, option: str) -> bool | None:
        """Return whether the kernel has the option, built in or as a module; None means unknown."""
        value = self.value_by_option.get(option)
        if value is None:
            return False if self.is_whole else None
        return value in ("y", "m")

    @property
    def tick_hz(self) -> int | None:
        """The scheduler ticks per second on a CPU that is not tickless; None means unknown."""
        value = self.value_by_option.get("HZ", "")
        return int(value) if value.isdecimal() and int(value) > 0 else None


def parse_kernel_config(text: str) -> KernelConfig:
    """Return the options that matter. Raise Malformed if there are none at all."""
    values = {match["name"]: match["value"] or "n" for match in _OPTION.finditer(text)}
    if not values:
        raise Malformed("a line such as CONFIG_HZ=250", text[:20])
    return KernelConfig(values, _LAST in values)


def read_kernel_config(reader: Reader, release: str | None) -> KernelConfig | None:
    """Return the options in the first readable file, or None. Call this once: it unpacks a hundred kilobytes."""
    is_named = _RELEASE.fullmatch(release or "") is not None
    paths = (PACKED, *(pattern.format(release) for pattern in _FILES if is_named))
    for path in paths:
        config = _read(reader, path)
        if config is not None:
            return config
    damaged = [f"{path}: {reader.reason_by_path[path]}" for path in paths if path in reader.reason_by_path]
    reader.note(PACKED, damaged[0] if damaged else "neither this file nor /boot/config-RELEASE can be read")
    return None


def _read(reader: Reader, path: str) -> KernelConfig | None:
    try:
        config = parse_kernel_config(gunzip(reader.bytes(path, expected=False)).decode("utf-8", "replace"))
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(path, error.reason)
        return None
    except ValueError as error:
        reader.note(path, f"not a gzip file: {error}")
        return None
    return KernelConfig(config.value_by_option, config.is_whole, path)


PATH = "/proc/consoles"
_CONSOLE = regex(r"(?P<name>\S+)\s+[-RWU]{3} \((?P<flags>[ECBpbaN ]*)\).*")
_SHOWS_OR_STORES = regex(r"tty\d+|ttynull-?\d*|pstore-?\d*|ramoops-?\d*")


class Console(Struct, frozen=True):
    """A console. Slow consoles send each character over a serial line, to a hypervisor or over the network."""

    name: str
    is_enabled: bool

    @property
    def is_slow(self) -> bool:
        return _SHOWS_OR_STORES.fullmatch(self.name) is None


def parse_consoles(text: str) -> tuple[Console, ...]:
    """Return the consoles, possibly none. Raise Malformed."""
    consoles = []
    for number, line in enumerate(lines_of(text), start=1):
        match = require_match(
            _CONSOLE.fullmatch(line.strip()), "a line such as `ttyS0 -W- (EC p a) 4:64`", line, number
        )
        consoles.append(Console(clean(match["name"]), "E" in match["flags"]))
    return tuple(consoles)


def read_consoles(reader: Reader) -> tuple[Console, ...] | None:
    """Return the current consoles, or None if unknown."""
    return reader.parse(PATH, parse_consoles)
