"""The running kernel: its release, command line, uptime and live patches.

    /proc/sys/kernel/osrelease   6.1.0-18-amd64
    /proc/sys/kernel/version     #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)
    /proc/version                Linux version 6.1.0-18-amd64 (…) #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)
    /proc/cmdline                BOOT_IMAGE=… isolcpus=managed_irq,domain,2-7 nohz_full=2-7
    /proc/uptime                 34521.77 66120.03        seconds since boot, and idle seconds summed over all CPUs
    /sys/kernel/livepatch/NAME/transition     0           (1: some tasks still run the old code)

https://docs.kernel.org/filesystems/proc.html, https://docs.kernel.org/livepatch/livepatch.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import parse_flag, parse_word, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import is_served_by_lxcfs
from noisewatch.machine.recording.privacy import RELEVANT_OPTIONS, is_command_line
from noisewatch.patterns import regex
from noisewatch.text import clean

RELEASE = "/proc/sys/kernel/osrelease"
BUILD = "/proc/sys/kernel/version"
VERSION = "/proc/version"
COMMAND_LINE = "/proc/cmdline"
_BUILD = regex(r"(?:^|\s)(#\d.*\S)\s*$")


def read_release(reader: Reader) -> str | None:
    """Return the release, such as `6.1.0-18-amd64`, or None if unknown."""
    release = reader.parse(RELEASE, parse_word, expected=False)
    return release if release is not None else reader.parse(VERSION, parse_version)


def read_build(reader: Reader) -> str | None:
    """Return the release's build, or None if unknown: distributions publish several builds of one release."""
    build = reader.parse(BUILD, parse_build, expected=False)
    return build if build is not None else reader.parse(VERSION, parse_build, expected=False)


def parse_build(text: str) -> str:
    """Return the build, `#1 SMP PREEMPT_DYNAMIC …`, without compiler and host. Raise Malformed."""
    return require_match(_BUILD.search(text), "`#1 SMP …`", text.strip())[1]


def parse_version(text: str) -> str:
    """Return the release in /proc/version. Raise Malformed."""
    return require_match(re.match(r"Linux version (\S+)", text), "`Linux version …`", text.strip())[1]


def release_number(release: str | None) -> tuple[int, int] | None:
    """Return the major and minor version, which decide the kernel's features, or None if unknown."""
    match = re.match(r"(\d{1,6})\.(\d{1,6})", release or "")
    return None if match is None else (int(match[1]), int(match[2]))


def parse_command_line(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return each option's values, in order; an option without a value has the empty string.

    Options after ` -- ` are init's, not the kernel's. Quoted values may contain blanks. Raise Malformed, also for a NUL
    before the last character: the kernel's own line ends at the first NUL.
    """
    if not is_command_line(text):
        raise Malformed("a command line of at most 65,536 characters without NULs", text)
    values: dict[str, list[str]] = {}
    for word in re.findall(r'(?:[^\s"]|"[^"]*")+', text.strip("\0\n")):
        if word == "--":
            break
        name, _, value = word.partition("=")
        values.setdefault(name, []).append(value.strip('"'))
    return {name: tuple(option_values) for name, option_values in values.items()}


def read_command_line(reader: Reader) -> Mapping[str, tuple[str, ...]] | None:
    """Return the kernel's boot options, or None if they cannot be read."""
    return reader.parse(COMMAND_LINE, parse_command_line)


def relevant_options(options: Mapping[str, tuple[str, ...]] | None) -> Mapping[str, tuple[str, ...]] | None:
    """Return the options that matter to noise, or None if `options` is None."""
    return None if options is None else {name: options[name] for name in options if name in RELEVANT_OPTIONS}


PATH = "/proc/uptime"
_UPTIME = regex(r"(\d{1,12}\.\d{1,9}) \d{1,15}\.\d{1,9}", re.ASCII)


def parse_uptime(text: str) -> float:
    """Return the seconds since boot. Raise Malformed."""
    return float(require_match(_UPTIME.fullmatch(text.strip()), "two numbers of seconds", text.strip())[1])


def read_uptime(reader: Reader) -> float | None:
    """Return the seconds since boot, or None if they cannot be read, or count from a container's start."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parse(PATH, parse_uptime)


FOLDER = "/sys/kernel/livepatch"

NOT_SUPPORTED = "none"


def read_livepatches(reader: Reader) -> Mapping[str, bool | None] | str | None:
    """Return by patch whether it is in transition; `none` without live patching, None if unknown."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return NOT_SUPPORTED
    except Unreadable:
        return None
    return {clean(name): reader.parse(f"{FOLDER}/{name}/transition", parse_flag) for name in names}
