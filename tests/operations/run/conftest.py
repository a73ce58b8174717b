"""Restoring the process after a series has changed it."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from msgspec.structs import replace

from noisewatch.machine.command.adopted import children_of
from noisewatch.machine.command.start import inherited_state


@pytest.fixture
def restored_process(monkeypatch: pytest.MonkeyPatch) -> object:
    """Undo what a series does to its own process: it pins itself, and adopts processes that commands leave.

    Children that earlier tests left are hidden from the series.
    """
    alone = replace(inherited_state(), children=frozenset())
    monkeypatch.setattr("noisewatch.operations.run.series.inherited_state", lambda: alone)
    cpus, children = os.sched_getaffinity(0), children_of("self")
    assert children is not None
    yield
    gc.collect()  # machines of earlier tests keep hundreds of files open, and the usual limit is 1,024
    os.sched_setaffinity(0, cpus)
    for left in (children_of("self") or frozenset()) - children:
        os.kill(left, signal.SIGKILL)
        os.waitpid(left, 0)
