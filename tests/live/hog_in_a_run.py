"""A series of ten repetitions: a hog occupies the target CPU in the seventh, the others are left alone."""

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
class HogFound:
    """The repetition lines of the receipt, and the hog's PID."""

    pid: int
    repetitions: Sequence[Mapping[str, Any]]

    @property
    def is_alone_disturbed(self) -> bool:
        """Whether of all repetitions the seventh alone is disturbed, and the hog is named."""
        return self.numbers_of("disturbed") == [SEVENTH] == self.blamed

    @property
    def blamed(self) -> list[int]:
        """The repetitions for which it is blamed."""
        return [each["number"] for each in self.repetitions if self.pid in [by["pid"] for by in each["reasons"]]]

    def numbers_of(self, verdict: str) -> list[int]:
        """Return the numbers of the repetitions with this verdict."""
        return [each["number"] for each in self.repetitions if each["verdict"] == verdict]


def run_with_a_hog(folder: Path, work: str, *options: str, privilege: Sequence[str] = ()) -> HogFound:
    """Starts the hog when the seventh repetition has begun, and ends it before that is over.

    `privilege` is what noisewatch is started by, such as setpriv.
    """
    begun = folder / "begun"
    begun.write_text("")
    begun.chmod(0o666)
    folder.chmod(0o777)
    command = ["sh", "-c", f"echo >> {begun}; {work}"]
    receipt = folder / "receipt.jsonl"
    noisewatch = [*privilege, sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU), "--runs", "10"]
    noisewatch += ["--output", str(receipt), *options, "--"]
    with subprocess.Popen([*noisewatch, *command], stdout=subprocess.DEVNULL) as running:
        until_s = time.monotonic() + _LONGEST_S
        while begun.stat().st_size < SEVENTH and time.monotonic() < until_s:
            time.sleep(0.005)
        with noise(LOOP) as hog:
            time.sleep(0.3)
            pid = hog.pid
        running.wait(_LONGEST_S)
    return HogFound(pid, lines_of(receipt))
