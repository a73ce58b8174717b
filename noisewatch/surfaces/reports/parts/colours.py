"""What stands out in which colour, on the screen and in a report: one for each meaning, which a word always repeats."""

from __future__ import annotations

from collections.abc import Mapping
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
_CODES = {"bold": "1", "dim": "2", "reverse": "7", "magenta": "35", "cyan": "36", "yellow": "33"}


def painted(text: str, meaning: Meaning) -> str:
    """The text between the escape sequences of a terminal."""
    return f"\x1b[{';'.join(_CODES[word] for word in STYLES[meaning].split())}m{text}\x1b[0m"


def style_of_label(label: str) -> Meaning:
    """The style's name for a label."""
    return _MEANING_BY_LABEL.get(label, "unknown")
