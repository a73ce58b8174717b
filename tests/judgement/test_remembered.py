"""A remembered answer is used only while all that its check may read is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cache

import pytest
from msgspec.structs import replace

from noisewatch.faults import RAISED
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.terms import Area, Status
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import SETTINGS_LAST_NS, Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.interval import interval_between
from tests.judgement.example import Example, all_examples
from tests.judgement.tracing import moving_paths, view_of
from tests.written import SECOND_NS, Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_AREAS = {check.id: check.area for check in CATALOGUE}


def _snapshots(example: Example) -> Iterator[Snapshot]:
    """Yield the snapshots of the example's machine as a monitor reads them."""
    machine: WrittenMachine = example.machine()
    tasks, before = TaskReader(), None
    for _ in range(3 if example.loaded else 2):  # the third differs in nothing else
        before = read_snapshot(machine, SnapshotOptions(example.target), tasks, before)
        yield before
        if machine.has_next:
            machine.advance()


@cache
def _quiet() -> Snapshot:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    return read_snapshot(machine, SnapshotOptions(frozenset({2, 3})), TaskReader())


def _cases(example: Example) -> Iterator[Case]:
    before = _quiet()
    for snapshot in _snapshots(example):
        before = replace(before, taken_at_ns=snapshot.taken_at_ns - SECOND_NS)
        yield Case(snapshot, interval_between(before, snapshot), rules=example.rules, starts_benchmark=False)
        yield Case(snapshot, None, rules=example.rules)
        before = snapshot


@cache
def _paths() -> tuple[dict[str, set[str]], dict[Hashable, set[str]]]:
    """Return the paths that each check reads on examples of its area, and the paths of each remembered result."""
    paths: dict[str, set[str]] = {check.id: set() for check in CATALOGUE}
    remembered_paths: dict[Hashable, set[str]] = {}
    for example in all_examples():
        checks = [check for check in CATALOGUE if check.area == _AREAS[example.id]]
        for case in _cases(example):
            for check in checks:
                if not any((check.id, limit.key) in case.rules.value_by_limit for limit in check.limits):
                    judge(view_of(case, paths[check.id], remembered_paths), [check])
    return paths, remembered_paths


def test_a_remembered_check_reads_only_values_that_are_compared() -> None:
    moving = {
        check.id: moving_paths(_paths()[0][check.id] - {"interval"}) for check in CATALOGUE if not check.is_moving
    }
    assert {check_id: paths for check_id, paths in moving.items() if paths} == {}


def test_a_check_that_is_never_remembered_has_a_reason_for_it() -> None:
    declared = [check.id for check in CATALOGUE if check.reads_counters]
    assert [check_id for check_id in declared if not moving_paths(_paths()[0][check_id])] == []
    assert [check.id for check in CATALOGUE if check.reads_counters and check.asks_rates] == []


def test_a_part_that_a_case_keeps_reads_only_values_that_are_compared() -> None:
    remembered_paths = _paths()[1]
    assert {"cores of the target", "cache neighbourhoods", "highest clocks"} <= remembered_paths.keys()
    assert {key: moving for key, paths in remembered_paths.items() if (moving := moving_paths(paths))} == {}


@pytest.mark.parametrize("area", Area)
def test_remembered_findings_are_those_of_a_new_judgement(area: Area) -> None:
    """Judge one machine after the other: nearly everything changes between two, and much of it back again."""
    remembered, checks = Remembered(), [check for check in CATALOGUE if check.area == area]
    examples = [example for example in all_examples() if _AREAS[example.id] == area]
    for example in examples[::4]:
        for case in _cases(example):
            findings = judge(replace(case, remembered=remembered), checks, remembered=remembered).findings
            assert findings == judge(case, checks).findings


class _CountingCheck:
    """A check that counts its calls."""

    def __init__(self, work: Callable[[Case], object], reads_counters: bool = False) -> None:
        self.count = 0
        self._work = work
        still = replace(CATALOGUE[0], asks_rates=False, asks_calibration=False)
        self.check: Check = replace(still, reads_counters=reads_counters, answer=self._answer)

    def _answer(self, case: Case) -> Answer:
        self.count += 1
        return Answer(Status.PASS, str(self._work(case)))


def _case(changed: Files | None = None) -> Case:
    """Return a case of two snapshots between which all counters and durations have advanced."""
    moments = [{**quiet_files(seconds), **(changed or {})} for seconds in (0.0, 3.0)]
    machine = WrittenMachine(*moments, answers=ANSWERS)
    before = read_snapshot(machine, SnapshotOptions(frozenset({2, 3})), TaskReader())
    machine.advance()
    after = read_snapshot(machine, SnapshotOptions(frozenset({2, 3})), TaskReader(), before)
    return Case(after, interval_between(before, after))


def _count_calls(counting: _CountingCheck, *cases: Case) -> int:
    remembered = Remembered()
    for case in cases:
        judge(case, [counting.check], remembered=remembered)
    return counting.count


_BALANCED: Files = {Knob.NUMA_BALANCING: "1\n"}


def _balancing(case: Case) -> str | None:
    return case.snapshot.settings.knobs.text_by_path.get(Knob.NUMA_BALANCING)


def test_a_check_is_asked_again_once_a_setting_differs_and_each_time_if_it_reads_counters() -> None:
    first, later = _case(), replace(_case(), snapshot=replace(_case().snapshot, taken_at_ns=7))
    cases = (first, later, _case(_BALANCED), _case(_BALANCED), first)
    assert _count_calls(_CountingCheck(_balancing), *cases) == 3
    assert _count_calls(_CountingCheck(_balancing, reads_counters=True), *cases) == 5


def test_a_check_is_asked_again_once_settings_were_read_again() -> None:
    case = _case()
    settings = case.snapshot.settings
    read_anew = replace(settings, read_at_ns=settings.read_at_ns + SETTINGS_LAST_NS)
    later = replace(case, snapshot=replace(case.snapshot, settings=read_anew))
    assert _count_calls(_CountingCheck(_balancing), case, later, later) == 2


def test_a_check_is_asked_again_under_other_rules() -> None:
    case = _case()
    strict = replace(case, rules=replace(case.rules, profile="strict"))
    assert _count_calls(_CountingCheck(lambda case: case.rules.profile), case, strict, strict, case) == 3


def test_a_fault_of_a_check_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RAISED)
    assert _count_calls(_CountingCheck(lambda case: 1 // 0), _case(), _case()) == 2


def test_a_part_is_made_again_where_its_answers_differ() -> None:
    remembered, one, other = Remembered(), Answer(Status.PASS, "a"), Answer(Status.PASS, "b")
    made = []
    for answers in ((one,), (one,), (other,), (replace(other),), (one,), (one, other), (one,), ()):
        remembered.set_current(_case())
        made.append(remembered.get("", lambda _: object(), answers))
    assert [made.index(part) for part in made] == [0, 0, 2, 2, 4, 5, 6, 7]


def test_a_remembered_result_is_computed_again_once_it_differs_and_always_for_an_altered_case() -> None:
    remembered, made = Remembered(), []

    def balancing(case: Case) -> str | None:
        made.append(_balancing(case))
        return made[-1]

    for changed, count in (({}, 1), ({}, 1), (_BALANCED, 2)):
        case = replace(_case(changed), remembered=remembered)
        remembered.set_current(case)
        assert (case.remember("", balancing), len(made)) == (_balancing(case), count)
    altered = replace(case, snapshot=_case().snapshot)
    assert altered.remember("", balancing) == _balancing(altered) != _balancing(case)
