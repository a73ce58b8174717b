"""The shipped files of an integration, with a noisewatch whose verdict the test sets."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.shipped import write_shipped

STABLE, UNSTABLE, WRONG, UNKNOWN, NOT_IN_TIME = 0, 1, 2, 3, 4  # exit statuses of preflight
NOT_INSTALLED = 127
# Exit status of preflight, `on_unknown` in the settings, and whether the job starts.
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
class Folder:
    """A folder with the shipped files of an integration, and programs of the test."""

    folder: Path

    def write(self, path: str, text: str) -> Path:
        """Write a file that can be executed."""
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)
        return self.folder / path

    def set(self, line: str) -> None:
        """Append a line to the shipped settings."""
        with (self.folder / "noisewatch-settings").open("a") as settings:
            settings.write(f"{line}\n")


@dataclass(frozen=True, slots=True)
class Gate(Folder):
    """A folder with the files of an integration and the program `noisewatch` that they start."""

    @staticmethod
    def of(name: str, folder: Path) -> Gate:
        """Write the shipped files of an integration, and a noisewatch that finds the machine stable, to `folder`."""
        gate = Gate(write_shipped(name, folder, program=str(folder / "noisewatch")))
        gate.set_verdict(STABLE)
        return gate

    def set_verdict(self, status: int, output: str = "told\n") -> None:
        """Make noisewatch print `output` and exit with `status`; if that is unknown, --on-unknown decides."""
        (self.folder / "told").write_text(output)
        log = f'printf "%s\\n" "$PWD" "$@" >{self.folder}/asked'
        on_unknown = _ON_UNKNOWN if status == UNKNOWN else ""
        self.write("noisewatch", f"#!/bin/sh\n{log}\ncat {self.folder}/told\n{on_unknown}exit {status}\n")

    @property
    def call(self) -> list[str]:
        """The working directory and arguments of the last start of noisewatch; empty if it was not started."""
        log = self.folder / "asked"
        return log.read_text().splitlines() if log.exists() else []


def run_as(
    command: list[str | Path], variables: Mapping[str, str], folder: Path, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    """Run a command in this folder, with only these variables and a short search path."""
    return subprocess.run(
        command, env={"PATH": path, **variables}, cwd=folder, capture_output=True, text=True, check=False
    )
