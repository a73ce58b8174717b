"""The rules in a real Prometheus, and the messages of a real Alertmanager, with verdicts of real preflights."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.engines import POLL_INTERVAL_S, program
from tests.fleet.hog import JUDGED, hog
from tests.fleet.prometheus.monitoring import TIMEOUT_S, Monitoring, monitoring
from tests.fleet.shipped import shipped_files
from tests.plumbing.waiting import wait_until

pytestmark = pytest.mark.fleet

_AN_HOUR_S = 3600.0
_STABLE = "--select machine-locked --sample 0 --no-calibration"  # stable on a busy host too


@pytest.fixture
def machines(tmp_path: Path, hog_cpu_free: None) -> Iterator[Monitoring]:
    """Two machines with a stable verdict."""
    with monitoring(tmp_path) as monitored:
        for name in ("a", "b"):
            monitored.judge(name, _STABLE)
        wait_until(
            lambda: len(monitored.query("noisewatch_last_run_timestamp_seconds")) == 2, TIMEOUT_S, POLL_INTERVAL_S
        )
        yield monitored


def test_a_noisy_machine_gives_an_alert_with_its_culprit_that_resolves(machines: Monitoring) -> None:
    with hog():
        machines.judge("a", JUDGED)
        alert = machines.wait_for_message("NoisewatchUnfit", "a", "firing")
        assert "failed: tasks-on-target; CPU" in alert["annotations"]["description"]
        assert "thread python" in alert["annotations"]["description"]
    wait_until(lambda: _is_stable(machines), TIMEOUT_S)
    machines.wait_for_message("NoisewatchUnfit", "a", "resolved")
    assert machines.alerts_of("b") == []


def test_a_stale_verdict_gives_an_alert(machines: Monitoring) -> None:
    file = machines.textfile("a")
    long_ago = file.stat().st_mtime - _AN_HOUR_S
    os.utime(file, (long_ago, long_ago))
    machines.wait_for_message("NoisewatchStale", "a", "firing")
    machines.judge("a", _STABLE)
    machines.wait_for_message("NoisewatchStale", "a", "resolved")
    assert machines.alerts_of("b") == []


def test_a_missing_file_gives_an_alert(machines: Monitoring) -> None:
    last_run = "noisewatch:last_run_timestamp_seconds"
    wait_until(lambda: len(machines.query(last_run)) == 2, TIMEOUT_S, POLL_INTERVAL_S)
    machines.textfile("a").unlink()
    machines.wait_for_message("NoisewatchSilent", "a", "firing")
    machines.judge("a", _STABLE)
    machines.wait_for_message("NoisewatchSilent", "a", "resolved")
    assert machines.alerts_of("b") == []


def _is_stable(machines: Monitoring) -> bool:
    """Judge machine `a` again, and return whether it is stable."""
    machines.judge("a", JUDGED)
    return 'noisewatch_verdict{verdict="stable"} 1.0' in machines.textfile("a").read_text()


@pytest.mark.parametrize(
    ("checker", "arguments"),
    [
        ("promtool", "check config prometheus.yml"),
        ("promtool", "check rules noisewatch.rules.yml"),
        ("promtool", "test rules noisewatch.rules.test.yml"),
        ("amtool", "check-config alertmanager.yml"),
    ],
)
def test_the_files_pass_the_checks_of_their_engines(tmp_path: Path, checker: str, arguments: str) -> None:
    for path, text in shipped_files("prometheus").items():
        (tmp_path / path).write_text(text)
    command = [program(checker), *arguments.split()]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
