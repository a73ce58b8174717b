"""Records behave as dataclasses of the standard library do, method by method."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import noisewatch
from noisewatch import records

_NEVER_COMPILED = "stub"


def _declared(dataclass: Callable[..., Any]) -> tuple[type[Any], type[Any], type[Any]]:
    """Declare three classes with the given decorator, the same ones for each decorator."""

    @dataclass(frozen=True, slots=True)
    class Reading:
        path: str
        values: tuple[int, ...] = ()
        found: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)
        total: int = dataclasses.field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", sum(self.values))

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        first: int
        second: int = 2

    @dataclass(slots=True)
    class Counter:
        name: str
        count: int = 0
        seen: list[int] = dataclasses.field(default_factory=list, init=False)

    return Reading, Named, Counter


@pytest.fixture(params=[dataclasses.dataclass, records.dataclass], ids=["standard", "ours"])
def classes(request: pytest.FixtureRequest) -> tuple[type[Any], type[Any], type[Any]]:
    return _declared(request.param)


_Classes = tuple[type[Any], type[Any], type[Any]]


def test_values_defaults_and_post_init(classes: _Classes) -> None:
    Reading, Named, Counter = classes  # noqa: N806
    reading = Reading("/proc/stat", values=(1, 2))
    assert (reading.path, reading.values, reading.found, reading.total) == ("/proc/stat", (1, 2), {}, 3)
    assert Reading("a").found is not Reading("b").found
    assert (Named(first=1).first, Named(first=1, second=3).second) == (1, 3)
    counter = Counter("x")
    counter.count += 1
    assert (counter.count, counter.seen) == (1, [])


def test_wrong_arguments_are_refused(classes: _Classes) -> None:
    Reading, Named, Counter = classes  # noqa: N806
    wrongs: tuple[Callable[[], object], ...] = (
        Reading,
        lambda: Reading("a", other=1),
        lambda: Named(1),
        lambda: Counter("x", 1, []),
    )
    for wrong in wrongs:
        with pytest.raises(TypeError):
            wrong()


def test_equal_records_are_equal_and_have_one_hash(classes: _Classes) -> None:
    Reading, Named, Counter = classes  # noqa: N806
    assert Reading("a", (1,), {"x": 1}) == Reading("a", (1,), {"x": 2})
    assert len({Reading("a", (1,)), Reading("a", (1,)), Reading("b")}) == 2
    assert Reading("a") != Reading("b")
    assert Reading("a") != Named(first=1)
    assert Counter("x") == Counter("x") != Counter("y")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter("x"))


def test_a_frozen_record_cannot_be_changed(classes: _Classes) -> None:
    reading = classes[0]("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        reading.path = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del reading.path
    with pytest.raises((AttributeError, TypeError)):
        reading.unknown = 1
    assert reading.path == "a"


def test_replaced_copied_shown_and_matched(classes: _Classes) -> None:
    Reading, Named, _ = classes  # noqa: N806
    reading = Reading("a", (1, 2))
    assert dataclasses.replace(reading, values=(5,)).total == 5
    assert copy.deepcopy(reading) == reading
    assert repr(reading).endswith("Reading(path='a', values=(1, 2), found={})")
    assert dataclasses.asdict(Named(first=1)) == {"first": 1, "second": 2}
    match reading:
        case Reading(path, values):
            assert (path, values) == ("a", (1, 2))
        case _:
            pytest.fail("not matched by position")


def test_no_method_is_compiled_before_it_is_called() -> None:
    Reading, _, _ = _declared(records.dataclass)  # noqa: N806
    compiled = ["__init__", "__eq__", "__hash__"]
    assert {getattr(Reading, name).__name__ for name in compiled} == {_NEVER_COMPILED}
    assert Reading("a") == Reading("a")
    assert [getattr(Reading, name).__name__ for name in compiled] == ["__init__", "__eq__", _NEVER_COMPILED]


def test_nobody_looks_for_a_signature_to_describe_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(inspect, "signature", asked.append)
    assert [each.__doc__ for each in _declared(records.dataclass)] == ["Reading", "Named", "Counter"]
    assert asked == []


def test_all_records_are_ours_but_the_one_that_keeps_what_it_has_worked_out() -> None:
    root = Path(noisewatch.__file__).parent
    standard = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    users = {str(path.relative_to(root)) for path in root.rglob("*.py") if standard.search(path.read_text())}
    assert users == {"judgement/case.py"}
