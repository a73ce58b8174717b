"""Where threads ran, in words."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.run.placement import placement_advice, placement_reasons
from noisewatch.judgement.run.reasons import describe_reason
from noisewatch.model.run.placement import MemoryElsewhere, SpreadThreads
from noisewatch.surfaces.reports.run.sentences import advice_parts, placement_lines
from tests.judgement.run.test_placement_reasons import SECOND_NS, placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, TWO_NODES


def test_a_thread_is_told_with_its_shares_and_its_moves() -> None:
    placement = placed([thread_look(9, 1, 20, migrations=0)], [thread_look(9, 2, 100, migrations=1)], used_ns=110)
    assert placement_lines(placement) == [
        "1 thread on CPUs 1-2, by 2 looks, which saw 91% of the CPU time",
        "bench (9): CPU 1 60%, CPU 2 40%; node 0 60%, node 1 40%; moved at least once, once to another memory node",
    ]


def test_nodes_are_not_told_where_there_is_one() -> None:
    lines = placement_lines(placed([thread_look(9, 1, 20)], places=ONE_NODE, used_ns=20))
    assert lines[1:] == ["bench (9): CPU 1 100%; not seen to move"]


def test_of_many_threads_the_busiest_are_told() -> None:
    placement = placed([thread_look(tid, 1, tid) for tid in range(1, 21)], places=ONE_NODE, used_ns=210)
    lines = placement_lines(placement, most=2)
    assert [line.split(":")[0] for line in lines[1:]] == [
        "bench (20)",
        "bench (19)",
        "18 more, with 81% of the run time",
    ]


def test_stacked_threads_are_told_with_the_cpu_that_was_free() -> None:
    threads = [thread_look(tid, 2, 5, state="R", waited_ns=SECOND_NS // 4) for tid in (8, 9)]
    placement = placed(threads, threads, places=ONE_NODE, target=frozenset({2, 3}), used_ns=10)
    assert placement_lines(placement)[-1] == ("up to 2 threads shared CPU 2 while CPU 3 had none, in 100% of the looks")
    (own,) = placement_reasons(placement, SECOND_NS)[1]
    assert (
        describe_reason(own)
        == "2 of its threads had to share, with another target CPU free, on CPU 2: ~500 ms (100.00%)"
    )


def test_a_thread_that_changed_nodes_is_named_as_the_reason() -> None:
    placement = placed([thread_look(9, 1, 20)], [thread_look(9, 2, 100)])
    (reason,) = placement_reasons(placement, SECOND_NS)[0]
    assert describe_reason(reason) == "bench (pid 9) moved to another memory node"


def test_memory_elsewhere_is_told_as_a_bound_where_it_is_one() -> None:
    placement = placed([thread_look(9, 2, 5)], target=frozenset({2, 3}))
    told = [
        placement_lines(replace(placement, memory=memory))[-1]
        for memory in (
            MemoryElsewhere(0.25, 12_000_000, is_bound=True),
            MemoryElsewhere(0.25, 12_000_000),
            MemoryElsewhere(None, None, reason="nobody counts"),
        )
    ]
    assert told == [
        "memory of other nodes: at most 12.0 MB (25.0%)",
        "memory of other nodes: 12.0 MB (25.0%)",
        "memory of other nodes: unknown: nobody counts",
    ]


def test_what_is_not_known_is_said() -> None:
    placement = replace(placed([thread_look(9, 1, 5)], used_ns=50), reason="no children")
    assert placement_lines(placement)[-2:] == [
        "unknown: no children",
        "unknown: where its threads ran is known for 10% of their CPU time only",
    ]
    assert placement_lines(placed(used_ns=50))[0] == "no look at its threads: it was too short"


def test_what_spreading_did_is_told() -> None:
    placement = placed([thread_look(9, 2, 5)], places=ONE_NODE)
    assert not [line for line in placement_lines(placement) if "--spread" in line]
    for spread, told in (
        (SpreadThreads(0, {}), "--spread pinned no thread"),
        (SpreadThreads(2, {}), "--spread pinned a busy thread to a CPU of its own twice"),
        (SpreadThreads(1, {"gone": 3}), "--spread pinned a busy thread to a CPU of its own once, left 3 alone: gone"),
    ):
        assert told in placement_lines(replace(placement, spread=spread))


def test_a_command_that_left_the_target_cpus_is_told() -> None:
    placement = placed([thread_look(9, 7, 5)], places=ONE_NODE, target=frozenset({2, 3}))
    assert "it also ran on CPU 7, not a target CPU" in placement_lines(placement)[-1]


def test_advice_is_a_line_for_the_shell() -> None:
    looks = [[thread_look(9, 1, 5)], [thread_look(9, 2, 50)], [thread_look(9, 2, 500)]]
    (advice,) = placement_advice(placed(*looks), SECOND_NS, TWO_NODES)
    before, argv = "numactl --cpunodebind=1 --membind=1", ("./bench", "a b")
    assert advice_parts(advice, argv, True) == ("threads moved between memory nodes", f"{before} ./bench 'a b'")
    assert advice_parts(advice, argv, False)[1] == f"{before} COMMAND"


def test_names_are_cleaned() -> None:
    placement = placed([thread_look(9, 1, 5, name="a\x1b[31m")], places=ONE_NODE, used_ns=5)
    assert "\x1b" not in "".join(placement_lines(placement))


def test_what_a_trace_tells_is_exact() -> None:
    placement = replace(placed([thread_look(9, 1, 20)], places=ONE_NODE, used_ns=20), traced_share=1.0)
    assert placement_lines(placement) == [
        "1 thread on CPU 1, by the trace, which saw 100% of the CPU time",
        "bench (9): CPU 1 100%; did not move",
    ]
    moved = replace(placement, threads=tuple(replace(thread, moves=2) for thread in placement.threads))
    assert placement_lines(moved)[1].endswith("moved twice")
