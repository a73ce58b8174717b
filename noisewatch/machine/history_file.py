"""Where this host keeps what was measured on it: JSON Lines, of which the last ones are the newest.

A line is appended in one piece, locked against others and synced; nothing is ever written over. A line that is torn, as
by a power cut, is passed over, and ends before the next one begins. Each entry has a `kind`; a file that says something
without one is somebody else's.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noisewatch.errors import UsageError
from noisewatch.machine import Json
from noisewatch.machine.lock_file import hold

_SYSTEM, _NAME = Path("/var/lib"), Path("noisewatch/history.jsonl")
_MOST_BYTES = 16 * 1024 * 1024  # read from the end: years of it
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK

Entry = dict[str, Any]


def usual_path() -> Path:
    """That of the machine for root, and else the user's own ($XDG_STATE_HOME, or ~/.local/state). Raises UsageError.

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
    """Which machine this is, in a directory that several may share: 32 hexadecimal digits.

    Keyed, as the identity itself is not to be told: machine-id(5). All machines without one have the same key, see
    `has_identity`.
    """
    import hashlib  # only for those who keep a history
    import hmac

    return hmac.new(b"noisewatch history", _machine_id(), hashlib.sha256).hexdigest()[:32]


def has_identity() -> bool:
    """Whether this machine can be told from others: machine-id(5) calls one that is still to be set uninitialized."""
    return _machine_id() not in (b"", b"uninitialized")


def _machine_id() -> bytes:
    try:
        return Path("/etc/machine-id").read_bytes().strip()
    except OSError:
        return b""


def boot_key() -> str | None:
    """Which of its boots this is: a random number, that tells nothing of the machine. None where nobody says.

    https://docs.kernel.org/admin-guide/sysctl/kernel.html#random
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:36] or None
    except (OSError, ValueError):
        return None


def read_entries(path: Path) -> list[Entry]:
    """What was kept, the oldest first; nothing where there is no file yet. Raises UsageError."""
    with _failures_told(path):
        try:
            with _opened(path, _READ) as file:
                return _entries(path, _end_of(file))
        except FileNotFoundError:
            return []


def append_entry(path: Path, entry: Entry, referred_to: Entry | None = None) -> None:
    """Adds it, and before it what it refers to, unless that is there already. Raises UsageError."""
    with _failures_told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _opened(path, _APPEND) as file:
            hold(str(path), file)
            end = _end_of(file)
            known = _entries(path, end)
            is_torn = end != b"" and not end.endswith(b"\n")
            added = [] if referred_to is None or referred_to in known else [referred_to]
            with open(file, "ab", closefd=False) as stream:
                stream.write(b"\n" * is_torn + b"".join(map(_line, [*added, entry])))
            os.fsync(file)


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


@contextmanager
def _failures_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """The regular file; nobody waits for what is none. Raises UsageError for that, and OSError."""
    file = os.open(path, flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UsageError(f"{path}: not a regular file, so not a history")
        yield file
    finally:
        os.close(file)


def _end_of(file: int) -> bytes:
    return os.pread(file, _MOST_BYTES, max(os.fstat(file).st_size - _MOST_BYTES, 0))


def _entries(path: Path, text: bytes) -> list[Entry]:
    """Those in the text. Raises UsageError where it says something, and has none."""
    found = [entry for line in text.split(b"\n") if (entry := _parsed(line)) is not None]
    if text.strip() and not found:
        raise UsageError(f"{path}: not a history of noisewatch, so it is left alone; name another file")
    return found


def _parsed(line: bytes) -> Entry | None:
    try:
        said: Json = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and isinstance(said.get("kind"), str) else None
