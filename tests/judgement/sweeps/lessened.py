"""A written machine from which one file or folder is taken, or half of it, and what its absence may prove."""

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
    """A machine on which `taken` is missing at all moments: a file, or a folder and its content (trailing slash)."""

    def take(self, taken: str, how: str) -> LessenedMachine:
        """Withhold `taken` in the way that `how` names, and return this machine."""
        self._taken, self._how = taken, how
        return self

    def read_bytes(self, path: str) -> bytes:
        if not self._is_taken(path):
            return super().read_bytes(path)
        if self._how in (EMPTY, TRUNCATED) and path == self._taken:
            content = super().read_bytes(path)
            return _first_half(content) if self._how == TRUNCATED else content[:0]
        self.reads.append(path)
        raise self._refusal(path)

    def list_names(self, path: str) -> list[str]:
        if self._is_taken(f"{path.rstrip('/')}/"):
            self.reads.append(f"{path.rstrip('/')}/")
            if self._how == EMPTY and f"{path.rstrip('/')}/" == self._taken:
                return []
            raise self._refusal(path)
        folder, _, name = self._taken.rstrip("/").rpartition("/")
        names = super().list_names(path)
        is_gone = self._how == ABSENT and path.rstrip("/") == folder
        return [each for each in names if each != name] if is_gone else names

    def mode(self, path: str) -> int:
        if self._is_taken(path) and self._how not in (EMPTY, TRUNCATED):
            raise self._refusal(path)
        return super().mode(path)

    def _is_taken(self, path: str) -> bool:
        return path == self._taken or (self._taken.endswith("/") and path.startswith(self._taken))

    def _refusal(self, path: str) -> Unreadable:
        if self._how == DENIED:
            return Unreadable(path, "permission denied")
        return (Unreadable if self._is_copy else Absent)(path, "no such file")


def _first_half(content: bytes) -> bytes:
    """Less what would make it end with a line."""
    return content[: len(content) // 2].rstrip(b"\n")


def faults_of(path: str) -> tuple[str, ...]:
    """What can happen to it: a folder has no half that shows."""
    return tuple(how for how in FAULTS if how != TRUNCATED or not path.endswith("/"))


def paths_of(machine: WrittenMachine) -> list[str]:
    """What was read of it: the files, and all folders that these lie in."""
    found = set(machine.reads)
    for path in machine.reads:
        while (path := path.rstrip("/").rpartition("/")[0]).count("/") > 0:
            found.add(f"{path}/")
    return sorted(found)


def less_is_better(example: Example, sound: Finding, taken: str, how: str) -> str | None:
    """What the check makes of the machine without that, where it is a better answer than before."""
    machine = example.machine(LessenedMachine).take(taken, how)
    found = example.found_on(machine)
    if RANK[found.status] >= RANK[sound.status] or (sound.status, found.status) == ("fail", "unknown"):
        return None
    if found.status == "warn" and found.answer.reason is not None:
        return None  # it says that it may be worse
    return f"{example.name}: {sound.status} became {found.status} where {taken} is {how}: {found.answer.said}"


@dataclass(frozen=True)
class Fact:
    """A missing path that is a fact about the machine, so that a better answer is correct."""

    path: str  # a regular expression
    how: tuple[str, ...]
    why: str
    ids: tuple[str, ...] = ()  # all checks, if none is named

    def excuses(self, check_id: str, taken: str, how: str) -> bool:
        return (not self.ids or check_id in self.ids) and how in self.how and re.fullmatch(self.path, taken) is not None
