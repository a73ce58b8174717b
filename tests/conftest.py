"""Settings of all tests. Tests that make noise on purpose, boot machines, or start engines run alone on this host."""

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
):  # a shell or a container may export these
    os.environ.pop(_name, None)
os.environ[RAISED] = "1"  # also in programs that tests start: a contained fault would be overlooked
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")  # a slow test under load is no failure
# Under nohup, or in the background of a shell, signals are ignored, also by processes that tests start and stop.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
_ALONE = ("live", "slow", "lab", "lab_core", "fleet")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one worker more than there are CPUs, as many tests wait for programs; none for tests that run alone."""
    return 0 if config.getoption("markexpr") in _ALONE else (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def unchanged_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the quiet machine, for tests that do not change it."""
    return quiet_tree(tmp_path_factory.mktemp("quiet"))
