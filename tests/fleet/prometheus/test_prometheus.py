"""The rules in a real Prometheus, and the messages of a real Alertmanager, about what real preflights said."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.engines import ASKS_EVERY_S, program
from tests.fleet.hog import JUDGED, hog
from tests.fleet.prometheus.monitoring import WITHIN_S, Monitoring, monitoring
from tests.fleet.shipped import shipped
from tests.plumbing.waiting import wait_until

pytestmark = pytest.mark.fleet

_AN_HOUR_S = 3600.0
_CALM = "--select machine-locked --sample 0 --no-calibration"  # on a busy host too


@pytest.fixture
def machines(tmp_path: Path, aside: None) -> Iterator[Monitoring]:
    """Two that were judged, and are calm."""
    with monitoring(tmp_path) as made:
        for name in ("a", "b"):
            made.judge(name, _CALM)
        wait_until(lambda: len(made.query("noisewatch_last_run_timestamp_seconds")) == 2, WITHIN_S, ASKS_EVERY_S)
        yield made


def test_a_noisy_machine_is_told_of_with_its_culprit_and_so_is_that_it_is_over(machines: Monitoring) -> None:
    with hog():
        machines.judge("a", JUDGED)
        told = machines.wait_for_message("NoisewatchUnfit", "a", "firing")
        assert "failed: tasks-on-target; CPU" in told["annotations"]["description"]
        assert "thread python" in told["annotations"]["description"]
    wait_until(lambda: _is_calm(machines), WITHIN_S)
    machines.wait_for_message("NoisewatchUnfit", "a", "resolved")
    assert machines.was_told_of("b") == []


def test_a_machine_that_is_no_longer_judged_is_told_of(machines: Monitoring) -> None:
    file = machines.textfile("a")
    long_ago = file.stat().st_mtime - _AN_HOUR_S
    os.utime(file, (long_ago, long_ago))
    machines.wait_for_message("NoisewatchStale", "a", "firing")
    machines.judge("a", _CALM)
    machines.wait_for_message("NoisewatchStale", "a", "resolved")
    assert machines.was_told_of("b") == []


def test_a_machine_that_tells_nothing_any_more_is_told_of(machines: Monitoring) -> None:
    remembered = "noisewatch:last_run_timestamp_seconds"
    wait_until(lambda: len(machines.query(remembered)) == 2, WITHIN_S, ASKS_EVERY_S)
    machines.textfile("a").unlink()
    machines.wait_for_message("NoisewatchSilent", "a", "firing")
    machines.judge("a", _CALM)
    machines.wait_for_message("NoisewatchSilent", "a", "resolved")
    assert machines.was_told_of("b") == []


def _is_calm(machines: Monitoring) -> bool:
    """Whether machine `a` is, judged once more."""
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
def test_the_files_are_what_their_engines_accept(tmp_path: Path, checker: str, arguments: str) -> None:
    for path, text in shipped("prometheus").items():
        (tmp_path / path).write_text(text)
    command = [program(checker), *arguments.split()]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
