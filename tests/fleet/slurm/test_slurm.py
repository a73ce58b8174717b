"""The files for Slurm, in a real cluster: a noisy node is drained and gets no quiet jobs until the noise ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.engines import POLL_INTERVAL_S
from tests.fleet.hog import hog
from tests.fleet.slurm.cluster import EASY, WATCHED, Cluster, running_cluster
from tests.live.noise import CPU
from tests.plumbing.waiting import wait_until

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("hog_cpu_free")]

_OURS = "noisewatch: "
_TIMEOUT_S = 120.0  # takes half a minute on an idle host
_NEVER_S = 3600


@pytest.fixture(scope="module")
def checked(hog_cpu_free: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with periodic health checks."""
    with running_cluster(tmp_path_factory.mktemp("checked"), checks_every_s=4) as cluster:
        yield cluster


@pytest.fixture
def unchecked(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster without health checks, in which only prologs judge nodes."""
    with running_cluster(tmp_path, checks_every_s=_NEVER_S) as cluster:
        yield cluster


def _wait_for_checks(cluster: Cluster) -> None:
    """Wait until a health check that began after this call has ended."""
    before = cluster.health_checks(WATCHED)
    wait_until(lambda: cluster.health_checks(WATCHED) >= before + 2, _TIMEOUT_S, POLL_INTERVAL_S)


def test_a_node_is_drained_for_its_noise_and_comes_back_when_that_ends(checked: Cluster) -> None:
    wait_until(lambda: checked.is_in_service(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)
    with hog() as process:
        wait_until(lambda: f"(pid {process.pid})" in checked.reason(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)
        assert checked.state(WATCHED) == "IDLE+DRAIN"
        assert checked.reason(WATCHED).startswith(f"{_OURS}CPU {CPU}: thread python")
        assert checked.state(EASY) == "IDLE"
    wait_until(lambda: checked.is_in_service(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)
    assert checked.reason(WATCHED) == ""


def test_the_drain_of_an_administrator_is_left_alone(checked: Cluster) -> None:
    checked.update(WATCHED, "State=DRAIN", "Reason=replace the fan")
    with hog():
        _wait_for_checks(checked)
        assert checked.reason(WATCHED) == "replace the fan"
    _wait_for_checks(checked)
    assert (checked.state(WATCHED), checked.reason(WATCHED)) == ("IDLE+DRAIN", "replace the fan")
    checked.update(WATCHED, "State=UNDRAIN")
    wait_until(lambda: checked.is_in_service(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)


def test_a_job_that_needs_quiet_waits_for_its_requested_node(checked: Cluster) -> None:
    with hog():
        job = checked.submit("echo ran on $SLURMD_NODENAME", "--constraint=quiet", f"--nodelist={WATCHED}")
        wait_until(lambda: checked.reason(WATCHED).startswith(_OURS), _TIMEOUT_S, POLL_INTERVAL_S)
        assert checked.output_of(job) == ""
    wait_until(lambda: f"ran on {WATCHED}" in checked.output_of(job), _TIMEOUT_S, POLL_INTERVAL_S)


def test_a_node_that_slurm_drained_for_our_prolog_comes_back(checked: Cluster) -> None:
    wait_until(lambda: checked.is_in_service(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)
    checked.allow_updates(is_allowed=False)
    with hog() as process:
        job = checked.submit("echo ran on $SLURMD_NODENAME", "--constraint=quiet", f"--nodelist={WATCHED}")
        wait_until(lambda: checked.reason(WATCHED) == "Prolog error", _TIMEOUT_S, POLL_INTERVAL_S)
        checked.allow_updates(is_allowed=True)
        wait_until(lambda: f"(pid {process.pid})" in checked.reason(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)
    wait_until(lambda: f"ran on {WATCHED}" in checked.output_of(job), _TIMEOUT_S, POLL_INTERVAL_S)


def test_a_job_that_needs_quiet_does_not_start_on_a_noisy_node_but_on_another(unchecked: Cluster) -> None:
    with hog() as process:
        job = unchecked.submit("echo ran on $SLURMD_NODENAME", "--constraint=quiet", "--exclusive")
        wait_until(lambda: f"(pid {process.pid})" in unchecked.reason(WATCHED), _TIMEOUT_S, POLL_INTERVAL_S)
        assert unchecked.reason(WATCHED).startswith(_OURS)
        wait_until(lambda: unchecked.output_of(job) != "", _TIMEOUT_S, POLL_INTERVAL_S)
    assert unchecked.output_of(job) == f"ran on {EASY}\n"
    assert (unchecked.job(job, "Restarts"), unchecked.job(job, "Requeue")) == ("1", "1")


def test_a_job_that_does_not_need_quiet_runs_on_a_noisy_node(unchecked: Cluster) -> None:
    with hog():
        job = unchecked.submit("echo ran on $SLURMD_NODENAME")
        wait_until(lambda: unchecked.output_of(job) != "", _TIMEOUT_S, POLL_INTERVAL_S)
    assert unchecked.output_of(job) == f"ran on {WATCHED}\n"
    assert unchecked.reason(WATCHED) == ""
