"""Settings that a benchmark inherits, read from this process."""

from __future__ import annotations

import os

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.own_process import (
    ENVIRONMENT,
    PARENT,
    UNLIMITED,
    Environment,
    OwnProcess,
    Scheduling,
    ask_environment,
    ask_parent,
    parse_limits,
    parse_own_status,
    parse_personality,
    parse_scheduling,
    parse_seccomp_mode,
    read_own_process,
)
from noisewatch.machine.live import LiveMachine
from tests.written import WrittenMachine
from tests.written.quiet.tasks import own_limits, own_stat, own_status

REAL_STAT = (
    "28817 (cat (x) R) R 28815 28815 25963 0 -1 4194304 99 0 0 0 0 0 0 0 39 19 1 0 3453123 3133440 379 "
    "18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 5 0 0 0 9 9 9 9 9 9 9 0\n"
)


def _own_with_answer(question: str, answer: object) -> OwnProcess:
    return read_own_process(Reader(WrittenMachine({}, answers={question: answer})))


def test_nice_and_policy_are_parsed_after_a_name_with_parentheses() -> None:
    assert parse_scheduling(REAL_STAT) == Scheduling(nice=19, policy=5)
    assert parse_scheduling(own_stat(nice=-20, policy=1)) == Scheduling(nice=-20, policy=1)


def test_personality_is_hexadecimal() -> None:
    assert parse_personality("00040000\n") == 0x40000


def test_tracer_and_capabilities_are_parsed_from_status() -> None:
    status = parse_own_status(own_status(tracer=17, capabilities="0000000000000003"))
    assert (status.tracer_pid, status.capabilities) == (17, 3)


def test_limits_may_have_several_words_and_no_unit() -> None:
    limits = parse_limits(own_limits(cpu_time="600"))
    assert (limits["Max cpu time"], limits["Max data size"], limits["Max nice priority"]) == (600, UNLIMITED, 0)


def test_only_relevant_names_of_the_environment_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setenv("LD_BIND_NOW", "secret")
    monkeypatch.setenv("TOKEN", "secret")
    answer = ask_environment()
    assert answer["names"].count("LD_BIND_NOW") == 1
    assert "TOKEN" not in str(answer)
    assert "secret" not in str(answer)
    assert answer["bytes"] > 20


def test_unrequested_names_in_a_recording_are_ignored() -> None:
    own = _own_with_answer(ENVIRONMENT, {"names": ["TOKEN", "LD_PRELOAD", 5], "bytes": 9})
    assert own.environment == Environment(("LD_PRELOAD",), 9)


@pytest.mark.parametrize("answer", [None, 5, "x", [], {}, {"names": [], "bytes": "9"}, {"names": 5, "bytes": 9}])
def test_malformed_environment_is_unknown(answer: object) -> None:
    assert _own_with_answer(ENVIRONMENT, answer).environment is None


@pytest.mark.parametrize("answer", [None, 5, [], [0, 0, 0], ["1", 0, 0], [5, 0], [5, 0, True]])
def test_malformed_parent_is_unknown(answer: object) -> None:
    assert _own_with_answer(PARENT, answer).parent is None


def test_this_process_is_read() -> None:
    own = read_own_process(Reader(LiveMachine()))
    assert None not in (own.scheduling, own.personality, own.status, own.limits, own.environment)
    assert own.scheduling is not None
    assert own.scheduling.nice == os.getpriority(os.PRIO_PROCESS, os.getpid())
    assert ask_parent()[0] == os.getppid()


def test_filter_mode_of_seccomp_is_two() -> None:
    assert parse_seccomp_mode("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n") == 2
    with pytest.raises(Malformed, match="Seccomp: 0"):
        parse_seccomp_mode("Name:\tx\nSeccomp:\t7\n")
