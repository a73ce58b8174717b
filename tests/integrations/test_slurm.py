"""Slurm's health check and prolog, for each state of the node and each verdict."""

from __future__ import annotations

import fcntl

import pytest

from tests.integrations.slurm_node import (
    OTHER_REASON,
    OUR_REASON,
    OUTPUT_BY_STATUS,
    QUIET_JOB,
    SLURM_REASON,
    STABLE,
    UNDRAIN_ARGUMENTS,
    UNKNOWN,
    UNSTABLE,
    UNSTABLE_OUTPUT,
    WARNED,
    Node,
    drain_arguments,
    node_text,
    slurm_time,
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
        ("IDLE", "", UNSTABLE, drain_arguments()),
        ("IDLE", "", UNKNOWN, []),
        ("IDLE", "", 127, []),
        ("IDLE", OTHER_REASON, UNSTABLE, []),
        ("IDLE+DRAIN", OUR_REASON, STABLE, UNDRAIN_ARGUMENTS),
        ("IDLE+DRAIN", OUR_REASON, WARNED, UNDRAIN_ARGUMENTS),
        ("IDLE+DRAIN", OUR_REASON, UNSTABLE, []),
        ("IDLE+DRAIN", OUR_REASON, UNKNOWN, []),
        ("IDLE+DRAIN", OUR_REASON, 127, []),
        ("IDLE+DRAIN", OTHER_REASON, STABLE, []),
        ("IDLE+DRAIN", OTHER_REASON, UNSTABLE, []),
        ("IDLE+DRAIN", "", STABLE, []),
        ("ALLOCATED", "", UNSTABLE, []),
        ("MIXED+DRAIN", OUR_REASON, STABLE, []),
        ("DOWN", "", UNSTABLE, []),
    ],
)
def test_a_health_check_drains_idle_nodes_and_undrains_its_own(
    node: Node, state: str, reason: str, status: int, changes: list[str]
) -> None:
    node.write("node", node_text(state, reason))
    node.set_verdict(status)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == changes


@pytest.mark.parametrize("status", [STABLE, WARNED, UNSTABLE])
@pytest.mark.parametrize("output", [_TRACEBACK, "", OUTPUT_BY_STATUS[UNKNOWN]])
@pytest.mark.parametrize(("state", "reason"), [("IDLE+DRAIN", OUR_REASON), ("IDLE", "")])
def test_a_noisewatch_that_cannot_start_is_not_a_verdict(
    node: Node, state: str, reason: str, output: str, status: int
) -> None:
    node.write("node", node_text(state, reason))
    node.set_verdict(status, output)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.run("noisewatch-prolog", QUIET_JOB) == 0
    assert node.changes == []


def test_warnings_before_the_verdict_do_not_change_it(node: Node) -> None:
    node.set_verdict(UNSTABLE, f"noisewatch: something else\n{UNSTABLE_OUTPUT}")
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == drain_arguments()


@pytest.mark.parametrize(("output", "reason"), [
    (_TRACEBACK, "noisewatch: ModuleNotFoundError: No module named 'noisewatch'"),
    ("", "noisewatch: noisewatch printed nothing (status 1)"),
])  # fmt: skip
def test_the_error_of_noisewatch_is_the_reason(node: Node, output: str, reason: str) -> None:
    node.set_verdict(1, output)
    node.set("on_unknown=drain")
    node.run("noisewatch-healthcheck")
    assert node.changes == drain_arguments(reason)


@pytest.mark.parametrize(
    ("state", "reason"), [("IDLE+DRAIN", OTHER_REASON), ("ALLOCATED", ""), ("MIXED", ""), ("DOWN", "")]
)
def test_a_node_that_is_not_free_or_has_another_reason_is_not_measured(node: Node, state: str, reason: str) -> None:
    node.write("node", node_text(state, reason))
    node.run("noisewatch-healthcheck")
    assert not node.was_measured


@pytest.mark.parametrize(
    "after",
    [node_text("ALLOCATED"), node_text("IDLE+DRAIN", OTHER_REASON), node_text("IDLE", last_busy="13:59:59")],
)
def test_a_node_that_changes_during_the_measurement_is_left_alone(node: Node, after: str) -> None:
    node.write("later", after)
    node.set_verdict(UNSTABLE, meanwhile="cp later node")
    assert node.run("noisewatch-healthcheck") == 0
    assert (node.was_measured, node.changes) == (True, [])


def test_without_an_answer_of_slurm_nothing_is_measured(node: Node) -> None:
    node.set_slurm_answers(show=False)
    assert node.run("noisewatch-healthcheck") == 0
    assert not node.was_measured


def test_two_health_checks_do_not_measure_at_once(node: Node) -> None:
    node.set_verdict(UNSTABLE)
    with (node.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert node.run("noisewatch-healthcheck") == 0
    assert (node.was_measured, node.changes) == (False, [])


@pytest.mark.parametrize("missing", ["noisewatch-settings", "noisewatch-node"])
def test_missing_files_drain_no_node_and_stop_no_job(node: Node, missing: str) -> None:
    (node.folder / missing).unlink()
    assert node.run("noisewatch-healthcheck", is_broken=True) == 0
    assert node.run("noisewatch-prolog", QUIET_JOB, is_broken=True) == 0


@pytest.mark.parametrize(
    ("output", "reason"),
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
def test_a_reason_is_one_short_line_of_ascii(node: Node, output: str, reason: str) -> None:
    node.set_verdict(UNSTABLE, output)
    node.run("noisewatch-healthcheck")
    assert node.changes == drain_arguments(reason)


def test_unknown_counts_as_unstable_if_configured(node: Node) -> None:
    output = "NOISEWATCH UNKNOWN: 0 block | 'fail'=0\nUNKNOWN throttled (blocking): no such file\nLinux 6.18\n"
    node.set_verdict(UNKNOWN, output)
    node.set("on_unknown=drain")
    node.run("noisewatch-healthcheck")
    assert node.changes == drain_arguments("noisewatch: no such file (throttled)")


def test_acts_no_only_logs_what_would_be_done(node: Node) -> None:
    node.set("acts=no")
    node.set_verdict(UNSTABLE)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.run("noisewatch-prolog", QUIET_JOB) == 0
    node.write("node", node_text("IDLE+DRAIN", OUR_REASON))
    node.set_verdict(STABLE)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == []
    culprit = OUR_REASON.removeprefix("noisewatch: ")
    assert node.log_lines == [
        f"n1: would drain (acts=no): {culprit}",
        f"n1: unstable (acts=no), and job 7 starts: {culprit}",
        f"n1: would undrain (acts=no): no longer {OUR_REASON}",
    ]


def test_actions_are_logged(node: Node) -> None:
    node.set_verdict(UNSTABLE)
    assert node.run("noisewatch-prolog", QUIET_JOB) == 1
    culprit = OUR_REASON.removeprefix("noisewatch: ")
    assert node.log_lines == [f"n1: unstable, so job 7 does not start: {culprit}", f"n1: drain: {culprit}"]


@pytest.mark.parametrize("word", ["fail", "Keep", ""])
def test_a_misspelt_on_unknown_counts_as_drain(node: Node, word: str) -> None:
    node.set(f"on_unknown={word}")
    node.set_verdict(UNKNOWN)
    assert node.run("noisewatch-prolog", QUIET_JOB) == 1
    assert node.changes != []
    assert node.log_lines[0] == f"n1: on_unknown={word} is neither keep nor drain, and counts as drain"


@pytest.mark.parametrize("word", ["true", "No", ""])
def test_a_misspelt_acts_counts_as_no(node: Node, word: str) -> None:
    node.set(f"acts={word}")
    node.set_verdict(UNSTABLE)
    assert node.run("noisewatch-healthcheck") == 0
    assert node.changes == []
    assert node.log_lines[0] == f"n1: acts={word} is neither yes nor no, and counts as no"


@pytest.mark.parametrize(("status", "expected", "changes"), [
    (STABLE, 0, []), (WARNED, 0, []), (UNSTABLE, 1, drain_arguments()), (UNKNOWN, 0, []), (127, 0, []),
])  # fmt: skip
def test_a_job_that_needs_quiet_starts_unless_the_node_is_unstable(
    node: Node, status: int, expected: int, changes: list[str]
) -> None:
    node.write("node", node_text("ALLOCATED"))
    node.set_verdict(status)
    assert node.run("noisewatch-prolog", QUIET_JOB) == expected
    assert node.changes == changes


def test_the_prolog_does_not_overwrite_another_reason(node: Node) -> None:
    node.write("node", node_text("ALLOCATED+DRAIN", OTHER_REASON))
    node.set_verdict(UNSTABLE)
    assert node.run("noisewatch-prolog", QUIET_JOB) == 1
    assert node.changes == []


def test_a_job_starts_on_an_unstable_node_that_has_another_reason(node: Node) -> None:
    node.write("node", node_text("ALLOCATED", OTHER_REASON))
    node.set_verdict(UNSTABLE)
    assert node.run("noisewatch-prolog", QUIET_JOB) == 0
    assert node.changes == []
    assert node.log_lines == [
        f"n1: unstable, and has a reason that is not from noisewatch ({OTHER_REASON}), and job 7 starts: "
        "CPU 2: thread hog (pid 900) 50.00% (tasks-on-target)"
    ]


@pytest.mark.parametrize(("show", "update"), [(False, True), (True, False), (False, False)])
@pytest.mark.parametrize(
    ("status", "changes"), [(STABLE, UNDRAIN_ARGUMENTS), (UNSTABLE, drain_arguments()), (UNKNOWN, [])]
)
def test_a_node_that_slurm_drained_for_our_prolog_follows_the_next_verdict(
    node: Node, show: bool, update: bool, status: int, changes: list[str]
) -> None:
    node.write("node", node_text("ALLOCATED"))
    node.set_verdict(UNSTABLE)
    node.set_slurm_answers(show=show, update=update)
    assert node.run("noisewatch-prolog", QUIET_JOB) == 1
    node.set_slurm_answers()
    node.write("node", node_text("IDLE+DRAIN", SLURM_REASON, reason_at=slurm_time(7)))
    node.set_verdict(status)
    node.run("noisewatch-healthcheck")
    assert node.changes == changes


@pytest.mark.parametrize(("keeps", "after_s"), [(False, 7), (True, 3600), (True, -3600)])
@pytest.mark.parametrize("status", [STABLE, UNSTABLE])
def test_a_node_that_slurm_drained_for_another_prolog_is_left_alone(
    node: Node, keeps: bool, after_s: int, status: int
) -> None:
    node.set_verdict(UNSTABLE if keeps else STABLE)
    node.set_slurm_answers(update=False)
    assert node.run("noisewatch-prolog", QUIET_JOB) == int(keeps)
    node.set_slurm_answers()
    node.write("node", node_text("IDLE+DRAIN", SLURM_REASON, reason_at=slurm_time(after_s)))
    node.set_verdict(status)
    node.run("noisewatch-healthcheck")
    assert node.changes == []


@pytest.mark.parametrize(("constraints", "partition", "is_measured"), [
    ("quiet", "a", True), ("intel&quiet", "a", True), ("[quiet*2&fast*4]", "a", True), ("quiet|fast", "a", True),
    (None, "bench", True), (None, "long", True),
    (None, "a", False), ("", "a", False), ("quieter", "a", False), ("un-quiet", "a", False), (None, "benches", False),
])  # fmt: skip
def test_a_job_needs_quiet_by_its_feature_or_its_partition(
    node: Node, constraints: str | None, partition: str, is_measured: bool
) -> None:
    node.set("partitions=bench,long")
    variables = {} if constraints is None else {"SLURM_JOB_CONSTRAINTS": constraints}
    node.run("noisewatch-prolog", {"SLURM_JOB_PARTITION": partition, "SLURM_JOB_ID": "7", **variables})
    assert node.was_measured == is_measured


@pytest.mark.parametrize("partitions", ["bench, long", " bench ,long ", "bench long", "bench,\n long\n"])
@pytest.mark.parametrize(("partition", "is_measured"), [("bench", True), ("long", True), ("benchlong", False)])
def test_partitions_may_be_separated_by_blanks(node: Node, partitions: str, partition: str, is_measured: bool) -> None:
    node.set(f"partitions='{partitions}'")
    node.run("noisewatch-prolog", {"SLURM_JOB_PARTITION": partition, "SLURM_JOB_ID": "7"})
    assert node.was_measured == is_measured
