"""What the checks of disks propose, and how it is undone."""

from __future__ import annotations

import pytest

from noisewatch.judgement.fixes.fix import Fix
from tests.judgement.example import Example
from tests.written.quiet.system import MDSTAT


def _fix(work: str) -> Fix | None:
    row = f"[UU]\n      [>...]  {work} = 2.0% (1/50) finish=1.0min speed=1K/sec\n"
    found = Example("disk-array-rebuilds", "fail", {"/proc/mdstat": MDSTAT.replace("[UU]\n", row)}).found()
    assert found.status == "fail"
    return found.answer.fix


@pytest.mark.parametrize("work", ["resync", "recovery", "reshape"])
def test_what_makes_an_array_whole_is_not_stopped(work: str) -> None:
    assert _fix(work) is None


def test_a_check_of_an_array_is_stopped_and_begun_again() -> None:
    path = "/sys/block/md0/md/sync_action"
    fix = _fix("check")
    assert fix is not None
    assert (fix.now, fix.undo) == (f"echo idle | sudo tee {path}", f"echo check | sudo tee {path}")
