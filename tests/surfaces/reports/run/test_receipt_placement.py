"""Where a command ran, in the receipt: bounded, small of short repetitions, null with the reason where not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from msgspec.structs import replace

from noisewatch.documents.document import written
from noisewatch.model.run.placement import MemoryElsewhere, Placement, SpreadThreads
from noisewatch.surfaces.reports.run.receipt import MOST_THREADS, placement_of
from tests.judgement.run.test_placement_reasons import placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, TWO_KINDS, UNKNOWN_NODES, place
from tests.surfaces.reports.run.running import lines_of, ran, read, schema
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, rendered, stacked, written_series
from tests.surfaces.reports.verdicts import HOSTILE_NAMES


def _told(placement: Placement) -> dict[str, Any]:
    """Return the placement as a line of the receipt contains it, once the schema has accepted it."""
    document: dict[str, Any] = json.loads(written(placement_of(placement)))
    whole = schema()
    part = {"$schema": whole["$schema"], "$ref": "#/$defs/placement", "$defs": whole["$defs"]}
    assert [each.message for each in Draft202012Validator(part).iter_errors(document)] == []
    return document


def test_residency_is_told_by_cpu_core_and_node_of_all_threads_and_of_each() -> None:
    told = _told(placed([thread_look(9, 1, 20)], [thread_look(9, 2, 100, migrations=3)], used_ns=200))
    assert (told["looks"], told["seen_share"]) == (2, 0.5)
    assert (told["cpus"], told["cores"], told["nodes"]) == ([[1, 0.6], [2, 0.4]],) * 2 + ([[0, 0.6], [1, 0.4]],)
    (thread,) = told["threads"]
    assert (thread["name"], thread["cpus"]) == ("bench", [[1, 0.6], [2, 0.4]])
    assert (thread["moves"], thread["node_moves"], thread["kind_moves"]) == (1, 1, 0)
    assert "kinds" not in told


def test_two_siblings_are_one_core() -> None:
    siblings = {cpu: place(cpu, node=0, core=2) for cpu in (2, 3)}
    told = _told(placed([thread_look(9, 2, 20)], [thread_look(9, 3, 100)], places=siblings, target=frozenset({2, 3})))
    assert (told["cores"], len(told["cpus"])) == ([[2, 1.0]], 2)


def test_kinds_of_cores_are_told_where_there_are_several() -> None:
    told = _told(placed([thread_look(9, 1, 60)], [thread_look(9, 2, 100)], places=TWO_KINDS))
    assert told["kinds"] == told["threads"][0]["kinds"] == [["performance", 0.8], ["efficiency", 0.2]]


def test_migrations_that_nobody_counted_are_null() -> None:
    (thread,) = _told(placed([thread_look(9, 1, 20)], places=ONE_NODE))["threads"]
    assert thread["migrations"] is None
    (thread,) = _told(placed([thread_look(9, 1, 5, migrations=2)], [thread_look(9, 1, 9, migrations=6)]))["threads"]
    assert thread["migrations"] == 4


def test_of_many_threads_those_that_ran_most_are_listed_and_the_others_counted() -> None:
    told = _told(placed([thread_look(tid, 1, tid) for tid in range(1, 101)], places=ONE_NODE))
    assert [each["tid"] for each in told["threads"]] == [*range(100, 100 - MOST_THREADS, -1)]
    assert told["threads_left_out"] == 100 - MOST_THREADS
    assert len(json.dumps(told)) < 4000


def test_without_a_look_nothing_is_known_and_the_line_stays_small() -> None:
    told = _told(placed())
    assert told["reason"] == "no look at its threads: it was too short"
    assert {name for name, value in told.items() if value is None} == {
        "seen_share",
        "cpus",
        "cores",
        "nodes",
        "threads",
        "stacking",
    }
    assert len(json.dumps(told)) < 300


def test_looks_that_saw_nothing_run_know_nothing_of_where_it_did() -> None:
    told = _told(placed([thread_look(9, 1, 0)], places=ONE_NODE))
    assert told["cpus"] is None
    assert "none of their run time" in told["reason"]


def test_a_node_that_is_not_known_is_null_with_the_reason() -> None:
    told = _told(placed([thread_look(9, 1, 20)], places=UNKNOWN_NODES))
    assert told["nodes"] == [[None, 1.0]]
    assert told["reason"] == "the memory node of a target CPU is not known"


def test_stacked_threads_are_told_with_the_cpus_that_were_free() -> None:
    threads = [thread_look(tid, 2, 5, state="R") for tid in (8, 9)]
    told = _told(placed(threads, threads, places=ONE_NODE, target=frozenset({2, 3})))
    assert told["stacking"] == {"share": 1.0, "most_threads": 2, "cpus": [2], "free_cpus": [3]}
    assert _told(placed([thread_look(9, 1, 20)], places=ONE_NODE))["stacking"] == "none"


def test_what_spreading_did_is_told() -> None:
    placement = placed([thread_look(9, 2, 5)], places=ONE_NODE)
    spread = SpreadThreads(4, {"it chose its CPUs itself": 1})
    assert (_told(placement)["spread"], _told(placed())["spread"]) == ("none", "none")
    for each in (placement, placed()):
        told = _told(replace(each, spread=spread))["spread"]
        assert told == {"pinned": 4, "left": [{"reason": "it chose its CPUs itself", "threads": 1}]}


def test_memory_of_other_nodes_is_known_bounded_or_null_with_the_reason() -> None:
    placement = placed([thread_look(9, 2, 5)], places=ONE_NODE)
    for memory, told in (
        (MemoryElsewhere(0.25, 1000), {"share": 0.25, "bytes": 1000}),
        (MemoryElsewhere(0.25, 1000, is_bound=True), {"share": 0.25, "bytes": 1000, "is_bound": True}),
        (MemoryElsewhere(None, None, reason="denied"), {"share": None, "bytes": None, "reason": "denied"}),
    ):
        assert _told(replace(placement, memory=memory))["memory_elsewhere"] == told


def test_hostile_names_are_text() -> None:
    for name in HOSTILE_NAMES:
        (thread,) = _told(placed([thread_look(9, 1, 20, name=name)], places=ONE_NODE))["threads"]
        assert thread["name"].isprintable()


def test_advice_is_what_to_put_before_the_command() -> None:
    (command,) = read(rendered("json", stacked(written_series(UNDISTURBED))))["footer"]["commands"]
    before = ["noisewatch", "run", "--cpus", "2-3", "--spread", "--"]
    assert command["placement_advice"] == [{"fault": "stacked", "before": before}]


def test_a_real_repetition_tells_where_it_ran(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    ran("--output", receipt, "--", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    header, repetition, footer = lines_of(receipt)
    placement = repetition["placement"]
    assert placement["cpus"] == [[header["target"][0], 1.0]]
    assert [each["name"] for each in placement["threads"]] == ["sh"]
    assert footer["commands"][0]["placement_advice"] == []


def test_the_footer_ranks_who_disturbed_the_series() -> None:
    verdicts = [UNDISTURBED, *(disturbed_by(f"hog{at // 2}", pid=900 + at // 2) for at in range(50))]
    footer = read(rendered("json", written_series(*verdicts)))["footer"]
    assert [each["name"] for each in footer["culprits"]] == [f"hog{at}" for at in sorted(range(25), key=str)][:20]
    assert footer["culprits_left_out"] == 5
    assert (footer["culprits"][0]["repetitions"], footer["culprits"][0]["ns"]) == (2, 100_000_000)


def test_who_tells_where_its_threads_ran_is_told() -> None:
    looked = placed([thread_look(9, 1, 20)], places=ONE_NODE, used_ns=40)
    traced = _told(replace(looked, traced_share=1.0, looks=0))
    assert (_told(looked)["source"], _told(looked)["seen_share"]) == ("looks", 0.5)
    assert (traced["source"], traced["looks"], traced["seen_share"], traced["cpus"]) == ("trace", 0, 1.0, [[1, 1.0]])
