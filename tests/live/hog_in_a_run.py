"""A series of ten repetitions, with a hog on the target CPU in the seventh."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.noise import CPU, LOOP, noise
from tests.plumbing.receipts import lines_of

BUSY, IDLE = "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done", "sleep 0.6"
SEVENTH = 7
_LONGEST_S = 120


@dataclass(frozen=True, slots=True)
class HoggedSeries:
    """The repetition lines of a receipt, and the PID of the hog."""

    pid: int
    repetitions: Sequence[Mapping[str, Any]]

    @property
    def is_alone_disturbed(self) -> bool:
        """Whether only the seventh repetition is disturbed, and the hog is named for it."""
        return self.numbers_of("disturbed") == [SEVENTH] == self.blamed

    @property
    def blamed(self) -> list[int]:
        """The numbers of the repetitions for which the hog is blamed."""
        return [
            line["number"] for line in self.repetitions if self.pid in [reason["pid"] for reason in line["reasons"]]
        ]

    def numbers_of(self, verdict: str) -> list[int]:
        """Return the numbers of the repetitions with this verdict."""
        return [line["number"] for line in self.repetitions if line["verdict"] == verdict]


def run_with_a_hog(folder: Path, work: str, *options: str, privilege: Sequence[str] = ()) -> HoggedSeries:
    """Run a series, and a hog within its seventh repetition.

    `privilege` is the command that starts noisewatch, such as setpriv.
    """
    starts = folder / "begun"
    starts.write_text("")
    starts.chmod(0o666)
    folder.chmod(0o777)
    command = ["sh", "-c", f"echo >> {starts}; {work}"]
    receipt = folder / "receipt.jsonl"
    noisewatch = [*privilege, sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU), "--runs", "10"]
    noisewatch += ["--output", str(receipt), *options, "--"]
    with subprocess.Popen([*noisewatch, *command], stdout=subprocess.DEVNULL) as process:
        deadline_s = time.monotonic() + _LONGEST_S
        while starts.stat().st_size < SEVENTH and time.monotonic() < deadline_s:
            time.sleep(0.005)
        with noise(LOOP) as hog:
            time.sleep(0.3)
            pid = hog.pid
        process.wait(_LONGEST_S)
    return HoggedSeries(pid, lines_of(receipt))
