"""Small files in which running noisewatch processes publish their status to other processes on this host.

    /run/noisewatch/4711                root's, readable by all; the name is the pid
    /run/user/1000/noisewatch/4711      a user's own ($XDG_RUNTIME_DIR)

    5f3c2a11                            CRC-32 of all that follows
    {"schema":1,…

A file is written in place, so its inode stays: a reader with an open descriptor sees the last content even after the
file is removed. The checksum detects a read during a write. The writer holds a lock (flock) until it ends, which
distinguishes its file from a killed process's file.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

LARGEST = 1 << 16  # bytes
_MOST_FILES = 16
_OF_ROOT, _NAME = "/run/noisewatch", "noisewatch"
_FOLDER_TRIES, _FOLDER_WAIT_S = 200, 0.001
_TRIES = 3  # a file that is being written is complete some microseconds later
_CRC = 9  # bytes: eight digits and the end of the line
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def own_folder() -> str:
    """Return the folder for status files of this user's processes."""
    uid = os.geteuid()
    return _OF_ROOT if uid == 0 else f"{os.environ.get('XDG_RUNTIME_DIR') or f'/run/user/{uid}'}/{_NAME}"


def trusted_folders() -> tuple[str, ...]:
    """Return the folders of root, of this user and, under sudo, of its caller."""
    caller = _sudo_caller()
    of_caller = () if caller is None else (f"/run/user/{caller}/{_NAME}",)
    return tuple(dict.fromkeys((_OF_ROOT, own_folder(), *of_caller)))


def _sudo_caller() -> str | None:
    caller = os.environ.get("SUDO_UID", "")
    return caller if os.geteuid() == 0 and _is_number(caller) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10


class StatusFile:
    """The status file of this process. A file that cannot be written is silently missing."""

    def __init__(self, folder: str | None = None) -> None:
        self._pid = os.getpid()
        self._size = 0
        self._folder = self._file = -1
        try:
            self._open(own_folder() if folder is None else folder)
        except OSError:
            self.remove()

    def _open(self, folder: str) -> None:
        is_roots = os.geteuid() == 0
        with suppress(FileExistsError):
            os.mkdir(folder, 0o755 if is_roots else 0o700)
        self._folder = os.open(folder, _FOLDER)
        if not _is_safe(os.fstat(self._folder), frozenset({os.geteuid()})):
            raise PermissionError(folder)
        with _locked_folder(self._folder):  # until the file is locked, other starting processes may remove it as stale
            _remove_stale(self._folder)
            self._file = os.open(str(self._pid), _CREATE, 0o600, dir_fd=self._folder)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_roots:
            os.fchmod(self._file, 0o644)

    def write(self, text: str) -> None:
        """Replace the file's text."""
        if self._file < 0:
            return
        content = text.encode("utf-8", "replace")
        content = b"%08x\n%b" % (zlib.crc32(content), content)
        try:
            os.pwrite(self._file, content, 0)
            if len(content) < self._size:
                os.ftruncate(self._file, len(content))
        except OSError:
            self.remove()
        self._size = len(content)

    def remove(self) -> None:
        """Remove the file. A second call does nothing, and a call in a forked process only closes descriptors."""
        if os.getpid() == self._pid and self._file >= 0:
            with suppress(OSError):
                os.unlink(str(self._pid), dir_fd=self._folder)
        for descriptor in (self._file, self._folder):
            if descriptor >= 0:
                os.close(descriptor)
        self._folder = self._file = -1


@contextmanager
def _locked_folder(folder: int) -> Iterator[None]:
    """Lock the folder, so that no other process adds or removes files. Raise BlockingIOError after a timeout."""
    for tries_left in reversed(range(_FOLDER_TRIES)):
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not tries_left:
                raise
            time.sleep(_FOLDER_WAIT_S)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _remove_stale(folder: int) -> None:
    """Remove the files of killed processes."""
    for name in filter(_is_number, os.listdir(folder)):
        with suppress(OSError):
            file = os.open(name, _READ, dir_fd=folder)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name, dir_fd=folder)
            finally:
                os.close(file)


def _is_safe(status: os.stat_result, uids: frozenset[int]) -> bool:
    """Return whether one of the users owns the file and no other user can write to it."""
    return status.st_uid in uids and not status.st_mode & _OTHERS_WRITE


class _Opened(Struct):
    file: int
    text: str | None = None


class StatusFiles:
    """The status texts of running noisewatch processes; an ended process's text is returned one last time."""

    def __init__(self, folders: Sequence[str] | None = None) -> None:
        self._folders = trusted_folders() if folders is None else tuple(folders)
        self._uids = frozenset({0, os.geteuid(), int(_sudo_caller() or 0)})
        self._opened: dict[tuple[str, str], _Opened] = {}

    def texts(self) -> list[str]:
        """Return the texts of processes of trusted users: root, this user and sudo's caller."""
        there = {(folder, name) for folder in self._folders for name in self._open_new(folder)}
        texts = []
        for key, opened in list(self._opened.items()):
            opened.text = _read(opened.file) or opened.text
            if opened.text is not None:
                texts.append(opened.text)
            if key not in there:
                os.close(self._opened.pop(key).file)
        return texts

    def _open_new(self, folder: str) -> list[str]:
        """Open the new files in the folder as far as permitted, and return all names in it."""
        try:
            opened = os.open(folder, _FOLDER)
        except OSError:
            return []
        try:
            if not _is_safe(os.fstat(opened), self._uids):
                return []
            names = sorted(filter(_is_number, os.listdir(opened)))
            for name in names:
                if (folder, name) not in self._opened and len(self._opened) < _MOST_FILES:
                    file = self._open_if_trusted(opened, name)
                    if file is not None:
                        self._opened[folder, name] = _Opened(file)
            return names
        except OSError:
            return []
        finally:
            os.close(opened)

    def _open_if_trusted(self, folder: int, name: str) -> int | None:
        """Open a running process's file; return None unless its owner is trusted, and is root or the process's user."""
        with suppress(OSError):
            file = os.open(name, _READ, dir_fd=folder)
            with suppress(OSError):
                status, uid = os.fstat(file), os.stat(f"/proc/{name}").st_uid
                if stat.S_ISREG(status.st_mode) and _is_safe(status, self._uids) and status.st_uid in (0, uid):
                    return file
            os.close(file)
        return None


def _read(file: int) -> str | None:
    """Return the text, or None if the file is incomplete."""
    with suppress(OSError):
        for _ in range(_TRIES):
            content = os.pread(file, LARGEST + 1, 0)
            if len(content) > LARGEST:
                return None
            if content[:_CRC] == b"%08x\n" % zlib.crc32(content[_CRC:]):
                return content[_CRC:].decode("utf-8", "replace")
    return None
