"""Recorded machines, written to a disk and read by either core, which keeps files open and compares their content.

The frames have to be those of files that are read anew, also while files appear, vanish, shrink or hang.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from zlib import crc32

import pytest

from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine import not_at_hand
from noisewatch.machine.live import unreadable
from noisewatch.machine.reading import load_reading, python_reading
from noisewatch.machine.reading.kept_files import KeptFiles, ReadProgress
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.spinning.loops import NATIVE
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.sampling import sample_frames
from tests import MACHINES

RECORDINGS = sorted(path.stem for path in MACHINES.glob("*.nw"))
_CORES = [python_reading] if load_reading(NATIVE) is python_reading else [python_reading, load_reading(NATIVE)]
_WITHOUT_FAULTS = ("lab-disturbed", "lab-hotplug")  # the recordings with the most events
_LATE = 4  # snapshots without the files that appear
_FAULT_EVERY = 60  # files read


class _Faulty(Recording):
    """A recording whose files are read anew. With `has_faults` some snapshots lack files, or have only parts."""

    def __init__(self, name: str, has_faults: bool) -> None:
        self._has_faults = has_faults
        super().__init__(str(MACHINES / f"{name}.nw"))

    def read_bytes(self, path: str) -> bytes:
        return self._after_faults(path, super().read_bytes(path))

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        return not_at_hand(files)

    def _after_faults(self, path: str, content: bytes) -> bytes:
        """Return what is left of the content in this snapshot. Raise Absent or Unreadable."""
        if not self._has_faults:
            return content
        chance = crc32(f"{self.frame_count} {path}".encode()) % _FAULT_EVERY
        if chance == 0 or (crc32(path.encode()) % _FAULT_EVERY == 0 and self.frame_count < _LATE):
            raise Absent(path, "no such file")
        if chance == 1:
            raise Unreadable(path, "did not respond within 1 s")
        lines = content.splitlines(keepends=True)
        left = {2: content[: len(content) // 2], 3: b"".join(lines[:-1]), 4: b""}
        return left.get(chance, content)


class _OnDisk(_Faulty):
    """A recording whose files are first written to a disk, and read from there like files of this host."""

    def __init__(self, name: str, has_faults: bool, root: Path, core: ModuleType) -> None:
        super().__init__(name, has_faults)
        self._root = str(root)
        self._written: dict[str, bytes] = {}
        self._files = KeptFiles((self._root,), reread=core.reread)
        self.asked = self.unchanged = 0

    def begin_snapshot(self) -> None:
        self._files.begin_snapshot()

    def read_bytes(self, path: str) -> bytes:
        self._write(path)
        try:
            return self._files.read(self._root + path)
        except OSError as error:
            raise unreadable(path, error) from error

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        """Reread files. On a disk, a removed file that is open can still be read, unlike a file of the kernel."""
        hung, removed = set(), {}
        for at, (path, before) in enumerate(files):
            try:
                self._write(path)
            except Absent:
                removed[at] = before
            except Unreadable:
                hung.add(self._root + path)
        on_disk = [(self._root + path, before) for path, before in files]
        contents = dict(self._files.reread(on_disk, ReadProgress(), hung)) | dict.fromkeys(removed)
        contents = {at: content for at, content in contents.items() if at not in removed or removed[at] is not None}
        self.asked, self.unchanged = self.asked + len(files), self.unchanged + len(files) - len(contents)
        return list(contents.items())

    def _write(self, path: str) -> None:
        """Write the file's current content if it has changed. Raise Absent or Unreadable."""
        place, content = Path(self._root + path), super().read_bytes(path)
        if self._written.get(path) != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            self._written[path] = content


def _frames(machine: Recording) -> list[Frame]:
    return list(sample_frames(machine, SnapshotOptions(), 1.0))


@pytest.mark.parametrize(
    ("name", "has_faults"),
    [
        *((name, True) for name in RECORDINGS),
        *((name, False) for name in _WITHOUT_FAULTS),
        *(pytest.param(name, False, marks=pytest.mark.slow) for name in RECORDINGS if name not in _WITHOUT_FAULTS),
    ],
)
def test_frames_of_either_core_are_those_of_files_read_anew(name: str, has_faults: bool, tmp_path: Path) -> None:
    expected = _frames(_Faulty(name, has_faults))
    for core in _CORES:
        root = tmp_path / core.__name__
        machine = _OnDisk(name, has_faults, root, core)
        assert _frames(machine) == expected
        assert 0 < machine.unchanged < machine.asked, "some files changed, and some did not"


def test_faults_change_the_frames() -> None:
    name = "lab-disturbed"
    assert _frames(_Faulty(name, True)) != _frames(_Faulty(name, False))
