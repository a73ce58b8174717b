"""A Slurm node on which Slurm and noisewatch are programs of the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.fleet.shipped import shipped_files
from tests.integrations.gate import Folder

QUIET_JOB = {"SLURM_JOB_CONSTRAINTS": "quiet", "SLURM_JOB_PARTITION": "a", "SLURM_JOB_ID": "7"}
STABLE, WARNED, UNSTABLE, UNKNOWN = 0, 1, 2, 3  # exit statuses of `preflight --format nagios`
OUR_REASON = "noisewatch: CPU 2: thread hog (pid 900) 50.00% (tasks-on-target)"
OTHER_REASON = "replace the fan"
SLURM_REASON = "Prolog error"
UNSTABLE_OUTPUT = """\
NOISEWATCH CRITICAL: 2 block, 0 warn, 0 unknown, 80 pass: tasks-on-target (CPU 2) | 'blocking_fail'=2;;0;0
FAIL tasks-on-target (blocking): hog (pid 900): 50.0% of CPU 2 (limit 0.5%)
CPU 2: thread hog (pid 900) 50.00%
FAIL governor-not-performance (blocking): CPU 2: powersave
"""
OUTPUT_BY_STATUS = {
    STABLE: "NOISEWATCH OK: 0 block, 0 warn, 0 unknown, 82 pass (CPU 2) | 'blocking_fail'=0;;0;0\n",
    WARNED: "NOISEWATCH WARNING: 0 block, 1 warn, 0 unknown, 81 pass (CPU 2) | 'blocking_fail'=0;;0;0\n",
    UNSTABLE: UNSTABLE_OUTPUT,
    UNKNOWN: "NOISEWATCH UNKNOWN: 0 block, 0 warn, 1 unknown, 81 pass (CPU 2) | 'blocking_fail'=0;;0;0\n",
}
_NODE = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUTot=4 CPULoad=0.02
   AvailableFeatures=quiet
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-11-25T13:00:00 SlurmdStartTime=2026-11-25T13:00:05
   LastBusyTime={last_busy}
"""
_REASON = "   Reason={reason} [root@{reason_at}]\n"


def node_text(
    state: str, reason: str = "", last_busy: str = "2026-11-25T13:30:00", reason_at: str = "2026-11-25T13:59:32"
) -> str:
    """Return what `scontrol show node` prints."""
    return _NODE.format(state=state, last_busy=last_busy) + (
        _REASON.format(reason=reason, reason_at=reason_at) if reason else ""
    )


UNDRAIN_ARGUMENTS = ["update", "NodeName=n1", "State=UNDRAIN"]


def drain_arguments(reason: str = OUR_REASON) -> list[str]:
    """Return the arguments of `scontrol` that drain the node."""
    return ["update", "NodeName=n1", "State=DRAIN", f"Reason={reason}"]


def slurm_time(after_s: int) -> str:
    """Return the time `after_s` seconds from now, as Slurm writes it."""
    return (datetime.now() + timedelta(seconds=after_s)).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True, slots=True)
class Node(Folder):
    """A Slurm node whose state, verdict and settings the test sets."""

    def set_verdict(self, status: int, output: str | None = None, meanwhile: str = ":") -> None:
        """Set exit status and output of noisewatch, and a command that runs while it measures."""
        self.write("told", OUTPUT_BY_STATUS.get(status, "") if output is None else output)
        self.write("noisewatch", f"#!/bin/sh\ncd {self.folder}\n{meanwhile}\ntouch measured\ncat told\nexit {status}\n")

    def run(self, script: str, variables: Mapping[str, str] | None = None, is_broken: bool = False) -> int:
        """Run a script and return its exit status; `is_broken` is whether it writes to standard error."""
        zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
        environment = {"SLURMD_NODENAME": "n1", **zone, **(variables or {})}
        result = subprocess.run([self.folder / script], env=environment, capture_output=True, check=False)
        assert (result.stderr != b"") == is_broken
        return result.returncode

    def set_slurm_answers(self, *, show: bool = True, update: bool = True) -> None:
        """Let `scontrol` succeed or fail, by subcommand."""
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
        log = self.folder / "changes"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def log_lines(self) -> Sequence[str]:
        """The lines of the system log."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """An idle and stable node."""
    slurm_node = Node(tmp_path)
    for path, text in shipped_files("slurm", program=str(tmp_path / "noisewatch")).items():
        slurm_node.write(path, text)
    slurm_node.set_slurm_answers()
    slurm_node.write("logger", f'#!/bin/sh\nshift 3\necho "$*" >>{tmp_path}/log\n')
    slurm_node.set(f"PATH={tmp_path}:{os.defpath} lock={tmp_path}/lock kept={tmp_path}/kept")
    slurm_node.write("node", node_text("IDLE"))
    slurm_node.set_verdict(STABLE)
    return slurm_node
