"""Parsing of the samples of a calibration, and rejection of malformed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Malformed
from noisewatch.kernel.calibration import (
    QUESTION,
    BusyLoad,
    CalibrationOptions,
    CpuSpeeds,
    describe_load,
    parse_busy_load,
    parse_calibration,
    parse_settling,
    read_calibration,
)
from noisewatch.machine import Json
from noisewatch.machine.copied import CopiedTree
from tests.plumbing.any_json import ANY_JSON
from tests.written import WrittenMachine, write_tree
from tests.written.calibration import written_calibration

_CPUS = frozenset({2, 3})
_OPTIONS = CalibrationOptions(1.0)


def test_gaps_are_parsed_into_columns() -> None:
    samples = parse_calibration(written_calibration((3,), gaps=((5, 1_000, 1, 900), (2_000, 4_000, 0, 0))))
    gaps = samples.cpus[0].gaps
    assert (gaps.start_ns, gaps.length_ns, gaps.switches, gaps.waited_ns) == (
        (5, 2_000),
        (1_000, 4_000),
        (1, 0),
        (900, 0),
    )
    assert (samples.core, samples.threshold_ns, samples.cpus[0].trouble) == ("native", 1_000, None)


@pytest.mark.parametrize(
    ("state", "error", "reason"),
    [
        ("refused", 22, "refused to pin the loop to it (invalid argument)"),
        ("no-priority", 1, "the kernel refused real-time priority (operation not permitted)"),
        ("moved", 0, "went offline"),
        ("running", 0, "stopped early"),
        ("failed", 3, "ended with status 3"),
        ("failed", 256 + 2, "cannot be run: no such file"),
        ("failed", 1 << 16, "took too long"),
    ],
)
def test_unfinished_spinner_has_a_reason(state: str, error: int, reason: str) -> None:
    cpu = parse_calibration(written_calibration((3,), changes={3: {"state": state, "error": error}})).cpus[0]
    assert reason in (cpu.trouble or "")


@pytest.mark.parametrize(
    "change",
    [
        {"gaps": [1, 2, 3]},
        {"gaps": [1, 2, 3, "x"]},
        {"gaps": [1, -2, 3, 4]},
        {"work": [1, 10**18]},
        {"work": None},
        {"state": "asleep"},
        {"cpu": -1},
        {"spun_ns": 1.5},
        {"slots": [["work", 1]]},
        {"slots": [["tea", 1, 2]]},
        {"slots": 7},
        {"slots": [[["work"], 1, 2]]},
        {"error": 10**30},
        {"work": [5, 0]},
        {"work": [5, 1, 4, 1]},
    ],
    ids=str,
)
def test_damaged_calibration_is_malformed(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        parse_calibration(written_calibration((3,), changes={3: change}))


def test_repeated_cpu_is_malformed() -> None:
    answer = written_calibration((3,), seconds=0.5)
    with pytest.raises(Malformed):
        parse_calibration({**answer, "cpus": answer["cpus"] * 2})


@given(ANY_JSON)
def test_any_json_is_malformed(answer: Any) -> None:
    with pytest.raises(Malformed):
        parse_calibration(answer)


@given(st.sampled_from(sorted(written_calibration((3,)))), ANY_JSON)
def test_any_value_of_a_field_is_parsed_or_malformed(name: str, value: Any) -> None:
    try:
        parse_calibration({**written_calibration((3,), seconds=0.5), name: value})
    except Malformed as error:
        assert error.reason  # noqa: PT017 - either outcome is fine, a traceback is not


def test_copied_tree_cannot_be_calibrated(tmp_path: Any) -> None:
    tree = CopiedTree(str(write_tree(tmp_path, {"/proc/stat": "cpu 1\n"})))
    assert read_calibration(tree, _CPUS, {}, _OPTIONS) == "not available in a copied tree"


def test_answer_of_a_recording_is_the_calibration() -> None:
    machine = WrittenMachine({}, answers={QUESTION: written_calibration()})
    samples = read_calibration(machine, _CPUS, {}, _OPTIONS)
    assert not isinstance(samples, str)
    assert [cpu.cpu for cpu in samples.cpus] == [2, 3]


def test_damaged_answer_of_a_recording_has_a_reason() -> None:
    reason = read_calibration(WrittenMachine({}, answers={QUESTION: {"core": 1}}), _CPUS, {}, _OPTIONS)
    assert isinstance(reason, str)
    assert "core in the answer" in reason


_CPU: dict[str, Any] = {"cpu": 2, "times_ns": [9, 8], "multiply_ns": 30, "add_ns": 10, "chain_length": 100}


def test_cycles_of_work_are_those_of_its_multiplications() -> None:
    python = {**_CPU, "cpu": 3, "multiply_ns": -1, "add_ns": -1}
    assert parse_settling({"cpus": [_CPU, python]}) == (CpuSpeeds(2, (9, 8), 300), CpuSpeeds(3, (9, 8), None))


_LOAD: dict[str, Any] = {"cpus": [1], "processes": 1, "busy_millionths": 1}


def test_load_is_parsed_as_it_was_described() -> None:
    load = BusyLoad(frozenset({0, 5}), 7, 0.96)
    assert parse_busy_load(describe_load(load)) == load
    assert parse_busy_load({**_LOAD, "busy_millionths": 1_000_001}).busy_share == 1.0


_NO_SPEEDS: list[Json] = [
    *(None, [], {}, {"cpus": [None]}),
    *({"cpus": [{**_CPU, "times_ns": times}]} for times in ([0], [1.5], None)),
    *({"cpus": [{**_CPU, **change}]} for change in ({"cpu": -1}, {"add_ns": "x"})),
]
_NO_LOAD: list[Json] = [
    *(None, [], {}, {**_LOAD, "processes": -1}, {"cpus": [1], "processes": 1}),
    *({**_LOAD, "cpus": cpus} for cpus in (["x"], [-1], [True], [1.0], [0, None], "1")),
]


@pytest.mark.parametrize(
    ("parse", "answer"),
    [*((parse_settling, answer) for answer in _NO_SPEEDS), *((parse_busy_load, answer) for answer in _NO_LOAD)],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_answer_without_speeds_or_a_load_is_malformed(parse: Callable[[Json], object], answer: Json) -> None:
    with pytest.raises(Malformed):
        parse(answer)
