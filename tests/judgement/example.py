"""A machine that differs from the quiet one in a file or two, and what one check has to say of it."""

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
    """`changed` is so in all snapshots, `after` only from the second on, `loaded` in the third, when the CPUs worked.
    `answers_later` hold from the second on.

    What lies at or below one of `gone` is missing. `named` has to be in the sentence, the reason or a culprit's name.
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
        what = self.named or ",".join(self.gone) or "-"
        return f"{self.id}-{self.status}-{what}" + (f"-{self.rules.profile}" if self.rules.profile != "micro" else "")

    def judged(self, is_calibrated: bool = True) -> Verdict:
        """The verdict on the whole machine."""
        return judged(self.machine(), self.target, is_calibrated=is_calibrated, rules=self.rules)

    def machine(self, kind: type[M] = WrittenMachine) -> M:  # type: ignore[assignment]  # the default of a TypeVar
        """The machine in its three snapshots."""
        before = without(quiet_files() | dict(self.changed), *self.gone)
        after = without(quiet_files(3.0) | dict(self.changed) | dict(self.after), *self.gone)
        loaded = without(loaded_files() | dict(self.changed) | dict(self.after) | dict(self.loaded), *self.gone)
        answers = {**ANSWERS, **self.answers}
        moments = _ticking(before, after, loaded)
        return kind(
            *moments,
            answers=answers,
            answers_later=self.answers_later,
            is_copy=self.is_copy,
            own_pids=self.own_pids,
        )

    def found(self, is_calibrated: bool = True) -> Finding:
        """What the check says; the machine is judged once."""
        return _found(self, is_calibrated)

    def found_on(self, machine: WrittenMachine, is_calibrated: bool = True) -> Finding:
        """Return the finding of the example's check on another machine."""
        return finding_on(machine, self.id, self.target, is_calibrated=is_calibrated, rules=self.rules)


@cache
def _found(example: Example, is_calibrated: bool) -> Finding:
    return example.found_on(example.machine(), is_calibrated)


def _ticking(*moments: Files) -> Iterator[Files]:
    """The moments; what was written down once for several of them, and moves on every machine, does so on CPU 0."""
    ticks = dict.fromkeys(_TICKING, 0)
    for earlier, files in pairwise(({}, *moments)):
        ticks = {path: count + (path in files and files[path] == earlier.get(path)) for path, count in ticks.items()}
        moved = {path: _moved_on(path, files[path], count) for path, count in ticks.items() if count and path in files}
        yield {**files, **moved}


def _moved_on(path: str, text: str, count: int) -> str:
    return _TICKING[path].sub(lambda found: f"{found[1]}{int(found[2]) + count}", text, count=1)


@cache
def all_examples() -> tuple[Example, ...]:
    """Return the examples of all families."""
    found = pkgutil.walk_packages(examples.__path__, f"{examples.__name__}.")
    modules = [import_module(each.name) for each in found if not each.ispkg]
    return tuple(example for module in modules for example in module.EXAMPLES)


def first_failures() -> list[Example]:
    """Return each check's first example that fails or warns."""
    return list({each.id: each for each in reversed(all_examples()) if each.status in ("fail", "warn")}.values())
