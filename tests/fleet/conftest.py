"""Fixtures for the tests of several engines."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.live.noise import CPU
from tests.surfaces.conftest import run as run


@pytest.fixture(scope="session")
def hog_cpu_free() -> Iterator[None]:
    """Keep this process and all engines that it starts off the hog's CPU; skip the tests without root."""
    if os.geteuid() != 0:
        pytest.skip("these engines are started by root")
    allowed = os.sched_getaffinity(0)
    if not allowed - {CPU}:
        pytest.skip("the hog needs a CPU of its own")
    os.sched_setaffinity(0, allowed - {CPU})
    yield
    os.sched_setaffinity(0, allowed)
