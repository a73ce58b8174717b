"""Arguments that several findings ask for are one line."""

from __future__ import annotations

import pytest

from noisewatch.judgement.kernel_arguments import merged_arguments


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ([], ""),
        ([None, "nosmt"], "nosmt"),
        (["nosmt", "nosmt irqaffinity=0"], "nosmt irqaffinity=0"),
        (["isolcpus=domain,2-3", "isolcpus=managed_irq,domain,2-3"], "isolcpus=domain,managed_irq,2-3"),
        (["rcu_nocbs=2,4", "nohz_full=2,4"], "rcu_nocbs=2,4 nohz_full=2,4"),
    ],
)
def test_each_argument_stands_there_once(wanted: list[str | None], line: str) -> None:
    assert merged_arguments(wanted) == line
