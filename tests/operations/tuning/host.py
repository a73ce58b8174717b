"""Settings of a host that a test writes, with threads and systemd units; the process may end at any change."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from noisewatch.cpus import format_cpu_list, parse_cpu_list
from noisewatch.kernel.system.tuned import Tuned, parse_tuned
from noisewatch.machine.tuning import LiveThread, Settings

_PARTITION = "/cpuset.cpus.partition"


def published(path: Path) -> Tuned:
    """Return what all users may read next to the journal."""
    file = path.parent / "tuned.json"
    assert file.stat().st_mode & 0o777 == 0o644
    return parse_tuned(file.read_text())


class Killed(BaseException):
    """The end of the process, as by kill -9: nothing runs afterwards."""


class WrittenHost(Settings):
    """Settings in files below `root`; the process ends at the `dies_at`-th call that changes something, if any.

    Like Linux before 6.2, a partition that is made or removed resets the affinities of all threads.
    """

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        super().__init__(str(root))
        self.root = root
        for path, text in files.items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text + "\n")
        self.threads: dict[int, LiveThread] = {}
        self.affinities: dict[int, frozenset[int]] = {}
        self.all_cpus = frozenset(range(8))
        self.units: dict[str, str] = {}
        self.properties: dict[tuple[str, str], str] = {}
        self.refused: dict[str, str] = {}
        self.delayed: dict[str, str] = {}  # by path: a clock limit that a kworker sets later
        self.reads_until_set = 0
        self.dies_at: int | None = None
        self.calls = 0

    def state(self) -> dict[str, object]:
        """Return everything that tune could change. The order of events and controllers is not restored."""
        paths = {f"/{path.relative_to(self.root)}": path for path in self.root.rglob("*")}
        files: dict[str, object] = {path: _content(path, place) for path, place in paths.items()}
        active = {unit: state for unit, state in self.units.items() if state == "active"}
        properties = {str(key): value for key, value in self.properties.items() if value}
        return {**files, **active, **properties, **{str(tid): sorted(cpus) for tid, cpus in self.affinities.items()}}

    def _step(self) -> None:
        self.calls += 1
        if self.calls == self.dies_at:
            raise Killed

    def write(self, path: str, text: str) -> None:
        self._step()
        if path in self.refused:
            raise OSError(self.refused[path])
        if path.endswith("_freq"):
            self.delayed[path], self._reads = text, 0
            return
        super().write(path, self._as_kernel(path, text))
        if path.endswith(_PARTITION):
            taken = parse_cpu_list(self.read(path.removesuffix(".partition"))) if text == "isolated" else frozenset()
            left = self.all_cpus - taken
            self.affinities.update({tid: left for tid, thread in self.threads.items() if not thread.is_fixed})
            super().write(f"{path.rsplit('/', 2)[0]}/cpuset.cpus.effective", format_cpu_list(left))

    def read(self, path: str) -> str:
        if path in self.delayed:
            self._reads += 1
            if self._reads > self.reads_until_set:
                super().write(path, self.delayed.pop(path))
        return super().read(path)

    def _as_kernel(self, path: str, text: str) -> str:
        """Return the file's new content, as the kernel formats it."""
        old = self.read(path).replace("[", "").replace("]", "").split()
        if path.endswith("/enabled"):
            return " ".join(f"[{word}]" if word == text else word for word in old)
        if path.endswith("/cgroup.subtree_control"):
            return " ".join([word for word in old if word != text[1:]] + [text[1:]] * (text[0] == "+"))
        if path.endswith("/set_event"):
            return "\n".join([word for word in old if word != text.lstrip("!")] + [text] * (text[0] != "!"))
        return text

    def make_group(self, path: str) -> None:
        self._step()
        super().make_group(path)
        for name, text in (("cpuset.cpus", ""), ("cpuset.cpus.partition", "member")):
            (self.root / path.lstrip("/") / name).write_text(text + "\n")

    def remove_group(self, path: str) -> None:
        self._step()
        folder = self.root / path.lstrip("/")
        if (folder / "process").exists():
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        for name in ("cpuset.cpus", "cpuset.cpus.partition"):
            (folder / name).unlink()
        super().remove_group(path)

    def tids(self) -> list[int]:
        return list(self.threads)

    def thread(self, tid: int) -> LiveThread:
        if tid not in self.threads:
            raise ProcessLookupError(3, "No such process")
        return self.threads[tid]

    def affinity(self, tid: int) -> frozenset[int]:
        return self.affinities[tid]

    def set_affinity(self, tid: int, cpus: frozenset[int]) -> None:
        self._step()
        self.affinities[tid] = cpus

    def unit_state(self, unit: str) -> str:
        return self.units.get(unit, "inactive")

    def set_unit(self, verb: str, unit: str) -> None:
        self._step()
        self.units[unit] = "active" if verb == "start" else "inactive"

    def property_of(self, unit: str, name: str) -> str:
        return self.properties.get((unit, name), "")

    def set_property(self, unit: str, name: str, value: str) -> None:
        self._step()
        self.properties[unit, name] = value


def _content(path: str, place: Path) -> object:
    text = "folder" if place.is_dir() else place.read_text()
    return sorted(text.split()) if path.endswith(("/set_event", "/cgroup.subtree_control")) else text
