"""What was answered before stands only while nothing is different that the check has asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import pytest

from noisewatch.faults import RAISED
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Answer, Check
from noisewatch.judgement.remembered import Remembered, View
from noisewatch.judgement.terms import Area, Status
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import interval_between
from tests.judgement.example import Example, all_examples
from tests.written import SECOND_NS, Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_AREAS = {each.id: each.area for each in CATALOGUE}


def _snapshots(example: Example) -> Iterator[Snapshot]:
    """Yield the snapshots of the example's machine as a monitor reads them, then the last one read afresh."""
    machine: WrittenMachine = example.machine()
    tasks, before = TaskReader(), None
    while True:
        before = read_snapshot(machine, SnapshotOptions(example.target), tasks, before)
        yield before
        if not machine.has_next:
            break
        machine.advance()
    yield read_snapshot(machine, SnapshotOptions(example.target), TaskReader())


def _cases(examples: list[Example]) -> Iterator[Case]:
    """One after the other, so that nearly everything changes between two, and much of it back again."""
    quiet = WrittenMachine(quiet_files(), answers=ANSWERS)
    before = read_snapshot(quiet, SnapshotOptions(frozenset({2, 3})), TaskReader())
    for example in examples:
        for snapshot in _snapshots(example):
            before = replace(before, taken_at_ns=snapshot.taken_at_ns - SECOND_NS)
            yield Case(snapshot, interval_between(before, snapshot), rules=example.rules, starts_benchmark=False)
            yield Case(snapshot, None, rules=example.rules)
            before = snapshot


@pytest.mark.parametrize("area", Area)
def test_what_is_remembered_is_what_would_be_answered_anew(area: Area) -> None:
    remembered, checks = Remembered(), [each for each in CATALOGUE if each.area == area]
    for case in _cases([each for each in all_examples() if _AREAS[each.id] == area]):
        findings = judge(case, checks).findings
        assert judge(replace(case, remembered=remembered), checks, remembered=remembered).findings == findings
        if not case.rules.value_by_limit:
            view = cast(Case, View(case, "", {}, set()))
            assert judge(view, checks).findings == findings  # none wants more of it than it can give


class _Asked:
    """A check that counts how often it is asked."""

    def __init__(self, work: Callable[[Case], object]) -> None:
        self.count = 0
        self._work = work
        self.check: Check = replace(CATALOGUE[0], asks_rates=False, asks_calibration=False, answer=self._answer)

    def _answer(self, case: Case) -> Answer:
        self.count += 1
        return Answer(Status.PASS, str(self._work(case)))


def _case(changed: Files | None = None, is_sampled: bool = True) -> Case:
    """Return a case of two snapshots between which all counters and durations have advanced."""
    moments = [{**quiet_files(seconds), **(changed or {})} for seconds in (0.0, 3.0)]
    machine = WrittenMachine(*moments, answers=ANSWERS)
    before = read_snapshot(machine, SnapshotOptions(frozenset({2, 3})), TaskReader())
    machine.advance()
    after = read_snapshot(machine, SnapshotOptions(frozenset({2, 3})), TaskReader(), before)
    return Case(after, interval_between(before, after) if is_sampled else None)


def _count(work: Callable[[Case], object], *cases: Case) -> int:
    asked, remembered = _Asked(work), Remembered()
    for case in cases:
        anew = str(work(case))
        assert judge(case, [asked.check], remembered=remembered).findings[0].answer.said == anew
    return asked.count


_BALANCED: Files = {Knob.NUMA_BALANCING: "1\n"}


def _balancing(case: Case) -> str | None:
    return case.snapshot.settings.knobs.text_by_path.get(Knob.NUMA_BALANCING)


@pytest.mark.parametrize(
    ("work", "count"),
    [
        (lambda case: 1, 1),
        (lambda case: sorted(case.target), 1),
        (lambda case: sorted(case.siblings), 1),
        (_balancing, 2),
        (lambda case: _balancing(case.without_own_process), 2),
        (lambda case: case.why_unknown("/proc/nothing"), 1),
        (lambda case: case.snapshot.taken_at_ns, 3),
        (lambda case: case.snapshot.tasks is None, 3),
        (lambda case: case.sample.busy_share(2), 3),
        (lambda case: disturbances_of(case.sample, 2), 3),
        (lambda case: case.sample.after.settings.knobs.text_by_path.get(Knob.NUMA_BALANCING), 2),
        (lambda case: case.sample.seconds, 1),
        (lambda case: case.interval is None, 1),
    ],
)
def test_a_check_is_asked_again_once_what_it_asks_for_is_different(work: Callable[[Case], object], count: int) -> None:
    first, second = _case(), replace(_case(), snapshot=replace(_case().snapshot, taken_at_ns=7))
    assert _count(work, first, second, _case(_BALANCED)) == count


def test_a_sample_that_comes_and_goes_is_something_different() -> None:
    def is_sampled(case: Case) -> bool:
        return case.interval is not None

    without, sampled = _case(is_sampled=False), _case()
    assert _count(is_sampled, without, without) == 1
    assert _count(is_sampled, without, sampled, without, sampled) >= 2


def test_what_is_different_case_after_case_is_hardly_looked_at_through_a_view() -> None:
    views = []

    def work(case: Case) -> int:
        views.append(not isinstance(case, Case))
        return case.snapshot.taken_at_ns

    case = _case()
    cases = [replace(case, snapshot=replace(case.snapshot, taken_at_ns=number)) for number in range(60)]
    remembered = Remembered()
    for each in cases:
        remembered.turn_to(each)
        assert remembered.get("", work) == each.snapshot.taken_at_ns
    assert 0 < sum(views) < 10


def test_what_else_it_was_made_of_has_to_be_the_same_objects() -> None:
    remembered, one, other = Remembered(), Answer(Status.PASS, "a"), Answer(Status.PASS, "a")
    made = []
    for answers in ((one,), (one,), (other,), (other,), (one,), (one, other), (one,), ()):
        remembered.turn_to(_case())
        made.append(remembered.get("", lambda _: object(), answers))
    assert [made.index(each) for each in made] == [0, 0, 2, 2, 4, 5, 6, 7]


def test_a_part_that_is_kept_is_made_again_once_it_differs_and_of_an_altered_case_each_time() -> None:
    remembered, made = Remembered(), []

    def balancing(case: Case) -> str | None:
        made.append(_balancing(case))
        return made[-1]

    for changed, count in (({}, 1), ({}, 1), (_BALANCED, 2)):
        case = replace(_case(changed), remembered=remembered)
        remembered.turn_to(case)
        assert (case.kept("", balancing), len(made)) == (_balancing(case), count)
    altered = replace(case, snapshot=_case().snapshot)
    assert altered.kept("", balancing) == _balancing(altered) != _balancing(case)


def test_what_a_part_has_asked_for_the_whole_has_asked_for_too() -> None:
    remembered, found = Remembered(), []
    for changed in ({}, {}, _BALANCED):
        case = replace(_case(changed), remembered=remembered)
        remembered.turn_to(case)
        found.append(remembered.get("whole", lambda case: case.kept("part", _balancing)))
    assert found == ["0", "0", "1"]


def test_a_check_that_was_left_out_of_a_case_is_asked_again() -> None:
    asked, remembered = _Asked(_balancing), Remembered()
    for checks in ([asked.check], [], [asked.check]):
        judge(_case(), checks, remembered=remembered)
    assert asked.count == 2


def test_threads_that_can_be_listed_no_more_are_something_different() -> None:
    seen = _case()
    hidden = replace(seen, snapshot=replace(seen.snapshot, tasks=None))
    assert _count(lambda case: case.snapshot.tasks is None, hidden, seen, hidden) >= 2


@pytest.mark.parametrize(
    "work",
    [
        lambda case: case.snapshot.settings == case.snapshot.settings,
        lambda case: replace(case, interval=None).snapshot.taken_at_ns,
    ],
)
def test_what_a_view_cannot_stand_for_is_asked_of_the_case_each_time(
    work: Callable[[Case], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(RAISED)
    case = _case()
    assert _count(work, case, case, case) >= 3
