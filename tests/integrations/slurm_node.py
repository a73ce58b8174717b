"""A node of Slurm, where Slurm and noisewatch are programs of the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from noisewatch.integrations import integrations

ASKS = {"SLURM_JOB_CONSTRAINTS": "quiet", "SLURM_JOB_PARTITION": "a", "SLURM_JOB_ID": "7"}
STABLE, WARNED, UNSTABLE, UNKNOWN = 0, 1, 2, 3  # what `preflight --format nagios` ends with
OURS = "noisewatch: CPU 2: thread hog (pid 900) 50.00% (tasks-on-target)"
FAN = "replace the fan"
SLURMS = "Prolog error"
TOLD = """\
NOISEWATCH CRITICAL: 2 block, 0 warn, 0 unknown, 80 pass: tasks-on-target (CPU 2) | 'blocking_fail'=2;;0;0
FAIL tasks-on-target (blocking): hog (pid 900): 50.0% of CPU 2 (limit 0.5%)
CPU 2: thread hog (pid 900) 50.00%
FAIL governor-not-performance (blocking): CPU 2: powersave
"""
TOLD_BY_STATUS = {
    STABLE: "NOISEWATCH OK: 0 block, 0 warn, 0 unknown, 82 pass (CPU 2) | 'blocking_fail'=0;;0;0\n",
    WARNED: "NOISEWATCH WARNING: 0 block, 1 warn, 0 unknown, 81 pass (CPU 2) | 'blocking_fail'=0;;0;0\n",
    UNSTABLE: TOLD,
    UNKNOWN: "NOISEWATCH UNKNOWN: 0 block, 0 warn, 1 unknown, 81 pass (CPU 2) | 'blocking_fail'=0;;0;0\n",
}
_NODE = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUTot=4 CPULoad=0.02
   AvailableFeatures=quiet
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-11-25T13:00:00 SlurmdStartTime=2026-11-25T13:00:05
   LastBusyTime={used}
"""
_REASON = "   Reason={reason} [root@{noted}]\n"


def as_slurm_has_it(
    state: str, reason: str = "", used: str = "2026-11-25T13:30:00", noted: str = "2026-11-25T13:59:32"
) -> str:
    """What `scontrol show node` prints."""
    return _NODE.format(state=state, used=used) + (_REASON.format(reason=reason, noted=noted) if reason else "")


UNDRAINED = ["update", "NodeName=n1", "State=UNDRAIN"]


def drained(reason: str = OURS) -> list[str]:
    """The arguments of `scontrol`."""
    return ["update", "NodeName=n1", "State=DRAIN", f"Reason={reason}"]


def in_slurms_time(after_s: int) -> str:
    """Return the time `after_s` seconds from now, as Slurm writes it."""
    return (datetime.now() + timedelta(seconds=after_s)).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of Slurm whose state, verdict and settings the test writes."""

    folder: Path

    def write(self, path: str, text: str) -> None:
        """A file, or a program."""
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)

    def judged(self, status: int, told: str | None = None, meanwhile: str = ":") -> None:
        """What noisewatch will say; a command that happens while it measures."""
        self.write("told", TOLD_BY_STATUS.get(status, "") if told is None else told)
        self.write("noisewatch", f"#!/bin/sh\ncd {self.folder}\n{meanwhile}\ntouch measured\ncat told\nexit {status}\n")

    def set(self, line: str) -> None:
        """A line of the settings, after those that we ship."""
        with (self.folder / "noisewatch-settings").open("a") as settings:
            settings.write(f"{line}\n")

    def run(self, script: str, asks: Mapping[str, str] | None = None, is_broken: bool = False) -> int:
        """The exit status. Only what is broken complains."""
        zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
        environment = {"SLURMD_NODENAME": "n1", **zone, **(asks or {})}
        ran = subprocess.run([self.folder / script], env=environment, capture_output=True, check=False)
        assert (ran.stderr != b"") == is_broken
        return ran.returncode

    def slurm_answers(self, *, show: bool = True, update: bool = True) -> None:
        """Whether it does what `scontrol` asks."""
        shows = f"cat {self.folder}/node" if show else "exit 1"
        updates = f'printf "%s\\n" "$@" >>{self.folder}/changes' if update else "exit 1"
        self.write("scontrol", f'#!/bin/sh\nif [ "$1" = show ]; then {shows}; else {updates}; fi\n')

    @property
    def was_measured(self) -> bool:
        """Whether noisewatch was started."""
        return (self.folder / "measured").exists()

    @property
    def changes(self) -> Sequence[str]:
        """The arguments of all changes sent to Slurm, one per line."""
        told = self.folder / "changes"
        return told.read_text().splitlines() if told.exists() else []

    @property
    def logged(self) -> Sequence[str]:
        """The lines of the system's log."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """One that is idle, and stable."""
    made = Node(tmp_path)
    (shipped,) = [each for each in integrations() if each.name == "slurm"]
    for path, text in shipped.files_for(str(tmp_path / "noisewatch")).items():
        made.write(path, text)
    made.slurm_answers()
    made.write("logger", f'#!/bin/sh\nshift 3\necho "$*" >>{tmp_path}/log\n')
    made.set(f"PATH={tmp_path}:{os.defpath} lock={tmp_path}/lock kept={tmp_path}/kept")
    made.write("node", as_slurm_has_it("IDLE"))
    made.judged(STABLE)
    return made
