"""Calls between CPUs."""

from __future__ import annotations

from tests.judgement.judging import answered
from tests.written.quiet_machine import CPUS


def test_calls_are_judged_although_a_damaged_list_names_one_cpu() -> None:
    assert answered("ipis-on-target", {f"{CPUS}/online": "0\n"}).status == "pass"
