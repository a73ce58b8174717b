"""What `noisewatch run` gives a command: memory of the target's node, another user, and quiet CPUs to begin on."""

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
_FOR_A_WHILE = f"""
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
    said = ran("--membind", "auto", "--output", tmp_path / "receipt.jsonl", "--", "cat", _NUMA_MAPS)
    assert set(re.findall(r"bind\S*:(\S+)", said.stdout)) == {str(node)}
    assert lines_of(tmp_path / "receipt.jsonl")[0]["memory_nodes"] == [node]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_the_command_runs_as_the_user_who_called_sudo(tmp_path: Path) -> None:
    called = os.environ | {"SUDO_UID": "65534", "SUDO_GID": "65533"}
    said = ran("--as-user", "--output", tmp_path / "receipt.jsonl", "--", "sh", "-c", "id -u; id -g; id -G", env=called)
    user, group, *groups = said.stdout.split()
    assert (user, group, "0" in groups) == ("65534", "65533", False)
    assert lines_of(tmp_path / "receipt.jsonl")[0]["options"]["as_user"] is True


def test_a_repetition_begins_when_somebody_loud_has_ended(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with subprocess.Popen([sys.executable, "-c", _FOR_A_WHILE], stdout=subprocess.PIPE, text=True) as hog:
        assert hog.stdout is not None
        assert hog.stdout.readline() == "begun\n"
        ran("--wait", "10", "--output", receipt, "--", "true")
        ended_ns = int(hog.stdout.read())
    assert lines_of(receipt)[1]["began_ns"] > ended_ns


def test_who_is_still_loud_after_the_wait_is_named_and_it_begins() -> None:
    with noise(LOOP, int(CPU)):
        said = ran("--wait", "0.6", "--", "echo", "ran")
    assert said.stdout == "ran\n"
    named = re.search(r"not quiet after 0\.6 s: (.+)", said.stderr)
    assert named is not None, said.stderr
    assert re.search(rf"\bpython\S* on CPU {CPU}", named[1])
