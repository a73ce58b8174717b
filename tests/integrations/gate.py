"""What ships for an engine, with a noisewatch whose verdict the test decides."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.shipped import write_shipped

STABLE, UNSTABLE, WRONG, UNKNOWN, NOT_IN_TIME = 0, 1, 2, 3, 4  # what preflight ends with
NOT_INSTALLED = 127
# What preflight ends with, `on_unknown` of the settings, and whether the job starts.
STARTS = [
    (STABLE, "fail", True),
    (UNSTABLE, "fail", False),
    (UNSTABLE, "run", False),
    (UNKNOWN, "fail", False),
    (UNKNOWN, "run", True),
    (UNKNOWN, "pass", True),
    (UNKNOWN, "misspelt", False),
    (NOT_IN_TIME, "run", False),
    (WRONG, "run", False),
    (NOT_INSTALLED, "run", False),
]
_ON_UNKNOWN = """case " $* " in
    *" --on-unknown fail "*) exit 1 ;;
    *" --on-unknown pass "*) exit 0 ;;
    *" --on-unknown "*) exit 2 ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Gate:
    """The folder of its files. `noisewatch` in it is the program that they start."""

    folder: Path

    @staticmethod
    def of(name: str, folder: Path) -> Gate:
        """Write the shipped files of an integration, and a noisewatch that finds the machine stable, to `folder`."""
        gate = Gate(write_shipped(name, folder, program=str(folder / "noisewatch")))
        gate.judged(STABLE)
        return gate

    def judged(self, status: int, told: str = "told\n") -> None:
        """What noisewatch will say from now on. It ends with `status`; an unknown verdict as --on-unknown says."""
        (self.folder / "told").write_text(told)
        asked = f'printf "%s\\n" "$PWD" "$@" >{self.folder}/asked'
        on_unknown = _ON_UNKNOWN if status == UNKNOWN else ""
        self.write("noisewatch", f"#!/bin/sh\n{asked}\ncat {self.folder}/told\n{on_unknown}exit {status}\n")

    def write(self, path: str, text: str) -> Path:
        """A program in the folder."""
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)
        return self.folder / path

    def set(self, line: str) -> None:
        """A line of the settings, after those that ship."""
        with (self.folder / "noisewatch-settings").open("a") as settings:
            settings.write(f"{line}\n")

    @property
    def asked(self) -> list[str]:
        """The folder in which noisewatch was started, and its options; none where it was not."""
        asked = self.folder / "asked"
        return asked.read_text().splitlines() if asked.exists() else []


def run_as(
    command: list[str | Path], variables: Mapping[str, str], folder: Path, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    """A command with these variables and a short search path alone, in this folder."""
    return subprocess.run(
        command, env={"PATH": path, **variables}, cwd=folder, capture_output=True, text=True, check=False
    )
