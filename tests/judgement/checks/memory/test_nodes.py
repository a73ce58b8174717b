"""Memory of other nodes, where the kernel is too old to say which nodes have any."""

from __future__ import annotations

import pytest

from noisewatch.kernel.memory.nodes import HAS_MEMORY
from tests.judgement.example import Example
from tests.judgement.examples.memory_nodes import TWO_NODES


@pytest.mark.parametrize(("changed", "status"), [(TWO_NODES, "warn"), ({}, "not-applicable")], ids=["two", "one"])
def test_without_a_list_of_nodes_with_memory_all_nodes_count(changed: dict[str, str], status: str) -> None:
    assert Example("memory-from-other-nodes", status, changed, gone=(HAS_MEMORY,)).found().status == status
