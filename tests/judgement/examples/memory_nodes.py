"""Machines of several memory nodes, and the nodes that the benchmark may use."""

from __future__ import annotations

from noisewatch.kernel.memory.nodes import HAS_MEMORY, QUESTION
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import STATUS
from tests.judgement.example import Example
from tests.written.quiet.tasks import own_status

_ID = "memory-from-other-nodes"
_NODES = "/sys/devices/system/node"


def _allowed(nodes: str) -> dict[str, str]:
    return {STATUS: own_status().replace("Mems_allowed_list:\t0\n", f"Mems_allowed_list:\t{nodes}\n")}


TWO_NODES = {
    HAS_MEMORY: "0-1\n",
    f"{_NODES}/node0/cpulist": "0-1\n",
    f"{_NODES}/node1/cpulist": "2-3\n",
    **_allowed("0-1"),
}
_MEMORY_ALONE = TWO_NODES | {f"{_NODES}/node0/cpulist": "0-3\n", f"{_NODES}/node1/cpulist": "\n"}
_NO_MEMORY_HERE = TWO_NODES | {HAS_MEMORY: "0,2\n", f"{_NODES}/node2/cpulist": "\n", **_allowed("0,2")}


EXAMPLES = [
    Example(
        _ID,
        "warn",
        TWO_NODES,
        "CPUs 2-3 on node 1, memory from nodes 0-1, not bound to any (numactl --membind=1",
        {2, 3},
    ),
    Example(_ID, "warn", _MEMORY_ALONE, "CPUs 2-3 on node 0, memory from nodes 0-1"),
    Example(_ID, "warn", _NO_MEMORY_HERE, "CPUs 2-3 on node 1, memory from nodes 0,2"),
    Example(_ID, "warn", TWO_NODES | _allowed("0"), "memory from node 0,"),
    Example(_ID, "warn", TWO_NODES, "the inherited policy interleave:0-1", answers={QUESTION: "interleave:0-1"}),
    Example(_ID, "warn", TWO_NODES, "the inherited policy bind:0-1", answers={QUESTION: "bind:0-1"}),
    Example(_ID, "warn", TWO_NODES, "the inherited policy prefer:1", answers={QUESTION: "prefer:1"}),
    Example(_ID, "pass", TWO_NODES, "bound to node 1", answers={QUESTION: "bind=static:1"}),
    Example(_ID, "pass", TWO_NODES | _allowed("1"), "from node 1 alone"),
    Example(_ID, "not-applicable", named="one memory node"),
    Example(_ID, "unknown", {HAS_MEMORY: "rubbish\n"}, HAS_MEMORY),
    Example(_ID, "not-applicable", named="without NUMA", gone=(_NODES, Knob.ZONE_RECLAIM)),
    Example(_ID, "not-applicable", TWO_NODES, "several nodes, 0-1", target=frozenset({1, 2})),
    Example(_ID, "unknown", TWO_NODES, STATUS, gone=(STATUS,)),
    Example(_ID, "unknown", TWO_NODES | {STATUS: "Name:\tpython3\n"}, STATUS),
    Example(_ID, "unknown", TWO_NODES, QUESTION, answers={QUESTION: "a new policy"}),
    Example(_ID, "unknown", TWO_NODES | {f"{_NODES}/node1/cpulist": "2\n"}, "node"),
    Example(_ID, "unknown", named=_NODES, gone=(_NODES,)),
]
