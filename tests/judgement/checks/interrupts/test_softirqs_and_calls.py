"""Calls between CPUs: who may make them."""

from __future__ import annotations

from tests.judgement.judging import answered
from tests.written.quiet_machine import CPUS


def test_a_cpu_that_is_the_only_one_in_a_damaged_list_has_others_to_call_it() -> None:
    assert answered("ipis-on-target", {f"{CPUS}/online": "0\n"}).status == "pass"
