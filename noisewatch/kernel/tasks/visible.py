"""Whether /proc shows the processes of others.

    proc /proc proc rw,nosuid,nodev,noexec,relatime,hidepid=invisible 0 0

https://docs.kernel.org/filesystems/proc.html (mount options): hidepid=1 hides what is in their folders, 2 (invisible)
and 4 (ptraceable) the folders, but from who may trace them all (CAP_SYS_PTRACE) and from the group gid=.
"""

from __future__ import annotations

import re

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import MOUNTS, OWN_MOUNTS, parse_mounts
from noisewatch.kernel.tasks.own_process import STATUS, parse_own_status

_PROC = ("/proc", "proc")
_HIDES = re.compile(r"(?:^|,)hidepid=(?!0(?:,|$)|off(?:,|$))(\w+)")
_MAY_TRACE = 1 << 19  # CAP_SYS_PTRACE, in linux/capability.h


def parse_hidepid(text: str) -> str | None:
    """The value of the option on the last mount of /proc, which covers the others; None where it hides nobody.

    Raises Malformed, also where nothing is told of /proc.
    """
    options = [mount.options for mount in parse_mounts(text) if (mount.folder, mount.kind) == _PROC]
    if not options:
        raise Malformed("how /proc is mounted", text[-20:])
    hides = _HIDES.search(options[-1])
    return hides[1] if hides is not None else None


def read_why_hidden(reader: Reader) -> str | None:
    """Why there may be processes that cannot be seen, although the kernel's own are; None where all can be seen."""
    path = OWN_MOUNTS if reader.text_or_none(OWN_MOUNTS, expected=False) is not None else MOUNTS
    try:
        value = parse_hidepid(reader.text(path, expected=False))
    except (Unreadable, Malformed):
        return f"{OWN_MOUNTS}: whether /proc hides processes is not told"
    if value is None:
        return None
    status = reader.parsed(STATUS, parse_own_status)
    may_see_all = status is not None and bool(status.capabilities & _MAY_TRACE)
    return None if may_see_all else f"/proc is mounted with hidepid={value}, and may hide the processes of others"
