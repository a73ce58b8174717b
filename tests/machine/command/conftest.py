"""What commands inherit in these tests, however those were started."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

_IGNORED_IN_BACKGROUND = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _nothing_is_ignored() -> Iterator[None]:
    """A script's shell has what it starts in the background ignore Ctrl-C and Ctrl-\\, nohup a hangup."""
    before = {number: signal.getsignal(number) for number in _IGNORED_IN_BACKGROUND}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
