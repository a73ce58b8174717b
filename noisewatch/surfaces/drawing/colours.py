"""The colours of the monitor and of reports: one for each meaning. A word or a sign always repeats the meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NewType, get_args

from noisewatch.kinds import Kind

Meaning = Literal["calm", "notable", "grave", "unknown", "good", "bad", "doubt"]
KindStyle = Literal["irq", "softirq", "tick", "ipi", "thread", "kernel-thread", "outside"]
LevelStyle = Literal["level-1", "level-2", "level-3", "level-4", "level-5", "level-6", "level-7", "level-8"]
Halves = NewType("Halves", str)  # the name of a style with two tones, one for each half of a cell

# By meaning, from the sixteen colours that every terminal has. People who confuse red and green can distinguish cyan,
# yellow and magenta.
STYLES: Mapping[str, str] = {
    "calm": "cyan",
    "notable": "yellow",
    "grave": "bold magenta",
    "unknown": "dim yellow",
    "good": "bold reverse cyan",
    "bad": "bold reverse magenta",
    "doubt": "bold reverse yellow",
}
_MEANING_BY_LABEL: Mapping[str, Meaning] = {"FAIL": "grave", "WARN": "grave", "fail": "notable", "warn": "notable"}
# By kind of culprit; similar kinds share a colour. The kind's name, or a sign, is always next to it.
KIND_STYLES: Mapping[str, str] = {
    "irq": "blue",
    "softirq": "cyan",
    "tick": "bright_black",
    "ipi": "green",
    "thread": "magenta",
    "kernel-thread": "yellow",
    "outside": "red",
}
STYLE_BY_KIND: Mapping[Kind, KindStyle] = {
    Kind.IRQ: "irq",
    Kind.SOFTIRQ: "softirq",
    **dict.fromkeys((Kind.TICK, Kind.TIMER, Kind.LOCAL), "tick"),
    Kind.IPI: "ipi",
    **dict.fromkeys((Kind.THREAD, Kind.UNATTRIBUTED), "thread"),
    Kind.KERNEL_THREAD: "kernel-thread",
    **dict.fromkeys((Kind.NMI, Kind.QUOTA, Kind.OUTSIDE), "outside"),
}
# The colour of each level of noise on target CPUs, from the 256 colours, for signs on the terminal's own background:
# each has a contrast of 3 or more with black and with white. Bars and figures repeat the level.
LEVEL_COLOURS = (31, 30, 65, 100, 136, 166, 161, 199)
LEVEL_STYLES: tuple[LevelStyle, ...] = get_args(LevelStyle)
# Tones from no noise to the highest level, from the 256 colours: lightness rises from tone to tone, even for
# colour-blind people (simulated after Machado et al., 2009). The background is one of them, so no theme of the terminal
# reverses their order. Quiet cells, which are most of a map, are hardly lighter than the background.
TONES = tuple(f"color({number})" for number in (233, 235, 90, 127, 168, 209, 215, 222, 229))
NO_TONE = "default"
GREYS = (*TONES[:2], *(f"color({number})" for number in (236, 238, 240, 242, 244, 246, 248)))  # of housekeeping CPUs


def tone_of(level: int | None, is_grey: bool = False) -> str:
    """Return the colour of a level, or the terminal's background for None."""
    return NO_TONE if level is None else (GREYS if is_grey else TONES)[level]


def halves_style(upper: int | None, lower: int | None, is_grey: bool = False) -> Halves:
    """Return the style name of a `▀` whose halves show these levels."""
    return Halves(f"{tone_of(upper, is_grey)} on {tone_of(lower, is_grey)}")


def _halves() -> Iterator[str]:
    """Yield the style names of all pairs of tones, and of all pairs of greys."""
    for tones in ((*TONES, NO_TONE), (*GREYS, NO_TONE)):
        yield from (f"{upper} on {lower}" for upper in tones for lower in tones)


# The styles of rows, by name. Meaning never depends on colour alone: a figure, a glyph or a word repeats it.
ROW_STYLES: Mapping[str, str] = {
    "plain": "",
    "title": "bold",
    "strong": "bold",
    "faint": "dim",
    "heading": "dim underline",
    "key": "reverse",
    "selected": "bold reverse",
    "command": "bold cyan",
    "culprit": "bold magenta",
    **STYLES,
    **KIND_STYLES,
    **{
        style: f"{'bold ' if number == LEVEL_COLOURS[-1] else ''}color({number})"
        for style, number in zip(LEVEL_STYLES, LEVEL_COLOURS, strict=True)
    },
    **{halves: halves for halves in _halves()},
}
_WITHOUT_COLOUR = ("bold", "dim", "underline", "reverse")
_CODES = {
    "bold": "1",
    "dim": "2",
    "underline": "4",
    "reverse": "7",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "bright_black": "90",
}


def paint(text: str, style: str, in_colour: bool = True) -> str:
    """Return the text with a terminal's escape sequences for the style; `style` is a name in ROW_STYLES."""
    codes = ";".join(_CODES[word] for word in ROW_STYLES[style].split() if in_colour or word in _WITHOUT_COLOUR)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def paint_row(row: Iterable[tuple[str, str]], in_colour: bool = True) -> str:
    """Return the row's text with a terminal's escape sequences for its styles."""
    return "".join(paint(text, style, in_colour) for text, style in row)


def plain_row(row: Iterable[tuple[str, str]]) -> str:
    """Return the row's text without colours and trailing blanks."""
    return "".join(text for text, _ in row).rstrip()


def style_of_label(label: str) -> Meaning:
    """Return the name of the style for a finding's label, such as `FAIL`."""
    return _MEANING_BY_LABEL.get(label, "unknown")
