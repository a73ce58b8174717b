"""An instance of the trace, in a folder that looks like tracefs; the kernel's own: `-m live`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisewatch.errors import CannotMeasure
from noisewatch.machine.tracefs.instance import Instance


@pytest.mark.parametrize("is_there", [True, False])
def test_where_no_instance_can_be_made_the_reason_is_told(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        (tmp_path / "instances").mkdir()  # a folder made in it has no files of the kernel's
    with pytest.raises(CannotMeasure, match=f"{tmp_path}: no such file or directory"), Instance(tmp_path, "x", [1], 64):
        pass
    assert not is_there or os.listdir(tmp_path / "instances") == []


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
def test_what_was_lost_or_left_unread_is_counted_and_otherwise_unknown(
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
def started(tmp_path: Path) -> Iterator[Instance]:
    instance = Instance(tmp_path, "target", [1], 64)
    (instance.path / "events/sched/sched_switch").mkdir(parents=True)
    for name in (*SWITCHES, *SETTINGS):
        (instance.path / name).write_text("as we want it\n")
    instance.start()
    assert instance.enable("sched/sched_switch", "as we want it\n")
    yield instance
    instance.close()


@pytest.mark.parametrize("name", [*SWITCHES, *SETTINGS])
def test_what_somebody_else_has_changed_is_noticed(started: Instance, name: str) -> None:
    """Events of another clock, of other CPUs or of some tasks only are not what is read here."""
    said = (started.path / name).read_text()
    assert _is_writing(started)
    (started.path / name).write_text("as somebody else wants it\n")
    assert not _is_writing(started)
    (started.path / name).write_text(said)
    assert _is_writing(started)


def test_one_that_was_stopped_writes_nothing(started: Instance) -> None:
    started.stop()
    assert not _is_writing(started)


def test_what_cannot_be_looked_at_is_not_traced(tmp_path: Path) -> None:
    instance = Instance(tmp_path, "target", [1], 64)
    instance.path.mkdir(parents=True)
    (instance.path / "tracing_on").write_text("0\n")
    with pytest.raises(CannotMeasure, match="no such file"):
        instance.start()
    instance.close()


def _is_writing(instance: Instance) -> bool:
    return instance.is_writing
