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
_LOOP = "import time\nuntil = time.monotonic() + 0.7\nwhile time.monotonic() < until: pass"
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


def _throttled(group: Path) -> int:
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["nr_throttled"])


def _throttles_of(group: Path, *wrapper: str) -> int:
    before = _throttled(group)
    script = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    command = ["sh", "-c", script, "sh", *wrapper, "taskset", "-c", str(_CPU), sys.executable, "-S", "-c", _LOOP]
    subprocess.run(command, check=True, capture_output=True)
    return _throttled(group) - before


def test_noisewatch_does_not_use_up_the_quota_of_the_command(group: Path) -> None:
    noisewatch = (sys.executable, "-m", "noisewatch", "run", "--cpus", str(_CPU), "--")
    rounds = [(_throttles_of(group), _throttles_of(group, *noisewatch)) for _ in range(_ROUNDS)]
    more = sum(watched - alone for alone, watched in rounds)
    assert more <= _ROUNDS, rounds  # at its start, noisewatch may use up a period; looks would stop the command in each
