"""What the health check does for each state of a node and each verdict, and what becomes of a job and its node."""

from __future__ import annotations

import fcntl

import pytest

from tests.integrations.slurm_node import (
    ASKS,
    FAN,
    OURS,
    SLURMS,
    STABLE,
    TOLD,
    TOLD_BY_STATUS,
    UNDRAINED,
    UNKNOWN,
    UNSTABLE,
    WARNED,
    Node,
    as_slurm_has_it,
    drained,
    in_slurms_time,
)

_TRACEBACK = """\
Traceback (most recent call last):
  File "/opt/noisewatch", line 3, in <module>
ModuleNotFoundError: No module named 'noisewatch'
"""


@pytest.mark.parametrize(
    ("state", "reason", "status", "changes"),
    [
        ("IDLE", "", STABLE, []),
        ("IDLE", "", WARNED, []),
        ("IDLE", "", UNSTABLE, drained()),
        ("IDLE", "", UNKNOWN, []),
        ("IDLE", "", 127, []),
        ("IDLE", FAN, UNSTABLE, []),
        ("IDLE+DRAIN", OURS, STABLE, UNDRAINED),
        ("IDLE+DRAIN", OURS, WARNED, UNDRAINED),
        ("IDLE+DRAIN", OURS, UNSTABLE, []),
        ("IDLE+DRAIN", OURS, UNKNOWN, []),
        ("IDLE+DRAIN", OURS, 127, []),
        ("IDLE+DRAIN", FAN, STABLE, []),
        ("IDLE+DRAIN", FAN, UNSTABLE, []),
        ("IDLE+DRAIN", "", STABLE, []),
        ("ALLOCATED", "", UNSTABLE, []),
        ("MIXED+DRAIN", OURS, STABLE, []),
        ("DOWN", "", UNSTABLE, []),
    ],
)
def test_a_health_check_changes_only_what_is_its_own(
    node: Node, state: str, reason: str, status: int, changes: list[str]
) -> None:
    node.write("node", as_slurm_has_it(state, reason))
    node.judged(status)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == changes


@pytest.mark.parametrize("status", [STABLE, WARNED, UNSTABLE])
@pytest.mark.parametrize("told", [_TRACEBACK, "", TOLD_BY_STATUS[UNKNOWN]])
@pytest.mark.parametrize(("state", "reason"), [("IDLE+DRAIN", OURS), ("IDLE", "")])
def test_a_noisewatch_that_cannot_start_is_no_verdict(
    node: Node, state: str, reason: str, told: str, status: int
) -> None:
    node.write("node", as_slurm_has_it(state, reason))
    node.judged(status, told)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.run("noisewatch-prolog", ASKS) == 0
    assert node.changes == []


def test_warnings_before_the_verdict_change_nothing_of_it(node: Node) -> None:
    node.judged(UNSTABLE, f"noisewatch: something else\n{TOLD}")
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == drained()


@pytest.mark.parametrize(("told", "reason"), [
    (_TRACEBACK, "noisewatch: ModuleNotFoundError: No module named 'noisewatch'"),
    ("", "noisewatch: noisewatch says nothing (status 1)"),
])  # fmt: skip
def test_what_ended_noisewatch_is_the_reason(node: Node, told: str, reason: str) -> None:
    node.judged(1, told)
    node.set("on_unknown=drain")
    node.run("noisewatch-healthcheck")
    assert node.changes == drained(reason)


@pytest.mark.parametrize(("state", "reason"), [("IDLE+DRAIN", FAN), ("ALLOCATED", ""), ("MIXED", ""), ("DOWN", "")])
def test_a_node_that_is_not_free_or_is_somebodys_is_not_even_measured(node: Node, state: str, reason: str) -> None:
    node.write("node", as_slurm_has_it(state, reason))
    node.run("noisewatch-healthcheck")
    assert not node.was_measured


@pytest.mark.parametrize(
    "after",
    [as_slurm_has_it("ALLOCATED"), as_slurm_has_it("IDLE+DRAIN", FAN), as_slurm_has_it("IDLE", used="13:59:59")],
)
def test_a_node_that_somebody_came_to_meanwhile_stays_as_it_is(node: Node, after: str) -> None:
    node.write("later", after)
    node.judged(UNSTABLE, meanwhile="cp later node")
    assert node.run("noisewatch-healthcheck") == 0
    assert (node.was_measured, node.changes) == (True, [])


def test_without_an_answer_of_slurm_nothing_is_done(node: Node) -> None:
    node.slurm_answers(show=False)
    assert node.run("noisewatch-healthcheck") == 0
    assert not node.was_measured


def test_two_do_not_measure_at_once(node: Node) -> None:
    node.judged(UNSTABLE)
    with (node.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert node.run("noisewatch-healthcheck") == 0
    assert (node.was_measured, node.changes) == (False, [])


@pytest.mark.parametrize("missing", ["noisewatch-settings", "noisewatch-node"])
def test_broken_files_keep_no_node_and_no_job_away(node: Node, missing: str) -> None:
    (node.folder / missing).unlink()
    assert node.run("noisewatch-healthcheck", is_broken=True) == 0
    assert node.run("noisewatch-prolog", ASKS, is_broken=True) == 0


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            "NOISEWATCH CRITICAL: 1 block | 'fail'=1\nFAIL swapping (blocking): \"8\" µs × 2, \x1b[1m… \\ (limit 1)\n",
            'noisewatch: 8 us x 2, [1m...  (limit 1) (swapping)',
        ),
        (
            f"NOISEWATCH CRITICAL: 1 block | 'fail'=1\nFAIL swapping (blocking): {'x' * 500}\n",
            f"noisewatch: {'x' * 160}",
        ),
    ],
)  # fmt: skip
def test_a_reason_is_one_short_line_of_ascii(node: Node, told: str, reason: str) -> None:
    node.judged(UNSTABLE, told)
    node.run("noisewatch-healthcheck")
    assert node.changes == drained(reason)


def test_unknown_counts_as_unstable_where_one_wants_that(node: Node) -> None:
    told = "NOISEWATCH UNKNOWN: 0 block | 'fail'=0\nUNKNOWN throttled (blocking): no such file\nLinux 6.18\n"
    node.judged(UNKNOWN, told)
    node.set("on_unknown=drain")
    node.run("noisewatch-healthcheck")
    assert node.changes == drained("noisewatch: no such file (throttled)")


def test_it_can_only_log_what_it_would_do(node: Node) -> None:
    node.set("acts=no")
    node.judged(UNSTABLE)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.run("noisewatch-prolog", ASKS) == 0
    node.write("node", as_slurm_has_it("IDLE+DRAIN", OURS))
    node.judged(STABLE)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == []
    culprit = OURS.removeprefix("noisewatch: ")
    assert node.logged == [
        f"n1: would drain (acts=no): {culprit}",
        f"n1: unstable (acts=no), and job 7 starts: {culprit}",
        f"n1: would undrain (acts=no): no longer {OURS}",
    ]


def test_what_is_done_is_logged(node: Node) -> None:
    node.judged(UNSTABLE)
    assert node.run("noisewatch-prolog", ASKS) == 1
    culprit = OURS.removeprefix("noisewatch: ")
    assert node.logged == [f"n1: unstable, so job 7 does not start: {culprit}", f"n1: drain: {culprit}"]


@pytest.mark.parametrize("word", ["fail", "Keep", ""])
def test_an_unknown_verdict_counts_as_unstable_where_the_word_for_it_is_misspelt(node: Node, word: str) -> None:
    node.set(f"on_unknown={word}")
    node.judged(UNKNOWN)
    assert node.run("noisewatch-prolog", ASKS) == 1
    assert node.changes != []
    assert node.logged[0] == f"n1: on_unknown={word} is neither keep nor drain, and counts as drain"


@pytest.mark.parametrize("word", ["true", "No", ""])
def test_nothing_is_changed_where_the_word_for_that_is_misspelt(node: Node, word: str) -> None:
    node.set(f"acts={word}")
    node.judged(UNSTABLE)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == []
    assert node.logged[0] == f"n1: acts={word} is neither yes nor no, and counts as no"


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
