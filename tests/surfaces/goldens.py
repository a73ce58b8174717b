"""Pictures as they looked at the last review: one text file each, which contains the picture at several sizes."""

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
_SIDES = "│|"  # what stands at both ends of a row of a panel


@dataclass(frozen=True, slots=True)
class Goldens:
    """The goldens in the folder next to `module`, which writes them again if it is run."""

    module: str
    drawn: Mapping[str, Draw]
    sizes: tuple[Size, ...]

    @property
    def folder(self) -> Path:
        return Path(*self.module.split(".")[:-1], "goldens").absolute()

    def path_of(self, name: str) -> Path:
        """Return the file of the golden with this name."""
        return self.folder / f"{name}.txt"

    def draw(self, name: str) -> str:
        """The picture at all sizes, as text; blanks at the end of a row are left out."""
        return "".join(self._at_size(name, *size) for size in self.sizes)

    def lines(self, name: str, width: int, height: int) -> list[str]:
        """The rows as a terminal of that width shows them."""
        return [strip_of(row, width).text.rstrip() for row in self.drawn[name](width, height)]

    def _at_size(self, name: str, width: int, height: int) -> str:
        return "\n".join([f"{f'{name} at {width}x{height} ':=<{width}}", *self.lines(name, width, height)]) + "\n"

    def change(self, name: str) -> str:
        """What differs from the golden, and what to do then; nothing where it looks as it did."""
        path = self.path_of(name)
        before, now = path.read_text(encoding="utf-8") if path.exists() else "", self.draw(name)
        if now == before:
            return ""
        changed = unified_diff(before.splitlines(), now.splitlines(), "golden", "drawn now", n=1, lineterm="")
        return "\n".join([*changed, f"If it should look like this: python -m {self.module}, and look at git diff."])

    def too_large(self, name: str) -> list[str]:
        """The sizes that have no room for all of the picture."""
        return [
            f"{width}x{height}"
            for width, height in self.sizes
            if len(rows := self.drawn[name](width, height)) > height or max(map(length, rows)) > width
        ]

    def blank(self, name: str) -> dict[Size, list[list[int]]]:
        """The numbers of the rows that show nothing, by size, those that follow each other together.

        The sides of a frame do not count as something.
        """
        found = {}
        for width, height in self.sizes:
            shown = [line.strip().strip(_SIDES).strip() for line in self.lines(name, width, height)]
            shown += [""] * (height - len(shown))
            rows = [number for number, line in enumerate(shown) if not line]
            runs = groupby(enumerate(rows), key=lambda each: each[1] - each[0])
            found[width, height] = [[row for _, row in run] for _, run in runs]
        return {size: runs for size, runs in found.items() if runs}

    def stale(self) -> set[Path]:
        """Return the files of pictures that do not exist any more."""
        return set(self.folder.iterdir()) - set(map(self.path_of, self.drawn))

    def write(self) -> None:
        """All of them anew."""
        self.folder.mkdir(exist_ok=True)
        for path in self.stale():
            path.unlink()
        for name in self.drawn:
            self.path_of(name).write_text(self.draw(name), encoding="utf-8")
