"""An instance of the trace, in a folder that imitates tracefs; the kernel's own: `-m live`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisewatch.errors import CannotMeasure
from noisewatch.machine.tracefs import instance as instances
from noisewatch.machine.tracefs.instance import Instance, osnoise_setup, resize_buffers
from noisewatch.machine.tracefs.watcher import WORKLOAD_OFF, instance_path


@pytest.mark.parametrize("exists", [True, False])
def test_failed_making_of_an_instance_has_a_reason(tmp_path: Path, exists: bool) -> None:
    if exists:
        (tmp_path / "instances").mkdir()  # a folder made in it has none of the kernel's files
    with pytest.raises(CannotMeasure, match=f"{tmp_path}: no such file or directory"), Instance(tmp_path, "x", [1], 64):
        pass
    assert not exists or os.listdir(tmp_path / "instances") == []


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 4\ndropped events: 0\n", 0),
        ("entries: 3\noverrun: 40\ncommit overrun: 500\nbytes: 4\ndropped events: 6000\n", 6543),
        ("entries: 0\noverrun: 0\n", None),
        ("entries: 0\noverrun: x\ncommit overrun: 0\ndropped events: 0\n", None),
        ("", None),
        (None, None),
    ],
)
def test_lost_and_unread_events_are_counted_and_otherwise_unknown(
    tmp_path: Path, text: str | None, lost: int | None
) -> None:
    instance = Instance(tmp_path, "target", [1], 64)
    if text is not None:
        (instance.path / "per_cpu/cpu1").mkdir(parents=True)
        (instance.path / "per_cpu/cpu1/stats").write_text(text)
    assert instance.lost(1) == lost


SWITCHES = ("tracing_on", "events/sched/sched_switch/enable")
SETTINGS = ("trace_clock", "tracing_cpumask", "current_tracer", "events/sched/sched_switch/filter")


@pytest.fixture
def started_instance(tmp_path: Path) -> Iterator[Instance]:
    instance = Instance(tmp_path, "target", [1], 64)
    (instance.path / "events/sched/sched_switch").mkdir(parents=True)
    for name in (*SWITCHES, *SETTINGS):
        (instance.path / name).write_text("as we want it\n")
    instance.start()
    assert instance.enable("sched/sched_switch", "as we want it\n")
    yield instance
    instance.close()


@pytest.mark.parametrize("name", [*SWITCHES, *SETTINGS])
def test_change_by_another_program_is_detected(started_instance: Instance, name: str) -> None:
    """Events by another clock, of other CPUs or of some tasks only are not the requested ones."""
    text = (started_instance.path / name).read_text()
    assert _is_writing(started_instance)
    (started_instance.path / name).write_text("as somebody else wants it\n")
    assert not _is_writing(started_instance)
    (started_instance.path / name).write_text(text)
    assert _is_writing(started_instance)


def test_stopped_instance_does_not_write(started_instance: Instance) -> None:
    started_instance.stop()
    assert not _is_writing(started_instance)


def test_instance_with_missing_files_is_not_started(tmp_path: Path) -> None:
    instance = Instance(tmp_path, "target", [1], 64)
    instance.path.mkdir(parents=True)
    (instance.path / "tracing_on").write_text("0\n")
    with pytest.raises(CannotMeasure, match="no such file"):
        instance.start()
    instance.close()


def _is_writing(instance: Instance) -> bool:
    return instance.is_writing


_DEFAULT = "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP\n"


def _tracefs(folder: Path, options: str | None = _DEFAULT, tracers: str = "timerlat osnoise nop\n") -> Path:
    for name in ("osnoise", "instances/theirs"):
        (folder / name).mkdir(parents=True)
    (folder / "available_tracers").write_text(tracers)
    (folder / "current_tracer").write_text("nop\n")
    (folder / "instances/theirs/current_tracer").write_text("nop\n")
    if options is not None:
        (folder / "osnoise/options").write_text(options)
    return folder


def _options(tracefs: Path) -> str:
    return (tracefs / "osnoise/options").read_text()


def test_workload_is_switched_off_and_the_instances_name_records_that(tmp_path: Path) -> None:
    tracefs = _tracefs(tmp_path)
    purpose, prepare = osnoise_setup(tracefs)
    assert (purpose, _options(tracefs)) == (WORKLOAD_OFF, _DEFAULT)
    prepare()
    assert _options(tracefs) == "NO_OSNOISE_WORKLOAD"


def test_workload_that_was_off_before_stays_off(tmp_path: Path) -> None:
    tracefs = _tracefs(tmp_path, "DEFAULTS NO_OSNOISE_WORKLOAD\n")
    purpose, prepare = osnoise_setup(tracefs)
    prepare()
    assert purpose != WORKLOAD_OFF
    assert _options(tracefs) == "DEFAULTS NO_OSNOISE_WORKLOAD\n"


@pytest.mark.parametrize("tracer", ["osnoise", "timerlat"])
@pytest.mark.parametrize("user", ["current_tracer", "instances/theirs/current_tracer"])
def test_nothing_is_changed_while_another_program_uses_the_tracer(tmp_path: Path, tracer: str, user: str) -> None:
    tracefs = _tracefs(tmp_path)
    (tracefs / user).write_text(tracer + "\n")
    with pytest.raises(CannotMeasure, match="another program uses"):
        osnoise_setup(tracefs)


def test_another_noisewatch_that_is_about_to_use_the_tracer_is_another_program(tmp_path: Path) -> None:
    tracefs = _tracefs(tmp_path)
    instance_path(tracefs, WORKLOAD_OFF).mkdir()
    with pytest.raises(CannotMeasure, match="another program uses"):
        osnoise_setup(tracefs)


def test_kernel_without_the_tracer_or_its_option_has_a_reason(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="no osnoise tracer"):
        osnoise_setup(_tracefs(tmp_path, tracers="nop\n"))
    with pytest.raises(CannotMeasure, match=r"Linux 6\.2"):
        osnoise_setup(_tracefs(tmp_path / "old", options=None))


_NOT_A_CPU = 99_999


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    for cpu in (*os.sched_getaffinity(0), _NOT_A_CPU):
        (tmp_path / f"per_cpu/cpu{cpu}").mkdir(parents=True)
        (tmp_path / f"per_cpu/cpu{cpu}/buffer_size_kb").write_text("1408")
    return tmp_path


def _size(instance: Path, cpu: int) -> str:
    return (instance / f"per_cpu/cpu{cpu}/buffer_size_kb").read_text()


def test_buffer_of_each_cpu_is_resized(instance: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    resize_buffers(instance, cpus, 512)
    assert [_size(instance, cpu) for cpu in cpus] == ["512"] * len(cpus)


def test_unreachable_cpu_keeps_its_size_and_the_next_ones_are_resized(instance: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    resize_buffers(instance, [_NOT_A_CPU, cpu], 512)
    assert (_size(instance, _NOT_A_CPU), _size(instance, cpu)) == ("1408", "512")


def test_cpu_that_never_runs_the_process_is_awaited_until_the_deadline(
    instance: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe without a reader blocks the process, as a real-time task does that leaves it no time."""
    monkeypatch.setattr(instances, "_CPU_DEADLINE_S", 0.2)
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
