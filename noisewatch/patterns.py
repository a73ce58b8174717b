"""Regular expressions that are compiled when they are first used: in one run, most never are."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_USED = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")


class _Later:
    """Stands for the pattern until one of its methods is called; from then on it holds them itself."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for each in _USED:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern, as `re.compile` gives it. A fault in the text raises re.error at its first use."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
