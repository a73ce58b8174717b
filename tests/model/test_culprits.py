"""Who had a traced CPU: threads of one name together where there are many."""

from __future__ import annotations

from noisewatch.model.culprits import TracedCpu, culprits_of
from noisewatch.sources.trace import parse_trace
from tests.traced import written_trace

_MS = 1_000_000


def _traced(*shells_ns: int) -> TracedCpu:
    """CPU 2 with so many threads of one name beside what there is."""
    said = written_trace()
    for number, ns in enumerate(shells_ns):
        said["cpus"][0]["sources"].append(["thread", "sh", 1_000 + number, None])
        said["cpus"][0]["spells"].append([2, ns, ns, [ns, 2]])
        said["threads"][str(1_000 + number)] = {"name": "sh", "pid": 1_000 + number, "is_kernel": False}
    return culprits_of(parse_trace(said), None)[0]


def _shells(traced: TracedCpu) -> list[tuple[str, int | None, int | None, int, int | None]]:
    found = [each for each in traced.culprits if each.disturbance.name.startswith("sh")]
    return [
        (each.disturbance.name, each.disturbance.pid, each.disturbance.tid, each.count, each.disturbance.stolen_ns)
        for each in found
    ]


def test_a_few_threads_of_one_name_are_told_apart() -> None:
    assert _shells(_traced(3 * _MS, _MS)) == [("sh", 1000, 1000, 2, 3 * _MS), ("sh", 1001, 1001, 2, _MS)]


def test_many_are_one_source_and_belong_to_no_process() -> None:
    assert _shells(_traced(*[_MS] * 5)) == [("sh (5 threads)", None, None, 10, 5 * _MS)]


def test_the_one_that_has_most_of_it_stands_by_itself() -> None:
    assert _shells(_traced(90 * _MS, *[_MS] * 4)) == [
        ("sh", 1000, 1000, 2, 90 * _MS),
        ("sh (4 threads)", None, None, 8, 4 * _MS),
    ]


def test_no_time_is_lost_by_it() -> None:
    apart, together = _traced(3 * _MS, 2 * _MS), _traced(*[_MS] * 5)
    assert apart.stolen_ns == together.stolen_ns
