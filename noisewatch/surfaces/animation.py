"""A part of a recording as one animated SVG, with CSS only, which browsers also play within a page's <img>.

Each element is drawn once, and shown in the frames that contain it. Where animation is not supported, the first frame
is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from noisewatch.records import dataclass
from noisewatch.surfaces.picture import Classes, Element, Line, drawn, elements_of, framed
from noisewatch.surfaces.themes import DARK, Theme

_Shown = tuple[bool, ...]  # whether an element is visible, for each frame


@dataclass(frozen=True, slots=True)
class Still:
    """A frame, and the seconds for which it is shown."""

    lines: Sequence[Line]
    seconds: float


def animated_svg(stills: Sequence[Still], columns: int, title: str, theme: Theme = DARK) -> str:
    """Return an SVG that shows the stills in a loop; equal stills make equal bytes. Raise ValueError for no stills."""
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
    """Return the CSS that shows and hides each pattern; readers who prefer reduced motion see the first frame."""
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
    """Yield the frames at which an element becomes visible or hidden, and which of the two."""
    for number, is_shown in enumerate(shown):
        if number == 0 or is_shown != shown[number - 1]:
            yield number, "visible" if is_shown else "hidden"
