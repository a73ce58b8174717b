"""Parsing of a trace, answered live or by a recording."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Malformed
from noisewatch.kernel.trace.runs import QUESTION, Thread, Trace, failed_trace, parse_trace, read_trace
from noisewatch.kinds import Kind
from tests.plumbing.any_json import ANY_JSON
from tests.written import WrittenMachine
from tests.written.trace import written_trace


def test_sources_are_named() -> None:
    (cpu,) = parse_trace(written_trace()).cpus
    assert [(source.kind, source.name) for source in cpu.sources] == [
        ("idle", "idle"),
        ("thread", "bench"),
        ("tick", "local_timer"),
        ("irq", "25"),
        ("softirq", "BLOCK"),
        ("kernel-thread", "kworker/2:1"),
        ("ipi", "call_function_single"),
        ("ipi", "reschedule"),
    ]
    assert cpu.sources[6].thread == Thread(456, "mapper", 450, False)
    assert (cpu.sources[6].function, cpu.sources[7].thread) == ("flush_tlb_func", None)


@pytest.mark.parametrize("kind", ["local", "irq"])  # "irq" in recordings older than "local"
def test_interrupt_of_the_cpu_itself_is_not_a_devices(kind: str) -> None:
    trace = written_trace()
    trace["cpus"][0]["sources"][3] = [kind, "thermal_apic", 0, None]
    source = parse_trace(trace).cpus[0].sources[3]
    assert (source.kind, source.name, source.irq) == (Kind.LOCAL, "thermal_apic", None)


def test_control_characters_are_removed_from_names() -> None:
    trace = written_trace(threads={"900": {"name": "\x1b[31mred", "pid": 1, "is_kernel": False}})
    trace["cpus"][0]["sources"][1] = ["thread", "\x1b]0;x\x07", 900, None]
    assert "\x1b" not in str(parse_trace(trace))


def _broken_trace(**changes: Any) -> dict[str, Any]:
    trace = copy.deepcopy(written_trace())
    trace["cpus"][0].update(changes)
    return trace


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        written_trace(length_ns=-1),
        written_trace(threads={"x": {}}),
        written_trace(threads={"1": {"pid": "2"}}),
        _broken_trace(pieces=[0, 1]),
        _broken_trace(pieces=[0, 1, 99]),
        _broken_trace(pieces=[5, 9, 1, 3, 4, 1]),
        _broken_trace(sources=[["nobody", "x", 0, None]]),
        _broken_trace(spells=[]),
        _broken_trace(lost_events="none"),
        _broken_trace(lost_pieces=None),
    ],
)
def test_other_answers_are_malformed_and_unknown(answer: object) -> None:
    with pytest.raises(Malformed):
        parse_trace(answer)
    assert isinstance(read_trace(WrittenMachine({}, answers={QUESTION: answer}), dict), str)


def test_reason_for_no_trace_is_an_answer() -> None:
    assert (
        read_trace(WrittenMachine({}, answers={QUESTION: failed_trace("not\x1b[1m mounted")}), dict)
        == "not·[1m mounted"
    )


@given(st.sampled_from(["begin_ns", "length_ns", "untold", "threads", "cpus"]), ANY_JSON)
def test_any_json_is_a_trace_or_a_reason(name: str, value: object) -> None:
    result = read_trace(WrittenMachine({}, answers={QUESTION: written_trace(**{name: value})}), dict)
    assert isinstance(result, str | Trace)


def test_recording_without_the_time_of_untraced_switches_allows_a_tick_for_each() -> None:
    trace = written_trace()
    del trace["cpus"][0]["unseen_ns"]
    trace["cpus"][0]["unseen_switches"] = 3
    assert parse_trace(trace).cpus[0].unseen_ns == 30 * 1_000_000
