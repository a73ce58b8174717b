"""A stretch of a recording as one animated SVG: CSS alone, which browsers play also within a page's <img>.

Each element is drawn once, and shown in the frames that have it. Where nothing is animated, the first frame stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from noisewatch.records import dataclass
from noisewatch.surfaces.picture import Classes, Element, Line, drawn, elements_of, framed
from noisewatch.surfaces.themes import DARK, Theme

_Shown = tuple[bool, ...]  # in which of the frames


@dataclass(frozen=True, slots=True)
class Still:
    """One frame, and how long it is shown."""

    lines: Sequence[Line]
    seconds: float


def animated_svg(stills: Sequence[Still], columns: int, title: str, theme: Theme = DARK) -> str:
    """The stills, again and again; the same bytes each time. Raises ValueError where there is none."""
    if not stills:
        raise ValueError("no frame to draw")
    classes = Classes()
    layers: list[str] = []
    patterns: dict[_Shown, str] = {}
    by_pattern = _by_pattern(stills, theme, classes)
    for is_behind in (True, False):
        for shown, elements in by_pattern.items():
            body = drawn(each for each in elements if each.is_behind is is_behind)
            if body and all(shown):
                layers.append(body)
            elif body:
                name = patterns.setdefault(shown, f"k{len(patterns)}")
                layers.append(f'<g class="a {name}">\n{body}</g>\n')
    rows = max(len(still.lines) for still in stills)
    css = classes.css() + _keyframes(patterns, [still.seconds for still in stills])
    return framed("".join(layers), columns, rows, title, theme, css)


def _by_pattern(stills: Sequence[Still], theme: Theme, classes: Classes) -> dict[_Shown, list[Element]]:
    frames_by_element: dict[Element, set[int]] = defaultdict(set)
    for number, still in enumerate(stills):
        for row, line in enumerate(still.lines):
            for element in elements_of(line, row, theme, classes):
                frames_by_element[element].add(number)
    by_pattern: dict[_Shown, list[Element]] = defaultdict(list)
    for element, frames in frames_by_element.items():
        by_pattern[tuple(number in frames for number in range(len(stills)))].append(element)
    return by_pattern


def _keyframes(patterns: dict[_Shown, str], seconds: Sequence[float]) -> str:
    """When each pattern is seen. Who has asked for less motion sees the first frame."""
    if not patterns:
        return ""
    total = sum(seconds)
    starts = [start / total for start in accumulate(seconds, initial=0.0)]
    rules = [f".a{{animation:{total:.4g}s step-end infinite}}"]
    for shown, name in patterns.items():
        hidden = "" if shown[0] else "visibility:hidden;"
        steps = "".join(f"{starts[number]:.3%}{{visibility:{state}}}" for number, state in _changes(shown))
        rules.append(f".{name}{{{hidden}animation-name:{name}}}@keyframes {name}{{{steps}}}")
    return "".join(rules) + "@media(prefers-reduced-motion:reduce){.a{animation:none}}"


def _changes(shown: _Shown) -> Iterator[tuple[int, str]]:
    """The frames from which on it is seen, or no more."""
    for number, is_shown in enumerate(shown):
        if number == 0 or is_shown != shown[number - 1]:
            yield number, "visible" if is_shown else "hidden"
