"""Throttling and cooling: under load, on many cores, and without counters."""

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


def _finding(check_id: str, *moments: Files) -> Finding:
    return finding_on(WrittenMachine(*moments, answers=ANSWERS), check_id, frozenset({2, 3}))


@pytest.mark.parametrize(
    ("check_id", "path"),
    [("throttled", throttle_path(2, "package")), ("cooling-active", f"{THERMAL}/cooling_device1/cur_state")],
)
def test_counters_that_cannot_be_read_after_the_load_are_unknown(check_id: str, path: str) -> None:
    moments = [quiet_files(), quiet_files(3.0), quiet_files(6.0) | {path: "rubbish\n"}]
    assert _finding(check_id, *moments).status == "unknown"


def test_throttling_blocks_and_so_does_cooling() -> None:
    hot = {throttle_path(3, "core"): "13\n", f"{THERMAL}/cooling_device1/cur_state": "1\n"}
    findings = [_finding(name, quiet_files(), quiet_files(3.0) | hot) for name in ("throttled", "cooling-active")]
    assert [finding.is_blocking_failure for finding in findings] == [True, True]


def test_where_no_counter_exists_the_measured_drift_answers() -> None:
    missing = [f"{CPUS}/cpu{cpu}/thermal_throttle" for cpu in range(4)]
    moments = (quiet_files(), quiet_files(3.0), loaded_files())
    finding = _finding("throttled", *(without(files, *missing) for files in moments))
    assert (finding.status, finding.answered_by) == ("unknown", "throughput-drifts")


def test_throttling_by_the_power_limit_has_a_fix_and_by_heat_none() -> None:
    counts = {limited_path(cpu, "package"): "7\n" for cpu in (2, 3)}
    reached = quiet_files(3.0) | counts | {limited_path(2, "package"): "13\n"}
    fix = _finding("throttled", quiet_files() | counts, reached).answer.fix
    assert fix is not None
    assert fix.persist is not None
    assert "PL1, now 125 W" in fix.persist
    hot = quiet_files(3.0) | {throttle_path(3, "core"): "13\n"}
    assert _finding("throttled", quiet_files(), hot).answer.fix is None


def test_a_count_of_the_power_limit_that_is_gone_after_the_load_is_unknown() -> None:
    counts = {limited_path(cpu, "package"): "7\n" for cpu in (2, 3)}
    assert _finding("throttled", quiet_files() | counts, quiet_files(3.0)).status == "unknown"


def _many_cores(seconds: float, thermal: int, column: int = _UNCOUNTED) -> dict[str, str]:
    """Return the files of a machine with more cores than are read, and a row of thermal interrupts."""
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
        (_many_cores(3.0, 0), "pass"),
        (_many_cores(3.0, 1), "unknown"),
        (_many_cores(3.0, 1, column=1), "pass"),  # interrupt on a core whose throttle count is read and constant
        (_many_cores(3.0, 0) | {throttle_path(1, "core"): "2\n"}, "fail"),
    ],
)
def test_cores_that_are_not_read_pass_without_a_thermal_interrupt(after: Files, status: str) -> None:
    machine = WrittenMachine(_many_cores(0.0, 0), after, answers=ANSWERS)
    assert finding_on(machine, "throttled", _TARGET).status == status


def test_counters_of_at_most_a_fixed_number_of_cores_are_read() -> None:
    machine = WrittenMachine(_many_cores(0.0, 0), _many_cores(3.0, 0), answers=ANSWERS)
    judged(machine, _TARGET)
    read = [path for path in machine.reads if path.endswith("_throttle_count")]
    assert len(read) == 2 * (MOST_CORES + 1)


def test_one_cpu_of_a_core_answers_for_its_sibling() -> None:
    siblings = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": "2-3\n" for cpu in (2, 3)}
    hot = {throttle_path(2, "core"): "13\n"}
    finding = _finding("throttled", quiet_files() | siblings, quiet_files(3.0) | siblings | hot)
    assert (finding.status, set(finding.answer.cpus)) == ("fail", {2, 3})


def test_a_device_that_began_to_cool_under_load_is_unknown_where_its_kind_is() -> None:
    device = "/sys/class/thermal/cooling_device1"
    assert answered("cooling-active", {f"{device}/type": "rubbish\n"}).status == "pass"
    assert (
        answered("cooling-active", {f"{device}/type": "rubbish\n"}, {f"{device}/cur_state": "1\n"}).status == "unknown"
    )


def test_cpus_of_unknown_packages_are_judged_by_their_own_package_counts() -> None:
    unnamed = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": "\n" for cpu in (2, 3)}
    count = f"{CPUS}/cpu3/thermal_throttle/package_throttle_count"
    assert answered("throttled", unnamed | {count: "0\n"}, {count: "9\n"}).status == "fail"
