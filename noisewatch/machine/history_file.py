"""The file in which this host keeps its history: JSON Lines, the newest last.

A line is appended in one piece, locked against other writers and synced; nothing is ever overwritten. A line torn by a
power cut is skipped, and terminated before the next one. Each entry has a `kind`; a file with content but no `kind`
belongs to another program.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from noisewatch.errors import UsageError
from noisewatch.machine import Json
from noisewatch.machine.lock_file import hold
from noisewatch.machine.regular_files import READ, convert_failures, open_regular

_WHAT = "a history"
_SYSTEM, _NAME = Path("/var/lib"), Path("noisewatch/history.jsonl")
_PIECE = 16 * 1024 * 1024  # bytes per read: enough for years of one machine, and longer than any line
_MOST_BYTES = 16 * _PIECE  # bytes read from the end of the file: enough for years of a fleet
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK

_FOREIGN = "not a history of noisewatch, so it is left alone; name another file"

Entry = dict[str, Any]


def usual_path() -> Path:
    """Return the default history file: the machine's for root, otherwise the user's.

    The user's file is below $XDG_STATE_HOME, or ~/.local/state. Raise UsageError if no home directory is known.
    https://specifications.freedesktop.org/basedir-spec/latest/
    """
    if os.geteuid() == 0:
        return _SYSTEM / _NAME
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        return (Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state") / _NAME
    except RuntimeError as error:
        raise UsageError("--history: no home directory is known; set $HOME, or name a FILE") from error


def machine_key() -> str:
    """Return this machine's key (32 hexadecimal digits), which distinguishes machines that share a directory.

    It is a keyed hash because the machine ID must not be published (machine-id(5)). All machines without an ID have the
    same key, see `has_identity`.
    """
    import hashlib  # only needed with a history
    import hmac

    return hmac.new(b"noisewatch history", _machine_id(), hashlib.sha256).hexdigest()[:32]


def has_identity() -> bool:
    """Return whether this machine has an ID; `uninitialized` is an ID that is not set yet (machine-id(5))."""
    return _machine_id() not in (b"", b"uninitialized")


def _machine_id() -> bytes:
    try:
        return Path("/etc/machine-id").read_bytes().strip()
    except OSError:
        return b""


def boot_key() -> str | None:
    """Return the random ID of the current boot, which does not identify the machine; None if unreadable.

    https://docs.kernel.org/admin-guide/sysctl/kernel.html#random
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:36] or None
    except (OSError, ValueError):
        return None


class Store(NamedTuple):
    """The content of a history file: entries, oldest first, with line numbers from 1, and the damaged lines' numbers.

    Only the last 256 MB of a larger file are read: `is_cut` is then true, and lines are counted from there.
    """

    entries: list[Entry]
    numbers: list[int]
    damaged: list[int]
    is_cut: bool = False


def read_store(path: Path, is_requested: Callable[[bytes], bool] = lambda _: True) -> Store:
    """Return the entries whose lines are requested, and the damaged lines.

    `is_requested` is called for the newest line first. Without a file, there are no entries. Raise UsageError if it is
    unreadable.
    """
    with convert_failures(path):
        try:
            with open_regular(path, READ, _WHAT) as file:
                return _store(path, file, is_requested)
        except FileNotFoundError:
            return Store([], [], [])


def append_entry(path: Path, entry: Entry, referred_to: Entry | None = None) -> None:
    """Append the entry, and before it the line `referred_to`, unless the last 16 MB contain it.

    Raise UsageError if the file is not a history, or cannot be written.
    """
    with convert_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_regular(path, _APPEND, _WHAT) as file:
            hold(str(path), file)
            end = os.pread(file, _PIECE, max(os.fstat(file).st_size - _PIECE, 0))
            lines = end.split(b"\n")
            if end.strip() and not any(parse_line(line) is not None for line in reversed(lines)):
                raise UsageError(f"{path}: {_FOREIGN}")
            added = [
                json.dumps(new_entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"
                for new_entry in (referred_to, entry)
                if new_entry is not None
            ]
            if referred_to is not None and added[0].strip() in lines:
                del added[0]
            _append(file, b"\n" * (lines[-1] != b"") + b"".join(added))


def _append(file: int, text: bytes) -> None:
    """Append the text as a whole, or nothing if the disk is full. Raise OSError."""
    size = os.fstat(file).st_size
    try:
        with open(file, "ab", buffering=0, closefd=False) as stream:
            while text:
                text = text[stream.write(text) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def _lines_backwards(file: int, begin: int, end: int) -> Iterator[bytes]:
    """Yield the lines, newest first; the last yielded line is incomplete if it starts before `begin`."""
    rest: list[bytes] = []  # parts of the line that begins before the bytes read so far, the last part first
    while end > begin:
        size = min(_PIECE, end - begin)
        end -= size
        first, *lines = os.pread(file, size, end).split(b"\n")
        if lines:
            lines[-1] += b"".join(reversed(rest))
            yield from reversed(lines)
            rest = []
        rest.append(first)
    yield b"".join(reversed(rest))


def _store(path: Path, file: int, is_requested: Callable[[bytes], bool]) -> Store:
    """Return the requested entries. Raise UsageError if the file has content but no entry."""
    entries: list[Entry] = []
    numbers, damaged = [], []  # line numbers, counted backwards: the last line is 1
    size, at, is_history = os.fstat(file).st_size, 0, False
    begin = max(size - _MOST_BYTES, 0)
    for at, line in enumerate(_lines_backwards(file, begin, size), 1):
        if not is_requested(line):
            is_history = True
        elif (entry := parse_line(line)) is not None:
            entries.append(entry)
            numbers.append(at)
        elif line.strip():
            damaged.append(at)
    if damaged and not is_history and not entries:
        raise UsageError(f"{path}: {_FOREIGN}")
    whole = damaged[:-1] if begin and damaged and damaged[-1] == at else damaged
    numbers, whole = ([at + 1 - number for number in reversed(line_numbers)] for line_numbers in (numbers, whole))
    return Store(entries[::-1], numbers, whole, is_cut=begin > 0)


def parse_line(line: bytes) -> Entry | None:
    """Return the entry in a line, or None if the line is not an entry."""
    if len(line) > _PIECE:
        return None
    try:
        entry: Json = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("kind"), str) else None
