"""Golden pictures: one text file for each picture, which contains it at several sizes as of the last review."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from itertools import groupby
from pathlib import Path

from noisewatch.surfaces.drawing.text_row import Row, length
from noisewatch.surfaces.tui.draw.line_view import strip_of

Draw = Callable[[int, int], list[Row]]
Size = tuple[int, int]
_SIDES = "│|"  # the first and last character of a row of a panel


@dataclass(frozen=True, slots=True)
class Goldens:
    """The goldens in the folder next to `module`; running that module rewrites them."""

    module: str
    pictures: Mapping[str, Draw]
    sizes: tuple[Size, ...]

    @property
    def folder(self) -> Path:
        return Path(*self.module.split(".")[:-1], "goldens").absolute()

    def path_of(self, name: str) -> Path:
        """Return the file of the golden with this name."""
        return self.folder / f"{name}.txt"

    def draw(self, name: str) -> str:
        """Return the picture at all sizes as text, without trailing blanks."""
        return "".join(self._at_size(name, *size) for size in self.sizes)

    def lines(self, name: str, width: int, height: int) -> list[str]:
        """Return the rows as a terminal of this width shows them."""
        return [strip_of(row, width).text.rstrip() for row in self.pictures[name](width, height)]

    def _at_size(self, name: str, width: int, height: int) -> str:
        return "\n".join([f"{f'{name} at {width}x{height} ':=<{width}}", *self.lines(name, width, height)]) + "\n"

    def change(self, name: str) -> str:
        """Return the difference from the golden and how to accept it, or an empty text if there is none."""
        path = self.path_of(name)
        before, after = path.read_text(encoding="utf-8") if path.exists() else "", self.draw(name)
        if after == before:
            return ""
        diff = unified_diff(before.splitlines(), after.splitlines(), "golden", "drawn now", n=1, lineterm="")
        return "\n".join([*diff, f"If it should look like this: python -m {self.module}, and look at git diff."])

    def too_large(self, name: str) -> list[str]:
        """Return the sizes at which the picture does not fit."""
        return [
            f"{width}x{height}"
            for width, height in self.sizes
            if len(rows := self.pictures[name](width, height)) > height or max(map(length, rows)) > width
        ]

    def blank(self, name: str) -> dict[Size, list[list[int]]]:
        """Return the numbers of the blank rows by size, as runs of adjacent rows; a frame's sides count as blank."""
        runs_by_size = {}
        for width, height in self.sizes:
            lines = [line.strip().strip(_SIDES).strip() for line in self.lines(name, width, height)]
            lines += [""] * (height - len(lines))
            rows = [number for number, line in enumerate(lines) if not line]
            runs = groupby(enumerate(rows), key=lambda pair: pair[1] - pair[0])
            runs_by_size[width, height] = [[row for _, row in run] for _, run in runs]
        return {size: runs for size, runs in runs_by_size.items() if runs}

    def stale(self) -> set[Path]:
        """Return the golden files without a picture."""
        return set(self.folder.iterdir()) - set(map(self.path_of, self.pictures))

    def write(self) -> None:
        """Rewrite all golden files, and delete the stale ones."""
        self.folder.mkdir(exist_ok=True)
        for path in self.stale():
            path.unlink()
        for name in self.pictures:
            self.path_of(name).write_text(self.draw(name), encoding="utf-8")
