"""Reads files with records of machines as JSON documents; values of an unexpected type are unknown.

A file is one document, or a series of lines whose first one names the kind of file. Only regular files are read, so no
pipe blocks. A document may have up to 64 MiB. Lines are read one at a time, so there may be any number of them.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import Any

from noisewatch.cpus import CpuSet
from noisewatch.errors import Unreadable, UsageError, damaged_words, system_reason
from noisewatch.machine.regular_files import READ
from noisewatch.text import clean

_MOST_BYTES = 64 << 20  # a verdict on 1024 CPUs has less than half of this
_MOST_LINE_BYTES = 8 << 20
_NOT_OURS = (
    "nothing to compare: expected a verdict (preflight --format json), a calibration (calibrate --format json), a "
    "recording (record), or a receipt (run --output FILE.jsonl, or --format json)"
)
Document = Mapping[str, Any]


@contextmanager
def open_regular_file(path: str) -> Iterator[BufferedReader]:
    """Return a context with the open file. Raise Unreadable if it is not regular, or if opening or reading it fails."""
    try:
        with open(os.open(path, READ | os.O_NOCTTY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable(path, "not a regular file")
            yield file
    except OSError as error:
        raise Unreadable(path, system_reason(error)) from error
    except ValueError as error:  # a NUL in the name
        raise Unreadable(path, str(error)) from error


def documents_in(path: str, file: BufferedReader) -> Iterator[Document]:
    """Yield the JSON objects in the file: a single one, or one per line.

    A truncated last line is skipped: its writer was killed. Raise UsageError if there is no object, or a damaged one.
    """
    first = file.readline(_MOST_LINE_BYTES)
    head = _parse_line(first)
    if head is None:
        yield _parse_whole_file(path, first, file)
        return
    yield head
    number = 1
    while line := file.readline(_MOST_LINE_BYTES):
        number += 1
        if not line.strip():
            continue
        parsed = _parse_line(line)
        if parsed is None and (line.endswith(b"\n") or len(line) == _MOST_LINE_BYTES):
            raise UsageError(f"{clean(path)}: {damaged_words('no JSON object', f'in line {number}')}")
        if parsed is not None:
            yield parsed


class NotOurs(UsageError):
    """A file that is not one of noisewatch's."""


def not_ours(path: str) -> NotOurs:
    """Return the error for a file that cannot be compared."""
    return NotOurs(f"{clean(path)}: {_NOT_OURS}")


def _parse_whole_file(path: str, first: bytes, file: BufferedReader) -> Document:
    text = first + file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{clean(path)}: more than {_MOST_BYTES >> 20} MiB of JSON")
    if not text.lstrip().startswith(b"{"):
        raise not_ours(path)
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else clean(str(error))
        raise UsageError(f"{clean(path)}: {damaged_words(reason)}") from error
    if not isinstance(document, dict):
        raise not_ours(path)
    return document


def _parse_line(line: bytes) -> Document | None:
    """Return the JSON object in the line, or None if the line is not one."""
    try:
        document = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a number in JSON")


_MOST = 1e30  # largest possible value of any figure
_MOST_CPU = 1 << 20


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def mappings_of(value: object) -> Sequence[Mapping[str, Any]]:
    """Return the mappings in the value if it is a list, otherwise an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number_of(value: object) -> float | None:
    """Return the value if it is a finite number from 0 to 1e30, otherwise None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        return None
    return float(value) if math.isfinite(value) else None


def positive_number_of(value: object) -> float | None:
    """Return the value if it is a finite number above 0, otherwise None."""
    return number_of(value) or None


def text_of(value: object) -> str | None:
    """Return the value with its unprintable characters replaced if it is a text, otherwise None."""
    return clean(value) if isinstance(value, str) else None


def cpus_of(value: object) -> CpuSet | None:
    """Return the set of the CPUs if the value is a list of CPU numbers, otherwise None."""
    if not isinstance(value, list) or not all(
        isinstance(cpu, int) and not isinstance(cpu, bool) and 0 <= cpu <= _MOST_CPU for cpu in value
    ):
        return None
    return frozenset(value)
