"""Active tracing: instances of the kernel's trace, with their tracers and events."""

from __future__ import annotations

import pytest

from noisewatch.kernel.system.release import RELEASE
from noisewatch.kernel.trace.active import FOLDER, TraceInstance, Tracing, parse_events, read_tracing
from tests.written import reading


def test_events_are_parsed_line_by_line() -> None:
    assert parse_events("sched:sched_switch\nirq:softirq_entry\n") == ("sched:sched_switch", "irq:softirq_entry")
    assert parse_events("") == ()


def test_each_instance_has_a_tracer_and_events() -> None:
    files = {
        f"{FOLDER}/current_tracer": "nop\n",
        f"{FOLDER}/set_event": "",
        f"{FOLDER}/instances/own/current_tracer": "osnoise\n",
        f"{FOLDER}/instances/own/set_event": "a:b\n",
    }
    assert read_tracing(reading(files)).instances == (
        TraceInstance(FOLDER, "nop", ()),
        TraceInstance(f"{FOLDER}/instances/own", "osnoise", ("a:b",)),
    )


@pytest.mark.parametrize(("release", "instances"), [("4.1.0", ()), ("6.14.0", ()), ("3.10.0", None), ("?", None)])
def test_newer_kernel_without_the_folder_cannot_trace(release: str, instances: tuple[()] | None) -> None:
    assert read_tracing(reading({RELEASE: f"{release}\n"})) == Tracing(instances)


def test_folder_missing_from_a_copy_is_unknown() -> None:
    copied = reading({}, is_copy=True)
    assert read_tracing(copied) == Tracing(None)
    assert copied.reason_by_path == {FOLDER: "no such file"}


def test_folder_without_its_file_system_has_a_reason() -> None:
    reader = reading({f"{FOLDER}/other": ""})
    assert read_tracing(reader) == Tracing(None)
    assert reader.reason_by_path == {FOLDER: "tracefs is not mounted"}
