"""What the tests of several engines need."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.live.noise import CPU
from tests.surfaces.conftest import run as run


@pytest.fixture(scope="session")
def aside() -> Iterator[None]:
    """As root, with all engines that are started, off the CPU that the hog gets."""
    if os.geteuid() != 0:
        pytest.skip("these engines are started by root")
    allowed = os.sched_getaffinity(0)
    if not allowed - {CPU}:
        pytest.skip("the hog needs a CPU beside that of all else")
    os.sched_setaffinity(0, allowed - {CPU})
    yield
    os.sched_setaffinity(0, allowed)
