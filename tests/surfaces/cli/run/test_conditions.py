"""Conditions of a command in `noisewatch run`: memory of the target's node, its user, quiet CPUs at the start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.noise import LOOP, noise
from tests.surfaces.reports.run.running import CPU, lines_of, ran

_NUMA_MAPS = Path("/proc/self/numa_maps")
_HOG = f"""
import os, time
os.sched_setaffinity(0, {{{CPU}}})
print("begun", flush=True)
until = time.monotonic() + 1.5
while time.monotonic() < until: pass
print(time.monotonic_ns())
"""


@pytest.mark.skipif(not _NUMA_MAPS.exists(), reason="a kernel without memory nodes")
def test_memory_is_bound_to_the_node_of_the_target(tmp_path: Path) -> None:
    (node,) = (int(path.name[4:]) for path in Path(f"/sys/devices/system/cpu/cpu{CPU}").glob("node[0-9]*"))
    result = ran("--membind", "auto", "--output", tmp_path / "receipt.jsonl", "--", "cat", _NUMA_MAPS)
    assert set(re.findall(r"bind\S*:(\S+)", result.stdout)) == {str(node)}
    assert lines_of(tmp_path / "receipt.jsonl")[0]["memory_nodes"] == [node]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_the_command_runs_as_the_user_who_called_sudo(tmp_path: Path) -> None:
    environment = os.environ | {"SUDO_UID": "65534", "SUDO_GID": "65533"}
    result = ran(
        "--as-user", "--output", tmp_path / "receipt.jsonl", "--", "sh", "-c", "id -u; id -g; id -G", env=environment
    )
    user, group, *groups = result.stdout.split()
    assert (user, group, "0" in groups) == ("65534", "65533", False)
    assert lines_of(tmp_path / "receipt.jsonl")[0]["options"]["as_user"] is True


def test_a_repetition_waits_until_a_hog_has_ended(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with subprocess.Popen([sys.executable, "-c", _HOG], stdout=subprocess.PIPE, text=True) as hog:
        assert hog.stdout is not None
        assert hog.stdout.readline() == "begun\n"
        ran("--wait", "10", "--output", receipt, "--", "true")
        end_ns = int(hog.stdout.read())
    assert lines_of(receipt)[1]["began_ns"] > end_ns


def test_a_hog_that_outlasts_the_wait_is_named_and_the_run_starts() -> None:
    with noise(LOOP, int(CPU)):
        result = ran("--wait", "0.6", "--", "echo", "ran")
    assert result.stdout == "ran\n"
    match = re.search(r"not quiet after 0\.6 s: (.+)", result.stderr)
    assert match is not None, result.stderr
    assert re.search(rf"\bpython\S* on CPU {CPU}", match[1])
