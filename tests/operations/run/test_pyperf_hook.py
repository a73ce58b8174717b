"""pyperf's own worker with noisewatch's hook, on this host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from noisewatch import __version__
from noisewatch.machine.own_thread import CpuReading, OwnThread, read_cpu_files, read_siblings
from noisewatch.model.run.benchmark_run import ValuesAround
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


_TABLE = "       CPU0  CPU1\n36: {} 0 PCI 1-edge disk\nLOC: {} 5 Local timer interrupts\n"
_ROWS = "cpu  0 0 0 0 0 0 0 0\ncpu0 {} 0 0 0 0 0 0 {}\ncpu1 {} 0 0 {} 0 0 0 0\n"
_STAT = _ROWS.format(500, 50, 70, 900)


def _around(
    stat: str = _ROWS.format(597, 53, 120, 950),
    interrupts: str = _TABLE.format(1010, 350),
    siblings: bytes = b"0-1\n",
    length_ns: int = 10**9,
    stat_before: str = _STAT,
) -> ValuesAround:
    """Return the noise around values of one second; CPU 1, the sibling of CPU 0, was busy for half of it."""
    before = CpuReading(0, stat_before.encode(), _TABLE.format(10, 100).encode())
    return around_from(before, CpuReading(length_ns, stat.encode(), interrupts.encode()), (0,), siblings)


def test_the_noise_of_a_core_is_split_by_kind() -> None:
    around = _around()
    assert around.unknowns == ()
    assert around.interrupted_ns == 1000 * 4_000
    assert around.steal_ns == 30_000_000
    assert around.busy_ns_by_sibling == {1: 500_000_000}


def test_counts_that_do_not_advance_are_unknown() -> None:
    around = _around(_STAT, _TABLE.format(10, 100))
    assert (around.interrupted_ns, around.steal_ns, around.busy_ns_by_sibling) == (None, None, None)
    assert len(around.unknowns) == 3


@pytest.mark.parametrize("length_ms", [0, 9, 19, 49])
def test_counts_need_not_advance_in_a_short_time(length_ms: int) -> None:
    assert _around(_STAT, _TABLE.format(10, 100), length_ns=length_ms * 1_000_000).unknowns == ()


def test_interrupts_of_another_cpu_show_that_the_table_advances() -> None:
    """A CPU with nohz_full has no ticks while one task runs."""
    interrupts = _TABLE.format(10, 100).replace("100 5", "100 6")
    assert _around(interrupts=interrupts).interrupted_ns == 0


def test_steal_that_decreases_is_unknown() -> None:
    around = _around(_ROWS.format(650, 10, 120, 950))
    assert (around.steal_ns, around.busy_ns_by_sibling) == (None, {1: 500_000_000})
    assert "steal" in around.unknowns[0]


@pytest.mark.parametrize(
    "change",
    [
        {"stat": _ROWS.format(597, 53, 60, 1050)},
        {"stat": _ROWS.format(597, 53, 70, 900)},
        {"stat": _ROWS.format(597, 53, 120, 950).replace("cpu1", "cpu7")},
        {"stat_before": _STAT.replace("cpu1", "cpu7")},
        {"siblings": b"0-2\n"},
        {"siblings": b"1\n"},
    ],
    ids=["decreases", "does not advance", "no row after", "no row before", "another sibling", "list without the CPU"],
)
def test_the_busy_time_of_a_sibling_without_usable_counts_is_unknown(change: dict[str, Any]) -> None:
    around = _around(**change)
    assert (around.steal_ns, around.interrupted_ns) == (30_000_000, 1000 * 4_000)
    assert around.busy_ns_by_sibling is None
    assert "the other threads of its core" in around.unknowns[0]


def test_the_counters_of_this_host_advance() -> None:
    """Spans of 60 ms of computing and of system calls, as of the shortest values that are judged by ticks."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CPU})
    try:
        for calls in (False, True):
            before, until_ns = read_cpu_files(), time.monotonic_ns() + 60_000_000
            while time.monotonic_ns() < until_ns:
                if calls:
                    os.getppid()
            around = around_from(before, read_cpu_files(), (CPU,), read_siblings(CPU))
            assert around.unknowns == ()
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("text", [None, b"", b"1 2", b"rubbish"])
def test_a_value_without_scheduler_counters_has_an_unknown_wait(text: bytes | None) -> None:
    thread = OwnThread()
    before, after = thread.read_before(), thread.read_after()
    (value,) = values_from([(before, after._replace(schedstat=text))])
    assert value.waited_ns is None
    assert value.length_ns > 0
