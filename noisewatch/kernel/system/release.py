"""The kernel that runs: its release and its command line.

/proc/sys/kernel/osrelease   6.1.0-18-amd64
/proc/version                Linux version 6.1.0-18-amd64 (…)
/proc/cmdline                BOOT_IMAGE=… isolcpus=managed_irq,domain,2-7 nohz_full=2-7
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.machine.recording.privacy import is_command_line

RELEASE = "/proc/sys/kernel/osrelease"
VERSION = "/proc/version"
COMMAND_LINE = "/proc/cmdline"


def read_release(reader: Reader) -> str | None:
    """The release, such as `6.1.0-18-amd64`."""
    release = reader.parsed(RELEASE, parse_word, expected=False)
    return release if release is not None else reader.parsed(VERSION, parse_version)


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
