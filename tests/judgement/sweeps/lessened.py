"""A written machine without one file or folder, or half of it, and the facts that its absence may prove."""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisewatch.errors import Absent, Unreadable
from noisewatch.judgement.verdict import Finding
from tests.judgement.example import Example
from tests.written import WrittenMachine

ABSENT, DENIED, EMPTY, TRUNCATED = "absent", "denied", "empty", "truncated"
FAULTS = (ABSENT, DENIED, EMPTY, TRUNCATED)
RANK = {"pass": 0, "not-applicable": 0, "warn": 1, "unknown": 2, "fail": 3}


class LessenedMachine(WrittenMachine):
    """A machine that withholds a path at all moments: a file, or a folder and its content (trailing slash)."""

    def take(self, withheld: str, fault: str) -> LessenedMachine:
        """Withhold a path in the way that `fault` names, and return this machine."""
        self._withheld, self._fault = withheld, fault
        return self

    def read_bytes(self, path: str) -> bytes:
        if not self._is_withheld(path):
            return super().read_bytes(path)
        if self._fault in (EMPTY, TRUNCATED) and path == self._withheld:
            content = super().read_bytes(path)
            return _first_half(content) if self._fault == TRUNCATED else content[:0]
        self.reads.append(path)
        raise self._refusal(path)

    def list_names(self, path: str) -> list[str]:
        if self._is_withheld(f"{path.rstrip('/')}/"):
            self.reads.append(f"{path.rstrip('/')}/")
            if self._fault == EMPTY and f"{path.rstrip('/')}/" == self._withheld:
                return []
            raise self._refusal(path)
        folder, _, name = self._withheld.rstrip("/").rpartition("/")
        names = super().list_names(path)
        is_absent = self._fault == ABSENT and path.rstrip("/") == folder
        return [other for other in names if other != name] if is_absent else names

    def mode(self, path: str) -> int:
        if self._is_withheld(path) and self._fault not in (EMPTY, TRUNCATED):
            raise self._refusal(path)
        return super().mode(path)

    def _is_withheld(self, path: str) -> bool:
        return path == self._withheld or (self._withheld.endswith("/") and path.startswith(self._withheld))

    def _refusal(self, path: str) -> Unreadable:
        if self._fault == DENIED:
            return Unreadable(path, "permission denied")
        return (Unreadable if self._is_copy else Absent)(path, "no such file")


def _first_half(content: bytes) -> bytes:
    """Return the first half of the content, without trailing line ends."""
    return content[: len(content) // 2].rstrip(b"\n")


def faults_of(path: str) -> tuple[str, ...]:
    """Return the faults that the path can have: a folder is never truncated."""
    return tuple(fault for fault in FAULTS if fault != TRUNCATED or not path.endswith("/"))


def paths_of(machine: WrittenMachine) -> list[str]:
    """Return the paths that were read, and all folders above them."""
    paths = set(machine.reads)
    for path in machine.reads:
        while (path := path.rstrip("/").rpartition("/")[0]).count("/") > 0:
            paths.add(f"{path}/")
    return sorted(paths)


def improvement_without_path(example: Example, sound: Finding, path: str, fault: str) -> str | None:
    """Describe the check's finding without the path, or return None where it is not better than the sound one."""
    machine = example.machine(LessenedMachine).take(path, fault)
    finding = example.finding_of(machine)
    if RANK[finding.status] >= RANK[sound.status] or (sound.status, finding.status) == ("fail", "unknown"):
        return None
    if finding.status == "warn" and finding.answer.reason is not None:
        return None  # the warning's reason is that the truth may be worse
    return f"{example.name}: {sound.status} became {finding.status} where {path} is {fault}: {finding.answer.said}"


@dataclass(frozen=True)
class Fact:
    """A missing path that is a fact about the machine, so that a better answer is correct."""

    pattern: str  # of paths
    faults: tuple[str, ...]
    why: str
    ids: tuple[str, ...] = ()  # all checks, if none is named

    def excuses(self, check_id: str, path: str, fault: str) -> bool:
        return (
            (not self.ids or check_id in self.ids)
            and fault in self.faults
            and re.fullmatch(self.pattern, path) is not None
        )
