"""The calibration's processes: short ones, on whatever CPU there is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisewatch.errors import CannotMeasure
from noisewatch.machine.spinning.calibration.buffer import GAPS, OF_WORK, plan_slots
from noisewatch.machine.spinning.calibration.run import Calibrating, Progress, calibrate
from noisewatch.machine.spinning.loops import PYTHON, load_core
from tests.plumbing.waiting import descendants_of, is_alive, wait_until

_CPU = max(os.sched_getaffinity(0))
_SHORT_NS = 500_000_000
_CORES = sorted({PYTHON, load_core().NAME})


def _wanted(
    core: str = PYTHON, cpus: tuple[int, ...] = (_CPU,), command: tuple[str, ...] = (), length_ns: int = _SHORT_NS
) -> Calibrating:
    slots = plan_slots(cpus, {}, {}, length_ns, bool(command))
    return Calibrating(slots, command=command, core=core)


def _nobody(progress: Progress) -> None:
    """Watches nothing."""


def _only_cpu(said: dict[str, Any]) -> dict[str, Any]:
    (cpu,) = said["cpus"]
    return cpu  # type: ignore[no-any-return]


@pytest.mark.parametrize("core", _CORES)
def test_a_calibration_measures_all_that_its_core_can(core: str) -> None:
    cpu: dict[str, Any] = {}
    for longer in (1, 4, 16):  # where others have the CPU meanwhile, a short one may pass without a turn
        cpu = _only_cpu(calibrate(_wanted(core, length_ns=longer * _SHORT_NS), _nobody))
        assert (cpu["cpu"], cpu["state"], cpu["error"]) == (_CPU, "done", 0)
        assert cpu["spun_ns"] > 0
        if len(cpu["work"]) > 100 and all(len(cpu[series]) > 10 for series in OF_WORK):
            return
    pytest.fail(f"too few samples: { {series: len(cpu[series]) for series in OF_WORK} }")


def test_what_is_measured_can_be_watched_growing() -> None:
    seen: list[int] = []
    calibrate(_wanted(), lambda progress: seen.append(progress.buffers[_CPU].counts["work"][0]), look_s=0.02)
    assert len(set(seen)) > 2
    assert seen == sorted(seen)


def test_a_cpu_that_cannot_be_pinned_to_says_so() -> None:
    cpu = _only_cpu(calibrate(_wanted(cpus=(4095,)), _nobody))
    assert (cpu["state"], cpu["error"]) == ("refused", 22)


def test_the_users_command_is_run_at_least_three_times() -> None:
    cpu = _only_cpu(calibrate(_wanted(command=("true",)), _nobody))
    assert cpu["state"] == "done"
    assert len(cpu["command"]) >= 6
    assert all(length > 0 for length in cpu["command"][1::2])


@pytest.mark.parametrize(("command", "error"), [(("false",), 1), (("/no/such/program",), 258)])
def test_a_command_that_fails_is_told(command: tuple[str, ...], error: int) -> None:
    cpu = _only_cpu(calibrate(_wanted(command=command), _nobody))
    assert (cpu["state"], cpu["error"]) == ("failed", error)


def test_who_watches_may_stop_it_and_nothing_is_left_running() -> None:
    def stop(progress: Progress) -> None:
        raise CannotMeasure("stopped")

    with pytest.raises(CannotMeasure, match="stopped"):
        calibrate(replace(_wanted(), slots=plan_slots([_CPU], {}, {}, 60 * 10**9)), stop)
    _wait_until_none_is_left(os.getpid())


def test_a_calibration_ends_with_the_round_in_which_it_is_enough() -> None:
    asked: list[dict[str, Any]] = []

    def is_enough(so_far: dict[str, Any]) -> bool:
        asked.append(so_far)
        return len(asked) == 2

    slots = plan_slots([_CPU], {}, {}, 20 * 10**9)
    said = calibrate(Calibrating(slots, core="python", is_enough=is_enough), _nobody)
    assert [_only_cpu(each)["state"] for each in (*asked, said)] == ["done"] * 3
    assert 3 * 10**9 <= asked[0]["length_ns"] < asked[1]["length_ns"] < said["length_ns"] < 10 * 10**9
    kept, planned = _only_cpu(said)["slots"], slots[_CPU]
    assert kept == planned[: len(kept)]
    assert planned[len(kept)][:2] == (GAPS, said["length_ns"]), "a whole round"
    assert all(_only_cpu(said)[kind][-2] < said["length_ns"] for kind in OF_WORK)


def _calibrating(command: tuple[str, ...] = ()) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A process that calibrates, and its descendants: the host, its spinner and, if there is one, the command."""
    program = (
        "from noisewatch.machine.spinning.calibration.buffer import OF_WORK, plan_slots\n"
        "from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate\n"
        f"slots = plan_slots([{_CPU}], {{}}, {{}}, {10 if command else 60} * 10**9, {bool(command)})\n"
        f"calibrate(Calibrating(slots, command={command}, core='python'), "
        "lambda progress: print('runs', flush=True) if progress.done_s > 0.1 else None)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if parent.stdout is None:
        raise AssertionError
    assert parent.stdout.readline() == b"runs\n"
    wait_until(lambda: len(descendants_of(parent.pid)) == 2 + bool(command), 30.0)
    return parent, descendants_of(parent.pid)


_SLEEPS = ("sleep", "600")


@pytest.mark.parametrize("command", [(), _SLEEPS], ids=["loop", "command"])
@pytest.mark.parametrize("who", ["parent", "host", "both", "spinner"])
def test_who_is_killed_leaves_nothing_running(command: tuple[str, ...], who: str) -> None:
    parent, descendants = _calibrating(command)
    victims = {"parent": [parent.pid], "host": descendants[:1], "spinner": descendants[1:2]}
    for pid in victims.get(who, [descendants[0], parent.pid]):
        os.kill(pid, signal.SIGKILL)
    parent.communicate()
    wait_until(lambda: not any(is_alive(pid) for pid in descendants), 5.0)  # the command's time is not over then


def test_another_noisewatch_sees_by_the_name_who_spins() -> None:
    parent, descendants = _calibrating()
    names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in descendants}
    parent.kill()
    parent.communicate()
    assert names == {"noisewatch-spin"}


def _wait_until_none_is_left(pid: int) -> None:
    wait_until(lambda: not [each for each in descendants_of(pid) if is_alive(each) and _is_spinner(each)])


def _is_spinner(pid: int) -> bool:
    try:
        return b"calibrator.host" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
