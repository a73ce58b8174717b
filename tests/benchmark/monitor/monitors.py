"""The monitors to be compared, each redrawing once a second."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

NOISEWATCH = (sys.executable, "-m", "noisewatch", "--interval", "1")
WIDE = (140, 40)


@dataclass(frozen=True, slots=True)
class Monitor:
    """A command, the size of its terminal, and additional environment variables."""

    name: str
    command: tuple[str, ...]
    size: tuple[int, int] = WIDE
    environment: Mapping[str, str] = field(default_factory=dict)


def noisewatch_here() -> list[Monitor]:
    """Return noisewatch on this host, in a small terminal and in a large one."""
    return [
        Monitor(f"noisewatch {columns}x{lines}", NOISEWATCH, (columns, lines)) for columns, lines in ((80, 24), WIDE)
    ]


def replaying(name: str, recording: Path) -> Monitor:
    """Return noisewatch with a recording instead of this host."""
    return Monitor(name, (*NOISEWATCH, "--replay", str(recording)))


def others(folder: Path) -> tuple[list[Monitor], list[str]]:
    """Return the other monitors that are installed, and the names of the missing ones; write settings to `folder`."""
    settings = folder / "btop" / "btop.conf"
    settings.parent.mkdir()
    settings.write_text("update_ms = 1000\n")
    at_home = {"XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    monitors = [
        Monitor("htop", ("htop", "--delay", "10"), environment=at_home),
        Monitor("btop", ("btop", "--utf-force"), environment=at_home),
        Monitor("s-tui", ("s-tui", "--refresh-rate", "1"), environment=at_home),
        Monitor("glances", ("glances", "--time", "1", "--disable-check-update"), environment=at_home),
    ]
    installed = [monitor for monitor in monitors if shutil.which(monitor.command[0])]
    return installed, [monitor.name for monitor in monitors if monitor not in installed]
