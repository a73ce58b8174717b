"""pyperf's own worker with noisewatch's hook, on this host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from noisewatch import __version__
from noisewatch.machine.own_thread import CpuReading, OwnThread
from noisewatch.operations.run.pyperf_hook import PyperfHook, around_from, values_from
from tests.live.noise import CPU, LOOP, noise


@pytest.fixture
def hog() -> Iterator[None]:
    """Run another task that uses the CPU all the time."""
    with noise(LOOP):
        yield


@pytest.fixture
def results(tmp_path: Path) -> dict[str, object]:
    """Return the metadata of the only run of a benchmark with three values."""
    if not entry_points(group="pyperf.hook", name="noisewatch"):
        pytest.skip("the installed noisewatch is older than its hook: pip install -e .")
    path = tmp_path / "results.json"
    loops = ["-p", "1", "-n", "3", "-w", "1", "-l", "10000000"]
    pyperf = [sys.executable, "-m", "pyperf", "timeit", "-q", "--affinity", str(CPU), *loops]
    subprocess.run([*pyperf, "--hook", "noisewatch", "-o", path, "1+1"], check=True, capture_output=True)
    written = json.loads(path.read_text())
    (run,) = written["benchmarks"][0]["runs"]
    metadata: dict[str, object] = written["metadata"] | run.get("metadata", {})
    return metadata


def test_a_busy_loop_disturbs_each_value_in_pyperfs_metadata(hog: None, results: dict[str, object]) -> None:
    assert results["hooks"] == "noisewatch"
    assert results["noisewatch_verdict"] == "disturbed"
    assert results["noisewatch_disturbed_values"] == "1, 2, 3"
    assert results["noisewatch_values"] == "0 of 3 undisturbed"
    assert "for its CPU" in str(results["noisewatch_reasons"])
    assert results["noisewatch_version"] == __version__
    began, ended = results["noisewatch_began_ns"], results["noisewatch_ended_ns"]
    assert isinstance(began, int)
    assert isinstance(ended, int)
    assert 0 < ended - began < float(str(results["duration"])) * 1e9


def test_a_new_hook_replaces_the_metadata_of_an_earlier_one() -> None:
    metadata: dict[str, object] = {"noisewatch_disturbed_values": "1", "noisewatch_reasons": "x", "name": "bench"}
    PyperfHook().teardown(metadata)
    assert metadata == {
        "name": "bench",
        "noisewatch_verdict": "unknown",
        "noisewatch_values": "0 of 0 undisturbed",
        "noisewatch_version": __version__,
    } | ({"noisewatch_reasons": metadata["noisewatch_reasons"]} if len(os.sched_getaffinity(0)) > 1 else {})
    assert metadata.get("noisewatch_reasons") != "x"


def test_the_noise_around_an_unpinned_thread_is_unknown() -> None:
    reading = CpuReading(0, b"", b"")
    around = around_from(reading, reading, (2, 3), None)
    assert (around.interrupted_ns, around.steal_ns) == (None, None)
    assert "not pinned" in around.unknowns[0]


@pytest.mark.parametrize("text", [None, b"", b"rubbish\n", b"cpu0 1 2\n", b"\xff\xfe"])
def test_unreadable_cpu_files_are_unknown(text: bytes | None) -> None:
    reading = CpuReading(0, text, text)
    assert len(around_from(reading, reading, (0,), text).unknowns) == 3


def test_the_noise_of_a_core_is_split_by_kind() -> None:
    table = "       CPU0  CPU1\n36: {} 0 PCI 1-edge disk\nLOC: {} 5 Local timer interrupts\n"
    row = "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 {}\ncpu1 {} 0 0 0 0 0 0 0\n"
    before = CpuReading(0, row.format(1, 10).encode(), table.format(10, 100).encode())
    after = CpuReading(10**9, row.format(4, 60).encode(), table.format(1010, 350).encode())
    around = around_from(before, after, (0,), b"0-1\n")
    assert around.unknowns == ()
    assert around.interrupted_ns == 1000 * 4_000
    assert around.steal_ns == 30_000_000
    assert around.busy_ns_by_sibling == {1: 500_000_000}


@pytest.mark.parametrize("text", [None, b"", b"1 2", b"rubbish"])
def test_a_value_without_scheduler_counters_has_an_unknown_wait(text: bytes | None) -> None:
    thread = OwnThread()
    before, after = thread.read_before(), thread.read_after()
    (value,) = values_from([(before, after._replace(schedstat=text))])
    assert value.waited_ns is None
    assert value.length_ns > 0
