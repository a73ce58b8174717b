"""Throttling and cooling: what only shows under load, on many cores, or never."""

from __future__ import annotations

import pytest

from noisewatch.judgement.verdict import Finding
from noisewatch.kernel.frequency.heat import MOST_CORES, limited_path, throttle_path
from tests.judgement.judging import answered, finding_on, judged
from tests.written import Files, WrittenMachine, without
from tests.written.quiet.frequency import THERMAL
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, quiet_files

_CPUS = range(MOST_CORES + 4)
_TARGET = frozenset(_CPUS)
_UNCOUNTED = MOST_CORES + 2


def _found(check_id: str, *moments: Files) -> Finding:
    return finding_on(WrittenMachine(*moments, answers=ANSWERS), check_id, frozenset({2, 3}))


@pytest.mark.parametrize(
    ("check_id", "path"),
    [("throttled", throttle_path(2, "package")), ("cooling-active", f"{THERMAL}/cooling_device1/cur_state")],
)
def test_what_cannot_be_read_after_the_load_is_unknown(check_id: str, path: str) -> None:
    moments = [quiet_files(), quiet_files(3.0), quiet_files(6.0) | {path: "rubbish\n"}]
    assert _found(check_id, *moments).status == "unknown"


def test_throttling_blocks_and_so_does_cooling() -> None:
    hot = {throttle_path(3, "core"): "13\n", f"{THERMAL}/cooling_device1/cur_state": "1\n"}
    found = [_found(name, quiet_files(), quiet_files(3.0) | hot) for name in ("throttled", "cooling-active")]
    assert [each.is_blocking_failure for each in found] == [True, True]


def test_where_no_counter_exists_the_measured_drift_answers() -> None:
    gone = [f"{CPUS}/cpu{cpu}/thermal_throttle" for cpu in range(4)]
    moments = (quiet_files(), quiet_files(3.0), loaded_files())
    found = _found("throttled", *(without(each, *gone) for each in moments))
    assert (found.status, found.answered_by) == ("unknown", "throughput-drifts")


def test_what_the_power_limit_slowed_is_told_what_to_do_about_it_and_what_heat_slowed_is_not() -> None:
    counts = {limited_path(cpu, "package"): "7\n" for cpu in (2, 3)}
    reached = quiet_files(3.0) | counts | {limited_path(2, "package"): "13\n"}
    fix = _found("throttled", quiet_files() | counts, reached).answer.fix
    assert fix is not None
    assert fix.persist is not None
    assert "PL1, now 125 W" in fix.persist
    assert _found("throttled", quiet_files(), quiet_files(3.0) | {throttle_path(3, "core"): "13\n"}).answer.fix is None


def test_a_count_of_the_power_limit_that_is_gone_after_the_load_is_unknown() -> None:
    counts = {limited_path(cpu, "package"): "7\n" for cpu in (2, 3)}
    assert _found("throttled", quiet_files() | counts, quiet_files(3.0)).status == "unknown"


def _large(seconds: float, thermal: int, column: int = _UNCOUNTED) -> dict[str, str]:
    """More cores than counters are read of, with a row of thermal interrupts."""
    ticks = round(seconds * 100)
    counts = [thermal if cpu == column else 0 for cpu in _CPUS]
    header = " ".join(f"CPU{cpu}" for cpu in _CPUS)
    row = " ".join(map(str, counts))
    files = quiet_files(seconds) | {
        f"{CPUS}/online": f"0-{_CPUS[-1]}\n",
        "/proc/interrupts": f"{header}\nLOC: {' '.join([str(ticks)] * len(_CPUS))} ticks\nTRM: {row} Thermal events\n",
    }
    for cpu in _CPUS:
        files |= {
            f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu}\n",
            f"{CPUS}/cpu{cpu}/topology/physical_package_id": "0\n",
            throttle_path(cpu, "core"): "1\n",
            throttle_path(cpu, "package"): "1\n",
        }
    return files


@pytest.mark.parametrize(
    ("after", "status"),
    [
        (_large(3.0, 0), "pass"),
        (_large(3.0, 1), "unknown"),
        (_large(3.0, 1, column=1), "pass"),  # of a core that is counted, and counted nothing
        (_large(3.0, 0) | {throttle_path(1, "core"): "2\n"}, "fail"),
    ],
)
def test_cores_beyond_those_that_are_read_are_calm_without_a_thermal_interrupt(after: Files, status: str) -> None:
    machine = WrittenMachine(_large(0.0, 0), after, answers=ANSWERS)
    assert finding_on(machine, "throttled", _TARGET).status == status


def test_so_many_counters_are_read_and_no_more() -> None:
    machine = WrittenMachine(_large(0.0, 0), _large(3.0, 0), answers=ANSWERS)
    judged(machine, _TARGET)
    read = [path for path in machine.reads if path.endswith("_throttle_count")]
    assert len(read) == 2 * (MOST_CORES + 1)


def test_one_cpu_of_a_core_answers_for_its_sibling() -> None:
    siblings = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": "2-3\n" for cpu in (2, 3)}
    hot = {throttle_path(2, "core"): "13\n"}
    found = _found("throttled", quiet_files() | siblings, quiet_files(3.0) | siblings | hot)
    assert (found.status, set(found.answer.cpus)) == ("fail", {2, 3})


def test_a_device_that_began_to_cool_under_load_is_unknown_where_its_kind_is() -> None:
    device = "/sys/class/thermal/cooling_device1"
    assert answered("cooling-active", {f"{device}/type": "rubbish\n"}).status == "pass"
    assert (
        answered("cooling-active", {f"{device}/type": "rubbish\n"}, {f"{device}/cur_state": "1\n"}).status == "unknown"
    )


def test_of_cpus_whose_packages_are_not_told_each_is_asked_for_its_package() -> None:
    unnamed = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": "\n" for cpu in (2, 3)}
    count = f"{CPUS}/cpu3/thermal_throttle/package_throttle_count"
    assert answered("throttled", unnamed | {count: "0\n"}, {count: "9\n"}).status == "fail"
