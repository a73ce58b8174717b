"""Print what `noisewatch fleet` costs: `python -m tests.benchmark.fleet [HOSTS]` (default 20,000). Figures, no limits.

The verdicts are those of a recorded machine with a calibration, slightly changed for each host; they need 2 GB in the
folder for temporary files. Figures are wall time, CPU time and largest resident set of the whole program.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from noisewatch.surfaces.cli import main as noisewatch
from tests import MACHINES

_HOSTS, _VARIANTS = 20_000, 50
_FORMATS = ("text", "markdown", "json", "prometheus")
_AT = '"at": null'


def main() -> None:
    """Print the cost of each output format for the given number of hosts."""
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else _HOSTS
    with tempfile.TemporaryDirectory() as folder:
        size = _write(Path(folder), hosts)
        print(f"{hosts} verdicts, {size / 1e6:.0f} MB")
        for form in _FORMATS:
            print(f"{form:10} {_cost(folder, form)}")


def _cost(folder: str, form: str) -> str:
    """Run `noisewatch fleet` in a separate process, and return its time, memory and exit status as text."""
    start_s = time.perf_counter()
    command = (sys.executable, "-m", "noisewatch", "fleet", folder, "--format", form, "--output", "/dev/null")
    process = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(process, 0)
    wall_s, cpu_s = time.perf_counter() - start_s, usage.ru_utime + usage.ru_stime
    exit_status = os.waitstatus_to_exitcode(status)
    return f"{wall_s:5.1f} s, {cpu_s:5.1f} s of CPU time, {usage.ru_maxrss / 1024:4.0f} MB, exit status {exit_status}"


def _write(folder: Path, hosts: int) -> int:
    """Write the verdicts to a hundred folders, and return their size in bytes."""
    variants, size, now_s = _variants(folder), 0, time.time()
    for number in range(hosts):
        rack = folder / f"rack{number % 100}"
        rack.mkdir(exist_ok=True)
        text = variants[number % len(variants)].replace(_AT, f'"at": {now_s - number % 3600}', 1)
        size += (rack / f"host{number}.json").write_text(text)
    return size


def _variants(folder: Path) -> list[str]:
    recorded = folder / "recorded.txt"
    replay = str(MACHINES / "host-calibration.nw")
    noisewatch(["preflight", "--replay", replay, "--format", "json", "--output", str(recorded)])
    verdict, rng = json.loads(recorded.read_text()), random.Random(1)
    return [json.dumps(_vary(verdict, rng), indent=1) for _ in range(_VARIANTS)]


def _vary(verdict: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    factor = rng.lognormvariate(0.0, 0.1)
    floors = [{**floor, "cv_expected": floor["cv_expected"] * factor} for floor in verdict["noise_floor"]]
    return {**verdict, "noise_floor": floors}


if __name__ == "__main__":
    main()
