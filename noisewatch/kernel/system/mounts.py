"""The mounted file systems: /proc/self/mounts.

    proc /proc proc rw,nosuid,nodev,noexec,relatime,hidepid=invisible 0 0
    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0          (/proc/stat only shows the container)
    server:/scratch /scratch\\040space nfs4 rw 0 0           (blanks are octal escapes)

https://man7.org/linux/man-pages/man5/proc_pid_mounts.5.html; https://linuxcontainers.org/lxcfs/introduction/
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import lines_of, parse_identifier
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

OWN_MOUNTS = "/proc/self/mounts"
MOUNTS = "/proc/mounts"
LONGEST_PATH = 4096  # the kernel's limit
_FIELDS = 6
TEMPORARY_FILES = "file system of temporary files"
LXCFS = "served by lxcfs, which shows this container only"
_KERNELS_OWN = ("proc", "sysfs")
# Served over a network or by another process, so waits are not in iowait. An overlay may be on top of such a type.
_SERVED = regex(r"9p|nfs4?|cifs|smb3|ceph|lustre|gpfs|beegfs|afs|virtiofs|fuse(?:\..+)?|overlay")


class Mount(Struct, frozen=True):
    """A mounted file system: its mount point, type and options."""

    folder: str
    kind: str
    options: str


@lru_cache(maxsize=4)  # called several times per snapshot; a machine may have thousands of mounts
def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Return all mounts in order: later mounts cover earlier ones.

    Raise Malformed, also if there are none: a machine always has a root.
    """
    mounts = []
    for number, line in enumerate(lines_of(text) or [""], start=1):
        fields = line.split(" ")
        if len(fields) < _FIELDS or len(fields[1]) > LONGEST_PATH or len(fields[2]) > LONGEST_PATH:
            raise Malformed("device, folder, type, options and two numbers", line, number)
        mounts.append(Mount(*fields[1:4]))
    return tuple(mounts)


def is_served_by_lxcfs(reader: Reader, path: str) -> bool:
    """Return whether the file is not the kernel's own, or may not be, and note the reason."""
    mounts = _read_mounts(reader)
    if mounts is None:
        reader.note(path, f"{OWN_MOUNTS} does not show whether the file only covers the container (lxcfs)")
        return True
    cover = _cover(mounts, path)
    if cover is not None:
        reader.note(path, cover)
    return cover is not None


def cover_of(reader: Reader, path: str) -> str | None:
    """Describe the mount that covers a kernel file; None if no mount covers it, or mounts are unreadable."""
    return _cover(_read_mounts(reader) or (), path)


def _cover(mounts: Iterable[Mount], path: str) -> str | None:
    """Describe the mount that covers a file in /proc or /sys; None if no mount covers it.

    lxcfs is mounted over single files, /proc/pressure, and all of /sys/devices/system/cpu (lxcfs 7.0,
    share/lxc.mount.hook.in). Container engines mount proc and sysfs over themselves to make them read-only.
    """
    for mount in mounts:
        is_file = mount.folder == path
        if mount.kind.startswith("fuse") and (is_file or path.startswith(f"{mount.folder}/")):
            return LXCFS
        if is_file and mount.kind not in _KERNELS_OWN:
            return f"covered by a mount ({mount.kind}), as by lxcfs, so not the kernel's own file"
    return None


def _read_mounts(reader: Reader) -> list[Mount] | None:
    """Return the mounts, or None if they are hidden. A copy that contains no mounts file has no mounts."""
    mounts: list[Mount] = []
    is_hidden = False
    for path in (OWN_MOUNTS, MOUNTS):
        try:
            mounts += parse_mounts(reader.text(path, expected=False))
        except Unreadable as error:
            is_hidden |= isinstance(error, Absent) or not error.is_missing
        except Malformed:
            is_hidden = True
    return None if is_hidden and not mounts else mounts


def read_temporary_files(reader: Reader) -> str | None:
    """Return the type of the temporary files' file system, such as `ext4`, or None if unknown."""
    mounts = reader.text_or_none(OWN_MOUNTS, expected=False) or ""
    kind = reader.ask(
        TEMPORARY_FILES, lambda: file_system_at(os.path.realpath(os.environ.get("TMPDIR") or "/tmp"), mounts)
    )
    try:
        return parse_identifier(kind) if isinstance(kind, str) else None
    except Malformed:
        return None


def find_served_type(reader: Reader, folders: Iterable[str]) -> str | None:
    """Return the type, such as `nfs4`, of the first folder's file system that is in `_SERVED`, or None."""
    mounts = reader.text_or_none(OWN_MOUNTS, expected=False) or ""
    kinds = (file_system_at(folder, mounts) for folder in folders)
    return next((kind for kind in kinds if kind is not None and _SERVED.fullmatch(kind)), None)


def file_system_at(folder: str, mounts: str) -> str | None:
    """Return the type of the file system that contains the folder; of several mounts at one place the last counts."""
    file_system, longest = None, -1
    for line in lines_of(mounts):
        fields = line.split(" ")
        place = _unescape(fields[1]) if len(fields) > 2 else None
        if place is None or len(place) < longest:
            continue
        if folder == place or folder.startswith(place.rstrip("/") + "/"):
            file_system, longest = fields[2], len(place)
    return file_system


def _unescape(text: str) -> str:
    """Replace octal escapes, which stand for blanks, for example."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
