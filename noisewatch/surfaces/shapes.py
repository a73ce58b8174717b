"""Line, block and dot characters as geometry, because fonts leave gaps between them or lack them.

A cell is 12 wide and 24 high. https://www.unicode.org/charts/PDF/U2500.pdf, U2580.pdf and U2800.pdf
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

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
_ROUND = {"╭": (1, 1), "╮": (-1, 1), "╰": (1, -1), "╯": (-1, -1)}  # the sides to which the corner opens, as in _corner
_QUADRANTS = {  # upper left, upper right, lower left, lower right
    "▖": "0010", "▗": "0001", "▘": "1000", "▙": "1011", "▚": "1001", "▛": "1110", "▜": "1101", "▝": "0100",
    "▞": "0110", "▟": "0111",
}  # fmt: skip
SHADES: Mapping[str, float] = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_LOWER = "▁▂▃▄▅▆▇█"  # by eighths of the height
_LEFT = "▏▎▍▌▋▊▉"  # by eighths of the width
_PARTS = {  # left, top, width, height in eighths
    "▀": (0, 0, 8, 4), "▔": (0, 0, 8, 1), "▐": (4, 0, 4, 8), "▕": (7, 0, 1, 8), "■": (0, 2, 8, 4), "▪": (2, 3, 4, 2),
    **{block: (0, 0, eighths, 8) for eighths, block in enumerate(_LEFT, start=1)},
    **dict.fromkeys(SHADES, (0, 0, 8, 8)),
}  # fmt: skip
_FIRST_BRAILLE, _LAST_BRAILLE = "⠀", "⣿"
_DOTS = ((3, 3), (3, 9), (3, 15), (9, 3), (9, 9), (9, 15), (3, 21), (9, 21))  # in the order of the bits
KIND_FILL, KIND_DOTS = "fill", "dots"


_FILLED = frozenset("".join((*_THIN_LINES, *_THICK_LINES, *_ROUND, *_QUADRANTS, *_PARTS, _LOWER)))


def kind_of_shape(character: str) -> str | None:
    """Return how the character is drawn: `fill`, `dots`, or a shade such as `░`; None if the font draws it."""
    if character in SHADES:
        return character
    if character in _FILLED:
        return KIND_FILL
    return KIND_DOTS if _FIRST_BRAILLE <= character <= _LAST_BRAILLE else None


def path_of(text: str, column: int, top: int) -> str:
    """Return the SVG path of a run of characters of one kind that begins at `column`; `top` is the row's upper edge."""
    parts = []
    x = column * CELL_WIDTH
    for is_skyline, run in groupby(text, lambda character: character in _LOWER):
        characters = list(run)
        parts.append(
            _skyline(characters, x, top)
            if is_skyline
            else "".join(_repeated(character, count, at, top) for character, count, at in _runs(characters, x))
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


def _repeated(character: str, count: int, x: int, top: int) -> str:
    """Return `count` copies of a character; one that spans its cell's width becomes a single piece."""
    if character in "─━":
        thickness = _THIN if character == "─" else _THICK
        return _box(x, top + _MIDDLE_Y - thickness / 2, count * CELL_WIDTH, thickness)
    if character in _PARTS and _PARTS[character][2] == 8:
        return _part(_PARTS[character], x, top, count)
    return "".join(_single(character, x + number * CELL_WIDTH, top) for number in range(count))


def _single(character: str, x: int, top: int) -> str:
    if character in _PARTS:
        return _part(_PARTS[character], x, top, 1)
    if character in _ROUND:
        return _corner(*_ROUND[character], x + _MIDDLE_X, top + _MIDDLE_Y)
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
    """Return lines from the middle to the sides; two opposite lines become one."""
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
