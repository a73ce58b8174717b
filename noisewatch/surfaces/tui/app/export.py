"""What is on the screen as files: a picture of it, and what it tells for programs and for people."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from itertools import count


def _unused(name: str, suffixes: Iterable[str]) -> str:
    """The name, or the same with the first number that is free."""
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(each for each in names if not any(os.path.lexists(f"{each}.{suffix}") for suffix in suffixes))


def export(text_by_suffix: Mapping[str, str | bytes], now: time.struct_time) -> str:
    """Writes them into the working folder, beside what is there; what was written, or why it could not be."""
    name = _unused(time.strftime("noisewatch-%Y%m%d-%H%M%S", now), text_by_suffix)
    written: list[str] = []
    for suffix, text in text_by_suffix.items():
        try:
            with open(f"{name}.{suffix}", "xb") as file:
                file.write(text.encode() if isinstance(text, str) else text)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            return f"{'written in part' if written else 'nothing was written'}: {name}.{suffix}: {reason}"
        written.append(f".{suffix}")
    return f"written: {name} {' '.join(written)}"
