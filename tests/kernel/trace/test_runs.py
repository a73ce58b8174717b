"""Parsing of a trace, answered live or by a recording."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Malformed
from noisewatch.kernel.trace.runs import QUESTION, Thread, Trace, parse_trace, read_trace, untraced
from noisewatch.kinds import Kind
from tests.plumbing.any_json import ANY_JSON
from tests.written import WrittenMachine
from tests.written.trace import written_trace


def test_sources_are_named_after_what_they_are() -> None:
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


@pytest.mark.parametrize("kind", ["local", "irq"])  # "irq" in recordings that were made before there was "local"
def test_an_interrupt_of_the_cpu_itself_is_no_devices(kind: str) -> None:
    said = written_trace()
    said["cpus"][0]["sources"][3] = [kind, "thermal_apic", 0, None]
    source = parse_trace(said).cpus[0].sources[3]
    assert (source.kind, source.name, source.irq) == (Kind.LOCAL, "thermal_apic", None)


def test_a_hostile_name_is_cleaned() -> None:
    said = written_trace(threads={"900": {"name": "\x1b[31mred", "pid": 1, "is_kernel": False}})
    said["cpus"][0]["sources"][1] = ["thread", "\x1b]0;x\x07", 900, None]
    assert "\x1b" not in str(parse_trace(said))


def _broken(**changes: Any) -> dict[str, Any]:
    said = copy.deepcopy(written_trace())
    said["cpus"][0].update(changes)
    return said


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {},
        written_trace(length_ns=-1),
        written_trace(threads={"x": {}}),
        written_trace(threads={"1": {"pid": "2"}}),
        _broken(pieces=[0, 1]),
        _broken(pieces=[0, 1, 99]),
        _broken(pieces=[5, 9, 1, 3, 4, 1]),
        _broken(sources=[["nobody", "x", 0, None]]),
        _broken(spells=[]),
        _broken(lost_events="none"),
        _broken(lost_pieces=None),
    ],
)
def test_anything_else_is_malformed_and_so_unknown(said: object) -> None:
    with pytest.raises(Malformed):
        parse_trace(said)
    assert isinstance(read_trace(WrittenMachine({}, answers={QUESTION: said}), dict), str)


def test_why_nothing_was_traced_is_an_answer_too() -> None:
    assert read_trace(WrittenMachine({}, answers={QUESTION: untraced("not\x1b[1m mounted")}), dict) == "not·[1m mounted"


@given(st.sampled_from(["begin_ns", "length_ns", "untold", "threads", "cpus"]), ANY_JSON)
def test_no_json_does_any_harm(name: str, value: object) -> None:
    found = read_trace(WrittenMachine({}, answers={QUESTION: written_trace(**{name: value})}), dict)
    assert isinstance(found, str | Trace)


def test_a_recording_that_tells_only_how_many_switches_were_not_told_allows_a_tick_for_each() -> None:
    said = written_trace()
    del said["cpus"][0]["unseen_ns"]
    said["cpus"][0]["unseen_switches"] = 3
    assert parse_trace(said).cpus[0].unseen_ns == 30 * 1_000_000
