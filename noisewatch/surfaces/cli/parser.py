"""The parser class of the command line: errors are raised, and say what may have been meant."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, _SubParsersAction
from collections.abc import Iterable
from typing import Any

from noisewatch.errors import UsageError, quoted
from noisewatch.patterns import regex
from noisewatch.text import printable

_OPTION = regex(r"--?[A-Za-z]\S*+$")  # not a negative number, nor a text with a dash at its beginning


def did_you_mean(name: str, valid_names: Iterable[str], otherwise: str = "") -> str:
    """Return `; did you mean …?` with a similar valid name, one that begins with `name` first; or else `otherwise`."""
    from difflib import get_close_matches  # only misspelt names need it

    by_word = {valid_name.lower(): valid_name for valid_name in valid_names}
    word = name.lower()
    longer = [valid_word for valid_word in by_word if word and valid_word.startswith(word)]
    near = longer or get_close_matches(word, by_word, n=1)
    return f"; did you mean {by_word[near[0]]}?" if near else otherwise


class Parser(ArgumentParser):
    """An argparse parser whose errors are UsageErrors."""

    def error(self, message: str) -> None:  # type: ignore[override]  # raises instead of exiting, as all errors do
        """Raise UsageError with the message."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def refuse_unknown(self, words: Iterable[str]) -> None:
        """Raise UsageError for the first word that looks like an option and is neither one nor the beginning of one."""
        names = self._option_string_actions
        for name in (word.partition("=")[0] for word in words):
            is_known = name[:2] in names or any(known.startswith(name) for known in names)
            if _OPTION.match(name) and not is_known:
                self.error(f"there is no option {printable(name)}{did_you_mean(name, names)}")

    def format_help(self) -> str:
        """Return the help text, with the program's path in commands that need root."""
        from noisewatch.program import named_for_root  # only help needs it

        return named_for_root(super().format_help())

    def _check_value(self, action: Action, value: Any) -> None:
        """Raise ArgumentError if the value is not one of the choices; argparse calls this method for each value."""
        if action.choices is None or value in action.choices:
            return
        near = did_you_mean(str(value), action.choices)
        if isinstance(action, _SubParsersAction):
            raise ArgumentError(None, f"there is no command {quoted(value)}{near}")
        raise ArgumentError(action, f"wanted one of {', '.join(action.choices)}, found {quoted(value)}{near}")
