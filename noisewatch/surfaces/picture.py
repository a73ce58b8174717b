"""Pictures of styled text: an SVG, still or animated, in dark or light colours. `raster.py` makes PNGs and GIFs.

A picture looks the same everywhere, and needs no external resources. Line, block and dot characters are drawn as
geometry, because fonts leave gaps between them or lack them. A cell is 12 units wide and 24 high.
https://www.unicode.org/charts/PDF/U2500.pdf, U2580.pdf and U2800.pdf

The themes have their own palettes: dark for screens and light for paper. The eight hues stay distinct for people
who confuse red and green, or blue and yellow (simulated after Machado et al., 2009), and each has a contrast of 4 or
more with the background.

Animations use CSS only, which browsers also play within a page's <img>. Each element is drawn once, and shown in the
frames that contain it. Where animation is not supported, the first frame is shown.
"""

from __future__ import annotations

import colorsys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from xml.sax.saxutils import escape

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style

from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.colours import ROW_STYLES

Rgb = tuple[int, int, int]

# The tones of levels on paper, by their numbers in a terminal, each darker than the one before.
_TONES_ON_PAPER: Mapping[int, str] = {
    233: "#f4f6f8",
    235: "#e2e7ee",
    90: "#cbaee3",
    127: "#d184c8",
    168: "#cc5a9c",
    209: "#c03434",
    215: "#9a2c1c",
    222: "#701f08",
    229: "#3a1000",
}
# The colours of levels, by their numbers in a terminal: in the dark theme, and on paper.
_LEVELS: Mapping[int, tuple[str, str]] = {
    31: ("#3d8bd4", "#2f6fb2"),
    30: ("#35a7c4", "#1f7f95"),
    65: ("#4dc3a0", "#17805a"),
    100: ("#a3b545", "#6f7a0f"),
    136: ("#e0b13c", "#8f5f0a"),
    166: ("#f08a3c", "#b54708"),
    161: ("#f2555f", "#c01f3a"),
    199: ("#ff5fd2", "#a3128a"),
}


class Look(Struct, frozen=True):
    """The look of a piece of text. Colours are `#rrggbb`; a `background` of None is the picture's own."""

    colour: str
    background: str | None = None
    is_bold: bool = False
    is_underlined: bool = False


class Theme(Struct, frozen=True):
    """The colours of a terminal. Dim text keeps `dim_share` of its own colour."""

    background: str
    text: str
    bar: str  # colour of the title bar
    hues: tuple[str, ...]  # in a terminal's order: black, red, green, yellow, blue, magenta, cyan, white
    bright_black: str
    dim_share: float
    is_light: bool

    def look(self, style: Style | None) -> Look:
        """Return the look of a terminal's style in this theme."""
        if style is None:
            return Look(self.text)
        colour, background = self._hex(style.color, self.text), self._hex(style.bgcolor, self.background)
        if style.dim:
            colour = _mix(colour, background, self.dim_share)
        if style.reverse:
            colour, background = background, colour
        return Look(
            colour, None if background == self.background else background, bool(style.bold), bool(style.underline)
        )

    def colour_of(self, name: str) -> str:
        """Return the colour of a style by its name, for a plain area."""
        return self.look(Style.parse(ROW_STYLES[name].replace("reverse", ""))).colour

    def _hex(self, colour: Color | None, default: str) -> str:
        if colour is None or colour.is_default:
            return default
        if colour.type == ColorType.STANDARD and colour.number is not None:
            return self._basic_colour(colour.number)
        if colour.number is not None and colour.number in _LEVELS:
            return _LEVELS[colour.number][self.is_light]
        if self.is_light and colour.number is not None and colour.number in _TONES_ON_PAPER:
            return _TONES_ON_PAPER[colour.number]
        rgb = tuple(colour.get_truecolor())
        return _hex_colour(_for_paper(rgb) if self.is_light else rgb)

    def _basic_colour(self, number: int) -> str:
        """Return one of the sixteen colours; bright ones are mixed with a little of the text's colour."""
        if number < len(self.hues):
            return self.hues[number]
        hue = self.hues[number - len(self.hues)]
        return self.bright_black if number == len(self.hues) else _mix(hue, self.text, 0.75)


DARK = Theme(
    background="#0d1117",
    text="#c9d1d9",
    bar="#161b22",
    hues=("#484f58", "#d55240", "#5bb738", "#ffd166", "#5c7cf0", "#ff5fa2", "#4dd0e1", "#c9d1d9"),
    bright_black="#757b81",
    dim_share=0.62,
    is_light=False,
)
LIGHT = Theme(
    background="#ffffff",
    text="#1f2328",
    bar="#eef1f4",
    hues=("#8c959f", "#e0324d", "#2c8342", "#665214", "#142474", "#cf22c0", "#11565f", "#1f2328"),
    bright_black="#6c767c",
    dim_share=0.72,
    is_light=True,
)
THEMES: Mapping[str, Theme] = {"dark": DARK, "light": LIGHT}


def _rgb(colour: str) -> Rgb:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hex_colour(rgb: tuple[int, ...]) -> str:
    return "#" + "".join(f"{value:02x}" for value in rgb)


def _mix(colour: str, other: str, share: float) -> str:
    """Mix two colours; `share` is the part of the first."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return _hex_colour(tuple(round(share * first + (1 - share) * second) for first, second in pairs))


def _for_paper(rgb: tuple[int, ...]) -> tuple[int, ...]:
    """Return a colour that is as far from white as the given colour is from black."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(value / 255 for value in rgb))
    return tuple(round(value * 255) for value in colorsys.hls_to_rgb(hue, 1 - lightness, saturation))


CELL_WIDTH, CELL_HEIGHT = 12, 24
_MIDDLE_X, _MIDDLE_Y = CELL_WIDTH // 2, CELL_HEIGHT // 2
_THIN, _THICK = 2, 4
_EIGHTH_HIGH, _EIGHTH_WIDE = CELL_HEIGHT / 8, CELL_WIDTH / 8

# The sides to which a line goes: left, right, up, down.
_THIN_LINES = {
    "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru",
    "┼": "lrud", "╴": "l", "╵": "u", "╶": "r", "╷": "d",
}  # fmt: skip
_THICK_LINES = {
    "━": "lr", "┃": "ud", "┏": "rd", "┓": "ld", "┗": "ru", "┛": "lu", "┣": "rud", "┫": "lud", "┳": "lrd", "┻": "lru",
    "╋": "lrud", "╸": "l", "╹": "u", "╺": "r", "╻": "d",
}  # fmt: skip
_ROUND_CORNERS = {
    "╭": (1, 1),
    "╮": (-1, 1),
    "╰": (1, -1),
    "╯": (-1, -1),
}  # the sides to which the corner opens, as in _corner
_QUADRANTS = {  # upper left, upper right, lower left, lower right
    "▖": "0010", "▗": "0001", "▘": "1000", "▙": "1011", "▚": "1001", "▛": "1110", "▜": "1101", "▝": "0100",
    "▞": "0110", "▟": "0111",
}  # fmt: skip
SHADES: Mapping[str, float] = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_LOWER = "▁▂▃▄▅▆▇█"  # blocks that fill 1 to 8 eighths of the height
_LEFT = "▏▎▍▌▋▊▉"  # blocks that fill 1 to 7 eighths of the width
_PARTS = {  # left, top, width, height in eighths
    "▀": (0, 0, 8, 4), "▔": (0, 0, 8, 1), "▐": (4, 0, 4, 8), "▕": (7, 0, 1, 8), "■": (0, 2, 8, 4), "▪": (2, 3, 4, 2),
    **{block: (0, 0, eighths, 8) for eighths, block in enumerate(_LEFT, start=1)},
    **dict.fromkeys(SHADES, (0, 0, 8, 8)),
}  # fmt: skip
_FIRST_BRAILLE, _LAST_BRAILLE = "⠀", "⣿"
_DOTS = ((3, 3), (3, 9), (3, 15), (9, 3), (9, 9), (9, 15), (3, 21), (9, 21))  # dots in the order of the bits
KIND_FILL, KIND_DOTS = "fill", "dots"


_FILLED = frozenset("".join((*_THIN_LINES, *_THICK_LINES, *_ROUND_CORNERS, *_QUADRANTS, *_PARTS, _LOWER)))


def kind_of_shape(character: str) -> str | None:
    """Return the shape that draws the character: `fill`, `dots`, or a shade such as `░`; None if the font draws it."""
    if character in SHADES:
        return character
    if character in _FILLED:
        return KIND_FILL
    return KIND_DOTS if _FIRST_BRAILLE <= character <= _LAST_BRAILLE else None


def path_of(text: str, column: int, top: int) -> str:
    """Return the SVG path of characters of one kind that begin at `column`; `top` is the row's upper edge."""
    parts = []
    x = column * CELL_WIDTH
    for is_skyline, run in groupby(text, lambda character: character in _LOWER):
        characters = list(run)
        parts.append(
            _skyline(characters, x, top)
            if is_skyline
            else "".join(_repeat(character, count, at, top) for character, count, at in _runs(characters, x))
        )
        x += len(characters) * CELL_WIDTH
    return "".join(parts)


def _runs(characters: list[str], x: int) -> Iterator[tuple[str, int, int]]:
    for character, equal in groupby(characters):
        count = len(list(equal))
        yield character, count, x
        x += count * CELL_WIDTH


def _skyline(blocks: list[str], x: int, top: int) -> str:
    """Return one outline of blocks that stand on the lower edge."""
    bottom = top + CELL_HEIGHT
    path = f"M{x} {bottom}"
    for block, count, _ in _runs(blocks, x):
        path += f"V{_short(bottom - (_LOWER.index(block) + 1) * _EIGHTH_HIGH)}h{count * CELL_WIDTH}"
    return f"{path}V{bottom}z"


def _repeat(character: str, count: int, x: int, top: int) -> str:
    """Return the path of `count` copies of a character; copies that span their cells' width become one shape."""
    if character in "─━":
        thickness = _THIN if character == "─" else _THICK
        return _box(x, top + _MIDDLE_Y - thickness / 2, count * CELL_WIDTH, thickness)
    if character in _PARTS and _PARTS[character][2] == 8:
        return _part(_PARTS[character], x, top, count)
    return "".join(_single(character, x + number * CELL_WIDTH, top) for number in range(count))


def _single(character: str, x: int, top: int) -> str:
    if character in _PARTS:
        return _part(_PARTS[character], x, top, 1)
    if character in _ROUND_CORNERS:
        return _corner(*_ROUND_CORNERS[character], x + _MIDDLE_X, top + _MIDDLE_Y)
    if character in _QUADRANTS:
        return "".join(
            _box(x + number % 2 * _MIDDLE_X, top + number // 2 * _MIDDLE_Y, _MIDDLE_X, _MIDDLE_Y)
            for number, is_full in enumerate(_QUADRANTS[character])
            if is_full == "1"
        )
    if character in _THICK_LINES:
        return _lines(_THICK_LINES[character], _THICK, x, top)
    if character in _THIN_LINES:
        return _lines(_THIN_LINES[character], _THIN, x, top)
    bits = ord(character) - ord(_FIRST_BRAILLE)
    return "".join(f"M{x + dx} {top + dy}h0" for bit, (dx, dy) in enumerate(_DOTS) if bits >> bit & 1)


def _part(eighths: tuple[int, int, int, int], x: int, top: int, count: int) -> str:
    left, upper, wide, high = eighths
    width = wide * _EIGHTH_WIDE + (count - 1) * CELL_WIDTH
    return _box(x + left * _EIGHTH_WIDE, top + upper * _EIGHTH_HIGH, width, high * _EIGHTH_HIGH)


def _lines(sides: str, thickness: int, x: int, top: int) -> str:
    """Return lines from the middle of the cell to its sides; two opposite lines become one."""
    half = thickness / 2
    left, right = ("l" in sides), ("r" in sides)
    up, down = ("u" in sides), ("d" in sides)
    path = ""
    if left or right:
        begin = x if left else x + _MIDDLE_X - half
        end = x + CELL_WIDTH if right else x + _MIDDLE_X + half
        path += _box(begin, top + _MIDDLE_Y - half, end - begin, thickness)
    if up or down:
        begin = top if up else top + _MIDDLE_Y - half
        end = top + CELL_HEIGHT if down else top + _MIDDLE_Y + half
        path += _box(x + _MIDDLE_X - half, begin, thickness, end - begin)
    return path


def _corner(right: int, down: int, x: int, y: int) -> str:
    """Return a rounded corner in the middle of a cell, open to the right (1) or left (-1), and down (1) or up (-1)."""
    half = _THIN / 2
    end_x, end_y = x + right * _MIDDLE_X, y + down * _MIDDLE_Y
    outer_x, outer_y, inner_x, inner_y = x - right * half, y - down * half, x + right * half, y + down * half
    return (
        f"M{_short(outer_x)} {end_y}V{y + down * _MIDDLE_X}Q{_short(outer_x)} {_short(outer_y)} {end_x} "
        f"{_short(outer_y)}V{_short(inner_y)}Q{_short(inner_x)} {_short(inner_y)} {_short(inner_x)} "
        f"{y + down * _MIDDLE_X}V{end_y}z"
    )


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{_short(x)} {_short(y)}h{_short(width)}v{_short(height)}h-{_short(width)}z"


def _short(value: float) -> str:
    return f"{value:g}"


Line = Sequence[Segment]
FONT = "DejaVu Sans Mono"
CSS = f'text{{font:20px "{FONT}",Menlo,Consolas,monospace}}'  # 12 units wide; `textLength` stretches other fonts
_BASELINE = 18
_MARGIN, _BAR_HEIGHT, _ROUND = 12, 36, 10
_LEAST_TITLED = 24  # columns
_TITLE_MARGIN = 12  # columns
_WORDS = regex(r"[^ ]+(?: {1,2}[^ ]+)*")


class Element(Struct, frozen=True):
    """An element of a picture: a path, or a text with its position. Elements with `is_behind` are drawn first."""

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
        return self._class_of(f"fill:{look.colour}{bold}{underlined}")

    def shape(self, colour: str, kind: str = KIND_FILL) -> str:
        if kind == KIND_DOTS:
            return self._class_of(f"stroke:{colour};stroke-width:3.4;stroke-linecap:round")
        return self._class_of(f"fill:{colour}" + (f";opacity:{SHADES[kind]}" if kind in SHADES else ""))

    def css(self) -> str:
        return "".join(f".{name}{{{rules}}}" for rules, name in self._name_by_rules.items())

    def _class_of(self, rules: str) -> str:
        return self._name_by_rules.setdefault(rules, f"c{len(self._name_by_rules)}")


def svg_of(rows: Sequence[Sequence[tuple[str, str]]], columns: int, title: str, theme: Theme = DARK) -> str:
    """Draw rows of (text, style name) pieces as SVG."""
    lines = lines_of_rows(rows)
    return svg_of_lines([Segment.adjust_line_length(line, columns) for line in lines], columns, title, theme)


def lines_of_rows(rows: Iterable[Sequence[tuple[str, str]]]) -> list[list[Segment]]:
    """Return rows of (text, style name) pieces as lines."""
    return [[Segment(text, Style.parse(ROW_STYLES[name])) for text, name in row] for row in rows]


def svg_of_lines(lines: Sequence[Line], columns: int, title: str, theme: Theme = DARK) -> str:
    """Draw the lines as in a terminal of `columns` columns; equal lines make equal bytes."""
    classes = Classes()
    elements = [element for row, line in enumerate(lines) for element in elements_of(line, row, theme, classes)]
    return svg_file(draw_elements(elements), columns, len(lines), title, theme, classes.css())


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
                place = f'x="{at * CELL_WIDTH}" y="{top + _BASELINE}" textLength="{cell_len(part) * CELL_WIDTH}"'
                whole = part.replace(" ", "\xa0")  # SVG collapses several ordinary blanks to one
                yield Element(classes.text(look), text=f"{place}>{escape(whole)}")
            elif path := path_of(part, at, top):
                yield Element(classes.shape(look.colour, kind), path)


def draw_elements(elements: Iterable[Element]) -> str:
    """Return the elements as SVG; paths of one class are merged."""
    paths: dict[tuple[bool, str], list[str]] = defaultdict(list)
    texts = []
    for element in elements:
        if element.path:
            paths[not element.is_behind, element.name].append(element.path)
        else:
            texts.append(f'<text class="{element.name}" {element.text}</text>\n')
    behind_first = sorted(paths.items(), key=lambda item: item[0][0])
    return "".join([*(f'<path class="{name}" d="{"".join(path)}"/>\n' for (_, name), path in behind_first), *texts])


def svg_file(body: str, columns: int, rows: int, title: str, theme: Theme, css: str) -> str:
    """Return the whole SVG file, with a title bar if it fits."""
    is_titled = columns >= _LEAST_TITLED
    top = _MARGIN // 2 + _BAR_HEIGHT if is_titled else _MARGIN
    width, height = columns * CELL_WIDTH + 2 * _MARGIN, rows * CELL_HEIGHT + top + _MARGIN
    bar = _title_bar(title, width, columns - _TITLE_MARGIN, theme) if is_titled else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}{css}</style>\n"
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="{_ROUND}" fill="{theme.background}" '
        f'stroke="{theme.bar}" stroke-width="2"/>\n{bar}'
        f'<g transform="translate({_MARGIN} {top})">\n{body}</g>\n</svg>\n'
    )


def _title_bar(title: str, width: int, room: int, theme: Theme) -> str:
    """Draw the title bar with the whole title or, if it does not fit, with its first part, which may be cut."""
    first = title.partition(" · ")[0]
    cut = f"{set_cell_size(first, max(room - 1, 0)).rstrip()}…"
    words = next((words_that_fit for words_that_fit in (title, first) if cell_len(words_that_fit) <= room), cut)
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
    """Yield column, text and kind of each run of shapes, and of each run of words with gaps of at most two blanks."""
    for kind, group in groupby(text, kind_of_shape):
        part = "".join(group)
        if kind is not None:
            yield column, part, kind
        else:
            yield from ((column + cell_len(part[: at.start()]), at[0], None) for at in _WORDS.finditer(part))
        column += cell_len(part)


_Shown = tuple[bool, ...]  # whether an element is visible, for each frame


class Still(Struct, frozen=True):
    """A frame of an animation, and the seconds for which it is shown."""

    lines: Sequence[Line]
    seconds: float


def animated_svg(stills: Sequence[Still], columns: int, title: str, theme: Theme = DARK) -> str:
    """Return an SVG that loops through the stills; equal stills make equal bytes. Raise ValueError without stills."""
    if not stills:
        raise ValueError("no frame to draw")
    classes = Classes()
    layers: list[str] = []
    patterns: dict[_Shown, str] = {}
    by_pattern = _by_pattern(stills, theme, classes)
    for is_behind in (True, False):
        for shown, elements in by_pattern.items():
            body = draw_elements(element for element in elements if element.is_behind is is_behind)
            if body and all(shown):
                layers.append(body)
            elif body:
                name = patterns.setdefault(shown, f"k{len(patterns)}")
                layers.append(f'<g class="a {name}">\n{body}</g>\n')
    rows = max(len(still.lines) for still in stills)
    css = classes.css() + _keyframes(patterns, [still.seconds for still in stills])
    return svg_file("".join(layers), columns, rows, title, theme, css)


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
    """Return the CSS that shows and hides elements; readers who prefer reduced motion see the first frame."""
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
    """Yield (number, `visible` or `hidden`) of the first frame, and of each frame in which that changes."""
    for number, is_shown in enumerate(shown):
        if number == 0 or is_shown != shown[number - 1]:
            yield number, "visible" if is_shown else "hidden"
