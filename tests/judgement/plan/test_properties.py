"""Properties of a plan on any machine."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import UsageError
from noisewatch.judgement.plan.plan import Plan
from tests.judgement.plan.planned import planned
from tests.written.topologies import WrittenCore, files_of


@st.composite
def _machines(draw: st.DrawFn) -> tuple[list[WrittenCore], frozenset[int]]:
    """Return cores of any shape with CPU numbers in any order, and the offline CPUs, which are never all."""
    threads = draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    numbers = list(range(sum(threads)))
    random.Random(draw(st.integers(0, 1000))).shuffle(numbers)
    shape = []
    for count in threads:
        own, numbers = numbers[:count], numbers[count:]
        node = draw(st.integers(0, 2))
        capacity = draw(st.sampled_from([400, 1000, 1024]))
        shape.append(WrittenCore(tuple(sorted(own)), node, node * 2 + draw(st.integers(0, 1)), capacity))
    everything = [cpu for core in shape for cpu in core.cpus]
    online = draw(st.sets(st.sampled_from(everything), min_size=1))
    return shape, frozenset(everything) - online


@given(_machines(), st.integers(1, 8))
def test_a_plan_fulfils_all_criteria_or_is_refused(
    machine: tuple[list[WrittenCore], frozenset[int]], count: int
) -> None:
    shape, offline = machine
    online = [frozenset(core.cpus) - offline for core in shape]
    whole = [cpus for cpus in online if cpus]
    possible = len(whole) - 1
    plan = _plan_or_none(shape, offline, count)
    assert (plan is None) == (count > possible)
    if plan is not None:
        _check_plan(plan, shape, whole, count)


def _plan_or_none(shape: list[WrittenCore], offline: frozenset[int], count: int) -> Plan | None:
    try:
        return planned(files_of(shape, offline=offline), count)
    except UsageError:
        return None


def _check_plan(plan: Plan, shape: list[WrittenCore], whole: list[frozenset[int]], count: int) -> None:
    run, taken_cpus = plan.proposal.run, plan.proposal.reserved
    assert len(run) == count
    assert 0 not in taken_cpus
    assert all(cpus <= taken_cpus or not cpus & taken_cpus for cpus in whole)
    assert all(len(cpus & run) == 1 for cpus in whole if cpus <= taken_cpus)
    assert any(not cpus & taken_cpus for cpus in whole)
    assert taken_cpus <= frozenset().union(*whole)
    kept = next((cpus for cpus in whole if 0 in cpus), min(whole, key=min))
    assert not kept & taken_cpus
    node_by_cpu = {cpu: core.node for core in shape for cpu in core.cpus}
    kinds = {core.cpus[0]: (core.capacity or 0) >= 1000 for core in shape}
    own_nodes = {node_by_cpu[cpu] for cpu in run}
    if len(own_nodes) > 1 and len(set(kinds.values())) == 1:
        free = [cpus for cpus in whole if cpus != kept]
        sizes = [sum(node_by_cpu[min(cpus)] == node for cpus in free) for node in range(3)]
        assert max(sizes) < count
