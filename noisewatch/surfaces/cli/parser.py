"""The parser class of the command line; it raises errors, with a suggestion for misspelt names."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, _SubParsersAction
from collections.abc import Iterable
from typing import Any

from noisewatch.errors import UsageError, quote
from noisewatch.patterns import regex
from noisewatch.text import printable

_OPTION = regex(r"--?[A-Za-z]\S*+$")  # neither a negative number nor a text with blanks

_OPTION_BY_SYNONYM = {
    "--seconds": "--duration",
    "--affinity": "--cpus",
    "--repeat": "--runs",
    "--repetitions": "--runs",
}
_HINT_BY_COMMAND = {
    "help": "; noisewatch --help lists the commands",
    "monitor": "; noisewatch without a command starts the monitor",
    "watch": "; noisewatch without a command starts the monitor",
}


def did_you_mean(name: str, valid_names: Iterable[str], otherwise: str = "") -> str:
    """Return `; did you mean …?` with a valid name that starts with `name` or is similar, or else `otherwise`."""
    from difflib import get_close_matches  # only misspelt names need it

    name_by_word = {valid_name.lower(): valid_name for valid_name in valid_names}
    word = name.lower()
    longer = [valid_word for valid_word in name_by_word if word and valid_word.startswith(word)]
    similar = longer or get_close_matches(word, name_by_word, n=1)
    return f"; did you mean {name_by_word[similar[0]]}?" if similar else otherwise


class Parser(ArgumentParser):
    """An argparse parser whose errors are UsageErrors."""

    def error(self, message: str) -> None:  # type: ignore[override]  # raises instead of exiting
        """Raise UsageError with the message."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def refuse_unknown(self, words: Iterable[str]) -> None:
        """Raise UsageError for the first word that looks like an option, but is not the start of an option's name."""
        names = self._option_string_actions
        for name in (word.partition("=")[0] for word in words):
            is_known = name[:2] in names or any(known.startswith(name) for known in names)
            if _OPTION.match(name) and not is_known:
                meant = _OPTION_BY_SYNONYM.get(name)
                hint = f"; did you mean {meant}?" if meant in names else did_you_mean(name, names)
                self.error(f"there is no option {printable(name)}{hint}")

    def format_help(self) -> str:
        """Return the help text; commands that need root start with the program's full path."""
        from noisewatch.program import name_for_root  # only help needs it

        return name_for_root(super().format_help())

    def _check_value(self, action: Action, value: Any) -> None:
        """Raise ArgumentError if the value is not one of the choices; argparse calls this method for each value."""
        if action.choices is None or value in action.choices:
            return
        hint = did_you_mean(str(value), action.choices)
        if isinstance(action, _SubParsersAction):
            hint = _HINT_BY_COMMAND.get(value, hint)
            raise ArgumentError(None, f"there is no command {quote(value)}{hint}")
        raise ArgumentError(action, f"expected one of {', '.join(action.choices)}, found {quote(value)}{hint}")
