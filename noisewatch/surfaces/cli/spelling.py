"""What may have been meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, valid_names: Iterable[str], otherwise: str = "") -> str:
    """Return `; did you mean …?` with a similar valid name, one that begins with `name` first; or else `otherwise`."""
    from difflib import get_close_matches  # only misspelt names need it

    by_word = {valid_name.lower(): valid_name for valid_name in valid_names}
    word = name.lower()
    longer = [valid_word for valid_word in by_word if word and valid_word.startswith(word)]
    near = longer or get_close_matches(word, by_word, n=1)
    return f"; did you mean {by_word[near[0]]}?" if near else otherwise
