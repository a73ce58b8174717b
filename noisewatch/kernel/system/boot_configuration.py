"""The kernel options in the boot loader's configuration, which may differ from the active options.

    /etc/default/grub                 GRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=2-3"
    /etc/default/grub.d/*.cfg         GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX nohz_full=2-3"
    /etc/kernel/cmdline               root=UUID=… rw isolcpus=2-3            (systemd-boot, kernel-install)

https://www.gnu.org/software/grub/manual/grub/html_node/Simple-configuration.html. GRUB's files are shell: only plain
assignments are parsed. Only the options that matter to noise are kept, here and in recordings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.release import parse_command_line, read_command_line, relevant_options
from noisewatch.machine.recording.privacy import GRUB, GRUB_FOLDER, KERNEL_INSTALL
from noisewatch.patterns import regex

Options = Mapping[str, tuple[str, ...]]
_VALUE = r"""(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'\n#]*))"""
_ASSIGNMENT = regex(rf"^[ \t]*(?:export[ \t]+)?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)={_VALUE}[ \t]*(?:#.*)?$", re.MULTILINE)
_MOST_FILES = 32


class BootConfiguration(Struct, frozen=True):
    """The options that matter to noise; None: unknown. `paths` is empty if there is no boot loader configuration."""

    active: Options | None
    configured: Options | None
    paths: tuple[str, ...] = ()


def parse_grub(text: str, earlier: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return GRUB's two variables with kernel options. `earlier` contains their values in the preceding files."""
    values = dict(earlier or {})
    for match in _ASSIGNMENT.finditer(text):
        name, value = match[1], next((group for group in match.groups()[1:] if group is not None), "")
        values[name] = re.sub(r"\$\{?(\w+)\}?", lambda used: values.get(used[1], ""), value)
    return values


def read_boot_configuration(reader: Reader) -> BootConfiguration:
    """Return the active and the configured kernel options."""
    active = read_command_line(reader)
    text_by_path: dict[str, str] = {}
    more = _extra_grub_files(reader)
    if more is None:
        return BootConfiguration(relevant_options(active), None)
    for path in (GRUB, *more, KERNEL_INSTALL):
        try:
            text_by_path[path] = reader.text(path, expected=False)
        except Absent:
            continue
        except Unreadable as error:
            reader.note(path, error.reason)
            return BootConfiguration(relevant_options(active), None)
    grub: Mapping[str, str] = {}
    for path, text in text_by_path.items():
        grub = parse_grub(text, grub) if path != KERNEL_INSTALL else grub
    configured = _join_options([*grub.values(), text_by_path.get(KERNEL_INSTALL, "")])
    if configured is None:
        reader.note(GRUB if KERNEL_INSTALL not in text_by_path else KERNEL_INSTALL, "not a kernel command line")
    return BootConfiguration(relevant_options(active), relevant_options(configured), tuple(text_by_path))


def _join_options(words: Sequence[str]) -> Options | None:
    """Return the options in all lines, or None if these are not a kernel command line."""
    try:
        return parse_command_line(" ".join(word.replace("\n", " ") for word in words))
    except Malformed:
        return None


def _extra_grub_files(reader: Reader) -> list[str] | None:
    """Return the files in GRUB's folder, or None if the folder is unreadable."""
    try:
        names = reader.names(GRUB_FOLDER, expected=False)
    except Unreadable as error:
        return [] if error.is_missing or isinstance(error, Absent) else None
    return [f"{GRUB_FOLDER}/{name}" for name in names if name.endswith(".cfg")][:_MOST_FILES]
