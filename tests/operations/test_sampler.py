"""Requests on the sampler's standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from noisewatch.operations.sampler import Inbox

_NO_TIME_S, _LONG_S = 0.02, 60.0


class _InboxPipe:
    """An inbox, both ends of its pipe, and the requests that it received."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.received: list[object] = []
        self.inbox = Inbox(self.reading, {"idle_probe": self.received.append})

    def send(self, *pieces: bytes) -> list[object]:
        for piece in pieces:
            os.write(self.writing, piece)
            self.inbox.wait(_NO_TIME_S)
        return self.received


@pytest.fixture
def pipe() -> Iterator[_InboxPipe]:
    new_pipe = _InboxPipe()
    yield new_pipe
    os.close(new_pipe.reading)
    if not new_pipe.inbox.is_abandoned:
        os.close(new_pipe.writing)


def test_requests_are_received_in_order(pipe: _InboxPipe) -> None:
    assert pipe.send(b'{"idle_probe": true}\n{"idle_probe": false}\n') == [True, False]


def test_a_request_may_come_in_pieces(pipe: _InboxPipe) -> None:
    assert pipe.send(b'{"idle_', b'probe": true', b"}\n") == [True]


@pytest.mark.parametrize("junk", [b"rubbish\n", b"[1]\n", b'{"unknown": 5}\n', b"\xff\xfe\n", b"\n", b"x" * 60_000])
def test_invalid_requests_are_ignored(pipe: _InboxPipe, junk: bytes) -> None:
    assert pipe.send(junk, b'\n{"idle_probe": true}\n') == [True]


def test_a_closed_pipe_ends_the_wait(pipe: _InboxPipe) -> None:
    os.close(pipe.writing)
    pipe.inbox.wait(_LONG_S)
    assert pipe.inbox.is_abandoned


def test_an_empty_standard_input_does_not_end_the_wait() -> None:
    with open(os.devnull) as nothing:
        inbox = Inbox(nothing.fileno(), {})
        inbox.wait(_NO_TIME_S)
        assert not inbox.is_abandoned
