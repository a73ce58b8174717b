"""The integrations with existing benchmark engines: a folder each, with a page and the files that it describes.

`NAME/page.md` contains what the integration does, where its files go, what happens on a noisy machine, and how to
remove it; its first paragraph is the summary in the list. Files below `NAME/files/` are written out unchanged except
for `@noisewatch@`, which becomes the shell words that start the running noisewatch. Files that begin with `#!` become
executable.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

_PAGE, _FILES = "page.md", "files"
_PROGRAM = "@noisewatch@"


class Integration(Struct, frozen=True):
    """An integration with one engine; `texts` are its files by path, with the placeholder in them."""

    name: str
    page: str
    texts: dict[str, str]

    @property
    def summary(self) -> str:
        """The first paragraph of its page, on one line."""
        return " ".join(self.page.split("\n\n")[1].split())

    def files_for(self, program: str) -> dict[str, str]:
        """Return the files by path, as written for a noisewatch that is started by the words `program`."""
        return {path: text.replace(_PROGRAM, program) for path, text in self.texts.items()}


def integrations() -> tuple[Integration, ...]:
    """Return all integrations, by name."""
    folders = [each for each in files(__name__).iterdir() if (each / _PAGE).is_file()]
    return tuple(_read(folder) for folder in sorted(folders, key=lambda each: each.name))


def _read(folder: Traversable) -> Integration:
    return Integration(folder.name, (folder / _PAGE).read_text("utf-8"), dict(_texts_below(folder / _FILES, "")))


def _texts_below(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        path = prefix + each.name
        found += _texts_below(each, f"{path}/") if each.is_dir() else [(path, each.read_text("utf-8"))]
    return found
