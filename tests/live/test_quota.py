"""A command in a CPU quota of one CPU, with and without noisewatch in the same group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

_CPU = max(os.sched_getaffinity(0))
_LOOP = """
import sys, time
def throttled():
    with open(sys.argv[1]) as file:
        return int(dict(map(str.split, file))["nr_throttled"])
before, until = throttled(), time.monotonic() + 0.7
while time.monotonic() < until: pass
print(throttled() - before)
"""
_ROUNDS = 10


@pytest.fixture
def group() -> Iterator[Path]:
    """Yield a group of the cpu controller with a quota of one CPU."""
    mounts = [line.split()[1:4] for line in Path("/proc/mounts").read_text().splitlines()]
    folders = [Path(place) for place, kind, options in mounts if kind == "cgroup" and "cpu" in options.split(",")]
    folders += [
        Path(place)
        for place, kind, _ in mounts
        if kind == "cgroup2" and "cpu" in Path(place, "cgroup.subtree_control").read_text().split()
    ]
    if os.geteuid() != 0 or not folders:
        pytest.skip("no group of the cpu controller can be made here")
    group = folders[0] / f"noisewatch-test-{os.getpid()}"
    group.mkdir()
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text("100000 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text("100000")
    yield group
    group.rmdir()


def _throttles_of(group: Path, *wrapper: str) -> int:
    """Return in how many periods a busy loop in the group was throttled, as the loop itself counts them."""
    script = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    loop = ["taskset", "-c", str(_CPU), sys.executable, "-S", "-c", _LOOP, f"{group}/cpu.stat"]
    result = subprocess.run(["sh", "-c", script, "sh", *wrapper, *loop], check=True, capture_output=True, text=True)
    return int(result.stdout)


def test_noisewatch_does_not_use_up_the_quota_of_the_command(group: Path) -> None:
    noisewatch = (sys.executable, "-m", "noisewatch", "run", "--cpus", str(_CPU), "--")
    rounds = [(_throttles_of(group), _throttles_of(group, *noisewatch)) for _ in range(_ROUNDS)]
    assert sum(watched <= alone for alone, watched in rounds) >= 0.9 * _ROUNDS, rounds
