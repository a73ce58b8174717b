"""The kernel that runs: its release, command line, uptime and live patches.

/proc/sys/kernel/osrelease   6.1.0-18-amd64
/proc/sys/kernel/version     #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)
/proc/version                Linux version 6.1.0-18-amd64 (…) #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)
/proc/cmdline                BOOT_IMAGE=… isolcpus=managed_irq,domain,2-7 nohz_full=2-7
/proc/uptime                 34521.77 66120.03        seconds since boot, and the idle seconds of all CPUs together
/sys/kernel/livepatch/NAME/transition     0           (1: some tasks still run the old code)

https://docs.kernel.org/filesystems/proc.html, https://docs.kernel.org/livepatch/livepatch.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import parse_flag, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import is_served_by_lxcfs
from noisewatch.machine.recording.privacy import is_command_line
from noisewatch.patterns import regex
from noisewatch.text import clean

RELEASE = "/proc/sys/kernel/osrelease"
BUILD = "/proc/sys/kernel/version"
VERSION = "/proc/version"
COMMAND_LINE = "/proc/cmdline"
_BUILD = regex(r"(?:^|\s)(#\d.*\S)\s*$")


def read_release(reader: Reader) -> str | None:
    """The release, such as `6.1.0-18-amd64`."""
    release = reader.parsed(RELEASE, parse_word, expected=False)
    return release if release is not None else reader.parsed(VERSION, parse_version)


def read_build(reader: Reader) -> str | None:
    """Which build of that release: distributions publish several under one release."""
    build = reader.parsed(BUILD, parse_build, expected=False)
    return build if build is not None else reader.parsed(VERSION, parse_build, expected=False)


def parse_build(text: str) -> str:
    """`#1 SMP PREEMPT_DYNAMIC …`, without who compiled it where. Raises Malformed."""
    match = _BUILD.search(text)
    if match is None:
        raise Malformed("`#1 SMP …`", text.strip())
    return match[1]


def parse_version(text: str) -> str:
    """The release in /proc/version. Raises Malformed."""
    match = re.match(r"Linux version (\S+)", text)
    if match is None:
        raise Malformed("`Linux version …`", text.strip())
    return match[1]


def release_number(release: str | None) -> tuple[int, int] | None:
    """Major and minor number, to ask what a kernel can do."""
    match = re.match(r"(\d{1,6})\.(\d{1,6})", release or "")
    return None if match is None else (int(match[1]), int(match[2]))


def parse_command_line(text: str) -> Mapping[str, tuple[str, ...]]:
    """The values of each option, in order; an option without a value has the empty string.

    Options behind ` -- ` are init's, not the kernel's. Quotes may hold blanks. Raises Malformed, also where a NUL is
    not the last character: the kernel's own line ends at the first one.
    """
    if not is_command_line(text):
        raise Malformed("a command line of at most 65,536 characters, and no NULs", text)
    values: dict[str, list[str]] = {}
    for word in re.findall(r'(?:[^\s"]|"[^"]*")+', text.strip("\0\n")):
        if word == "--":
            break
        name, _, value = word.partition("=")
        values.setdefault(name, []).append(value.strip('"'))
    return {name: tuple(each) for name, each in values.items()}


def read_command_line(reader: Reader) -> Mapping[str, tuple[str, ...]] | None:
    """The options the kernel was booted with; None where they cannot be read."""
    return reader.parsed(COMMAND_LINE, parse_command_line)


PATH = "/proc/uptime"
_UPTIME = regex(r"(\d{1,12}\.\d{1,9}) \d{1,15}\.\d{1,9}", re.ASCII)


def parse_uptime(text: str) -> float:
    """Seconds since boot. Raises Malformed."""
    match = _UPTIME.fullmatch(text.strip())
    if match is None:
        raise Malformed("two numbers of seconds", text.strip())
    return float(match[1])


def read_uptime(reader: Reader) -> float | None:
    """Seconds since boot; None where it cannot be read, or is the container's own."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parsed(PATH, parse_uptime)


FOLDER = "/sys/kernel/livepatch"

NOT_SUPPORTED = "none"


def read_livepatches(reader: Reader) -> Mapping[str, bool | None] | str | None:
    """Whether each patch is in transition, by its name; `none` for a kernel that cannot be patched, None is unknown."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return NOT_SUPPORTED
    except Unreadable:
        return None
    return {clean(name): reader.parsed(f"{FOLDER}/{name}/transition", parse_flag) for name in names}
