"""Lines of styled text as a picture that looks the same everywhere: an SVG without external resources, or a PNG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from noisewatch.errors import UsageError
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.parts.colours import ROW_STYLES
from noisewatch.surfaces.shapes import CELL_HEIGHT, CELL_WIDTH, KIND_DOTS, KIND_FILL, SHADES, kind_of_shape, path_of
from noisewatch.surfaces.themes import DARK, Look, Theme

Line = Sequence[Segment]
_FONT = "DejaVu Sans Mono"
_FONT_FOLDER = "/usr/share/fonts/truetype/dejavu"
_CSS = f'text{{font:20px "{_FONT}",Menlo,Consolas,monospace}}'  # 12 wide; other fonts are stretched
_BASELINE = 18
_MARGIN, _BAR_HEIGHT, _ROUND = 12, 36, 10
_LEAST_TITLED = 24  # columns
_BESIDE_TITLE = 12  # columns
_WORDS = regex(r"[^ ]+(?: {1,2}[^ ]+)*")


@dataclass(frozen=True, slots=True)
class Element:
    """A piece of a picture: a path, or a text with its place. Elements with `is_behind` are drawn first."""

    name: str  # the CSS class
    path: str = ""
    text: str = ""
    is_behind: bool = False


class Classes:
    """The CSS classes of the looks in a picture, numbered in order of first use."""

    def __init__(self) -> None:
        self._name_by_rules: dict[str, str] = {}

    def text(self, look: Look) -> str:
        bold = ";font-weight:700" if look.is_bold else ""
        underlined = ";text-decoration:underline" if look.is_underlined else ""
        return self._named(f"fill:{look.colour}{bold}{underlined}")

    def shape(self, colour: str, kind: str = KIND_FILL) -> str:
        if kind == KIND_DOTS:
            return self._named(f"stroke:{colour};stroke-width:3.4;stroke-linecap:round")
        return self._named(f"fill:{colour}" + (f";opacity:{SHADES[kind]}" if kind in SHADES else ""))

    def css(self) -> str:
        return "".join(f".{name}{{{rules}}}" for rules, name in self._name_by_rules.items())

    def _named(self, rules: str) -> str:
        return self._name_by_rules.setdefault(rules, f"c{len(self._name_by_rules)}")


def svg_of(rows: Sequence[Sequence[tuple[str, str]]], columns: int, title: str, theme: Theme = DARK) -> str:
    """Draw rows of (text, style name) pieces as SVG."""
    lines = [[Segment(text, Style.parse(ROW_STYLES[name])) for text, name in row] for row in rows]
    return svg_of_lines([Segment.adjust_line_length(line, columns) for line in lines], columns, title, theme)


def svg_of_lines(lines: Sequence[Line], columns: int, title: str, theme: Theme = DARK) -> str:
    """Draw the lines as in a terminal of `columns` columns; equal lines make equal bytes."""
    classes = Classes()
    elements = [each for row, line in enumerate(lines) for each in elements_of(line, row, theme, classes)]
    return framed(drawn(elements), columns, len(lines), title, theme, classes.css())


def elements_of(line: Line, row: int, theme: Theme, classes: Classes) -> Iterator[Element]:
    """Yield the backgrounds, shapes and words of a line."""
    top = row * CELL_HEIGHT
    for column, text, look in _pieces(line, theme):
        if look.background is not None:
            width = cell_len(text) * CELL_WIDTH
            box = f"M{column * CELL_WIDTH} {top}h{width}v{CELL_HEIGHT}h-{width}z"
            yield Element(classes.shape(look.background), box, is_behind=True)
        for at, part, kind in _parts(text, column):
            if kind is None:
                yield Element(classes.text(look), text=_placed(part, at, top))
            elif path := path_of(part, at, top):
                yield Element(classes.shape(look.colour, kind), path)


def drawn(elements: Iterable[Element]) -> str:
    """Return the elements as SVG; paths of one class are merged."""
    paths: dict[tuple[bool, str], list[str]] = defaultdict(list)
    texts = []
    for each in elements:
        if each.path:
            paths[not each.is_behind, each.name].append(each.path)
        else:
            texts.append(f'<text class="{each.name}" {each.text}</text>\n')
    behind_first = sorted(paths.items(), key=lambda item: item[0][0])
    return "".join([*(f'<path class="{name}" d="{"".join(path)}"/>\n' for (_, name), path in behind_first), *texts])


def framed(body: str, columns: int, rows: int, title: str, theme: Theme, css: str) -> str:
    """Return the whole SVG file, with a title bar if it fits."""
    is_titled = columns >= _LEAST_TITLED
    top = _MARGIN // 2 + _BAR_HEIGHT if is_titled else _MARGIN
    width, height = columns * CELL_WIDTH + 2 * _MARGIN, rows * CELL_HEIGHT + top + _MARGIN
    bar = _title_bar(title, width, columns - _BESIDE_TITLE, theme) if is_titled else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}{css}</style>\n"
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="{_ROUND}" fill="{theme.background}" '
        f'stroke="{theme.bar}" stroke-width="2"/>\n{bar}'
        f'<g transform="translate({_MARGIN} {top})">\n{body}</g>\n</svg>\n'
    )


def _title_bar(title: str, width: int, room: int, theme: Theme) -> str:
    """Draw the title bar with the whole title, or with its first part if the whole does not fit."""
    words = next((each for each in (title, title.partition(" · ")[0]) if cell_len(each) <= room), "")
    inner = width - 2 * _ROUND
    return (
        f'<path d="M0 {_BAR_HEIGHT}V{_ROUND}q0-{_ROUND} {_ROUND}-{_ROUND}h{inner}q{_ROUND} 0 {_ROUND} {_ROUND}'
        f'V{_BAR_HEIGHT}z" fill="{theme.bar}"/>\n'
        f'<path d="M20 18h0M40 18h0M60 18h0" stroke="{theme.bright_black}" stroke-width="12" stroke-linecap="round"/>\n'
        f'<text x="{width / 2:g}" y="25" text-anchor="middle" fill="{theme.text}">{escape(words)}</text>\n'
    )


def _pieces(line: Line, theme: Theme) -> Iterator[tuple[int, str, Look]]:
    """Yield column, text and look of the line's pieces; neighbours with the same look are merged."""
    column = 0
    looks = ((segment.text, theme.look(segment.style)) for segment in line if not segment.control)
    for look, group in groupby(looks, lambda pair: pair[1]):
        text = "".join(text for text, _ in group)
        yield column, text, look
        column += cell_len(text)


def _parts(text: str, column: int) -> Iterator[tuple[int, str, str | None]]:
    """Yield column, text and kind of each run of shapes, and of words with single gaps between them."""
    for kind, group in groupby(text, kind_of_shape):
        part = "".join(group)
        if kind is not None:
            yield column, part, kind
        else:
            yield from ((column + cell_len(part[: at.start()]), at[0], None) for at in _WORDS.finditer(part))
        column += cell_len(part)


def _placed(text: str, column: int, top: int) -> str:
    place = f'x="{column * CELL_WIDTH}" y="{top + _BASELINE}" textLength="{cell_len(text) * CELL_WIDTH}"'
    whole = text.replace(" ", "\xa0")  # SVG collapses several ordinary blanks to one
    return f"{place}>{escape(whole)}"


def png_of(svg: str) -> bytes:
    """Return the picture as PNG; equal pictures make equal bytes. Raise UsageError without its library or font."""
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError("a PNG needs the package resvg-py (pip install noisewatch[png]); an SVG does not") from error
    if not Path(_FONT_FOLDER).is_dir():
        raise UsageError(f"a PNG needs the font {_FONT} in {_FONT_FOLDER} (Debian: apt-get install fonts-dejavu-core)")
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True, font_dirs=[_FONT_FOLDER], font_family=_FONT)
    )
