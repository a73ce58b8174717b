"""The words of names and docstrings: those of the field, as ARCHITECTURE.md lists them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import CHECKOUT

_VAGUE_NAMES = {"each", "found", "loud", "nobody", "said", "somebody", "told", "untold", "whoever"}
_EXEMPT = {"said", "culprits_at_each_snapshot"}  # a key of documents, and good English
_RIDDLES = re.compile(
    r"\b(told|telling|is said|said of|whoever|nobody|somebody|goes by|as it was|comes to nothing)\b", re.I
)
_FRAGMENT = re.compile(r"(Of|Those|That|Whoever|It|Its|Such|Also|At|By|From|In|With|Until|Since|Without|Then|Both)\b")


def _trees(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield str(path.relative_to(folder)), ast.parse(path.read_text())


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each name that is defined, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def _vague_names(tree: ast.AST) -> list[str]:
    return [
        f"{line}: {name}"
        for line, name in _names(tree)
        if name not in _EXEMPT and _VAGUE_NAMES & set(re.findall(r"[a-z]+", re.sub("([A-Z])", r"_\1", name).lower()))
    ]


def _unclear_docstrings(tree: ast.AST) -> list[str]:
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [(node.lineno, ast.get_docstring(node) or "") for node in ast.walk(tree) if isinstance(node, documented)]
    return [f"{line}: {text[:60]}" for line, text in texts if _RIDDLES.search(text) or _FRAGMENT.match(text)]


@pytest.mark.parametrize(
    ("source", "name"),
    [("def told(): ...", "told"), ("for each in cpus: ...", "each"), ("class SaidPart: ...", "SaidPart")],
)
def test_a_vague_name_is_detected(source: str, name: str) -> None:
    assert _vague_names(ast.parse(source)) == [f"1: {name}"]


@pytest.mark.parametrize("text", ["Of the first one.", "Return what is told."])
def test_an_unclear_docstring_is_detected(text: str) -> None:
    assert _unclear_docstrings(ast.parse(f'def f():\n    """{text}"""')) == [f"1: {text}"]


def test_names_of_the_package_are_not_vague() -> None:
    assert {path: names for path, tree in _trees(CHECKOUT / "noisewatch") if (names := _vague_names(tree))} == {}


def test_docstrings_of_the_package_are_understood_alone() -> None:
    assert {path: texts for path, tree in _trees(CHECKOUT / "noisewatch") if (texts := _unclear_docstrings(tree))} == {}
