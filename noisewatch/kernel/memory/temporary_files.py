"""The kind of file system that programs put their temporary files on: that of $TMPDIR, or of /tmp.

    /proc/self/mounts   tmpfs /tmp tmpfs rw,nosuid,nodev 0 0
                        server:/scratch /scratch\\040space nfs4 rw 0 0

https://man7.org/linux/man-pages/man5/proc_pid_mounts.5.html; the folder itself may tell a user's name, and is not kept.
"""

from __future__ import annotations

import os
import re

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import lines_of, parse_identifier
from noisewatch.kernel.reader import Reader

QUESTION = "file system of temporary files"
_MOUNTS = "/proc/self/mounts"


def read_temporary_files(reader: Reader) -> str | None:
    """The type of the file system, as `ext4`; None is unknown."""
    mounts = reader.text_or_none(_MOUNTS, expected=False) or ""
    kind = reader.ask(QUESTION, lambda: file_system_at(os.path.realpath(os.environ.get("TMPDIR") or "/tmp"), mounts))
    try:
        return parse_identifier(kind) if isinstance(kind, str) else None
    except Malformed:
        return None


def file_system_at(folder: str, mounts: str) -> str | None:
    """The type of what is mounted at the folder, or at the nearest one above it; the last mount covers the others."""
    found, longest = None, -1
    for line in lines_of(mounts):
        fields = line.split(" ")
        place = _unescaped(fields[1]) if len(fields) > 2 else None
        if place is None or len(place) < longest:
            continue
        if folder == place or folder.startswith(place.rstrip("/") + "/"):
            found, longest = fields[2], len(place)
    return found


def _unescaped(text: str) -> str:
    """Blanks and the like are written as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
