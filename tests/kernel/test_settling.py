"""What a recording keeps of CPUs that worked until their clocks were level."""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.calibration import CpuSpeeds, parse_settling
from noisewatch.machine import Json

_CPU: dict[str, Any] = {"cpu": 2, "times_ns": [9, 8], "multiply_ns": 30, "add_ns": 10, "chain_length": 100}


def test_the_cycles_of_the_work_are_those_of_its_multiplications() -> None:
    python = {**_CPU, "cpu": 3, "multiply_ns": -1, "add_ns": -1}
    assert parse_settling({"cpus": [_CPU, python]}) == (CpuSpeeds(2, (9, 8), 300), CpuSpeeds(3, (9, 8), None))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"cpus": [None]},
        {"cpus": [{**_CPU, "times_ns": [0]}]},
        {"cpus": [{**_CPU, "times_ns": [1.5]}]},
        {"cpus": [{**_CPU, "times_ns": None}]},
        {"cpus": [{**_CPU, "cpu": -1}]},
        {"cpus": [{**_CPU, "add_ns": "x"}]},
    ],
    ids=str,
)
def test_what_tells_no_speeds_is_refused(answer: Json) -> None:
    with pytest.raises(Malformed):
        parse_settling(answer)
