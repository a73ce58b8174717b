"""The integrations with CI, schedulers and monitoring: one folder per integration, with a page and its files.

`NAME/page.md` describes what the integration does, where its files go, what happens on a noisy machine, and how to
remove it; its first paragraph is the summary in the list. Files below `NAME/files/` are written out unchanged, except
that `@noisewatch@` becomes the shell command that starts the running noisewatch. Files that begin with `#!` become
executable.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

_PAGE, _FILES = "page.md", "files"
_PROGRAM = "@noisewatch@"


class Integration(Struct, frozen=True):
    """An integration. `texts` contains its files by path, still with the placeholder `@noisewatch@`."""

    name: str
    page: str
    texts: dict[str, str]

    @property
    def summary(self) -> str:
        """The first paragraph of the page, on one line."""
        return " ".join(self.page.split("\n\n")[1].split())

    def files_for(self, program: str) -> dict[str, str]:
        """Return the files' contents by path, with the command `program` in place of the placeholder."""
        return {path: text.replace(_PROGRAM, program) for path, text in self.texts.items()}


def integrations() -> tuple[Integration, ...]:
    """Return all integrations, sorted by name."""
    folders = [folder for folder in files(__name__).iterdir() if (folder / _PAGE).is_file()]
    return tuple(_read(folder) for folder in sorted(folders, key=lambda folder: folder.name))


def _read(folder: Traversable) -> Integration:
    return Integration(folder.name, (folder / _PAGE).read_text("utf-8"), dict(_texts_below(folder / _FILES, "")))


def _texts_below(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        path = prefix + item.name
        texts += _texts_below(item, f"{path}/") if item.is_dir() else [(path, item.read_text("utf-8"))]
    return texts
