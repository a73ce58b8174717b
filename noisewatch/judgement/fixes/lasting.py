"""What makes a fix last: noisewatch's files that systemd reads at boot, kernel options, or manual steps."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from zlib import crc32

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.fixes.actions import Run, Setting, Write
from noisewatch.judgement.fixes.shell import NUMBER, Box, boxes_of_paths, glob_of, say, words_of
from noisewatch.patterns import regex
from noisewatch.records import dataclass

_TMPFILES, _SYSCTL = "/etc/tmpfiles.d/noisewatch-", "/etc/sysctl.d/90-noisewatch-"  # files of ours alone
_SYSCTLS = "/proc/sys/"
_ROOTS = regex(r"/proc/sys/|/sys/devices/system/cpu/|/sys/class/|/sys/(devices/(system|virtual)/)?")
_PLAIN_NAME = regex(r"[\w.,-]+", re.ASCII)
_LONGEST = 110  # characters of paths and file name; beyond it the name is shortened


@dataclass(frozen=True, slots=True)
class AtBoot:
    """Settings that systemd makes at each boot, in order: by sysctl.d below /proc/sys, else by systemd-tmpfiles.

    Each set of paths has its own files, so that settings for other CPUs or queues stay. Files are written as a whole:
    writing them again changes nothing. `about` distinguishes checks that write the same paths.
    """

    settings: tuple[Setting, ...]
    about: str = ""

    @property
    def do(self) -> str:
        return " && ".join(f"{_print(lines)} | sudo tee {file}" for file, lines in self._lines_by_file().items())

    @property
    def undo(self) -> str:
        """The command that removes the files; the current settings stay."""
        return f"sudo rm -f {' '.join(self._lines_by_file())}"

    def _lines_by_file(self) -> dict[str, list[str]]:
        sysctls = [each for each in self.settings if each.path.startswith(_SYSCTLS)]
        others = [each for each in self.settings if not each.path.startswith(_SYSCTLS)]
        files = {}
        if sysctls:
            files[self._file(_SYSCTL, sysctls)] = [f"{_sysctl(each.path)} = {each.value}" for each in sysctls]
        if others:
            files[self._file(_TMPFILES, others)] = _tmpfiles_lines(others)
        return files

    def _file(self, prefix: str, settings: Sequence[Setting]) -> str:
        return f"{prefix}{f'{self.about}.' if self.about else ''}{_name([each.path for each in settings])}.conf"


def at_boot(*writes: Write, about: str = "") -> AtBoot:
    """Return the action that repeats the writes at each boot."""
    return AtBoot(tuple(setting for each in writes for setting in each.settings), about)


def _sysctl(path: str) -> str:
    return path.removeprefix(_SYSCTLS).replace("/", ".")


def _tmpfiles_lines(settings: Iterable[Setting]) -> list[str]:
    paths_by_value: dict[str, list[str]] = defaultdict(list)
    for each in settings:
        paths_by_value[each.value].append(each.path)
    return [
        f"w {glob_of(box).replace('%', '%%')} - - - - {value.replace('%', '%%')}"
        for value, paths in paths_by_value.items()
        for box in boxes_of_paths(paths)
    ]


def _print(lines: Sequence[str]) -> str:
    return say(lines[0]) if len(lines) == 1 else f"printf '%s\\n' {' '.join(map(shlex.quote, lines))}"


def _name(paths: Sequence[str]) -> str:
    """Return the name for a file on these paths: the paths in short, else their checksum."""
    found = boxes_of_paths(paths)
    name = _dotted(found[0]) if len(found) == 1 else ""
    total = f"{crc32(' '.join(sorted(paths)).encode()):08x}"
    length = sum(len(glob_of(box)) for box in found)
    candidates = (name, f"{paths[0].rsplit('/', 1)[1]}.{total}")
    fitting = (each for each in candidates if _PLAIN_NAME.fullmatch(each) and len(each) + length <= _LONGEST)
    return next(fitting, total)


def _dotted(box: Box) -> str:
    """Return the paths of the box in short: `cpu2-3.cpufreq.scaling_governor`."""
    return _ROOTS.sub("", "/".join(map(_in_short, box)), count=1).replace("/", ".")


def _in_short(alternatives: Sequence[str]) -> str:
    before, values, after = words_of(alternatives)
    if len(values) > 1 and all(map(NUMBER.fullmatch, values)):
        return f"{before}{format_cpu_list(map(int, values))}{after}"
    return f"{before}{','.join(values)}{after}"


@dataclass(frozen=True, slots=True)
class BootOptions:
    """Options to add to the kernel's command line: `nohz_full=2-3`."""

    options: str

    @property
    def do(self) -> str:
        return f"add to the kernel command line and reboot: {self.options}"


@dataclass(frozen=True, slots=True)
class ByHand:
    """A step that only people can do, in words."""

    words: str
    needs_reboot: bool = False

    @property
    def do(self) -> str:
        return self.words


def boot_without(option: str) -> ByHand:
    """Return the manual step that removes an option from the kernel's command line."""
    return ByHand(f"remove {option} from the kernel command line and reboot", needs_reboot=True)


Lasting = AtBoot | Run | BootOptions | ByHand
