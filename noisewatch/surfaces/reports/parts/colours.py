"""What stands out in which colour, on the screen and in a report: one for each meaning, which a word always repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from noisewatch.kinds import Kind

Meaning = Literal["calm", "notable", "grave", "unknown", "good", "bad", "doubt"]
KindStyle = Literal["irq", "softirq", "tick", "ipi", "thread", "kernel-thread", "outside"]

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
}
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


def painted(text: str, style: str) -> str:
    """The text between the escape sequences of a terminal; `style` is a name of ROW_STYLES."""
    codes = ";".join(_CODES[word] for word in ROW_STYLES[style].split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def painted_row(row: Iterable[tuple[str, str]]) -> str:
    """A row of pieces, each with the name of its style, for a terminal that shows colour."""
    return "".join(painted(text, style) for text, style in row)


def plain_row(row: Iterable[tuple[str, str]]) -> str:
    """The same without colour; blanks at its end are left out."""
    return "".join(text for text, _ in row).rstrip()


def style_of_label(label: str) -> Meaning:
    """The style's name for a label."""
    return _MEANING_BY_LABEL.get(label, "unknown")
