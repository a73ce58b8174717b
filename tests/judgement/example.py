"""A machine that differs from the quiet one in a file or two, and the finding that one check must have on it."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeVar

from msgspec import Struct

from noisewatch.judgement.rules import Rules
from noisewatch.judgement.verdict import Finding, Verdict
from tests.judgement import examples
from tests.judgement.judging import finding_on, judged
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, loaded_files, quiet_files

M = TypeVar("M", bound=WrittenMachine)

_TABLE = re.compile(r"^(\s*(?:LOC|RES|TIMER): *)(\d+)", re.MULTILINE)
_TICKING = {
    "/proc/interrupts": _TABLE,
    "/proc/softirqs": _TABLE,
    "/proc/vmstat": re.compile(r"^(pgfault )(\d+)", re.MULTILINE),
}
VIRTUAL = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}


class Example(Struct, frozen=True, dict=True, eq=False):  # to be hashable
    """A machine with some files changed, and the status that one check must have on it.

    All snapshots have the files `changed`, those from the second on also `after` (and `answers_later`), and the third,
    after the CPUs have worked, also `loaded`. Paths at or below one of `gone` are missing. `named` must occur in the
    sentence, the reason or a culprit's name.
    """

    id: str
    status: str
    changed: Files = {}
    named: str = ""
    cpus: set[int] = set()
    after: Files = {}
    loaded: Files = {}
    gone: tuple[str, ...] = ()
    answers: Mapping[str, Any] = {}
    answers_later: Mapping[str, Any] = {}
    is_copy: bool = False
    own_pids: tuple[int, ...] = ()
    target: frozenset[int] = frozenset({2, 3})
    rules: Rules = Rules()

    @property
    def name(self) -> str:
        """The label of the example in a list of tests."""
        detail = self.named or ",".join(self.gone) or "-"
        return f"{self.id}-{self.status}-{detail}" + (f"-{self.rules.profile}" if self.rules.profile != "micro" else "")

    def judged(self, is_calibrated: bool = True) -> Verdict:
        """Return the verdict of all checks on the machine."""
        return judged(self.machine(), self.target, is_calibrated=is_calibrated, rules=self.rules)

    def machine(self, kind: type[M] = WrittenMachine) -> M:  # type: ignore[assignment]  # the default of a TypeVar
        """Return the machine with its three moments."""
        before = without(quiet_files() | dict(self.changed), *self.gone)
        after = without(quiet_files(3.0) | dict(self.changed) | dict(self.after), *self.gone)
        loaded = without(loaded_files() | dict(self.changed) | dict(self.after) | dict(self.loaded), *self.gone)
        answers = {**ANSWERS, **self.answers}
        moments = _with_ticks(before, after, loaded)
        return kind(
            *moments,
            answers=answers,
            answers_later=self.answers_later,
            is_copy=self.is_copy,
            own_pids=self.own_pids,
        )

    def found(self, is_calibrated: bool = True) -> Finding:
        """Return the finding of the check; the machine is judged once."""
        return _finding(self, is_calibrated)

    def finding_of(self, machine: WrittenMachine, is_calibrated: bool = True) -> Finding:
        """Return the finding of the example's check on another machine."""
        return finding_on(machine, self.id, self.target, is_calibrated=is_calibrated, rules=self.rules)


@cache
def _finding(example: Example, is_calibrated: bool) -> Finding:
    return example.finding_of(example.machine(), is_calibrated)


def _with_ticks(*moments: Files) -> Iterator[Files]:
    """Yield the moments; where one repeats the text of a file in `_TICKING`, a count in that file advances anyway."""
    ticks = dict.fromkeys(_TICKING, 0)
    for earlier, files in pairwise(({}, *moments)):
        ticks = {path: count + (path in files and files[path] == earlier.get(path)) for path, count in ticks.items()}
        advanced = {
            path: _advance(path, files[path], count) for path, count in ticks.items() if count and path in files
        }
        yield {**files, **advanced}


def _advance(path: str, text: str, count: int) -> str:
    return _TICKING[path].sub(lambda match: f"{match[1]}{int(match[2]) + count}", text, count=1)


def device_table(*rows: str, columns: int = 4) -> dict[str, str]:
    """Return an interrupt table of `columns` CPUs with these rows and the quiet machine's per-CPU rows."""
    header, _, *others = quiet_files()["/proc/interrupts"].splitlines()
    header = " ".join(header.split()[:columns])
    kept = [" ".join(line.split()[: 1 + columns] + line.split()[5:]) for line in others if line.split()[0][0] in "NLR"]
    return {"/proc/interrupts": "\n".join([header, *rows, *kept]) + "\n"}


def served_by_lxcfs(name: str) -> dict[str, str]:
    """Return mounts with a file of /proc that lxcfs serves, as in a container."""
    return {"/proc/self/mounts": f"{quiet_files()['/proc/self/mounts']}lxcfs /proc/{name} fuse.lxcfs rw 0 0\n"}


@cache
def all_examples() -> tuple[Example, ...]:
    """Return the examples of all families."""
    infos = pkgutil.walk_packages(examples.__path__, f"{examples.__name__}.")
    modules = [import_module(info.name) for info in infos if not info.ispkg]
    return tuple(example for module in modules for example in module.EXAMPLES)


def first_failures() -> list[Example]:
    """Return each check's first example that fails or warns."""
    failures = [example for example in all_examples() if example.status in ("fail", "warn")]
    return list({example.id: example for example in reversed(failures)}.values())
