"""Commands whose control group is frozen while they run: on written machines, and on this host where it lets us."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisewatch.judgement.run.reasons import ReasonKind
from noisewatch.kernel.cgroup.mounts import read_unified_mount
from noisewatch.kernel.reader import Reader
from noisewatch.machine.live import LiveMachine
from noisewatch.model.run.freezing import NOT_FROZEN, Freezing
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import run_series
from noisewatch.operations.run.watch import FreezeWatch
from tests.kernel.cgroup.test_freezing import PID, ROOT, group_v2, machine_files
from tests.operations.listening import SilentListener
from tests.plumbing.waiting import wait_until
from tests.written import Files, WrittenMachine, without

MS = 1_000_000
_FROZEN_S = 0.4


def _watched(*moments: Files, cgroup: str | None = None) -> Freezing:
    """Process 9 is looked at in all moments but the first, before it is started, and the last, when it has ended."""
    machine = WrittenMachine(*moments, seconds_between=0.1)
    watch = FreezeWatch(machine)
    watch.prepare(cgroup)
    for _ in moments[2:]:
        machine.advance()
        watch.sample(9)
    machine.advance()
    return watch.end(10_000 * MS)


def _moment(*, is_frozen: bool = False, frozen_us: int | None = None) -> dict[str, str]:
    return machine_files("0::/a\n", group_v2("/a", is_frozen, frozen_us))


def test_a_freeze_that_looks_find_is_an_estimate() -> None:
    frozen = _moment(is_frozen=True)
    assert _watched(_moment(), frozen, frozen, _moment()) == Freezing(ns=200 * MS, folder=f"{ROOT}/a", is_estimate=True)


def test_a_freeze_between_two_looks_is_counted_by_the_kernel() -> None:
    before = _moment(frozen_us=9)
    assert _watched(before, before, _moment(frozen_us=7_009)) == Freezing(ns=7 * MS, folder=f"{ROOT}/a")


def test_one_that_was_too_short_for_a_look_is_judged_by_the_looks_around_it() -> None:
    assert _watched(_moment(frozen_us=0), _moment(frozen_us=5_000)).ns == 5 * MS
    assert _watched(_moment(), _moment()) == NOT_FROZEN


def test_a_group_that_cannot_be_seen_is_unknown() -> None:
    files = machine_files("0::/a\n")
    assert f"{ROOT}/a" in (_watched(files, files, files).unknown or "")


def test_a_group_that_goes_with_its_command_is_no_riddle() -> None:
    gone = without(machine_files("0::/b\n"), PID)
    inside = {**machine_files("0::/b\n", group_v2("/b", frozen_us=0)), "/proc/self/cgroup": "0::/\n"}
    assert _watched(inside, inside, gone) == NOT_FROZEN


def test_of_a_command_that_is_moved_into_a_partition_that_group_is_watched_from_the_start() -> None:
    """Ours may be frozen or not."""
    groups = [
        {**machine_files("0::/b\n", group_v2("/a", frozen_us=ours), group_v2("/b", frozen_us=its))}
        for ours, its in ((0, 5_000), (9_000, 12_000), (9_000, 12_000))
    ]
    moments = [each | {"/proc/self/cgroup": "0::/a\n"} for each in groups]
    assert _watched(*moments, cgroup=f"{ROOT}/b") == Freezing(ns=7 * MS, folder=f"{ROOT}/b")


def test_a_partition_that_cannot_be_seen_is_unknown() -> None:
    files = machine_files("0::/a\n", group_v2("/a"))
    assert f"{ROOT}/b" in (_watched(files, files, cgroup=f"{ROOT}/b").unknown or "")


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of this host's."""
    mount = read_unified_mount(Reader(LiveMachine()))
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    folder = Path(mount) / f"noisewatch-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made: {error}")
    yield folder
    (folder / "cgroup.freeze").write_text("0")
    (folder / "cgroup.kill").write_text("1")
    for _ in range(100):
        if not (folder / "cgroup.procs").read_text():
            break
        time.sleep(0.01)
    folder.rmdir()


def _ran(script: str) -> JudgedRepetition:
    options = RunOptions(argv=("sh", "-c", script), machine=MachineOptions(cpus=str(max(os.sched_getaffinity(0)))))
    return run_series(LiveMachine([os.getpid()]), options, SilentListener()).repetitions[0]


@pytest.mark.usefixtures("as_before")
def test_a_command_whose_group_is_frozen_is_disturbed(group: Path) -> None:
    freezer = f"sleep 0.3; echo 1 > {group}/cgroup.freeze; sleep {_FROZEN_S}; echo 0 > {group}/cgroup.freeze"
    judged = _ran(f"(setsid sh -c '{freezer}' &); echo 0 > {group}/cgroup.procs; sleep 0.6")
    found = judged.repetition.freezing
    assert found.folder == str(group)
    assert found.ns > _FROZEN_S / 2 * 1e9
    assert found.unknown is None
    assert ReasonKind.FROZEN in [each.kind for each in judged.verdict.reasons]


@pytest.mark.usefixtures("as_before")
def test_a_command_that_enters_a_group_and_is_left_alone_is_not_frozen(group: Path) -> None:
    assert _ran(f"echo 0 > {group}/cgroup.procs; sleep 0.3").repetition.freezing == NOT_FROZEN


def test_a_process_that_was_taken_out_and_brought_back_between_two_looks_may_have_been_frozen(group: Path) -> None:
    path = Path("/proc/self/cgroup").read_text().partition("0::")[2].splitlines()[0]
    own = group.parent / path.strip("/")
    with FreezeWatch(LiveMachine()) as watch, subprocess.Popen(["sleep", "20"]) as command:
        watch.prepare()
        assert watch.end(10_000 * MS).blind_ns == 0
        (group / "cgroup.procs").write_text(str(command.pid))
        (own / "cgroup.procs").write_text(str(command.pid))
        wait_until(lambda: watch.end(10_000 * MS).blind_ns > 0)
        command.kill()


@pytest.fixture
def group_v1() -> Iterator[Path]:
    """A control group of this host's freezer of version 1."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    places = [words[1] for words in mounts if words[2] == "cgroup" and "freezer" in words[3].split(",")]
    if not places:
        pytest.skip("the freezer of cgroup v1 is not mounted")
    folder = Path(places[0]) / f"noisewatch-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made: {error}")
    yield folder
    (folder / "freezer.state").write_text("THAWED")
    for _ in range(100):
        if not (folder / "cgroup.procs").read_text():
            break
        time.sleep(0.01)
    folder.rmdir()


@pytest.mark.usefixtures("as_before")
def test_a_freeze_between_two_looks_lasts_from_one_write_to_the_other(group_v1: Path) -> None:
    """The first look finds the command in the group, at 100 ms; it is frozen within another hundred."""
    frozen_ns: list[int] = []

    def freeze() -> None:
        wait_until(lambda: bool((group_v1 / "cgroup.procs").read_text()))
        time.sleep(0.43)
        began_ns = time.monotonic_ns()
        (group_v1 / "freezer.state").write_text("FROZEN")
        time.sleep(0.03)
        (group_v1 / "freezer.state").write_text("THAWED")
        frozen_ns.append(time.monotonic_ns() - began_ns)

    freezer = threading.Thread(target=freeze)
    freezer.start()
    judged = _ran(f"echo 0 > {group_v1}/cgroup.procs; sleep 0.9")
    freezer.join()
    found = judged.repetition.freezing
    assert (found.folder, found.is_estimate) == (str(group_v1), False)
    assert 0.5 * frozen_ns[0] < found.ns < 2 * frozen_ns[0]
    assert ReasonKind.FROZEN in [each.kind for each in judged.verdict.reasons]
