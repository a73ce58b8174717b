"""Files that are read together on this host, of which one hangs: only its thread is left behind."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from noisewatch.machine.live import LiveMachine
from noisewatch.machine.reading import python_reading
from noisewatch.machine.reading.kept_files import KeptFiles
from noisewatch.machine.reading.python_reading import AT, SINCE_NS, Kept
from tests.machine.test_live_machine import DEADLINE_S, read_or_reason
from tests.plumbing.waiting import wait_until


class _HangsIn:
    """A function that rereads files, and hangs once in one of them until the test is over."""

    def __init__(self, number: int) -> None:
        self.over = threading.Event()
        self._number = number
        self._has_hung = False

    def __call__(self, kept: list[Kept], progress: memoryview, largest: int) -> list[tuple[int, bytes | int]]:
        if self._has_hung:
            return python_reading.reread(kept, progress, largest)
        changed = python_reading.reread(kept[: self._number], progress, largest)
        if len(kept) > self._number:
            self._has_hung = True
            progress[AT], progress[SINCE_NS] = self._number, time.monotonic_ns()
            self.over.wait()
        return changed + [(at, b"late") for at in range(self._number, len(kept))]


def test_only_the_hanging_one_of_files_read_together_is_abandoned(tmp_path: Path) -> None:
    reread = _HangsIn(1)
    machine = LiveMachine(deadline_s=DEADLINE_S, files=lambda: KeptFiles((str(tmp_path),), reread=reread))
    paths = [str(tmp_path / name) for name in "abc"]
    for path in paths:
        Path(path).write_text("text")
    answers: list[list[tuple[int, bytes | None]]] = []

    def read() -> list[str]:
        answers.append(sorted(machine.reread([(path, b"before") for path in paths])))
        return [read_or_reason(machine, path) for path in paths]

    for _ in range(2):
        assert machine.within_deadline(lambda: [read_or_reason(machine, path) for path in paths]) == ["text"] * 3
    hung = [paths[0], paths[2]]
    assert machine.within_deadline(read) == ["text", f"did not respond within {DEADLINE_S:g} s", "text"]
    assert answers == [[(0, b"text"), (1, None), (2, b"text")]]  # from the second attempt, which has no kept files
    assert machine.within_deadline(lambda: [read_or_reason(machine, path) for path in hung]) == ["text"] * 2
    reread.over.set()


def test_hanging_thread_keeps_only_its_own_file_open_and_a_returned_one_none(tmp_path: Path) -> None:
    reread = _HangsIn(1)
    machine = LiveMachine(deadline_s=DEADLINE_S, files=lambda: KeptFiles((str(tmp_path),), reread=reread))
    paths = [str(tmp_path / name) for name in "abc"]
    for path in paths:
        Path(path).write_text("text")
    for _ in range(2):
        machine.within_deadline(lambda: [read_or_reason(machine, path) for path in paths])
    assert _open_files(tmp_path) == paths
    machine.within_deadline(lambda: list(machine.reread([(path, b"before") for path in paths])))
    assert _open_files(tmp_path) == [paths[1]]
    reread.over.set()
    wait_until(lambda: not _open_files(tmp_path))


def _open_files(folder: Path) -> list[str]:
    """Return the files in the folder that this process has open."""
    paths = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # another thread has closed it since
            paths.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(path for path in paths if path.startswith(str(folder)))
