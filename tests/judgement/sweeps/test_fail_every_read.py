"""No read that fails turns a fault into a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle

import pytest

from noisewatch.errors import NoisewatchError, Unreadable
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.terms import Outcome, Severity, Status
from tests.judgement.judging import judged, judged_by_settings
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, process, quiet_files, stat_file

_LEAST_READS = 150
_BLOCKING = [check for check in CATALOGUE if check.severity == Severity.BLOCKING]  # others cannot prevent "stable"


class FaultyMachine(WrittenMachine):
    """A machine whose n-th read returns what `fault` makes of it; reading a directory counts as a read."""

    def __init__(self, *moments: Files, fault: Callable[[str, bytes], bytes], fails_at: int) -> None:
        super().__init__(*moments, answers=ANSWERS)
        self._fault = fault
        self._fails_at = fails_at
        self.failed_path: str | None = None

    def read_bytes(self, path: str) -> bytes:
        content = super().read_bytes(path)
        if len(self.reads) != self._fails_at:
            return content
        self.failed_path = path
        return self._fault(path, content)

    def list_names(self, path: str) -> list[str]:
        names = super().list_names(path)
        if len(self.reads) != self._fails_at:
            return names
        self.failed_path = path
        return self._fault(path, "\n".join(names).encode()).decode("utf-8", "replace").splitlines()


def denied(path: str, content: bytes) -> bytes:
    raise Unreadable(path, "permission denied")


def empty(path: str, content: bytes) -> bytes:
    return b""


def cut(path: str, content: bytes) -> bytes:
    return content[: len(content) // 2]


def rubbish(path: str, content: bytes) -> bytes:
    return b"\xff\x00rubbish\n"


FAULTS = (denied, empty, cut, rubbish)


def _noisy(seconds: float = 0.0) -> dict[str, str]:
    """Return the files of the quiet machine with every blocking fault that can be measured."""
    ticks = round(seconds * 100)
    files = quiet_files(seconds) | process(900, "hog", 2, 1_000_000 + ticks * 9_000_000, allowed="0-3")
    files["/proc/stat"] = stat_file({2: ticks * 9 // 10, 3: ticks // 10}, ticks, {3: ticks // 50})
    rows = files["/proc/interrupts"].splitlines()
    rows[1] = f" 24: 500 0 {ticks} 0 PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0"
    files["/proc/interrupts"] = "\n".join(rows) + "\n"
    files["/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"] = "powersave\n"
    files["/sys/class/power_supply/AC/online"] = "0\n"
    return files


def _read_count(moments: tuple[Files, ...]) -> int:
    machine = WrittenMachine(*moments, answers=ANSWERS)
    judged(machine)
    return len(machine.reads)


def _statuses(machine: WrittenMachine, checks: Iterable[Check] = CATALOGUE) -> dict[str, str]:
    return {finding.check.id: finding.status for finding in judged(machine, checks=checks).findings}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_failing_read_turns_a_fault_into_a_pass(fault: Callable[[str, bytes], bytes]) -> None:
    """Inject two of the faults into each read."""
    moments = (_noisy(), _noisy(3.0))
    sound = _statuses(WrittenMachine(*moments, answers=ANSWERS))
    faults = {check_id for check_id, status in sound.items() if status == "fail"}
    checks = [check for check in CATALOGUE if check.id in faults or check.id == "target-cpu-unusable"]
    false_calms = []
    for number in range(1 + FAULTS.index(fault) % 2, _read_count(moments) + 1, 2):
        machine = FaultyMachine(*moments, fault=fault, fails_at=number)
        statuses = _statuses(machine, checks)
        false_passes = {check_id for check_id in faults if statuses[check_id] == Status.PASS}
        # Without the list of isolated CPUs other CPUs are judged, and whether these are the target is unknown.
        if false_passes and statuses["target-cpu-unusable"] != Status.UNKNOWN:
            false_calms.append((number, machine.failed_path, false_passes))
    assert len(faults) >= 5
    assert _read_count(moments) > _LEAST_READS
    assert false_calms == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_failing_read_still_gives_a_verdict(fault: Callable[[str, bytes], bytes]) -> None:
    """Inject one of the faults into each read, without a calibration that could answer for missing files."""
    moments = (quiet_files(), quiet_files(3.0))
    verdicts: set[str] = set()
    for number in range(1 + FAULTS.index(fault), _read_count(moments) + 1, len(FAULTS)):
        try:
            machine = FaultyMachine(*moments, fault=fault, fails_at=number)
            verdicts.add(judged(machine, is_calibrated=False).verdict)
        except NoisewatchError as error:
            verdicts.add(str(error))
    assert verdicts <= {"stable", "unstable", "unknown"}
    assert "unknown" in verdicts


def test_no_failing_read_of_settings_makes_a_faulty_machine_stable() -> None:
    """Inject one of the faults into each read."""
    files = _noisy()
    false_calms = []
    machine = WrittenMachine(files, answers=ANSWERS)
    judged_by_settings(machine)
    for number, fault in zip(range(1, len(machine.reads) + 1), cycle(FAULTS)):
        faulty = FaultyMachine(files, fault=fault, fails_at=number)
        if judged_by_settings(faulty, checks=_BLOCKING).verdict == Outcome.STABLE:
            false_calms.append((fault.__name__, faulty.failed_path))
    assert len(machine.reads) > _LEAST_READS // 2
    assert false_calms == []
