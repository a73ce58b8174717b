"""Deliberate load on this host: `pytest -m live`. Needs two CPUs, the last of which no other process uses."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.live.noise import CPU

pytestmark = pytest.mark.live


def _calibrate(*options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "noisewatch", "calibrate", "--cpus", str(CPU), "--duration", "3", "--at", "10ms"]
    result = subprocess.run([*command, *options, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_a_load_on_all_cpus_takes_half_of_one_that_is_not_isolated() -> None:
    loaded = _calibrate("--under-load")["under_load"]
    assert (CPU in loaded["cpus"], loaded["target_cpus_not_isolated"]) == (True, [CPU])
    assert loaded["comparison"]["difference"] == "noisier"
    assert loaded["comparison"]["noise_share"]["under_load"] == pytest.approx(0.5, abs=0.15)
    assert loaded["processes"] == len(loaded["cpus"])


def test_a_load_on_another_cpu_takes_little_from_the_target() -> None:
    loaded = _calibrate("--under-load", "1")["under_load"]
    assert loaded["cpus"] == [0]
    assert loaded["busy_share"] > 0.8
    assert loaded["comparison"]["noise_share"]["under_load"] < 0.25
