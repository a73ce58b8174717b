"""What an absence proves: a file that is missing beside others is, one that is missing with all others may be hidden.

Docker covers files of /proc with /dev/null, which reads as empty, and folders such as /sys/firmware with empty ones; a
/proc that is mounted with subset=pid has nothing but processes, a chroot may have no /sys at all, and tar copies files
of the kernel, whose size is said to be 0, as empty ones.
"""

from __future__ import annotations

import re

from noisewatch.errors import Absent, Unreadable, quoted
from noisewatch.machine import Machine

# On each Linux something is in each of them.
_NEVER_EMPTY = (
    *("/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/net/core", "/proc/sys/net", "/proc/sys"),
    *("/sys/devices/system/cpu", "/sys/devices/system", "/sys/devices", "/sys/class", "/sys/bus"),
    *("/sys/firmware", "/sys/kernel", "/sys"),
)
_BELOW_NEVER_EMPTY = tuple((f"{folder}/", folder) for folder in _NEVER_EMPTY)
_TELLS_OF_PROC = "/proc/sys"  # the other files of /proc come and go with it
_OF_PROC = re.compile(r"/proc/(?!\d|self/|thread-self/)")  # those of processes come and go by themselves
# Half of what they say would be something else. Larger tables tell by themselves whether they are whole.
_VALUES = (
    "/sys/",
    *(f"/proc/{name}" for name in ("sys/", "1/comm", "cmdline", "consoles", "loadavg", "uptime", "version")),
    *(f"/proc/self/{name}" for name in ("cgroup", "personality")),
)
_ENDS_WITHOUT_A_LINE = "/sys/kernel/security/lsm"
_LONGEST_END = 20
_MAY_BE_EMPTY = (
    "/set_event",
    "/cgroup.controllers",
    "/cgroup.subtree_control",
    "/uevent",
    "/proc/diskstats",
    "/proc/xen/capabilities",
)


def content_of(machine: Machine, path: str) -> bytes:
    """What the file says; one of the kernel has at least a line end, and a value ends with it. Raises Unreadable."""
    content = machine.read_bytes(path)
    if not content and path.startswith(("/proc/", "/sys/")) and not path.endswith(_MAY_BE_EMPTY):
        raise Unreadable(path, "empty, as a file that is hidden or was not copied")
    if content and path.startswith(_VALUES) and path != _ENDS_WITHOUT_A_LINE and not content.endswith((b"\n", b"\0")):
        raise Unreadable(path, f"cut off after {quoted(content.decode('utf-8', 'replace')[-_LONGEST_END:])}")
    return content


def folders_that_tell(path: str) -> list[str]:
    """The folders that have something in them on a machine where the path's absence is a fact."""
    above = next((folder for start, folder in _BELOW_NEVER_EMPTY if path.startswith(start)), None)
    if above is None and _OF_PROC.match(path) and path != _TELLS_OF_PROC:
        above = _TELLS_OF_PROC
    parent = path.rpartition("/")[0] if path.startswith("/sys/") else None  # sysfs has no device without a file
    return [folder for folder in (above, parent) if folder is not None]


def is_hidden_as(error: Unreadable, folder: str) -> bool:
    """Whether a folder that cannot be listed hides what would be in it; one that is known not to exist does not."""
    return folder in _NEVER_EMPTY if isinstance(error, Absent) else not error.is_missing
