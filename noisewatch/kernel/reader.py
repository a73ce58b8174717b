"""Reading a machine for one snapshot: each file once, parsed only if it has changed, without disturbing spared CPUs.

The reason for each failure is kept. A file is absent if it is missing while other files exist; if all are missing, it
may be hidden.

Docker covers files of /proc with /dev/null, which reads as empty, and folders such as /sys/firmware with empty folders.
A /proc that is mounted with subset=pid contains only processes. A chroot may have no /sys at all. tar copies the
kernel's files as empty files, because their reported size is 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable, quote
from noisewatch.machine import Json, Machine
from noisewatch.patterns import regex

T = TypeVar("T")


class _Parsed(Struct):
    content: bytes
    parse: Callable[[str], object]
    value: object


class ReadInputs(Struct):
    """A value made from many files, with its inputs: the contents and names read for it, and the noted failures."""

    given: object
    spared: Spared | None
    answer_by_path: dict[str, bytes | Unreadable] = {}  # the files' contents
    names_by_path: dict[str, list[str] | Unreadable] = {}  # the folders' names
    notes: list[tuple[str, str]] = []
    value: object = None


def is_same(answer: object, earlier: object) -> bool:
    """Return whether two readings of a file or folder are equal, or unreadable for the same reason."""
    if isinstance(answer, Unreadable) and isinstance(earlier, Unreadable):
        return type(answer) is type(earlier) and answer.reason == earlier.reason
    return answer == earlier


class EarlierSnapshots:
    """Contents and parsed values from earlier snapshots, so that unchanged content is not parsed again."""

    def __init__(self) -> None:
        self.recurring: list[tuple[str, bytes]] = []  # files that both of the last two snapshots read, in order
        # Files that were reread in one call, because reading them interrupts no CPU in `spared`.
        self.harmless: Set[str] = frozenset()
        self.spared: Spared | None = None  # the CPUs that were spared when `harmless` was determined
        self._last: Set[str] = frozenset()
        self._parsed: dict[str, _Parsed] = {}  # values parsed since settings were last read
        self._older: dict[str, _Parsed] = {}  # values parsed between the last two readings of settings
        self.making_by_name: dict[str, ReadInputs] = {}

    def begin_settings(self) -> None:
        """Begin reading settings.

        Values that have not been read since settings were last read are forgotten: their cgroup may be gone.
        """
        self._older, self._parsed = self._parsed, {}

    def keep_contents(self, content_by_path: Mapping[str, bytes]) -> None:
        """Keep the contents that a snapshot read, in `recurring` if the previous snapshot read the files as well."""
        self.recurring = [(path, content) for path, content in content_by_path.items() if path in self._last]
        self._last = content_by_path.keys()

    def parse(self, path: str, content: bytes, parse: Callable[[str], T]) -> T:
        """Parse the content, or return its cached value. Raise Malformed."""
        cached = self._parsed.get(path) or self._older.get(path)
        if cached is None or cached.content != content or cached.parse != parse:
            cached = _Parsed(content, parse, parse(content.decode("utf-8", "replace")))
        self._parsed[path] = cached
        return cached.value  # type: ignore[return-value]  # from the same parser


class IntrusiveRead(Struct, frozen=True):
    """A pattern of files whose reading interrupts a CPU, or several if the pattern has no group `cpu`.

    `until` is the first Linux without the interrupt; None if there is none.
    """

    words: re.Pattern[str]
    until: tuple[int, int] | None = None


# Files whose reading interrupts a CPU, because the kernel reads the value on that CPU. They are read when a run begins
# or on request, but never for a CPU on which a benchmark may run. From the kernel's source:
#   arch/x86/kernel/cpu/aperfmperf.c     arch_freq_get_on_cpu: smp_call_function_single, and 10 ms of sleep, up to 5.18
#   arch/x86/kernel/cpu/proc.c           show_cpuinfo does so on each CPU
#   drivers/cpufreq/cpufreq.c            show_cpuinfo_cur_freq asks the driver: acpi-cpufreq and powernow-k8 on the CPU
#   drivers/cpufreq/intel_pstate.c       show_base_frequency, intel_pstate_get_epp: rdmsrl_on_cpu
#   drivers/acpi/cppc_acpi.c             cppc_get_perf_caps, with arch/x86/kernel/acpi/cppc.c cpc_read_ffh
#   arch/x86/kernel/cpu/intel_epb.c      energy_perf_bias_show: rdmsrl_on_cpu
#   drivers/powercap/intel_rapl_msr.c    rapl_msr_read_raw: rdmsrl_safe_on_cpu
#   drivers/platform/x86/intel/uncore-frequency/uncore-frequency.c   uncore_read: rdmsrl_on_cpu
#   drivers/hwmon/coretemp.c             show_temp: rdmsr_on_cpu; only the chip's name identifies its files (heat.py)
#   drivers/thermal/intel/x86_pkg_temp_thermal.c                     sys_get_curr_temp: rdmsr_on_cpu
#   arch/x86/kernel/msr.c                /dev/cpu/N/msr: rdmsr_safe_on_cpu
TICK_SAMPLES_CLOCKS_SINCE = (5, 19)  # commit 7d84c1ebf9dd: x86 samples clocks at the tick
_CPU = "/sys/devices/system/cpu/cpu(?P<cpu>[0-9]+)"
INTRUSIVE = (
    IntrusiveRead(regex(f"{_CPU}/cpufreq/scaling_cur_freq"), TICK_SAMPLES_CLOCKS_SINCE),
    IntrusiveRead(regex("/proc/cpuinfo"), TICK_SAMPLES_CLOCKS_SINCE),
    IntrusiveRead(regex(f"{_CPU}/cpufreq/(cpuinfo_cur_freq|base_frequency|energy_performance_preference)")),
    IntrusiveRead(regex(f"{_CPU}/acpi_cppc/.+")),
    IntrusiveRead(regex(f"{_CPU}/power/energy_perf_bias")),
    IntrusiveRead(regex("/dev/cpu/(?P<cpu>[0-9]+)/msr")),
    IntrusiveRead(regex("/sys/class/powercap/intel-rapl.*/(enabled|.*_uw|.*_us|energy_uj)")),
    IntrusiveRead(regex("/sys/devices/system/cpu/intel_uncore_frequency/.*_khz")),
    IntrusiveRead(regex("/sys/class/thermal/thermal_zone[0-9]+/temp")),
)
# Comparing prefixes is faster than trying all patterns.
_FOLDERS = ("/sys/devices/system/cpu/", "/sys/class/", "/dev/cpu/", "/proc/cpuinfo")


def may_interrupt(path: str, cpus: Set[int] | None, release: tuple[int, int] | None) -> bool:
    """Return whether reading the file may interrupt one of `cpus` (None: any CPU). An unknown release may be old."""
    if not path.startswith(_FOLDERS):
        return False
    for until, cpu in _match_intrusive(path):
        if (until is None or release is None or release < until) and (cpus is None or cpu is None or cpu in cpus):
            return True
    return False


@lru_cache(maxsize=1 << 14)  # the same few files of each CPU in each snapshot
def _match_intrusive(path: str) -> tuple[tuple[tuple[int, int] | None, int | None], ...]:
    """Return a pair for each matching pattern: the first Linux without the interrupt, and the CPU (None: several)."""
    matches = ((read.until, read.words.fullmatch(path)) for read in INTRUSIVE)
    cpu_by_until = ((until, match.groupdict().get("cpu")) for until, match in matches if match is not None)
    return tuple((until, int(cpu) if cpu is not None else None) for until, cpu in cpu_by_until)


_NEVER_EMPTY = (
    *("/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/net/core", "/proc/sys/net", "/proc/sys"),
    *("/sys/devices/system/cpu", "/sys/devices/system", "/sys/devices", "/sys/class", "/sys/bus"),
    *("/sys/firmware", "/sys/kernel", "/sys"),
)
_BELOW_NEVER_EMPTY = tuple((f"{folder}/", folder) for folder in _NEVER_EMPTY)
_PROC_MARKER = "/proc/sys"  # if it exists, so do the other files of /proc
_OF_PROC = regex(r"/proc/(?!\d|self/|thread-self/)")  # without processes' files, which come and go
# If these were truncated, they would have another meaning. Parsers detect truncated tables.
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
    """Return the file's content. Raise Unreadable, also if it is empty or truncated: values end with a newline."""
    content = machine.read_bytes(path)
    reason = _implausible_reason(path, content)
    if reason is not None:
        raise Unreadable(path, reason)
    return content


def _implausible_reason(path: str, content: bytes) -> str | None:
    if not content:
        is_empty = path.startswith(("/proc/", "/sys/")) and not path.endswith(_MAY_BE_EMPTY)
        return "empty, as if hidden or not copied" if is_empty else None
    if content.endswith((b"\n", b"\0")) or not path.startswith(_VALUES) or path == _ENDS_WITHOUT_A_LINE:
        return None
    return f"cut off after {quote(content.decode('utf-8', 'replace')[-_LONGEST_END:])}"


def marker_folders(path: str) -> list[str]:
    """Return the folders that would show, by being empty, that the path is hidden rather than absent."""
    above = next((folder for start, folder in _BELOW_NEVER_EMPTY if path.startswith(start)), None)
    if above is None and _OF_PROC.match(path) and path != _PROC_MARKER:
        above = _PROC_MARKER
    parent = path.rpartition("/")[0] if path.startswith("/sys/") else None  # sysfs has no device without a file
    return [folder for folder in (above, parent) if folder is not None]


def hides_content(error: Unreadable, folder: str) -> bool:
    """Return whether a folder that cannot be listed may hide files: it exists, or every Linux has it."""
    return folder in _NEVER_EMPTY if isinstance(error, Absent) else not error.is_missing


_Bytes = bytes  # Reader has a method of this name
_Content = bytes | Unreadable

NOT_ASKED = "not read while a benchmark may run: reading it would interrupt the CPU"


class Spared(Struct, frozen=True):
    """The CPUs that must not be interrupted (None: all), and the Linux release, which decides what interrupts them.

    Files whose path begins with a prefix in `answered_elsewhere` may be read: they interrupt other CPUs only.
    """

    cpus: Set[int] | None
    release: tuple[int, int] | None
    answered_elsewhere: tuple[str, ...] = ()


class Reader:
    """A reader of a machine for one snapshot; everything is read through it.

    `expected=False` is for a file that is one of several sources: its absence is not noted, but unreadability is.
    """

    def __init__(self, machine: Machine, earlier: EarlierSnapshots | None = None) -> None:
        self.machine = machine
        self.earlier = earlier or EarlierSnapshots()
        self.spared: Spared | None = None
        self.reason_by_path: dict[str, str] = {}
        self.asked: set[str] = set()
        self._ahead: dict[str, bytes] = {}  # read ahead, but not requested so far
        self._content_by_path: dict[str, _Content] = {}
        self._names_by_path: dict[str, list[str] | Unreadable] = {}
        self._making: ReadInputs | None = None

    def bytes(self, path: str, expected: bool = True) -> bytes:
        """Return the file's content. Raise Unreadable."""
        return _raise_if_unreadable(self._content(path, expected))

    def text(self, path: str, expected: bool = True) -> str:
        """Return the file's content as text. Raise Unreadable."""
        return _text_of(self.bytes(path, expected))

    def names(self, path: str, expected: bool = True) -> list[str]:
        """Return the directory's names. Raise Unreadable."""
        return _raise_if_unreadable(self._listing(path, expected))

    def text_or_none(self, path: str, expected: bool = True) -> str | None:
        content = self._content(path, expected)
        return None if isinstance(content, Unreadable) else _text_of(content)

    def names_or_none(self, path: str, expected: bool = True) -> list[str] | None:
        names = self._listing(path, expected)
        return None if isinstance(names, Unreadable) else names

    def parse(self, path: str, parse: Callable[[str], T], expected: bool = True) -> T | None:
        """Parse the file. Return None, and note the reason, if it is unreadable or malformed."""
        content = self._content(path, expected)
        if isinstance(content, Unreadable):
            return None
        try:
            return self.earlier.parse(path, content, parse)
        except Malformed as error:
            self.note(path, error.reason)
            return None

    def use(self, path: str, content: _Bytes) -> None:
        """Use this content, just read from the machine, for later requests, so that a file has one content.

        A recording contains one content per snapshot, so a replay could not tell two of them apart.
        """
        if _implausible_reason(path, content) is None:
            self._ahead[path] = content

    def reread(self) -> None:
        """Reread, in one call, the files that both of the last two snapshots read, without interrupting spared CPUs."""
        earlier = self.earlier
        harmless = earlier.harmless if earlier.spared == self.spared else frozenset()
        files = [file for file in earlier.recurring if file[0] in harmless or not self._is_intrusive(file[0])]
        earlier.spared, earlier.harmless = self.spared, {path for path, _ in files}
        self._reread(files)

    def _reread(self, files: Sequence[tuple[str, _Bytes | None]]) -> bool:
        """Reread the files, and return whether all are unchanged; files with None must still be absent."""
        ahead = dict(files)
        has_changed = False
        for at, content in self.machine.reread(files):
            has_changed, path = True, files[at][0]
            is_believed = content is not None and _implausible_reason(path, content) is None
            ahead[path] = content if is_believed else None
        self._ahead |= {path: content for path, content in ahead.items() if content is not None}
        return not has_changed

    def make_or_reuse(self, name: str, given: object, make: Callable[[], T]) -> T:
        """Return the result of `make`, or its last result if its inputs are unchanged.

        The inputs are `given`, and the files and folders that `make` reads with this reader; they are checked in one
        call. `make` must not read anything else from the machine.
        """
        made = self.earlier.making_by_name.get(name)
        if made is None or made.given != given or not self._is_unchanged(made):
            made = self._making = ReadInputs(given, self.spared)
            try:
                made.value = make()
            finally:
                self._making = None
            self.earlier.making_by_name[name] = made
        for path, reason in made.notes:
            self.note(path, reason)
        return made.value  # type: ignore[return-value]  # made under the same name

    def _is_unchanged(self, made: ReadInputs) -> bool:
        """Return whether a result's files and folders are unchanged; files not read so far are reread in one call."""
        answers, at_hand = made.answer_by_path, self._ahead | self._content_by_path
        files = [
            (path, answer if isinstance(answer, bytes) else None)
            for path, answer in answers.items()
            if path not in at_hand and isinstance(answer, bytes | Absent)
        ]
        if made.spared != self.spared:
            files = [file for file in files if not self._is_intrusive(file[0])]
        if not self._reread(files):
            return False
        if any(not is_same(self._listing(path, False), names) for path, names in made.names_by_path.items()):
            return False
        reread = {path: answers[path] for path, _ in files}
        self.asked |= reread.keys()
        self._content_by_path |= reread
        made.spared = self.spared
        return all(is_same(self._content(path, False), answers[path]) for path in answers.keys() - reread.keys())

    def end(self) -> None:
        """Keep this snapshot's contents for the next one."""
        contents = self._content_by_path.items()
        self.earlier.keep_contents({path: content for path, content in contents if isinstance(content, bytes)})

    def is_absent(self, path: str) -> bool:
        """Return whether the file certainly does not exist, rather than being hidden."""
        return isinstance(self._content(path, expected=False), Absent)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json | None:
        """Ask the machine what no file contains. Return None, and note the reason, if there is no answer."""
        self.asked.add(question)
        try:
            return self.machine.ask(question, answer)
        except Unreadable as error:
            self.note(question, error.reason)
            return None

    def note(self, path: str, reason: str) -> None:
        """Keep the reason why `path` could not be read, unless it already has one."""
        self.reason_by_path.setdefault(path, reason)
        if self._making is not None:
            self._making.notes.append((path, reason))

    def _is_intrusive(self, path: str) -> bool:
        spared = self.spared
        if spared is None or path.startswith(spared.answered_elsewhere):
            return False
        return may_interrupt(path, spared.cpus, spared.release)

    def _content(self, path: str, expected: bool) -> _Content:
        content = self._content_by_path.get(path)
        if content is None and (content := self._ahead.get(path)) is not None:
            self.asked.add(path)
            self._content_by_path[path] = content
        if not isinstance(content, bytes):
            content = self._read_once(
                self._content_by_path, path, lambda path: content_of(self.machine, path), expected
            )
        if self._making is not None:
            self._making.answer_by_path[path] = content
            if isinstance(content, Absent):  # a cached absence also depends on these folders
                for folder in marker_folders(path):
                    self._listing(folder, expected=False)
        return content

    def _listing(self, path: str, expected: bool) -> list[str] | Unreadable:
        names = self._read_once(self._names_by_path, path, self.machine.list_names, expected)
        if self._making is not None:
            self._making.names_by_path[path] = names
        return names

    def _read_once(
        self, kept: dict[str, T | Unreadable], path: str, read: Callable[[str], T], expected: bool
    ) -> T | Unreadable:
        """Return the content or error, reading at most once.

        A copy of the error is kept, because the raised error references its frames.
        """
        if path not in kept:
            self.asked.add(path)
            try:
                if self._is_intrusive(path):
                    raise Unreadable(path, NOT_ASKED)
                kept[path] = read(path)
            except Absent as error:
                kept[path] = self._absent_or_unknown(error)
            except Unreadable as error:
                kept[path] = error.again()
        answer = kept[path]
        if isinstance(answer, Unreadable) and (expected or not answer.is_missing):
            self.note(path, answer.reason)
        return answer

    def _absent_or_unknown(self, absent: Absent) -> Unreadable:
        """Return the error, or Unreadable if a folder around the path is hidden: the file may then exist."""
        hidden = next((folder for folder in marker_folders(absent.path) if self._is_hidden(folder)), None)
        if hidden is None:
            return absent.again()
        return Unreadable(absent.path, f"{absent.reason}, and {hidden} shows no files")

    def _is_hidden(self, folder: str) -> bool:
        names = self._listing(folder, expected=False)
        return hides_content(names, folder) if isinstance(names, Unreadable) else not names


def _raise_if_unreadable(answer: T | Unreadable) -> T:
    if isinstance(answer, Unreadable):
        raise answer.again()
    return answer


def _text_of(content: bytes) -> str:
    return content.decode("utf-8", "replace")
