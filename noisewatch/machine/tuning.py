"""The settings of this host that `noisewatch tune` changes, and the file of its journal.

Only `tune` and `restore` use it, because it writes to the machine.
"""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import NamedTuple

from noisewatch.errors import UsageError, system_reason
from noisewatch.machine.regular_files import open_regular

_ROOTS = ("/proc/sys/", "/proc/irq/", "/sys/")
_READABLE = ("/proc/", "/sys/")
_WRITE = os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK
_JOURNAL = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_PUBLIC = "tuned.json"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_UNIT_DEADLINE_S = 30.0
_FLAGS, _STARTED = 6, 19  # positions in /proc/PID/stat after the name; fields 9 and 22 of proc(5)
_IS_KERNEL_THREAD, _IS_FIXED = 0x00200000, 0x04000000  # PF_KTHREAD, PF_NO_SETAFFINITY: include/linux/sched.h


class LiveThread(NamedTuple):
    """A thread's name, its start (ticks since boot), whether it is the kernel's, and whether it cannot be pinned."""

    name: str
    started: int
    is_kernel: bool
    is_fixed: bool = False


class Settings:
    """The settings of this host, or of the files below `root` in a test. All methods raise OSError."""

    def __init__(self, root: str = "") -> None:
        self._root = os.path.realpath(root) if root else ""

    def read(self, path: str) -> str:
        """Return the file's content without the final line break."""
        with open(self._checked(path, _READABLE), encoding="ascii", errors="surrogateescape") as file:
            return file.read().rstrip("\n")

    def paths(self, pattern: str) -> list[str]:
        """Return the existing files that match a shell pattern, sorted."""
        return sorted(path.removeprefix(self._root) for path in glob(self._root + pattern))

    def write(self, path: str, text: str) -> None:
        """Write the text with a line break in one call, as the kernel expects it. The file must exist."""
        file = os.open(self._checked(path), _WRITE | (os.O_TRUNC if self._root else 0))
        try:
            os.write(file, text.encode("ascii", "surrogateescape") + b"\n")
        finally:
            os.close(file)

    def has_group(self, path: str) -> bool:
        """Return whether the control group exists."""
        return os.path.isdir(self._checked(path))

    def make_group(self, path: str) -> None:
        """Create the control group."""
        os.mkdir(self._checked(path))

    def remove_group(self, path: str) -> None:
        """Remove the control group; the kernel refuses while it has processes or groups."""
        os.rmdir(self._checked(path))

    def affinity(self, tid: int) -> frozenset[int]:
        """Return the CPUs that the thread may use."""
        return frozenset(os.sched_getaffinity(tid))

    def set_affinity(self, tid: int, cpus: frozenset[int]) -> None:
        """Restrict the thread to these CPUs."""
        os.sched_setaffinity(tid, cpus)

    def thread(self, tid: int) -> LiveThread:
        """Return the thread's identity and properties."""
        with open(f"/proc/{tid}/stat", "rb") as file:
            before, _, after = file.read().rpartition(b")")
        fields = after.split()
        name, flags = before.partition(b"(")[2].decode("utf-8", "replace"), int(fields[_FLAGS])
        return LiveThread(name, int(fields[_STARTED]), bool(flags & _IS_KERNEL_THREAD), bool(flags & _IS_FIXED))

    def tids(self) -> list[int]:
        """Return the ids of all threads."""
        return [int(path.rsplit("/", 1)[1]) for path in glob("/proc/[0-9]*/task/[0-9]*")]

    def unit_state(self, unit: str) -> str:
        """Return the state of a unit of systemd: `active`, `inactive`, `failed`, …"""
        return _systemctl("show", "--property=ActiveState", "--value", "--", unit)

    def set_unit(self, verb: str, unit: str) -> None:
        """Start or stop the unit."""
        _systemctl(verb, "--", unit)

    def property_of(self, unit: str, name: str) -> str:
        """Return the property of a unit of systemd."""
        return _systemctl("show", f"--property={name}", "--value", "--", unit)

    def set_property(self, unit: str, name: str, value: str) -> None:
        """Set the property until the next boot; an empty value resets it to the default."""
        _systemctl("set-property", "--runtime", "--", unit, f"{name}={value}")

    def _checked(self, path: str, roots: tuple[str, ...] = _ROOTS) -> str:
        """Return the path with symbolic links resolved. Raise PermissionError if it is not below `roots`."""
        real = os.path.realpath(self._root + path)
        if not real.removeprefix(self._root).startswith(roots):
            raise PermissionError(f"{path} is not a setting of the kernel")
        return real


def _systemctl(*arguments: str) -> str:
    """Return what systemctl prints. Raise OSError with its message."""
    try:
        result = subprocess.run(
            ["systemctl", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_UNIT_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"systemctl {arguments[0]}: no answer within {_UNIT_DEADLINE_S:.0f} s") from error
    if result.returncode:
        raise OSError(f"systemctl {' '.join(arguments)}: {result.stderr.strip() or result.returncode}")
    return result.stdout.strip()


class JournalFile:
    """The journal, open and locked: only one process tunes or restores at a time."""

    def __init__(self, path: Path, file: int) -> None:
        self._path = path
        self._file = file

    def read(self, most_bytes: int) -> bytes:
        """Return the whole content. Raise UsageError if it is larger."""
        size = os.fstat(self._file).st_size
        if size > most_bytes:
            raise UsageError(f"{self._path}: larger than {most_bytes >> 20} MiB, so not a journal of noisewatch tune")
        return os.pread(self._file, size, 0)

    def append(self, text: bytes, is_synced: bool = True) -> None:
        """Append the whole text, or nothing if the disk is full; with `is_synced`, wait until it is on the disk.

        Raise UsageError if the journal cannot be written.
        """
        size = os.fstat(self._file).st_size
        try:
            done = 0
            while done < len(text):
                done += os.write(self._file, text[done:])
            if is_synced:
                os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise UsageError(f"{self._path}: {system_reason(error)}; nothing is changed without a journal") from error

    def start_new_line(self) -> None:
        """Remove an incomplete last line: a process was killed while writing it. A change in it has not been made."""
        size = os.fstat(self._file).st_size
        content = os.pread(self._file, size, 0)
        if content and not content.endswith(b"\n"):
            os.ftruncate(self._file, content.rfind(b"\n") + 1)

    def publish(self, text: bytes | None) -> None:
        """Replace the public file next to the journal; remove it for None. Raise UsageError if that is impossible."""
        target = self._path.with_name(_PUBLIC)
        temporary = target.with_name(f".{_PUBLIC}")
        try:
            if text is None:
                target.unlink(missing_ok=True)
                return
            temporary.unlink(missing_ok=True)
            with open(os.open(temporary, _NEW, 0o644), "wb") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(text)
            temporary.replace(target)
        except OSError as error:
            raise UsageError(f"{target}: {system_reason(error)}") from error

    def forget(self) -> None:
        """Remove the public file, then empty the journal: after a kill in between, no change seems lost."""
        self.publish(None)
        self.clear()

    def clear(self) -> None:
        """Empty the journal: no change in it needs restoring."""
        os.ftruncate(self._file, 0)
        os.fsync(self._file)


def read_public_file(journal: Path) -> str:
    """Return the content of the public file next to the journal. Raise OSError."""
    return journal.with_name(_PUBLIC).read_text("utf-8", "replace")


@contextmanager
def opened_journal(path: Path, waits: bool = False) -> Iterator[JournalFile]:
    """Open the journal, create it if it is missing, and lock it.

    If another process has locked it, wait for that process (with `waits`) or raise UsageError. Raise UsageError also
    if a user other than root (in a test: this user) could have written it.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
            path.parent.chmod(0o755)
        _require_own(path.parent)
        with open_regular(path, _JOURNAL, "a journal of noisewatch tune") as file:
            if not os.fstat(file).st_size:
                os.fchmod(file, 0o600)
            _require_own(path)
            _lock(path, file, waits)
            yield JournalFile(path, file)
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error)}") from error


def _lock(path: Path, file: int, waits: bool) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        raise UsageError(f"{path}: another noisewatch is tuning or restoring this machine") from None


def _require_own(path: Path) -> None:
    """Raise UsageError if another user owns the file or the folder, or may write to it."""
    status = os.lstat(path)
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        raise UsageError(f"{path}: other users may write to it, so it is not used (chown root, chmod go-w)")
