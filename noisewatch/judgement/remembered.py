"""Answers that stand for as long as nothing that a check has asked for is different.

A check is a pure function of its case: while all that it has looked at is as it was, it cannot answer anything else.
Nobody has to write down what that is, and may forget it: a check is shown its case through a `_View`, which notes each
value that is asked for. Nothing gets old: in each case all these values are compared with those of the case before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any, cast

from noisewatch.judgement.case import Calibrated, Case
from noisewatch.judgement.check import Answer, Check
from noisewatch.kernel.cgroup.bandwidth import Cgroup
from noisewatch.kernel.frequency.cpufreq import Frequency
from noisewatch.kernel.memory.counters import Memory
from noisewatch.kernel.snapshot.hardware import Background, Hardware
from noisewatch.kernel.snapshot.settings import Settings
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.threads import Tasks
from noisewatch.model.interval.interval import Interval

_LOOKED_INTO = (Case, Snapshot, Settings, Hardware, Background, Frequency, Memory, Cgroup)
_NEVER_THE_SAME = (Interval, Calibrated, Tasks)  # and costly to compare


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: Answer
    asked: frozenset[str]  # for these values, by their paths from the case


class Remembered:
    """The answers on one machine, of which case after case is judged."""

    def __init__(self) -> None:
        self._case: Case | None = None
        self._kept: dict[str, _Kept] = {}
        self._restless: set[str] = set()  # checks that asked for what is never the same

    def next(self, case: Case, ask: Callable[[Check, Case], Answer]) -> Callable[[Check], Answer]:
        """What answers each check on the next case: as `ask` does, which is called where it may answer otherwise."""
        before, self._case = self._case, case
        kept, self._kept = self._kept, {}  # what is not asked this time was not compared either

        @cache
        def is_same(path: str) -> bool:
            return before is not None and _is_same(_value(before, path), _value(case, path))

        def answer(each: Check) -> Answer:
            if each.id in self._restless or case.rules.value_by_limit:  # by which a case is altered for its check
                return ask(each, case)
            known = kept.get(each.id)
            if known is None or not all(map(is_same, known.asked)):
                return self._ask(each, case, ask)
            self._kept[each.id] = known
            return known.answer

        return answer

    def _ask(self, each: Check, case: Case, ask: Callable[[Check, Case], Answer]) -> Answer:
        """An answer that was not come by through the view, as that is no case, is given as if there were none."""
        asked: set[str] = set()
        answer = ask(each, cast(Case, _View(case, "", asked)))
        if answer.is_fault or any(isinstance(_value(case, path), _NEVER_THE_SAME) for path in asked):
            self._restless.add(each.id)
            return ask(each, case) if answer.is_fault else answer
        self._kept[each.id] = _Kept(answer, frozenset(asked))
        return answer


def _value(case: Case, path: str) -> object:
    try:
        return attrgetter(path)(case)
    except AttributeError:  # of a record that is not there now
        return None


def _is_same(before: object, now: object) -> bool:
    """Of a record that is looked into it counts here only that it is there: its parts have paths of their own."""
    if isinstance(now, _LOOKED_INTO):
        return isinstance(before, _LOOKED_INTO)
    return before is now or (not isinstance(now, _NEVER_THE_SAME) and before == now)


class _View:
    """Stands for a case, or a record in it: has the same attributes, and notes the paths of those that are asked for.

    Methods and properties look through it too. Whatever else is done with it raises, as it is no record: it is equal
    to nothing, has no copy, and is in no set.
    """

    __slots__ = ("_asked", "_of", "_path")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: object, path: str, asked: set[str]) -> None:
        self._of, self._path, self._asked = of, path, asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(type(self._of), name, None)
        if isinstance(found, FunctionType):
            return MethodType(found, self)
        if isinstance(found, property):
            return found.__get__(self)
        value, path = getattr(self._of, name), f"{self._path}{name}"
        self._asked.add(path)
        return _View(value, f"{path}.", self._asked) if isinstance(value, _LOOKED_INTO) else value

    def __eq__(self, other: object) -> bool:
        raise TypeError("compared as a whole")

    def __bool__(self) -> bool:
        raise TypeError("asked for its truth as a whole")
