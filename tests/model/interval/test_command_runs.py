"""The command of `noisewatch run` is not noise on the run's CPUs; on other CPUs it counts like any process."""

from __future__ import annotations

import json

from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import Interval
from tests.model.interval.sampling import interval_of
from tests.written import SECOND_NS
from tests.written.quiet_machine import process, stat_file

_RUN = {
    "schema": 1,
    "owner": "900 1000 4026531836 noisewatch",  # a written process starts at tick 100 + its PID
    "stage": "running",
    "cpus": "2-3",
    "programs": ["bench"],
    "wanted": 10,
    "number": 7,
    "command": 0,
    "since_ns": 1,
    "counts": [6, 0, 0],
    "repetitions": [],
}
_STATUS = json.dumps(_RUN)
_WATCHING = process(900, "noisewatch", 0, 0, allowed="0-1")


def _culprits(interval: Interval, cpu: int) -> list[str]:
    return [culprit.name for culprit in disturbances_of(interval, cpu) if culprit.kind in ("thread", "unexplained")]


def _run_interval(cpus: str = "2-3", *, has_status: bool = True, cpu: int = 2, children: int = 0) -> Interval:
    """Return an interval in which the command and a hog each ran for a second on `cpu`."""

    def at(ran_ns: int) -> dict[str, str]:
        bench = process(901, "bench", cpu, ran_ns, parent=900, allowed="2-3")
        return {**_WATCHING, **bench, **process(950, "hog", cpu, ran_ns, allowed="0-3")}

    after = at(SECOND_NS) | process(900, "noisewatch", 0, 1_000, allowed="0-1", children=children)
    after |= {"/proc/stat": stat_file({cpu: 200 + children}, 300)}
    runs = [json.dumps({**_RUN, "cpus": cpus})] if has_status else []
    return interval_of(at(0), after, runs=runs)


def test_command_is_separate_from_processes_that_disturb_it() -> None:
    assert sorted(_culprits(_run_interval(has_status=False), 2)) == ["bench", "hog"]
    interval = _run_interval()
    assert _culprits(interval, 2) == ["hog"]
    assert [run.name for run in interval.commands_on(2)] == ["bench"]
    assert round(interval.command_share(2), 2) == 0.33
    assert round(interval.busy_share(2) or 0.0, 2) == 0.33


def test_command_outside_its_cpus_is_noise() -> None:
    assert sorted(_culprits(_run_interval(cpus="3"), 2)) == ["bench", "hog"]
    assert _run_interval(cpus="3").command_share(2) == 0.0


def test_process_that_watches_the_command_is_not_the_command() -> None:
    watching = {**_WATCHING, **process(900, "noisewatch", 2, SECOND_NS)}
    after = watching | {"/proc/stat": stat_file({2: 100}, 300)}
    interval = interval_of({**_WATCHING, **process(900, "noisewatch", 2, 0)}, after, runs=[_STATUS])
    assert _culprits(interval, 2) == ["noisewatch"]


def test_time_of_finished_repetitions_is_the_commands() -> None:
    interval = _run_interval(children=90)
    assert _culprits(interval, 2) == ["hog"]
    assert round(interval.command_share(2), 2) == 0.63
    assert "unattributed time" in _culprits(_run_interval(children=90, has_status=False), 2)


def test_two_commands_on_one_cpu_disturb_each_other() -> None:
    other = json.dumps({**_RUN, "owner": "910 1010 4026531836 noisewatch", "cpus": "1-2"})

    def at(ran_ns: int) -> dict[str, str]:
        one = {**_WATCHING, **process(901, "bench", 2, ran_ns, parent=900)}
        return {**one, **process(910, "noisewatch", 0, 0), **process(911, "other", 2, ran_ns, parent=910)}

    interval = interval_of(at(0), at(SECOND_NS) | {"/proc/stat": stat_file({2: 200}, 300)}, runs=[_STATUS, other])
    assert sorted(_culprits(interval, 2)) == ["bench", "other"]
    assert not interval.commands_on(2)


def test_finished_children_of_two_commands_on_one_cpu_are_noise() -> None:
    others = {**_RUN, "owner": "910 1010 4026531836 noisewatch"}
    runs = [json.dumps({**run, "cpus": "2"}) for run in (_RUN, others)]

    def at(ran_ns: int, children: int) -> dict[str, str]:
        one, other = (process(pid, "noisewatch", 0, ran_ns, children=children) for pid in (900, 910))
        return {**one, **other}

    interval = interval_of(at(0, 0), at(1_000, 45) | {"/proc/stat": stat_file({2: 90}, 300)}, runs=runs)
    assert _culprits(interval, 2)
    assert interval.command_share(2) == 0.0
    assert round(interval.busy_share(2) or 0.0, 1) == 0.3


def test_unattributed_time_stays_noise() -> None:
    """The command is given no more time than it used."""
    after = {**_WATCHING, **process(901, "bench", 2, SECOND_NS, parent=900)} | {"/proc/stat": stat_file({2: 250}, 300)}
    before = {**_WATCHING, **process(901, "bench", 2, 0, parent=900)}
    interval = interval_of(before, after, runs=[_STATUS])
    assert _culprits(interval, 2) == ["unattributed time"]
    assert round((interval.unexplained_ns(2) or 0) / SECOND_NS, 1) == 1.5
