"""What a series changes of the process that runs it, put back."""

from __future__ import annotations

import gc
import os
import signal
from dataclasses import replace

import pytest

from noisewatch.machine.command.adopted import children_of
from noisewatch.machine.command.start import inherited_state


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> object:
    """The series pins whoever runs it, and gives it what a command has left; what other tests left starts nothing."""
    alone = replace(inherited_state(), children=frozenset())
    monkeypatch.setattr("noisewatch.operations.run.series.inherited_state", lambda: alone)
    cpus, children = os.sched_getaffinity(0), children_of("self")
    assert children is not None
    yield
    gc.collect()  # machines that earlier tests opened keep hundreds of files open, of the 1,024 that most may have
    os.sched_setaffinity(0, cpus)
    for left in (children_of("self") or frozenset()) - children:
        os.kill(left, signal.SIGKILL)
        os.waitpid(left, 0)
