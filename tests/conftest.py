"""Tests that make noise on purpose, boot machines, or start engines, have this host for themselves."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from noisewatch.faults import RAISED
from tests.surfaces.running import quiet_tree

for _name in (
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "PYTHONUNBUFFERED",
):  # a shell or a container may export them
    os.environ.pop(_name, None)
os.environ[RAISED] = "1"  # here and in the programs that tests start: a fault that is contained would be overlooked
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")  # what takes long under load is not wrong
# Below nohup, or in the background of a shell, signals are ignored, also by what tests start and end by them.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
_ALONE = ("live", "slow", "lab", "lab_core", "fleet")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are CPUs, as much waits for programs; no workers where one of those is asked for."""
    return 0 if config.getoption("markexpr") in _ALONE else (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def unchanged_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the quiet machine, for tests that change nothing in it."""
    return quiet_tree(tmp_path_factory.mktemp("quiet"))
