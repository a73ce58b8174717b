"""Statuses of runs: they count while their process lives, and their texts are not trusted."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Malformed
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.machine_lock import NAMESPACE
from noisewatch.kernel.tasks.run_status import (
    LONGEST_TEXT,
    MOST_REPETITIONS,
    QUESTION,
    RunStage,
    RunStatus,
    commands_in,
    cpus_by_watcher,
    parse_run_status,
    read_run_statuses,
)
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Json
from tests.written import WrittenMachine
from tests.written.quiet_machine import process, stat_line

_REPETITION = [6, 6, 0, 100, 200, "disturbed", "stress-ng (pid 812) on CPU 3: 12 ms"]


def _status(**others: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "owner": "4711 4811 4026531836 noisewatch",  # a written process starts at tick 100 + its PID
        "stage": "running",
        "cpus": "1-2",
        "programs": ["bench"],
        "wanted": 10,
        "number": 7,
        "command": 0,
        "since_ns": 300,
        "counts": [5, 1, 0],
        "repetitions": [_REPETITION],
        **others,
    }


def _read(texts: Json, *, started: int = 4711) -> tuple[RunStatus, ...]:
    files = {f"/proc/{started}/stat": stat_line(started, "noisewatch", 0)}
    answers = {NAMESPACE: 4026531836, QUESTION: texts, "process 4711 is gone": True}
    return read_run_statuses(Reader(WrittenMachine(files, answers=answers)), list)


def test_status_is_read_as_it_was_written() -> None:
    (status,) = _read([json.dumps(_status())])
    assert (status.is_alive, status.stage, status.number, status.wanted) == (True, RunStage.RUNNING, 7, 10)
    assert (status.cpus, status.programs, status.counts) == (frozenset({1, 2}), ("bench",), (5, 1, 0))
    (repetition,) = status.repetitions
    assert (repetition.number, repetition.outcome, repetition.reason) == (6, "disturbed", _REPETITION[-1])


@pytest.mark.parametrize(
    "others",
    [
        {"schema": 2},
        {"owner": ""},
        {"owner": "rubbish"},
        {"stage": "flying"},
        {"cpus": ""},
        {"cpus": "0-99999999999"},
        {"programs": 5},
        {"programs": [5]},
        {"wanted": -1},
        {"wanted": True},
        {"wanted": 1 << 63},
        {"number": "7"},
        {"counts": [1, 2]},
        {"repetitions": [_REPETITION] * (MOST_REPETITIONS + 1)},
        {"repetitions": [_REPETITION[:-1]]},
        {"repetitions": [[6, 5, 0, 100, 200, "disturbed", ""]]},
        {"repetitions": [[6, 6, 0, 200, 100, "disturbed", ""]]},
        {"repetitions": [[6, 6, 0, 100, 200, "calm", ""]]},
        {"repetitions": [[6, 6, 0, 100, 200, ["undisturbed"], ""]]},
        {"repetitions": None},
    ],
    ids=lambda others: json.dumps(others)[:40],
)
def test_other_texts_are_malformed_and_no_run(others: dict[str, Any]) -> None:
    text = json.dumps(_status(**others))
    with pytest.raises(Malformed):
        parse_run_status(text)
    assert _read([text]) == ()


@given(
    st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(json.dumps))
)
def test_any_text_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_run_status(text)


@given(st.sampled_from(sorted(_status())), st.none() | st.integers() | st.text() | st.lists(st.integers() | st.text()))
def test_any_value_of_a_field_is_parsed_or_malformed(name: str, value: object) -> None:
    with suppress(Malformed):
        assert parse_run_status(json.dumps(_status(**{name: value}))).wanted >= 0


def test_names_and_reasons_are_cleaned_for_terminals() -> None:
    hostile = "\x1b]0;owned\x07[bold]" + "x" * 1000
    (status,) = _read([json.dumps(_status(programs=[hostile], repetitions=[[*_REPETITION[:-1], hostile]]))])
    assert status.programs[0].isprintable()
    assert status.repetitions[0].reason.isprintable()
    assert len(status.repetitions[0].reason) <= LONGEST_TEXT


@pytest.mark.parametrize("texts", [None, {}, 5, "text", [None], [["x"]]])
def test_malformed_answer_has_no_runs(texts: Json) -> None:
    assert _read(texts) == ()


def test_older_recording_has_no_runs() -> None:
    reader = Reader(WrittenMachine({}))
    assert read_run_statuses(reader, list) == ()
    assert reader.reason_by_path == {}


def test_status_of_an_ended_process_counts_only_if_it_has_ended() -> None:
    assert _read([json.dumps(_status())], started=1) == ()
    (status,) = _read([json.dumps(_status(stage="ended"))], started=1)
    assert status.is_alive is False
    assert cpus_by_watcher([status]) == {}


def test_number_of_another_process_is_rejected() -> None:
    assert _read([json.dumps(_status(owner="4711 1 4026531836 noisewatch"))]) == ()


def test_number_of_another_pid_namespace_is_rejected() -> None:
    assert _read([json.dumps(_status(owner="4711 4811 1 noisewatch"))]) == ()


def test_commands_are_the_descendants_of_a_run_without_the_run_itself() -> None:
    files = {
        **process(4711, "noisewatch", 0, 0),
        **process(4712, "bench", 1, 0, parent=4711),
        **process(4713, "worker", 1, 0, parent=4712),
        **process(4714, "other", 1, 0),
    }
    machine = WrittenMachine(files, answers={NAMESPACE: 4026531836, QUESTION: [json.dumps(_status())]})
    reader = Reader(machine)
    runs = read_run_statuses(reader, list)
    tasks = TaskReader().read(reader, frozenset({1}), frozenset())
    assert commands_in(runs, tasks) == {4712: {1, 2}, 4713: {1, 2}}
    assert commands_in((), tasks) == commands_in(runs, None) == {}
