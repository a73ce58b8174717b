"""The kinds of the target's cores, by files or by the time that the same work took on each core."""

from __future__ import annotations

import pytest

from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Case
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from tests.judgement.example import Example
from tests.judgement.judging import calibrated_by, finding_in
from tests.written import WrittenMachine, without
from tests.written.calibration import WORK_NS, written_calibration
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

_NO_CPUFREQ = tuple(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4))
_KINDS = ("/sys/devices/cpu_core/cpus", "/sys/devices/cpu_atom/cpus")


def _answer(slower: float, changes: dict[int, dict[str, object]] | None = None) -> Answer:
    """Return the answer for a machine whose CPU 3 takes `slower` times as long as CPU 2."""
    other = written_calibration((3,), work=lambda at_ns: round(WORK_NS * slower))["cpus"][0]
    written = written_calibration((2, 3), changes={3: other, **(changes or {})})
    snapshot = read_snapshot(WrittenMachine(without(quiet_files(), *_NO_CPUFREQ), answers=ANSWERS), SnapshotOptions())
    case = Case(snapshot, calibrated=calibrated_by(written))
    return finding_in(case, "target-cores-differ").answer


@pytest.mark.parametrize(("slower", "status"), [(1.0, "pass"), (1.04, "pass"), (1.1, "warn"), (1.4, "fail")])
def test_the_slower_core_is_graded_by_its_work_time(slower: float, status: str) -> None:
    assert _answer(slower).status == status


def test_the_slower_core_is_named() -> None:
    assert "CPU 3" in _answer(1.4).said
    assert set(_answer(1.4).cpus) == {3}


def test_a_core_that_was_not_measured_is_unknown() -> None:
    assert _answer(1.0, {3: {"state": "moved"}}).status == "unknown"


@pytest.mark.parametrize("lists", [("x\n", "x\n"), ("\n", "\n"), ("0-3\n", "2\n"), ("0-1\n", "x\n")])
def test_lists_of_core_kinds_that_do_not_partition_the_cpus_are_unknown(lists: tuple[str, str]) -> None:
    """Equal times for the same work prove nothing: a busy sibling slows a fast core down."""
    answer = Example("target-cores-differ", "unknown", dict(zip(_KINDS, lists, strict=True))).found().answer
    assert (answer.status, "/sys/devices/cpu_" in str(answer.reason)) == ("unknown", True)
