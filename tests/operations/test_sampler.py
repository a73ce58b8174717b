"""Requests on the sampler's standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from noisewatch.operations.sampler import Inbox

_NO_TIME_S, _LONG_S = 0.02, 60.0


class _Asked:
    """An inbox, the end of the pipe that is written to, and what was taken."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.taken: list[object] = []
        self.inbox = Inbox(self.reading, {"idle_probe": self.taken.append})

    def after(self, *pieces: bytes) -> list[object]:
        for piece in pieces:
            os.write(self.writing, piece)
            self.inbox.wait(_NO_TIME_S)
        return self.taken


@pytest.fixture
def asked() -> Iterator[_Asked]:
    made = _Asked()
    yield made
    os.close(made.reading)
    if not made.inbox.is_abandoned:
        os.close(made.writing)


def test_requests_are_taken_in_their_order(asked: _Asked) -> None:
    assert asked.after(b'{"idle_probe": true}\n{"idle_probe": false}\n') == [True, False]


def test_a_request_may_come_in_pieces(asked: _Asked) -> None:
    assert asked.after(b'{"idle_', b'probe": true', b"}\n") == [True]


@pytest.mark.parametrize("junk", [b"rubbish\n", b"[1]\n", b'{"unknown": 5}\n', b"\xff\xfe\n", b"\n", b"x" * 60_000])
def test_what_is_no_request_is_left_alone(asked: _Asked, junk: bytes) -> None:
    assert asked.after(junk, b'\n{"idle_probe": true}\n') == [True]


def test_who_asked_and_is_gone_ends_the_wait(asked: _Asked) -> None:
    os.close(asked.writing)
    asked.inbox.wait(_LONG_S)
    assert asked.inbox.is_abandoned


def test_without_anybody_to_ask_the_wait_goes_on() -> None:
    with open(os.devnull) as nothing:
        inbox = Inbox(nothing.fileno(), {})
        inbox.wait(_NO_TIME_S)
        assert not inbox.is_abandoned
