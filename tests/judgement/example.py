"""A machine that differs from the quiet one in a file or two, and what one check has to say of it."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from noisewatch.judgement.rules import Rules
from noisewatch.judgement.verdict import Finding, Verdict
from tests.judgement import examples
from tests.judgement.judging import finding, judged
from tests.quiet_machine import ANSWERS, loaded_files, quiet_files
from tests.written import Files, WrittenMachine, without

M = TypeVar("M", bound=WrittenMachine)

VIRTUAL = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}


@dataclass(frozen=True)
class Example:
    """`changed` is so at all moments, `after` only from the second on, `loaded` at the third, when the CPUs worked.

    What lies at or below one of `gone` is missing. `named` has to be in the sentence, the reason or a culprit's name.
    """

    id: str
    status: str
    changed: Files = field(default_factory=dict)
    named: str = ""
    cpus: set[int] = field(default_factory=set)
    after: Files = field(default_factory=dict)
    loaded: Files = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    is_copy: bool = False
    own_pids: tuple[int, ...] = ()
    target: frozenset[int] = frozenset({2, 3})
    rules: Rules = Rules()  # noqa: RUF009 - frozen

    @property
    def name(self) -> str:
        """For a list of tests."""
        what = self.named or ",".join(self.gone) or "-"
        return f"{self.id}-{self.status}-{what}" + (f"-{self.rules.profile}" if self.rules.profile != "micro" else "")

    def judged(self, is_calibrated: bool = True) -> Verdict:
        """The verdict on the whole machine."""
        return judged(self.machine(), self.target, is_calibrated=is_calibrated, rules=self.rules)

    def machine(self, kind: type[M] = WrittenMachine) -> M:  # type: ignore[assignment]  # the default of a TypeVar
        """The machine at its three moments."""
        before = without(quiet_files() | dict(self.changed), *self.gone)
        after = without(quiet_files(3.0) | dict(self.changed) | dict(self.after), *self.gone)
        loaded = without(loaded_files() | dict(self.changed) | dict(self.after) | dict(self.loaded), *self.gone)
        answers = {**ANSWERS, **self.answers}
        return kind(before, after, loaded, answers=answers, is_copy=self.is_copy, own_pids=self.own_pids)

    def found(self, is_calibrated: bool = True) -> Finding:
        """What the check says."""
        return finding(self.judged(is_calibrated), self.id)


def all_examples() -> list[Example]:
    """Those of all areas."""
    modules = [import_module(f"{examples.__name__}.{each.name}") for each in pkgutil.iter_modules(examples.__path__)]
    return [example for module in modules for example in module.EXAMPLES]
