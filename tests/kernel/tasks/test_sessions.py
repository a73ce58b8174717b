"""Number of open sessions and of their users."""

from __future__ import annotations

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import TEMPORARY_FILES
from noisewatch.kernel.tasks.sessions import QUESTION, Sessions, count_sessions, read_sessions
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from tests.written import WrittenMachine

_ALICE = "# This is private data. Do not parse.\nUID=1000\nUSER=alice\nACTIVE=1\nSTATE=active\nCLASS=user\n"


def reader_with_answer(answer: Json) -> Reader:
    return Reader(WrittenMachine({}, answers={QUESTION: answer, TEMPORARY_FILES: answer}))


def test_sessions_of_one_user_count_one_user() -> None:
    assert count_sessions([_ALICE, _ALICE.replace("active", "online")]) == {"sessions": 2, "users": 1}


def test_greeter_and_managers_are_not_sessions() -> None:
    others = [_ALICE.replace("CLASS=user", f"CLASS={name}") for name in ("greeter", "manager", "background")]
    assert count_sessions([*others, _ALICE.replace("STATE=active", "STATE=closing"), ""]) == {"sessions": 0, "users": 0}


@pytest.mark.parametrize(
    "answer", [None, "2", [], {}, {"sessions": -1, "users": True}, {"sessions": "a", "users": 1.5}]
)
def test_malformed_answer_is_unknown(answer: Json) -> None:
    assert read_sessions(reader_with_answer(answer)) == Sessions(None, None)


def test_this_host_reports_numbers_and_no_names() -> None:
    sessions = read_sessions(Reader(LiveMachine()))
    assert {type(number) for number in (sessions.sessions, sessions.users)} <= {int, type(None)}
