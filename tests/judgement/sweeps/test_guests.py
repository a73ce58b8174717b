"""A calibrated virtual machine, judged by effect, where each file is missing from the start or after the sample."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated, Case, rules_for
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import FLOOR_CHECK, Outcome, Severity
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.model.calibration.attribution import ConcurrentObservations, attribution_of
from noisewatch.model.interval.interval import interval_between
from tests.judgement.checks.calibration.calibrating import NO_CPUFREQ, every_third_slow
from tests.judgement.checks.calibration.meanwhile import SPINNER
from tests.judgement.example import VIRTUAL
from tests.judgement.judging import calibrated_by, finding
from tests.judgement.sweeps.lessened import (
    ABSENT,
    DENIED,
    EMPTY,
    FAULTS,
    RANK,
    TRUNCATED,
    LessenedMachine,
    faults_of,
    paths_of,
)
from tests.written import Files, WrittenMachine, without
from tests.written.calibration import Length, steady, written_calibration
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, process, quiet_files, stat_file

_MS, _S = 1_000_000, 1_000_000_000
_BLOCKING = [check for check in CATALOGUE if Severity.BLOCKING in (check.severity, check.severity_under("shared"))]
_AFTER_SAMPLE = 2  # the third moment
_SWEPT = re.compile(
    r"/proc/(901/.*|interrupts|softirqs|stat|schedstat|cpuinfo|self/mounts|bus/pci/devices)?|" + f"{CPUS}/isolated"
)


class _Machine(LessenedMachine):
    """A machine that withholds the path only from moment `since` on."""

    _since = 0

    def since(self, moment: int) -> _Machine:
        self._since = moment
        return self

    def list_names(self, path: str) -> list[str]:
        return WrittenMachine.list_names(self, path) if self._at < self._since else super().list_names(path)

    def _is_withheld(self, path: str) -> bool:
        return self._at >= self._since and super()._is_withheld(path)


@dataclass(frozen=True)
class _Guest:
    """A virtual machine with noise on CPU 2; each pair has the noise in the sample and in the calibration."""

    name: str
    outcome: Outcome
    ran_ms: tuple[int, int] = (0, 0)
    waited_ms: int = 0
    lost: float = 0.0  # share of the loop's time
    stolen_ticks: tuple[int, int] = (0, 0)
    interrupts: tuple[int, int] = (0, 0)
    work: Length = field(default=steady)

    @cached_property
    def moments(self) -> list[Files]:
        files: list[Files] = []
        for moment, base in enumerate((quiet_files(), quiet_files(3.0), loaded_files())):
            ran_ms, waited_ms = sum(self.ran_ms[:moment]), self.waited_ms * (moment == _AFTER_SAMPLE)
            loop_ticks = 295 * (moment == _AFTER_SAMPLE)
            stolen = {2: 1 + sum(self.stolen_ticks[:moment]), 3: 1}
            busy = {2: loop_ticks + ran_ms // 10, 3: loop_ticks}
            table = base["/proc/interrupts"].splitlines(keepends=True)
            table[1] = f" 24: 800 0 {sum(self.interrupts[:moment])} 0 PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0\n"
            changed = {
                **VIRTUAL,
                **process(901, "hog", 2, ran_ms * _MS, allowed="2"),
                "/proc/901/schedstat": f"{ran_ms * _MS} {waited_ms * _MS} 10\n",
                "/proc/stat": stat_file(busy, 300 * moment, stolen),
                "/proc/interrupts": "".join(table),
            }
            files.append(without({**base, **changed}, *NO_CPUFREQ))
        return files

    @cached_property
    def written(self) -> dict[str, Any]:
        length = round(self.lost * 10 * _MS)
        gaps = tuple((at, length, 2, length) for at in range(0, 5 * _S, 10 * _MS)) if length else ()
        changes: dict[int, dict[str, Any]] = {2: {"tid": SPINNER}, 3: {"tid": SPINNER + 1, "gaps": []}}
        return written_calibration(gaps=gaps, changes=changes, work=self.work)


_GUESTS = [
    _Guest("quiet", Outcome.STABLE),
    _Guest("beside a loop", Outcome.UNSTABLE, (2_990, 1_500), 1_500, 0.5),
    _Guest("beside a loop that yields", Outcome.UNSTABLE, (2_990, 40), 2_950, 0.012),
    _Guest("beside a little of a task", Outcome.UNSTABLE, (40, 40), 2, 0.013),
    _Guest("beside a task that ended", Outcome.UNSTABLE, (200, 0)),
    _Guest("with a busy neighbour", Outcome.UNSTABLE, stolen_ticks=(3, 3)),
    _Guest("with a neighbour that was busy", Outcome.UNSTABLE, stolen_ticks=(6, 0)),
    _Guest("interrupted often", Outcome.UNSTABLE, interrupts=(6_000, 6_000)),
    _Guest("noisy", Outcome.UNSTABLE, work=every_third_slow),
]


@cache
def _predicted(guest: int) -> Calibrated:
    return calibrated_by(_GUESTS[guest].written, cpus=frozenset({2, 3}))


def _judged(guest: int, machine: WrittenMachine, checks: Sequence[Check] = _BLOCKING) -> Verdict:
    task_reader, options = TaskReader(asks_all_affinities=True), SnapshotOptions(frozenset({2, 3}))
    snapshots = [read_snapshot(machine, options, task_reader)]
    while machine.has_next:
        machine.advance()
        snapshots.append(read_snapshot(machine, options, task_reader, snapshots[-1]))
    before, after, loaded = snapshots
    sample = interval_between(before, after)
    samples = _predicted(guest).calibration.samples
    load = interval_between(after, loaded, loop_lost_share_by_cpu=samples.lost_share_by_cpu)
    attribution = attribution_of(samples, ConcurrentObservations(NOT_TRACED, after, load))
    calibrated = replace(_predicted(guest), attribution=attribution)
    rules = rules_for(Rules(is_profile_given=False), after)
    return judge(Case(after, sample, calibrated=calibrated, under_load=load, rules=rules), checks)


@cache
def _sound(guest: int) -> tuple[Verdict, tuple[str, ...]]:
    machine = WrittenMachine(*_GUESTS[guest].moments, answers=ANSWERS)
    return _judged(guest, machine), tuple(path for path in paths_of(machine) if _SWEPT.fullmatch(path))


@cache
def _checks(guest: int) -> list[Check]:
    """Return the blocking checks; the noise floor's check keeps its answer, which depends on the calibration alone."""
    floor = finding(_sound(guest)[0], FLOOR_CHECK)
    return [replace(check, answer=lambda _: floor.answer) if check is floor.check else check for check in _BLOCKING]


def _is_fact(path: str, fault: str) -> bool:
    """Return whether the fault means that a process has ended, or leaves a valid kernel command line."""
    is_process = re.fullmatch(r"/proc/\d+/(stat|task/.*)?", path) is not None
    return (is_process and fault in (ABSENT, EMPTY)) or (path == "/proc/cmdline" and fault == TRUNCATED)


def _improvements(guest: int, fault: str, since: int) -> Iterator[str]:
    sound, paths = _sound(guest)
    statuses = {result.check.id: result.status for result in sound.findings}
    for path in paths:
        if fault not in faults_of(path) or _is_fact(path, fault):
            continue
        machine = _Machine(*_GUESTS[guest].moments, answers=ANSWERS).since(since)
        verdict = _judged(guest, machine.take(path, fault), _checks(guest))
        if verdict.verdict == Outcome.STABLE != sound.verdict:
            yield f"{sound.verdict} became stable where {path} is {fault}"
        for result in verdict.findings:
            before = statuses[result.check.id]
            is_better = RANK[result.status] < RANK[before] and (before, result.status) != ("fail", "unknown")
            if is_better and result.answer.reason is None:
                became = f"{result.check.id}: {before} became {result.status}: {result.answer.said}"
                yield f"{became} where {path} is {fault}"


@pytest.mark.parametrize("guest", range(len(_GUESTS)), ids=[guest.name for guest in _GUESTS])
def test_the_machine_is_judged_by_its_effect_as_a_virtual_machine(guest: int) -> None:
    verdict = _sound(guest)[0]
    assert (verdict.profile, verdict.verdict) == ("shared", _GUESTS[guest].outcome)


_for_all_guests = pytest.mark.parametrize("guest", range(len(_GUESTS)), ids=[guest.name for guest in _GUESTS])
_for_both_moments = pytest.mark.parametrize("since", [0, _AFTER_SAMPLE], ids=["from the start", "after the sample"])


@_for_both_moments
@_for_all_guests
def test_denied_files_never_make_a_better_answer(guest: int, since: int) -> None:
    assert list(_improvements(guest, DENIED, since)) == []


@pytest.mark.slow
@_for_both_moments
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != DENIED])
@_for_all_guests
def test_files_that_are_absent_empty_or_cut_never_make_a_better_answer(guest: int, fault: str, since: int) -> None:
    assert list(_improvements(guest, fault, since)) == []
