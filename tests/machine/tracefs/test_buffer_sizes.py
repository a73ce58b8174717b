"""The sizes of an instance's buffers, in a folder that looks like tracefs; the kernel's own: `-m live` and the lab."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from noisewatch.machine.tracefs import buffer_sizes
from noisewatch.machine.tracefs.buffer_sizes import resize_buffers

_NOT_A_CPU = 99_999


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    for cpu in (*os.sched_getaffinity(0), _NOT_A_CPU):
        (tmp_path / f"per_cpu/cpu{cpu}").mkdir(parents=True)
        (tmp_path / f"per_cpu/cpu{cpu}/buffer_size_kb").write_text("1408")
    return tmp_path


def _size(instance: Path, cpu: int) -> str:
    return (instance / f"per_cpu/cpu{cpu}/buffer_size_kb").read_text()


def test_the_buffer_of_each_cpu_is_resized(instance: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    resize_buffers(instance, cpus, 512)
    assert [_size(instance, cpu) for cpu in cpus] == ["512"] * len(cpus)


def test_a_cpu_out_of_reach_keeps_its_size_and_the_next_ones_are_resized(instance: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    resize_buffers(instance, [_NOT_A_CPU, cpu], 512)
    assert (_size(instance, _NOT_A_CPU), _size(instance, cpu)) == ("1408", "512")


def test_a_cpu_that_never_runs_the_process_is_waited_for_until_the_deadline(
    instance: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe without a reader holds the process up, as a real-time task does that leaves it no time."""
    monkeypatch.setattr(buffer_sizes, "_CPU_DEADLINE_S", 0.2)
    cpu = min(os.sched_getaffinity(0))
    path = instance / f"per_cpu/cpu{cpu}/buffer_size_kb"
    path.unlink()
    os.mkfifo(path)
    children = set(_children())
    began_s = time.monotonic()
    resize_buffers(instance, [cpu, _NOT_A_CPU], 512)
    assert time.monotonic() - began_s < 10
    assert set(_children()) == children
    assert _size(instance, _NOT_A_CPU) == "1408"


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
