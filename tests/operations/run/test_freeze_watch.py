"""Commands whose control group is frozen while they run: on written machines, and on this host if permitted."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
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


def _watch_process(*moments: Files, cgroup: str | None = None) -> Freezing:
    """Watch process 9, which starts after the first moment and ends before the last one."""
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


def test_a_freeze_observed_by_looks_is_an_estimate() -> None:
    frozen = _moment(is_frozen=True)
    assert _watch_process(_moment(), frozen, frozen, _moment()) == Freezing(
        ns=200 * MS, folder=f"{ROOT}/a", is_estimate=True
    )


def test_a_freeze_between_two_looks_is_counted_by_the_kernel() -> None:
    before = _moment(frozen_us=9)
    assert _watch_process(before, before, _moment(frozen_us=7_009)) == Freezing(ns=7 * MS, folder=f"{ROOT}/a")


def test_a_freeze_of_a_command_without_a_look_is_counted_by_the_kernel() -> None:
    assert _watch_process(_moment(frozen_us=0), _moment(frozen_us=5_000)).ns == 5 * MS
    assert _watch_process(_moment(), _moment()) == NOT_FROZEN


def test_an_unreadable_group_is_unknown() -> None:
    files = machine_files("0::/a\n")
    assert f"{ROOT}/a" in (_watch_process(files, files, files).unknown or "")


def test_a_group_removed_with_its_command_is_not_frozen() -> None:
    removed = without(machine_files("0::/b\n"), PID)
    inside = {**machine_files("0::/b\n", group_v2("/b", frozen_us=0)), "/proc/self/cgroup": "0::/\n"}
    assert _watch_process(inside, inside, removed) == NOT_FROZEN


def test_the_group_of_the_partition_is_watched_from_the_start() -> None:
    """Freezes of noisewatch's own group do not count."""
    groups = [
        {**machine_files("0::/b\n", group_v2("/a", frozen_us=own_us), group_v2("/b", frozen_us=partition_us))}
        for own_us, partition_us in ((0, 5_000), (9_000, 12_000), (9_000, 12_000))
    ]
    moments = [files | {"/proc/self/cgroup": "0::/a\n"} for files in groups]
    assert _watch_process(*moments, cgroup=f"{ROOT}/b") == Freezing(ns=7 * MS, folder=f"{ROOT}/b")


def test_an_unreadable_partition_is_unknown() -> None:
    files = machine_files("0::/a\n", group_v2("/a"))
    assert f"{ROOT}/b" in (_watch_process(files, files, cgroup=f"{ROOT}/b").unknown or "")


def _make_group(mount: str, release: Mapping[str, str]) -> Iterator[Path]:
    """Make a control group of this host; at the end write `release` to its files, and remove it."""
    folder = Path(mount) / f"noisewatch-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made: {error}")
    yield folder
    for name, text in release.items():
        (folder / name).write_text(text)
    for _ in range(100):
        if not (folder / "cgroup.procs").read_text():
            break
        time.sleep(0.01)
    folder.rmdir()


@pytest.fixture
def group() -> Iterator[Path]:
    """Make a control group of version 2."""
    mount = read_unified_mount(Reader(LiveMachine()))
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    yield from _make_group(mount, {"cgroup.freeze": "0", "cgroup.kill": "1"})


def _run_script(script: str) -> JudgedRepetition:
    options = RunOptions(argv=("sh", "-c", script), machine=MachineOptions(cpus=str(max(os.sched_getaffinity(0)))))
    return run_series(LiveMachine([os.getpid()]), options, SilentListener()).repetitions[0]


@pytest.mark.usefixtures("restored_process")
def test_a_command_whose_group_is_frozen_is_disturbed(group: Path) -> None:
    freezer = f"sleep 0.3; echo 1 > {group}/cgroup.freeze; sleep {_FROZEN_S}; echo 0 > {group}/cgroup.freeze"
    judged = _run_script(f"(setsid sh -c '{freezer}' &); echo 0 > {group}/cgroup.procs; sleep 0.6")
    freezing = judged.repetition.freezing
    assert freezing.folder == str(group)
    assert freezing.ns > _FROZEN_S / 2 * 1e9
    assert freezing.unknown is None
    assert ReasonKind.FROZEN in [reason.kind for reason in judged.verdict.reasons]


@pytest.mark.usefixtures("restored_process")
def test_a_command_that_enters_an_unfrozen_group_is_not_frozen(group: Path) -> None:
    assert _run_script(f"echo 0 > {group}/cgroup.procs; sleep 0.3").repetition.freezing == NOT_FROZEN


def test_a_process_that_left_its_group_and_returned_between_looks_may_have_been_frozen(group: Path) -> None:
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
    """Make a control group of the freezer of version 1."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    places = [words[1] for words in mounts if words[2] == "cgroup" and "freezer" in words[3].split(",")]
    if not places:
        pytest.skip("the freezer of cgroup v1 is not mounted")
    yield from _make_group(places[0], {"freezer.state": "THAWED"})


@pytest.mark.usefixtures("restored_process")
def test_a_freeze_of_cgroup_v1_between_two_looks_is_measured(group_v1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The freeze begins right after a look that finds the command in the group, and ends before the next one."""
    frozen_ns: list[int] = []
    has_looked = threading.Event()

    def sample(watch: FreezeWatch, pid: int) -> None:
        is_in_group = bool((group_v1 / "cgroup.procs").read_text())
        original(watch, pid)
        if is_in_group:
            has_looked.set()

    original = FreezeWatch.sample
    monkeypatch.setattr(FreezeWatch, "sample", sample)

    def freeze() -> None:
        assert has_looked.wait(5)
        began_ns = time.monotonic_ns()
        (group_v1 / "freezer.state").write_text("FROZEN")
        time.sleep(0.03)
        (group_v1 / "freezer.state").write_text("THAWED")
        frozen_ns.append(time.monotonic_ns() - began_ns)

    freezer = threading.Thread(target=freeze)
    freezer.start()
    judged = _run_script(f"echo 0 > {group_v1}/cgroup.procs; sleep 0.9")
    freezer.join()
    freezing = judged.repetition.freezing
    assert (freezing.folder, freezing.is_estimate) == (str(group_v1), False)
    assert 0.5 * frozen_ns[0] < freezing.ns < 2 * frozen_ns[0]
    assert ReasonKind.FROZEN in [reason.kind for reason in judged.verdict.reasons]
