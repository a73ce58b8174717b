"""The placement of a command in the receipt: bounded in size, and null with a reason where it is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from msgspec.structs import replace

from noisewatch.documents.document import to_json
from noisewatch.model.run.placement import MemoryElsewhere, Placement, SpreadThreads
from noisewatch.surfaces.reports.run.receipt import MOST_THREADS, placement_of
from tests.judgement.run.test_placement_reasons import placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, TWO_KINDS, UNKNOWN_NODES, place
from tests.surfaces.reports.run.running import lines_of, ran, read, schema
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, render, stacked, written_series
from tests.surfaces.reports.verdicts import HOSTILE_NAMES


def _describe(placement: Placement) -> dict[str, Any]:
    """Return the placement as a line of the receipt contains it, once the schema has accepted it."""
    document: dict[str, Any] = json.loads(to_json(placement_of(placement)))
    whole = schema()
    part = {"$schema": whole["$schema"], "$ref": "#/$defs/placement", "$defs": whole["$defs"]}
    assert [error.message for error in Draft202012Validator(part).iter_errors(document)] == []
    return document


def test_residency_is_listed_by_cpu_core_and_node_in_total_and_by_thread() -> None:
    document = _describe(placed([thread_look(9, 1, 20)], [thread_look(9, 2, 100, migrations=3)], used_ns=200))
    assert (document["looks"], document["seen_share"]) == (2, 0.5)
    assert (document["cpus"], document["cores"], document["nodes"]) == ([[1, 0.6], [2, 0.4]],) * 2 + (
        [[0, 0.6], [1, 0.4]],
    )
    (thread,) = document["threads"]
    assert (thread["name"], thread["cpus"]) == ("bench", [[1, 0.6], [2, 0.4]])
    assert (thread["moves"], thread["node_moves"], thread["kind_moves"]) == (1, 1, 0)
    assert "kinds" not in document


def test_two_siblings_are_one_core() -> None:
    siblings = {cpu: place(cpu, node=0, core=2) for cpu in (2, 3)}
    document = _describe(
        placed([thread_look(9, 2, 20)], [thread_look(9, 3, 100)], places=siblings, target=frozenset({2, 3}))
    )
    assert (document["cores"], len(document["cpus"])) == ([[2, 1.0]], 2)


def test_kinds_of_cores_are_listed_if_there_are_several() -> None:
    document = _describe(placed([thread_look(9, 1, 60)], [thread_look(9, 2, 100)], places=TWO_KINDS))
    assert document["kinds"] == document["threads"][0]["kinds"] == [["performance", 0.8], ["efficiency", 0.2]]


def test_uncounted_migrations_are_null() -> None:
    (thread,) = _describe(placed([thread_look(9, 1, 20)], places=ONE_NODE))["threads"]
    assert thread["migrations"] is None
    (thread,) = _describe(placed([thread_look(9, 1, 5, migrations=2)], [thread_look(9, 1, 9, migrations=6)]))["threads"]
    assert thread["migrations"] == 4


def test_busiest_threads_are_listed_and_the_others_counted() -> None:
    document = _describe(placed([thread_look(tid, 1, tid) for tid in range(1, 101)], places=ONE_NODE))
    assert [thread["tid"] for thread in document["threads"]] == [*range(100, 100 - MOST_THREADS, -1)]
    assert document["threads_left_out"] == 100 - MOST_THREADS
    assert len(json.dumps(document)) < 4000


def test_placement_without_a_look_is_unknown_and_short() -> None:
    document = _describe(placed())
    assert document["reason"] == "the command's threads were not observed because the command was too short"
    assert {name for name, value in document.items() if value is None} == {
        "seen_share",
        "cpus",
        "cores",
        "nodes",
        "threads",
        "stacking",
    }
    assert len(json.dumps(document)) < 300


def test_looks_without_any_run_time_leave_the_cpus_unknown() -> None:
    document = _describe(placed([thread_look(9, 1, 0)], places=ONE_NODE))
    assert document["cpus"] is None
    assert "no run time of the command's threads" in document["reason"]


def test_unknown_node_is_null_with_a_reason() -> None:
    document = _describe(placed([thread_look(9, 1, 20)], places=UNKNOWN_NODES))
    assert document["nodes"] == [[None, 1.0]]
    assert document["reason"] == "the memory node of a target CPU is not known"


def test_stacked_threads_are_listed_with_the_free_cpus() -> None:
    threads = [thread_look(tid, 2, 5, state="R") for tid in (8, 9)]
    document = _describe(placed(threads, threads, places=ONE_NODE, target=frozenset({2, 3})))
    assert document["stacking"] == {"share": 1.0, "most_threads": 2, "cpus": [2], "free_cpus": [3]}
    assert _describe(placed([thread_look(9, 1, 20)], places=ONE_NODE))["stacking"] == "none"


def test_threads_pinned_by_spread_are_counted() -> None:
    placement = placed([thread_look(9, 2, 5)], places=ONE_NODE)
    spread = SpreadThreads(4, {"it set its own affinity": 1})
    assert (_describe(placement)["spread"], _describe(placed())["spread"]) == ("none", "none")
    for case in (placement, placed()):
        assert _describe(replace(case, spread=spread))["spread"] == {
            "pinned": 4,
            "left": [{"reason": "it set its own affinity", "threads": 1}],
        }


def test_memory_of_other_nodes_is_exact_bounded_or_null_with_a_reason() -> None:
    placement = placed([thread_look(9, 2, 5)], places=ONE_NODE)
    for memory, expected in (
        (MemoryElsewhere(0.25, 1000), {"share": 0.25, "bytes": 1000}),
        (MemoryElsewhere(0.25, 1000, is_bound=True), {"share": 0.25, "bytes": 1000, "is_bound": True}),
        (MemoryElsewhere(None, None, reason="denied"), {"share": None, "bytes": None, "reason": "denied"}),
    ):
        assert _describe(replace(placement, memory=memory))["memory_elsewhere"] == expected


def test_hostile_names_are_stored_as_printable_text() -> None:
    for name in HOSTILE_NAMES:
        (thread,) = _describe(placed([thread_look(9, 1, 20, name=name)], places=ONE_NODE))["threads"]
        assert thread["name"].isprintable()


def test_advice_is_a_prefix_of_the_command() -> None:
    (command,) = read(render("json", stacked(written_series(UNDISTURBED))))["footer"]["commands"]
    before = ["noisewatch", "run", "--cpus", "2-3", "--spread", "--"]
    assert command["placement_advice"] == [{"fault": "stacked", "before": before}]


def test_real_repetition_has_its_placement(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--output", receipt, "--", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    header, repetition, footer = lines_of(receipt)
    placement = repetition["placement"]
    assert placement["cpus"] == [[header["target"][0], 1.0]]
    assert [thread["name"] for thread in placement["threads"]] == ["sh"]
    assert footer["commands"][0]["placement_advice"] == []


def test_footer_ranks_the_culprits() -> None:
    verdicts = [UNDISTURBED, *(disturbed_by(f"hog{at // 2}", pid=900 + at // 2) for at in range(50))]
    footer = read(render("json", written_series(*verdicts)))["footer"]
    assert [culprit["name"] for culprit in footer["culprits"]] == [f"hog{at}" for at in sorted(range(25), key=str)][:20]
    assert footer["culprits_left_out"] == 5
    assert (footer["culprits"][0]["repetitions"], footer["culprits"][0]["ns"]) == (2, 100_000_000)


def test_source_of_the_placement_is_looks_or_trace() -> None:
    placement = placed([thread_look(9, 1, 20)], places=ONE_NODE, used_ns=40)
    traced = _describe(replace(placement, traced_share=1.0, looks=0))
    assert (_describe(placement)["source"], _describe(placement)["seen_share"]) == ("looks", 0.5)
    assert (traced["source"], traced["looks"], traced["seen_share"], traced["cpus"]) == ("trace", 0, 1.0, [[1, 1.0]])
