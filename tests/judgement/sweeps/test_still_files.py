"""A file whose counters should have advanced, but did not (damaged, cached or covered), proves no quiet machine."""

from __future__ import annotations

from functools import cache

import pytest

from noisewatch.judgement.verdict import Finding
from tests.judgement.example import Example, all_examples, first_failures
from tests.judgement.judging import answered, finding_on
from tests.written import WrittenMachine, mounted
from tests.written.quiet_machine import ANSWERS, loaded_files, quiet_files

_INTERRUPTS, _SOFTIRQS, _VMSTAT = "/proc/interrupts", "/proc/softirqs", "/proc/vmstat"
_SCHEDSTAT, _STAT, _CPU_STAT = "/proc/schedstat", "/proc/stat", "/sys/fs/cgroup/cpu.stat"
_for_all_paths = pytest.mark.parametrize("path", [_INTERRUPTS, _SOFTIRQS, _VMSTAT, _SCHEDSTAT])
_RANK = {"pass": 0, "not-applicable": 0, "warn": 1, "unknown": 2, "fail": 3}


def _at(second: int) -> dict[str, str]:
    """Return more files for the quiet machine: a quota that has never throttled, and the run time of tasks."""
    rows = "".join(f"cpu{cpu} 0 0 0 0 0 0 {1000 + second} 0 9\n" for cpu in range(4))
    return {
        _SCHEDSTAT: f"version 15\n{rows}",
        "/sys/fs/cgroup/cpu.max": "400000 100000\n",
        _CPU_STAT: f"nr_periods {40 + second}\nnr_throttled 0\nthrottled_usec 0\n",
    }


class _StillMachine(WrittenMachine):
    """A machine with one file that keeps its content of the first snapshot."""

    def hold(self, path: str) -> _StillMachine:
        self._held = path
        return self

    def read_bytes(self, path: str) -> bytes:
        if path == self._held and path in self._moments[0]:
            return self._moments[0][path].encode("utf-8", "surrogateescape")
        return super().read_bytes(path)


def _finding(check_id: str, held: str) -> Finding:
    """Return the check's finding on the quiet machine while the file `held` does not change."""
    moments = (quiet_files() | _at(0), quiet_files(3.0) | _at(3), loaded_files() | _at(6))
    return finding_on(_StillMachine(*moments, answers=ANSWERS).hold(held), check_id, frozenset({2, 3}))


@pytest.mark.parametrize(
    ("check_id", "path"),
    [
        ("device-interrupts-on-target", _INTERRUPTS),
        ("machine-checks", _INTERRUPTS),
        ("profiler-runs", _INTERRUPTS),
        ("ipis-on-target", _INTERRUPTS),
        ("timers-on-target", _INTERRUPTS),
        ("tick-not-stopped", _INTERRUPTS),
        ("softirqs-on-target", _SOFTIRQS),
        ("target-cpu-busy", _STAT),
        ("target-cpu-busy", _SCHEDSTAT),
        ("tasks-on-target", _SCHEDSTAT),
        ("busy-cache-neighbour", _SCHEDSTAT),
        ("swapping", _VMSTAT),
        ("memory-reclaimed", _VMSTAT),
        ("memory-compacted", _VMSTAT),
        ("khugepaged-collapses-pages", _VMSTAT),
        ("cpu-quota", _CPU_STAT),
    ],
)
def test_a_still_file_is_the_reason_of_an_unknown_answer(check_id: str, path: str) -> None:
    assert _finding(check_id, "").status in ("pass", "warn")
    finding = _finding(check_id, path)
    assert (finding.status, f"{path}" in (finding.answer.reason or "")) == ("unknown", True)
    assert "did not advance" in (finding.answer.reason or "")


@_for_all_paths
def test_a_still_file_makes_no_better_answer(path: str) -> None:
    assert [better for example in first_failures() if (better := _improvement_when_still(example, path))] == []


@pytest.mark.slow
@_for_all_paths
def test_a_still_file_makes_no_better_answer_on_any_example(path: str) -> None:
    examples = [example for example in all_examples() if _RANK[example.status] > 0]
    assert [better for example in examples if (better := _improvement_when_still(example, path))] == []


@cache
def _sound(example: Example) -> Finding:
    return example.finding_of(example.machine())


def _improvement_when_still(example: Example, path: str) -> str | None:
    sound = _sound(example)
    held = example.finding_of(example.machine(_StillMachine).hold(path))
    if _RANK[held.status] >= _RANK[sound.status] or held.status in ("unknown", "not-applicable"):
        return None
    if held.status == "warn" and held.answer.reason is not None:
        return None  # the warning's reason is that the truth may be worse
    return f"{example.name}: {sound.status} became {held.status}: {held.answer.said}"


def test_a_still_cpuacct_usage_file_is_unknown() -> None:
    folder = "/sys/fs/cgroup/cpuacct"
    usage = f"{folder}/cpuacct.usage_percpu"
    mounts = mounted(f"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup {folder} cgroup rw,cpuacct 0 0\n")
    both = {f"{folder}/release_agent": "\n", usage: "5 5 5 5\n", **mounts}
    assert answered("target-cpu-busy", both, {usage: "6 5 5 5\n"}).status == "pass"
    answer = answered("target-cpu-busy", both)
    assert (answer.status, answer.reason is not None and "usage_percpu did not advance" in answer.reason) == (
        "unknown",
        True,
    )


def test_an_interrupt_is_not_about_to_leave_where_the_interrupt_table_is_still() -> None:
    leaving = {"/proc/irq/24/effective_affinity_list": "2\n"}
    assert answered("irq-routed-to-target", leaving).status == "pass"
    still = {_INTERRUPTS: quiet_files()[_INTERRUPTS]}
    assert answered("irq-routed-to-target", leaving | still).status == "warn"


def test_a_table_is_not_still_where_a_count_of_another_cpu_advanced() -> None:
    still = quiet_files()[_INTERRUPTS]
    moved = still.replace("RES:        100 ", "RES:        101 ")
    assert moved != still
    assert answered("device-interrupts-on-target", {_INTERRUPTS: still}, {_INTERRUPTS: moved}).status == "pass"
