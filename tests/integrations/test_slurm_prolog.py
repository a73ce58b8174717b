"""What becomes of a job, and of its node, for each verdict."""

from __future__ import annotations

import pytest

from tests.integrations.slurm_node import (
    ASKS,
    FAN,
    SLURMS,
    STABLE,
    UNDRAINED,
    UNKNOWN,
    UNSTABLE,
    WARNED,
    Node,
    as_slurm_has_it,
    drained,
    in_slurms_time,
)


@pytest.mark.parametrize(("status", "ends", "changes"), [
    (STABLE, 0, []), (WARNED, 0, []), (UNSTABLE, 1, drained()), (UNKNOWN, 0, []), (127, 0, []),
])  # fmt: skip
def test_a_job_that_asks_starts_unless_the_node_is_unstable(
    node: Node, status: int, ends: int, changes: list[str]
) -> None:
    node.write("node", as_slurm_has_it("ALLOCATED"))
    node.judged(status)
    assert node.run("noisewatch-prolog", ASKS) == ends
    assert node.changes == changes


def test_a_prolog_overwrites_nobodys_reason(node: Node) -> None:
    node.write("node", as_slurm_has_it("ALLOCATED+DRAIN", FAN))
    node.judged(UNSTABLE)
    assert node.run("noisewatch-prolog", ASKS) == 1
    assert node.changes == []


def test_a_job_starts_where_slurm_would_drain_the_node_for_a_reason_that_somebody_noted(node: Node) -> None:
    node.write("node", as_slurm_has_it("ALLOCATED", FAN))
    node.judged(UNSTABLE)
    assert node.run("noisewatch-prolog", ASKS) == 0
    assert node.changes == []
    assert node.logged == [
        f"n1: unstable, and has a reason of somebody else ({FAN}), and job 7 starts: "
        "CPU 2: thread hog (pid 900) 50.00% (tasks-on-target)"
    ]


@pytest.mark.parametrize(("show", "update"), [(False, True), (True, False), (False, False)])
@pytest.mark.parametrize(("status", "changes"), [(STABLE, UNDRAINED), (UNSTABLE, drained()), (UNKNOWN, [])])
def test_a_node_comes_back_by_itself_where_slurm_could_not_be_told_why_a_job_was_kept_away(
    node: Node, show: bool, update: bool, status: int, changes: list[str]
) -> None:
    node.write("node", as_slurm_has_it("ALLOCATED"))
    node.judged(UNSTABLE)
    node.slurm_answers(show=show, update=update)
    assert node.run("noisewatch-prolog", ASKS) == 1
    node.slurm_answers()
    node.write("node", as_slurm_has_it("IDLE+DRAIN", SLURMS, noted=in_slurms_time(7)))
    node.judged(status)
    node.run("noisewatch-healthcheck")
    assert node.changes == changes


@pytest.mark.parametrize(("keeps", "after_s"), [(False, 7), (True, 3600), (True, -3600)])
@pytest.mark.parametrize("status", [STABLE, UNSTABLE])
def test_a_node_that_slurm_drains_for_the_prolog_of_somebody_else_stays_as_it_is(
    node: Node, keeps: bool, after_s: int, status: int
) -> None:
    node.judged(UNSTABLE if keeps else STABLE)
    node.slurm_answers(update=False)
    assert node.run("noisewatch-prolog", ASKS) == int(keeps)
    node.slurm_answers()
    node.write("node", as_slurm_has_it("IDLE+DRAIN", SLURMS, noted=in_slurms_time(after_s)))
    node.judged(status)
    node.run("noisewatch-healthcheck")
    assert node.changes == []


@pytest.mark.parametrize(("constraints", "partition", "asks"), [
    ("quiet", "a", True), ("intel&quiet", "a", True), ("[quiet*2&fast*4]", "a", True), ("quiet|fast", "a", True),
    (None, "bench", True), (None, "long", True),
    (None, "a", False), ("", "a", False), ("quieter", "a", False), ("un-quiet", "a", False), (None, "benches", False),
])  # fmt: skip
def test_a_job_asks_by_a_feature_or_by_its_partition(
    node: Node, constraints: str | None, partition: str, asks: bool
) -> None:
    node.set("partitions=bench,long")
    given = {} if constraints is None else {"SLURM_JOB_CONSTRAINTS": constraints}
    node.run("noisewatch-prolog", {"SLURM_JOB_PARTITION": partition, "SLURM_JOB_ID": "7", **given})
    assert node.was_measured == asks


@pytest.mark.parametrize("partitions", ["bench, long", " bench ,long ", "bench long", "bench,\n long\n"])
@pytest.mark.parametrize(("partition", "asks"), [("bench", True), ("long", True), ("benchlong", False)])
def test_partitions_are_the_same_with_blanks_between_them(
    node: Node, partitions: str, partition: str, asks: bool
) -> None:
    node.set(f"partitions='{partitions}'")
    node.run("noisewatch-prolog", {"SLURM_JOB_PARTITION": partition, "SLURM_JOB_ID": "7"})
    assert node.was_measured == asks
