"""`noisewatch run` on a processor with counters: it counts instructions exactly, and explains why runs differ.

In the emulated processor, each instruction takes two cycles, and each cycle takes a nanosecond.
"""

from __future__ import annotations

import json
import shlex
import statistics
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisewatch.model.run.decomposition import Factor
from tests.lab.lab import Lab
from tests.plumbing.privileges import NOBODY

_SOURCE = Path(__file__).with_name("arm") / "loop.s"
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_OTHERS, _OF_A_SLEEP = 13, 4  # instructions of a run and of its sleep, besides two in each turn
_CYCLES_PER_INSTRUCTION = 2
_TURNS = [5_000_000 + 500_000 * (7 * run % 10) for run in range(10)]  # in no order
_AWAKE = [(turns, 0) for turns in _TURNS]
_INSTRUCTIONS = [2 * turns + _OTHERS for turns in _TURNS]
_USER = f"/usr/bin/{shlex.join(NOBODY)}"  # BusyBox has another program of this name

Work = Sequence[tuple[int, int]]  # by run: the turns of the loop, and the nanoseconds to sleep


@pytest.fixture(scope="module")
def with_loop(arm: Lab) -> Lab:
    """The machine, with the program of loop.s in memory."""
    program, code = arm.scratch / "loop", arm.scratch / "loop.o"
    subprocess.run(["aarch64-linux-gnu-as", _SOURCE, "-o", code], check=True)
    subprocess.run(["aarch64-linux-gnu-ld", code, "-o", program], check=True)
    arm.do("cp loop /tmp")
    return arm


def _run(lab: Lab, work: Work, prefix: str = "") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the repetitions of a series of the program, and the decomposition of their spread.

    Each repetition reads its work from the same pipe.
    """
    (lab.scratch / "work").write_bytes(b"".join(struct.pack("<QQ", *amounts) for amounts in work))
    options = f"--cpus 0 --runs {len(work)} --calibration 0 --tracer none --show-output --format json"
    receipt = json.loads(lab.do(f"cat work | (cd /tmp; {prefix} noisewatch run {options} -- /tmp/loop)"))
    return receipt["repetitions"], receipt["footer"]["commands"][0]["decomposition"]


def _parts(decomposition: dict[str, Any]) -> dict[str, float]:
    """Return the parts as shares of the whole spread."""
    return {part["factor"]: part["share"] / decomposition["total"] for part in decomposition["parts"]}


def test_different_work_is_counted_exactly_and_explains_the_spread(with_loop: Lab) -> None:
    repetitions, spread = _run(with_loop, _AWAKE)
    counters = [repetition["counters"] for repetition in repetitions]
    assert [counts["user_instructions"] for counts in counters] == _INSTRUCTIONS
    for counts in counters:
        assert not counts["is_user_only"]
        assert counts["counted_share"] == 1
        assert counts["user_instructions"] < counts["instructions"]
        assert counts["cycles"] == pytest.approx(_CYCLES_PER_INSTRUCTION * counts["instructions"], rel=0.001)
        assert counts["cpu_time_ns"] == pytest.approx(counts["cycles"], rel=0.01)
    assert (spread["main"], spread["is_same_work"]) == (Factor.INSTRUCTIONS, False)
    expected_spread = statistics.stdev(_INSTRUCTIONS) / statistics.fmean(_INSTRUCTIONS)
    assert spread["instruction_spread"] == pytest.approx(expected_spread)
    parts = _parts(spread)
    assert sum(parts.values()) == pytest.approx(1)
    assert parts[Factor.CYCLES_PER_INSTRUCTION] == pytest.approx(0, abs=0.01)
    assert parts[Factor.CLOCK] == pytest.approx(0, abs=0.01)


def test_different_sleeps_of_the_same_work_are_time_off_the_cpu(with_loop: Lab) -> None:
    turns = _TURNS[0]
    repetitions, spread = _run(with_loop, [(turns, 1_000_000 + 3_000_000 * (7 * run % 10)) for run in range(10)])
    counts = {repetition["counters"]["user_instructions"] for repetition in repetitions}
    assert counts == {2 * turns + _OTHERS + _OF_A_SLEEP}
    assert (spread["main"], spread["is_same_work"], spread["instruction_spread"]) == (Factor.OFF_CPU, True, 0)
    assert _parts(spread)[Factor.OFF_CPU] == pytest.approx(1, abs=0.05)


def test_a_user_counts_what_the_kernel_permits(with_loop: Lab) -> None:
    """Debian's kernel permits nothing with perf_event_paranoid 3, and user code with 2."""
    with_loop.write(_PARANOID, 3)
    (refused, _), spread = _run(with_loop, _AWAKE[:2], _USER)
    assert (refused["counters"], spread["is_same_work"]) == (None, None)
    assert refused["no_counters_reason"] == "kernel.perf_event_paranoid forbids counting (2 or less allows it)"
    with_loop.write(_PARANOID, 2)
    repetitions, spread = _run(with_loop, _AWAKE, _USER)
    counters = [repetition["counters"] for repetition in repetitions]
    assert all(counts["is_user_only"] for counts in counters)
    assert [counts["instructions"] for counts in counters] == _INSTRUCTIONS
    assert [counts["user_instructions"] for counts in counters] == _INSTRUCTIONS
    assert [counts["cycles"] for counts in counters] == [_CYCLES_PER_INSTRUCTION * count for count in _INSTRUCTIONS]
    assert (spread["main"], spread["is_same_work"]) == (Factor.INSTRUCTIONS, False)
    assert Factor.CLOCK_AND_KERNEL in _parts(spread)
