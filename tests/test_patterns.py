"""Patterns that are compiled at their first use."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import noisewatch
from noisewatch import patterns
from noisewatch.patterns import regex


def _modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(noisewatch.__path__, "noisewatch."):
        if not module.name.endswith("__main__") and "._native" not in module.name:
            yield module.name


def _patterns_in(value: object) -> Iterator[object]:
    if isinstance(value, patterns._Later):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ():
        yield from _patterns_in(item)


def test_pattern_behaves_like_a_compiled_one() -> None:
    lazy, compiled = (
        regex(r"(\d+) (?P<word>[a-z]+)", re.IGNORECASE),
        re.compile(r"(\d+) (?P<word>[a-z]+)", re.IGNORECASE),
    )
    text = "1 One, 2 TWO"
    assert lazy.findall(text) == compiled.findall(text)
    assert [match["word"] for match in lazy.finditer(text)] == ["One", "TWO"]
    assert lazy.sub("x", text) == compiled.sub("x", text)
    assert lazy.split(text) == compiled.split(text)
    assert (lazy.match("x"), lazy.fullmatch("1 a "), lazy.search("x 1 a") is not None) == (None, None, True)
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_pattern_is_not_compiled_before_its_first_use() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.match("")


def test_each_pattern_of_the_program_compiles() -> None:
    all_patterns = [pattern for name in _modules() for value in vars(importlib.import_module(name)).values()
             for pattern in _patterns_in(value)]  # fmt: skip
    assert len(all_patterns) > 100
    for pattern in all_patterns:
        assert isinstance(pattern, patterns._Later)
        assert isinstance(re.compile(pattern._text, pattern._flags), re.Pattern)


def test_no_pattern_is_compiled_when_a_module_is_imported() -> None:
    root = Path(noisewatch.__file__).parent
    at_import = re.compile(r"^\S.*\bre\.compile\(", re.MULTILINE)
    assert [path.name for path in root.rglob("*.py") if at_import.search(path.read_text())] == []
