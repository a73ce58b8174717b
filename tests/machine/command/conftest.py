"""Signal actions that commands inherit in these tests, however the tests were started."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

_IGNORED_IN_BACKGROUND = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _default_signal_actions() -> Iterator[None]:
    """Restore default actions: shell scripts let background jobs ignore Ctrl-C and Ctrl-\\, nohup a hangup."""
    before = {number: signal.getsignal(number) for number in _IGNORED_IN_BACKGROUND}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
