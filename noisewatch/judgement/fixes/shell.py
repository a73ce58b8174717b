"""Render commands, numbers and paths as one readable shell line, even for hundreds of CPUs."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from noisewatch.patterns import regex

_NO_PLACE = -1  # stands for the place at which commands differ, in a group of a single command
_MIN_PROGRESSION = 3  # the fewest numbers that are worth a `seq`
_DIGITS = tuple("0123456789")
_PIECE = regex(r"([0-9]+|(?<=_)[a-z]+(?=_))")  # a number, or letters between underscores
NUMBER = regex(r"0|[1-9][0-9]*")
_NOT_FOR_ECHO = regex(r"-[neE]+|.*\\.*", re.DOTALL)
_SPECIAL_IN_QUOTES = regex(r'([\\"$`])')
_SPECIAL_IN_GLOBS = regex(r"([*?[{])")

Product = tuple[tuple[str, ...], ...]  # alternatives at each place (word, folder or digit); represents all combinations


def echo(text: str) -> str:
    """Return the command that prints the text as a line: `echo`, or `printf` if `echo` would change the text."""
    program = "printf '%s\\n'" if _NOT_FOR_ECHO.fullmatch(text) else "echo"
    return f"{program} {shlex.quote(text)}"


def write_values(value_by_path: Mapping[str, str]) -> str:
    """Return the commands that write the values to the files; files that get the same value share a loop."""
    paths_by_value: dict[str, list[str]] = defaultdict(list)
    for path, value in value_by_path.items():
        paths_by_value[value].append(path)
    return "; ".join(
        _write_value(value, product) for value, paths in paths_by_value.items() for product in products_of_paths(paths)
    )


def _write_value(value: str, product: Product) -> str:
    loops, places = _split_product(product)
    quoted = '"' + "/".join(map(_in_double_quotes, places)) + '"'
    path = quoted if loops else shlex.quote("/".join(before for before, _, _ in places))
    return _wrap_in_loops(loops, f"{echo(value)} | sudo tee {path}")


def run(commands: Iterable[tuple[str, ...]], as_root: bool) -> str:
    """Return the commands in one line; successive commands that differ in one word become a loop."""
    groups: list[
        tuple[int, list[tuple[str, ...]]]
    ] = []  # each group is a place, and commands that differ only at this place
    for command in dict.fromkeys(commands):
        differing = _differing_place(groups[-1][1][0], command) if groups else None
        if differing is None or groups[-1][0] not in (_NO_PLACE, differing):
            groups.append((_NO_PLACE, [command]))
        else:
            groups[-1] = (differing, groups[-1][1])
            groups[-1][1].append(command)
    return "; ".join(_run(products(group)[0], as_root) for _, group in groups)


def _differing_place(left: Sequence[str], right: Sequence[str]) -> int | None:
    """Return the index of the only word that differs, or None unless exactly one does."""
    if len(left) != len(right):
        return None
    places = [place for place, words in enumerate(zip(left, right, strict=True)) if words[0] != words[1]]
    return places[0] if len(places) == 1 else None


def _run(product: Product, as_root: bool) -> str:
    loops, places = _split_product(product)
    words = [f'"{_in_double_quotes(place)}"' if place[1] else shlex.quote(place[0]) for place in places]
    return _wrap_in_loops(loops, " ".join(["sudo", *words] if as_root else words))


def products_of_paths(paths: Iterable[str]) -> list[Product]:
    """Return the paths as products: alternatives for each path component."""
    rows_by_depth: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        row = tuple(path.split("/"))
        rows_by_depth[len(row)].append(row)
    return [product for rows in rows_by_depth.values() for product in products(rows)]


def products(rows: Sequence[tuple[str, ...]]) -> list[Product]:
    """Return a few products that contain exactly these rows, which must have equal lengths."""
    if not rows or not rows[0]:
        return [()] if rows else []
    tails_by_head: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for head, *tail in rows:
        tails_by_head[head].append(tuple(tail))
    heads_by_tails: dict[frozenset[tuple[str, ...]], list[str]] = defaultdict(list)
    for head, tails in tails_by_head.items():
        heads_by_tails[frozenset(tails)].append(head)
    return [
        (tuple(heads), *product) for heads in heads_by_tails.values() for product in products(tails_by_head[heads[0]])
    ]


def list_of_numbers(numbers: Iterable[int]) -> str:
    """Return the shortest list of the numbers for a loop: `2 3`, `$(seq 0 19)`, `$(seq 0 2 94; seq 96 143)`."""
    ordered = sorted(set(numbers))
    commands: list[str] = []
    index = 0
    while index < len(ordered):
        count = _length_of_progression(ordered, index)
        if count >= _MIN_PROGRESSION:
            step = ordered[index + 1] - ordered[index]
            commands.append(f"seq {ordered[index]} {f'{step} ' if step > 1 else ''}{ordered[index + count - 1]}")
            index += count
            continue
        if commands and commands[-1].startswith("echo"):
            commands[-1] += f" {ordered[index]}"
        else:
            commands.append(f"echo {ordered[index]}")
        index += 1
    return min(" ".join(map(str, ordered)), f"$({'; '.join(commands)})", key=len)


def _length_of_progression(ordered: Sequence[int], start: int) -> int:
    """Return the number of equally spaced numbers from the index `start` on."""
    steps = (ordered[index] - ordered[index - 1] for index in range(start + 1, len(ordered)))
    first = next(steps, None)
    return min(2 + sum(1 for _ in takewhile(lambda step: step == first, steps)), len(ordered) - start)


def glob_of(product: Product) -> str:
    """Return the product as one glob for systemd-tmpfiles, with braces so that it matches no other paths."""
    return "/".join(_word_glob(alternatives) for alternatives in product)


def _word_glob(alternatives: Sequence[str]) -> str:
    before, values, after = split_words(alternatives)
    patterns = [_escape_glob(value) for value in values]
    if len(values) > 1 and all(map(NUMBER.fullmatch, values)):
        patterns = []
        for length in sorted({len(value) for value in values}):
            rows = [tuple(value) for value in sorted(values) if len(value) == length]
            patterns += [
                _digit_pattern(first) + "".join(map(_later_digit_pattern, others)) for first, *others in products(rows)
            ]
    middle = f"{{{','.join(patterns)}}}" if len(patterns) > 1 else patterns[0]
    return _escape_glob(before) + middle + _escape_glob(after)


def _escape_glob(text: str) -> str:
    return _SPECIAL_IN_GLOBS.sub(r"[\1]", text)


def _later_digit_pattern(digits: Sequence[str]) -> str:
    """Return a pattern for a digit after the first: `?` for any digit, because a digit must be at this place."""
    return "?" if tuple(digits) == _DIGITS else _digit_pattern(digits)


def _digit_pattern(digits: Sequence[str]) -> str:
    """Return a pattern that matches any of the digits: `4`, `[4-9]`, `[02468]`."""
    is_range = len(digits) >= _MIN_PROGRESSION and int(digits[-1]) - int(digits[0]) == len(digits) - 1
    return digits[0] if len(digits) == 1 else f"[{f'{digits[0]}-{digits[-1]}' if is_range else ''.join(digits)}]"


def _split_product(product: Product) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Return the product's loops (values by variable), and its places as (prefix, variable, suffix)."""
    loops: dict[str, str] = {}
    places = []
    for alternatives in product:
        if len(alternatives) == 1:
            places.append((alternatives[0], "", ""))
            continue
        before, values, after = split_words(alternatives)
        name = next(letter for letter in (*before.lower(), *"nabcdef") if letter in _LETTERS and letter not in loops)
        are_numbers = all(map(NUMBER.fullmatch, values))
        loops[name] = list_of_numbers(map(int, values)) if are_numbers else " ".join(map(shlex.quote, values))
        places.append((before, name, after))
    return loops, places


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


def split_words(alternatives: Sequence[str]) -> tuple[str, list[str], str]:
    """Split the words into a common prefix, the parts that differ, and a common suffix.

    If they differ in more than one number or part between underscores, prefix and suffix are empty.
    """
    rows = [_PIECE.split(word) for word in alternatives]
    if len({len(row) for row in rows}) == 1:
        differing = [index for index, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
        if len(differing) == 1 and differing[0] % 2:
            index, first = differing[0], rows[0]
            return "".join(first[:index]), [row[index] for row in rows], "".join(first[index + 1 :])
    return "", list(alternatives), ""


def _in_double_quotes(place: tuple[str, str, str]) -> str:
    """Render the place for use between double quotes."""
    before, name, after = (_SPECIAL_IN_QUOTES.sub(r"\\\1", part) for part in place)
    if not name:
        return before
    is_bounded = not after[:1].isalnum() and not after.startswith("_")
    return f"{before}${name}{after}" if is_bounded else f"{before}${{{name}}}{after}"


def _wrap_in_loops(loops: Mapping[str, str], command: str) -> str:
    for name, listed in reversed([*loops.items()]):
        command = f"for {name} in {listed}; do {command}; done"
    return command
