"""Regular expressions that are compiled at first use, because a run of noisewatch uses few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_USED = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")


class _Later:
    """A placeholder for a pattern: the first use of a method compiles the pattern and adopts its methods."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for used in _USED:
            setattr(self, used, getattr(compiled, used))
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern like `re.compile`, but compile it at first use, which raises re.error if it is invalid."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
