"""A thread that takes much of a target CPU is named within two intervals, in any crowd and order of arrival."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.disturbance import threads_of
from noisewatch.model.interval.interval import interval_between
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, crowd, process, quiet_files, stat_file

_TARGET, _ELSEWHERE = 2, 0
_MS = 1_000_000
_TICK_NS = 10_000_000
_MOMENTS = 6


@dataclass(frozen=True, slots=True)
class _Member:
    """A process that exists from the moment `begins` on, and the time it has run by each moment (ns)."""

    pid: int
    name: str
    cpu: int
    begins: int
    ran_ns: Sequence[int]
    threads: int = 1
    is_zombie: bool = False
    is_hidden: bool = False  # as processes of the host are in a container
    ends: int = _MOMENTS  # the first moment without the process
    parent: int = 1
    children_ns: Sequence[int] = (0,) * _MOMENTS  # of ended children, by each moment
    allowed: str | None = None  # by default its CPU

    def files(self, moment: int) -> dict[str, str]:
        """Return the files of the process; with several threads the last one has all the time."""
        ran_ns = self.ran_ns[moment]
        if self.is_hidden:
            return {}
        if self.threads == 1:
            more = {"parent": self.parent, "children": self.children_ns[moment] // _TICK_NS}
            files = process(self.pid, self.name, self.cpu, ran_ns, allowed=self.allowed or str(self.cpu), **more)
        else:
            files = crowd(self.pid, self.name, [_ELSEWHERE] * self.threads, "0", 0)
            files |= process(self.pid, self.name, _ELSEWHERE, 0, busy=ran_ns // _TICK_NS, threads=self.threads)
            tid = self.pid + self.threads - 1
            own = process(tid, self.name, self.cpu, ran_ns, allowed=str(self.cpu))
            files |= {path.replace(f"/{tid}/", f"/{self.pid}/task/{tid}/"): text for path, text in own.items()}
        if self.is_zombie:
            path = f"/proc/{self.pid}/stat"
            files[path] = files[path].replace(") S ", ") Z ")
        return files


def _crowd_machine(members: Iterable[_Member], seconds: float = 1.0) -> WrittenMachine:
    moments = []
    for moment in range(_MOMENTS):
        present = [member for member in members if member.begins <= moment < member.ends]
        busy_ns = sum(member.ran_ns[moment] for member in present if member.cpu == _TARGET)
        busy_ns += sum(member.children_ns[moment] for member in present)
        files = quiet_files(seconds * moment)
        files["/proc/cmdline"] = "isolcpus=2-3\n"
        files["/proc/stat"] = stat_file({_TARGET: busy_ns // _TICK_NS}, round(100 * seconds * moment))
        for member in present:
            files |= member.files(moment)
        moments.append(files)
    return WrittenMachine(*moments, answers=ANSWERS, seconds_between=seconds)


def _attributed_shares(machine: WrittenMachine, budget_reads: int, name: str) -> list[float]:
    """Return the share of the target CPU that is attributed to the process, by interval."""
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    options = SnapshotOptions(frozenset({_TARGET}))
    snapshot = read_snapshot(machine, options, task_reader)
    task_reader.limit(budget_reads)
    shares = []
    while machine.has_next:
        machine.advance()
        before, snapshot = snapshot, read_snapshot(machine, options, task_reader, snapshot)
        culprits = threads_of(interval_between(before, snapshot), _TARGET)
        shares.append(sum(culprit.share or 0.0 for culprit in culprits if culprit.name == name))
    return shares


def _run_times(begins: int, ns: int, first_ns: int = 0) -> list[int]:
    """Return the run time at each moment of a process that runs for `ns` in each interval from moment `begins` on."""
    return [first_ns + max(moment - begins, 0) * ns for moment in range(_MOMENTS)]


def _populate(
    pids: Sequence[int], counts: Mapping[str, int], arrives: int, hog: tuple[int, int, int, int]
) -> list[_Member]:
    """Return the hog and `counts` processes of each other kind, whose numbers are `pids` in this order.

    `hog`: its place in `pids`, the moments from which it exists and from which it runs, and its time per interval (ns).
    """
    place, exists, runs, ns = hog
    numbers = [pid for at, pid in enumerate(pids) if at != place]
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    members = [_Member(pids[place], "hog", _TARGET, exists, _run_times(runs, ns))]
    for pid, kind in zip(numbers, kinds, strict=False):
        if kind == "waker":
            members.append(_Member(pid, kind, _TARGET, 0, _run_times(0, 2 * _MS)))
        elif kind == "zombie":
            members.append(_Member(pid, kind, _ELSEWHERE, arrives, _run_times(0, 0, 3 * _MS), is_zombie=True))
        else:
            begins = arrives if kind == "newcomer" else 0
            members.append(_Member(pid, kind, _ELSEWHERE, begins, _run_times(_MOMENTS, 0, 5_000 * _MS * (not begins))))
    return members


@settings(max_examples=30)
@given(
    random=st.randoms(use_true_random=False),
    resting=st.integers(0, 120),
    newcomers=st.integers(0, 60),
    zombies=st.integers(0, 60),
    wakers=st.integers(0, 60),
    arrives=st.integers(1, 3),
    exists=st.integers(0, 3),
    rests=st.integers(0, 2),
    share=st.floats(0.06, 1.0),
    budget_reads=st.sampled_from([1, 10, 40]),
)
def test_process_that_uses_much_of_a_target_cpu_is_named_within_two_intervals_in_any_crowd(
    random: Random,
    resting: int,
    newcomers: int,
    zombies: int,
    wakers: int,
    arrives: int,
    exists: int,
    rests: int,
    share: float,
    budget_reads: int,
) -> None:
    counts = {"resting": resting, "newcomer": newcomers, "zombie": zombies, "waker": wakers}
    pids = list(range(300, 300 + 2 * sum(counts.values()) + 2))
    random.shuffle(pids)
    runs = min(exists + rests, 3)
    hog = (random.randrange(sum(counts.values()) + 1), exists, runs, round(share * 1000) * _MS)
    machine = _crowd_machine(_populate(pids, counts, arrives, hog))
    shares = _attributed_shares(machine, budget_reads, "hog")
    assert any(shares[runs : runs + 2]), shares
    assert all(shares[runs + 1 :]), shares


def test_hog_that_begins_after_a_futile_search_for_less_time_is_named() -> None:
    """18 wakers leave 40 ms of a second unexplained in ticks; then the hog adds 61 ms."""
    counts = {"zombie": 2, "waker": 18}
    machine = _crowd_machine(_populate(range(300, 342), counts, 1, (0, 1, 2, 61 * _MS)))
    assert all(_attributed_shares(machine, 10, "hog")[2:])


@pytest.mark.parametrize("place", [0, 1_200, 2_400])
def test_hog_among_two_thousand_resting_and_hundreds_of_new_and_ended_processes_is_named(place: int) -> None:
    counts = {"resting": 2_000, "newcomer": 200, "zombie": 200}
    machine = _crowd_machine(_populate(range(300, 2_701), counts, 1, (place, 1, 1, 60 * _MS)))
    assert all(_attributed_shares(machine, 30, "hog")[2:])


@pytest.mark.parametrize("threads", [3, 2_000])
@pytest.mark.parametrize("exists", [0, 1, 2])
def test_thread_other_than_the_first_of_its_process_is_named(exists: int, threads: int) -> None:
    members = _populate(range(300, 500), {"resting": 190}, 1, (0, 0, _MOMENTS, 0))
    members.append(_Member(900, "hog of many", _TARGET, exists, _run_times(2, 500 * _MS), threads=threads))
    assert all(_attributed_shares(_crowd_machine(members), 20, "hog of many")[3:])


@pytest.mark.parametrize("pid", [1, 900])
def test_time_of_short_lived_orphans_is_listed_as_children_of_their_reaper(pid: int) -> None:
    orphans_ns = 300 * _MS
    members = _populate(range(300, 700), {"resting": 399}, 1, (0, 0, _MOMENTS, 0))
    ran_ns, children_ns = _run_times(0, _MS), _run_times(1, orphans_ns)
    members.append(_Member(pid, "reaper", _ELSEWHERE, 0, ran_ns, allowed="0-3", children_ns=children_ns))
    members += [
        _Member(1_000 + begins, "orphan", _TARGET, begins, [0] * _MOMENTS, ends=begins + 1, parent=pid)
        for begins in range(_MOMENTS)
    ]
    shares = _attributed_shares(_crowd_machine(members), 20, "children of reaper")
    assert all(share > 0.2 for share in shares[3:]), shares


def test_time_of_unread_threads_is_listed_with_their_process() -> None:
    member = _Member(900, "large", _TARGET, 1, _run_times(2, 500 * _MS), threads=2_000)
    shares = {name: _attributed_shares(_crowd_machine([member]), 20, name) for name in ("threads of large", "large")}
    assert shares == {"threads of large": [0, 0, 0.5, 0, 0], "large": [0, 0, 0, 0.5, 0.5]}


def test_reading_thousands_of_new_threads_stays_within_the_budget() -> None:
    members = [_Member(900, "large", _ELSEWHERE, 2, _run_times(2, 0, 100 * _MS), threads=5_000)]
    machine = _crowd_machine(members)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    snapshot = read_snapshot(machine, SnapshotOptions(frozenset({_TARGET})), task_reader)
    task_reader.limit(2_000)
    looks = []
    while machine.has_next:
        machine.advance()
        machine.reads.clear()
        snapshot = read_snapshot(machine, SnapshotOptions(frozenset({_TARGET})), task_reader, snapshot)
        looks.append(sum("/task/" in path for path in machine.reads))
        assert snapshot.tasks is not None
        assert (900 in snapshot.tasks.by_tid, 900 in snapshot.tasks.read_pids) == (len(looks) > 1, False)
    assert looks[0] == 0
    assert sum(looks) < 6_000  # each thread once


def test_processes_are_not_searched_while_no_time_is_missing() -> None:
    members = _populate(range(300, 2_300), {"resting": 1_900}, 1, (0, 0, _MOMENTS, 0))
    machine = _crowd_machine(members)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    snapshot = read_snapshot(machine, SnapshotOptions(frozenset({_TARGET})), task_reader)
    task_reader.limit(50)
    while machine.has_next:
        machine.advance()
        machine.reads.clear()
        snapshot = read_snapshot(machine, SnapshotOptions(frozenset({_TARGET})), task_reader, snapshot)
        assert sum(path.startswith("/proc/3") for path in machine.reads) <= 120


def test_futile_search_is_not_repeated_at_once() -> None:
    members = _populate(range(300, 2_300), {"resting": 1_900}, 1, (0, 0, _MOMENTS, 0))
    hidden = _Member(9_000, "hidden", _TARGET, 0, _run_times(0, 500 * _MS), is_hidden=True)
    machine = _crowd_machine([*members, hidden])
    was_searched = []
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    snapshot = read_snapshot(machine, SnapshotOptions(frozenset({_TARGET})), task_reader)
    task_reader.limit(200)
    while machine.has_next:
        machine.advance()
        machine.reads.clear()
        snapshot = read_snapshot(machine, SnapshotOptions(frozenset({_TARGET})), task_reader, snapshot)
        was_searched.append(sum(path.endswith("/schedstat") for path in machine.reads) > 1_000)
    assert was_searched == [True, False, False, False, False]
