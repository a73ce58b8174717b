"""`noisewatch run` on isolated CPUs: it separates disturbances from the command's work, and leaves nothing behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.run.series import CPU, PRIVILEGES, quiet_repetitions, run_with_a_hog, verdict_with_reason
from tests.live.hog_in_a_run import SEVENTH
from tests.plumbing.receipts import lines_of

_GROUPS = "/sys/fs/cgroup"
_INSTANCES = "/sys/kernel/tracing/instances"
_RUN = f"noisewatch run --cpus {CPU} --calibration 0 --output receipt.jsonl"
_DISK_IO = "dd {} bs=4k count=300 2>/dev/null"
_WRITES, _READS = _DISK_IO.format("if=/dev/zero of=/dev/sda oflag=direct"), _DISK_IO.format("if=/dev/sda of=/dev/null")
_HOPS = "import os\nfor hop in range(20): os.sched_setaffinity(0, [3 + hop % 2])"  # between two memory nodes
_FORKS = "import os\nfor _ in range(200):\n    if not os.fork(): os._exit(0)\nfor _ in range(200): os.wait()"


def _run(lab: Lab, options: str, command: str) -> list[dict[str, Any]]:
    lab.do(f"{_RUN} {options} -- {command}")
    return lines_of(lab.scratch / "receipt.jsonl")


@pytest.mark.parametrize("name", ["root with tracefs", "nobody"])
def test_a_hog_is_named_in_its_repetition(isolated: Lab, name: str) -> None:
    series = run_with_a_hog(isolated, PRIVILEGES[name])
    assert SEVENTH in series.numbers_of("disturbed")
    assert series.blamed == [SEVENTH]


def test_most_quiet_repetitions_are_undisturbed(isolated: Lab) -> None:
    """Emulation itself may disturb a few."""
    lines = quiet_repetitions(isolated, 100)
    others = Counter(verdict_with_reason(line) for line in lines if line["verdict"] != "undisturbed")
    assert len(lines) == 100
    assert others.total() <= 10, others
    assert [line["verdict"] for line in lines].count("disturbed") <= 2, others


def test_hundreds_of_forked_children_belong_to_the_command(isolated: Lab) -> None:
    """Under emulation, tick interrupts take a percent or two that this kernel charges to no process and no counter."""
    (isolated.scratch / "forks.py").write_text(_FORKS)
    (line,) = _run(isolated, "", "python3 -S forks.py")
    assert line["rusage"]["involuntary_switches"] + line["rusage"]["voluntary_switches"] > 200
    assert not [
        reason for reason in line["reasons"] if reason["pid"] is not None and reason["name"].startswith("python")
    ]


@pytest.fixture
def disk_on_target(isolated: Lab) -> Iterator[int]:
    """Route the interrupt of the disk to the target CPU, and yield its number."""
    irq = int(isolated.do("grep ahci /proc/interrupts").split()[0].rstrip(":"))
    before = isolated.read(f"/proc/irq/{irq}/smp_affinity_list")
    isolated.write(f"/proc/irq/{irq}/smp_affinity_list", CPU)
    yield irq
    isolated.write(f"/proc/irq/{irq}/smp_affinity_list", before)


def test_interrupts_of_a_commands_writes_belong_to_it(isolated: Lab, disk_on_target: int) -> None:
    (line,) = _run(isolated, "", f"sh -c '{_WRITES}'")
    assert disk_on_target in [source["irq"] for source in line["own"]]
    assert disk_on_target not in [reason["irq"] for reason in line["reasons"]]


def test_a_process_left_in_the_background_is_named_and_keeps_running(isolated: Lab) -> None:
    (line,) = _run(isolated, "", "sh -c 'setsid sleep 600 & sleep 0.3'")
    (pid,) = line["left_processes"]
    try:
        assert isolated.read(f"/proc/{pid}/comm") == "sleep"
        assert pid not in [reason["pid"] for reason in line["reasons"]]
    finally:
        isolated.do(f"kill {pid}")


def test_a_killed_noisewatch_leaves_no_group_and_no_trace_instance(isolated: Lab) -> None:
    groups = isolated.do(f"find {_GROUPS} -type d")
    pid = isolated.start(f"{_RUN} --runs 9 -- sleep 611")
    isolated.do("until pgrep -f '^sleep 611'; do sleep 0.2; done")
    isolated.do(f"kill -KILL {pid}; while pgrep -f '[s]leep 611|[n]oisewatch run'; do sleep 0.2; done")
    isolated.do(f"while ls -A {_INSTANCES} | grep noisewatch; do sleep 0.2; done")  # slow under emulation
    assert isolated.do(f"find {_GROUPS} -type d") == groups
    header = json.loads((isolated.scratch / "receipt.jsonl").read_text().splitlines()[0])
    assert header["kind"] == "header"


@pytest.fixture
def group(isolated: Lab) -> Iterator[str]:
    """A new control group."""
    folder = f"{_GROUPS}/frozen"
    isolated.do(f"mkdir {folder}")
    yield folder
    isolated.do(f"while grep . {folder}/cgroup.procs; do sleep 0.2; done; rmdir {folder}")


@pytest.mark.parametrize(("is_frozen", "kinds"), [(True, ["frozen"]), (False, [])])
def test_a_command_whose_control_group_is_frozen_is_disturbed(
    isolated: Lab, group: str, is_frozen: bool, kinds: list[str]
) -> None:
    freezer = f"sleep 1; echo {int(is_frozen)} > {group}/cgroup.freeze; sleep 1.5; echo 0 > {group}/cgroup.freeze"
    (isolated.scratch / "freezer.sh").write_text(freezer)
    (line,) = _run(isolated, "", f"sh -c 'setsid sh freezer.sh & echo 0 > {group}/cgroup.procs; sleep 2; wait'")
    reasons = [reason for reason in line["reasons"] if reason["kind"] == "frozen"]
    assert [reason["kind"] for reason in reasons] == kinds
    assert (line["frozen_ns"] > 500_000_000) is is_frozen
    assert all(group in reason["name"] for reason in reasons)


def test_the_command_is_moved_into_the_partition_that_has_its_target(plain: Lab) -> None:
    group = f"{_GROUPS}/bench"
    plain.do(f"echo +cpuset > {_GROUPS}/cgroup.subtree_control; mkdir {group}; echo 4-5 > {group}/cpuset.cpus")
    plain.write(f"{group}/cpuset.cpus.partition", "isolated")
    try:
        script = "cat /proc/self/cgroup; grep Cpus_allowed_list: /proc/self/status; exit 7"
        result = plain.run(f"noisewatch run --output receipt.jsonl -- sh -c '{script}'")
        assert (result.status, result.out.split()) == (7, ["0::/bench", "Cpus_allowed_list:", "4-5"])
        (header,) = lines_of(plain.scratch / "receipt.jsonl", "header")
        assert (header["target"], header["pinned_by"]) == ([4, 5], "affinity in an isolated partition")
        assert plain.read(f"{group}/cgroup.procs") == ""
    finally:
        plain.do(f"rmdir {group}; echo -cpuset > {_GROUPS}/cgroup.subtree_control")


def test_the_trace_counts_each_move_between_memory_nodes(plain: Lab) -> None:
    (plain.scratch / "hops.py").write_text(_HOPS)
    plain.do("noisewatch run --cpus 3-4 --tracer events --calibration 0 --output receipt.jsonl -- python3 -S hops.py")
    (line,) = lines_of(plain.scratch / "receipt.jsonl")
    placement = line["placement"]
    assert (placement["source"], placement["threads"][0]["node_moves"] >= 19) == ("trace", True), placement
    assert "node-changed" in [reason["kind"] for reason in line["reasons"]]
