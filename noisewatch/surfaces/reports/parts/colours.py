"""What stands out in which colour, on the screen and in a report: one for each meaning, which a word always repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NewType

from noisewatch.kinds import Kind

Meaning = Literal["calm", "notable", "grave", "unknown", "good", "bad", "doubt"]
KindStyle = Literal["irq", "softirq", "tick", "ipi", "thread", "kernel-thread", "outside"]
Halves = NewType("Halves", str)  # two tones

# By meaning, of the sixteen colours that every terminal has. Cyan, yellow and magenta can be told apart by those who
# cannot tell red from green.
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
# By kind of culprit; kinds that are alike share one. The word of the kind, or a sign, stands beside it.
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
# A level by its lightness alone, from none to the highest, of the 256 colours: each is lighter than the one before it,
# for everybody (simulated after Machado et al., 2009). They bring their own background: no theme of the terminal turns
# their order round. What is quiet is hardly lighter than that: most of a map is.
TONES = tuple(f"color({number})" for number in (233, 235, 54, 126, 203, 215, 229))
NO_TONE = "default"
_TONE_BY_LEVEL = (0, 1, 2, 2, 3, 3, 4, 5, 6)  # of the nine levels
_HALVES = (*TONES, NO_TONE)


def tone_of(level: int | None) -> str:
    """The colour of a level; None for what has none, and shows the background of the terminal."""
    return NO_TONE if level is None else TONES[_TONE_BY_LEVEL[level]]


def halves_style(upper: int | None, lower: int | None) -> Halves:
    """The name of the style of `▀`, the halves of which have these levels."""
    return Halves(f"{tone_of(upper)} on {tone_of(lower)}")


# The styles of rows, by the names that stand in them. Meaning never hangs on colour alone: a figure, a glyph or a word
# stands beside it.
ROW_STYLES: Mapping[str, str] = {
    "plain": "",
    "title": "bold",
    "strong": "bold",
    "faint": "dim",
    "heading": "dim underline",
    "key": "reverse",
    "selected": "bold reverse",
    **STYLES,
    **KIND_STYLES,
    **{halves: halves for halves in (f"{upper} on {lower}" for upper in _HALVES for lower in _HALVES)},
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


def painted(text: str, style: str, in_colour: bool = True) -> str:
    """The text between the escape sequences of a terminal; `style` is a name of ROW_STYLES."""
    codes = ";".join(_CODES[word] for word in ROW_STYLES[style].split() if in_colour or word in _WITHOUT_COLOUR)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def painted_row(row: Iterable[tuple[str, str]], in_colour: bool = True) -> str:
    """A row of pieces, each with the name of its style, for a terminal."""
    return "".join(painted(text, style, in_colour) for text, style in row)


def plain_row(row: Iterable[tuple[str, str]]) -> str:
    """The same without colour; blanks at its end are left out."""
    return "".join(text for text, _ in row).rstrip()


def style_of_label(label: str) -> Meaning:
    """The style's name for a label."""
    return _MEANING_BY_LABEL.get(label, "unknown")
