"""One snapshot's reading of a machine: each file is read once and parsed only if changed; spared CPUs stay undisturbed.

Each failure is kept with its reason. A file is absent if it is missing while other files exist; if all are missing, it
may be hidden.

Docker covers files of /proc with /dev/null, which reads as empty, and folders such as /sys/firmware with empty ones; a
/proc that is mounted with subset=pid has nothing but processes, a chroot may have no /sys at all, and tar copies files
of the kernel, whose reported size is 0, as empty ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable, quoted
from noisewatch.machine import Json, Machine
from noisewatch.patterns import regex

T = TypeVar("T")


class _Parsed(Struct):
    """A file's content with its parsed value."""

    content: bytes
    parse: Callable[[str], object]
    value: object


class ReadInputs(Struct):
    """The inputs of a value made of many files: all answers read for it, and the notes."""

    given: object
    spared: Spared | None
    answer_by_path: dict[str, bytes | Unreadable] = {}  # of files
    names_by_path: dict[str, list[str] | Unreadable] = {}  # of folders
    notes: list[tuple[str, str]] = []
    value: object = None


def is_same(answer: object, earlier: object) -> bool:
    """Return whether a file or folder has the same content, or is unreadable for the same reason."""
    if isinstance(answer, Unreadable) and isinstance(earlier, Unreadable):
        return type(answer) is type(earlier) and answer.reason == earlier.reason
    return answer == earlier


class EarlierSnapshots:
    """The recurring files, with their contents and parsed values. No unchanged content is parsed twice."""

    def __init__(self) -> None:
        self.recurring: list[tuple[str, bytes]] = []  # the files of the last two snapshots, in their order
        self.harmless: Set[str] = frozenset()  # the paths of files reread in one call ...
        self.spared: Spared | None = None  # ... because they interrupt none of these
        self._last: Set[str] = frozenset()
        self._parsed: dict[str, _Parsed] = {}  # since the settings were read
        self._older: dict[str, _Parsed] = {}  # since they were read before that
        self.making_by_name: dict[str, ReadInputs] = {}

    def begin_settings(self) -> None:
        """Begin to read settings. Values not read since the last time are forgotten: groups come and go."""
        self._older, self._parsed = self._parsed, {}

    def take_in(self, content_by_path: Mapping[str, bytes]) -> None:
        """Keep the contents read by a snapshot.

        Files that interrupt a CPU, read only when a run begins, never recur.
        """
        self.recurring = [(path, content) for path, content in content_by_path.items() if path in self._last]
        self._last = content_by_path.keys()

    def parse(self, path: str, content: bytes, parse: Callable[[str], T]) -> T:
        """Return the parsed content, from the cache if possible. Raise Malformed."""
        cached = self._parsed.get(path) or self._older.get(path)
        if cached is None or cached.content != content or cached.parse != parse:
            cached = _Parsed(content, parse, parse(content.decode("utf-8", "replace")))
        self._parsed[path] = cached
        return cached.value  # type: ignore[return-value]  # that of the same parser


class IntrusiveRead(Struct, frozen=True):
    """A pattern of files; one without a CPU group concerns several CPUs.

    `until` is the first Linux without the interrupt.
    """

    words: re.Pattern[str]
    until: tuple[int, int] | None = None


# Files whose reading interrupts a CPU, because the kernel reads the value on that CPU. They are read when a run begins
# or on request, never of a CPU on which a benchmark may run. From the kernel's source:
#   arch/x86/kernel/cpu/aperfmperf.c     arch_freq_get_on_cpu: smp_call_function_single, and 10 ms of sleep, up to 5.18
#   arch/x86/kernel/cpu/proc.c           show_cpuinfo asks that of each CPU
#   drivers/cpufreq/cpufreq.c            show_cpuinfo_cur_freq asks the driver: acpi-cpufreq and powernow-k8 on the CPU
#   drivers/cpufreq/intel_pstate.c       show_base_frequency, intel_pstate_get_epp: rdmsrl_on_cpu
#   drivers/acpi/cppc_acpi.c             cppc_get_perf_caps, with arch/x86/kernel/acpi/cppc.c cpc_read_ffh
#   arch/x86/kernel/cpu/intel_epb.c      energy_perf_bias_show: rdmsrl_on_cpu
#   drivers/powercap/intel_rapl_msr.c    rapl_msr_read_raw: rdmsrl_safe_on_cpu
#   drivers/platform/x86/intel/uncore-frequency/uncore-frequency.c   uncore_read: rdmsrl_on_cpu
#   drivers/hwmon/coretemp.c             show_temp: rdmsr_on_cpu; only the chip's name identifies its files (heat.py)
#   drivers/thermal/intel/x86_pkg_temp_thermal.c                     sys_get_curr_temp: rdmsr_on_cpu
#   arch/x86/kernel/msr.c                /dev/cpu/N/msr: rdmsr_safe_on_cpu
TICK_SAMPLES_CLOCKS_SINCE = (5, 19)  # commit 7d84c1ebf9dd: since then x86 counts clocks at the tick
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
_FOLDERS = ("/sys/devices/system/cpu/", "/sys/class/", "/dev/cpu/", "/proc/cpuinfo")  # faster than all patterns


def may_interrupt(path: str, cpus: Set[int] | None, release: tuple[int, int] | None) -> bool:
    """Return whether reading the file may interrupt one of `cpus` (None: any CPU); an unknown release may be old."""
    if not path.startswith(_FOLDERS):
        return False
    for until, cpu in _match_intrusive(path):
        if (until is None or release is None or release < until) and (cpus is None or cpu is None or cpu in cpus):
            return True
    return False


@lru_cache(maxsize=1 << 14)  # the same few files of each CPU in each snapshot
def _match_intrusive(path: str) -> tuple[tuple[tuple[int, int] | None, int | None], ...]:
    """Return pairs of the first Linux without the interrupt (None: always) and the CPU (None: several)."""
    matches = ((read.until, read.words.fullmatch(path)) for read in INTRUSIVE)
    cpu_by_until = ((until, match.groupdict().get("cpu")) for until, match in matches if match is not None)
    return tuple((until, int(cpu) if cpu is not None else None) for until, cpu in cpu_by_until)


# Never empty on any Linux.
_NEVER_EMPTY = (
    *("/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/net/core", "/proc/sys/net", "/proc/sys"),
    *("/sys/devices/system/cpu", "/sys/devices/system", "/sys/devices", "/sys/class", "/sys/bus"),
    *("/sys/firmware", "/sys/kernel", "/sys"),
)
_BELOW_NEVER_EMPTY = tuple((f"{folder}/", folder) for folder in _NEVER_EMPTY)
_PROC_MARKER = "/proc/sys"  # the other files of /proc exist if it does
_OF_PROC = regex(r"/proc/(?!\d|self/|thread-self/)")  # files of processes come and go
# Truncated, their content would have another meaning. Parsers detect truncation of larger tables.
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
    """Return the file's content. Raise Unreadable, also for impossible content: values end with a line end."""
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
    return f"cut off after {quoted(content.decode('utf-8', 'replace')[-_LONGEST_END:])}"


def marker_folders(path: str) -> list[str]:
    """Return the folders that are never empty if the path is really absent."""
    above = next((folder for start, folder in _BELOW_NEVER_EMPTY if path.startswith(start)), None)
    if above is None and _OF_PROC.match(path) and path != _PROC_MARKER:
        above = _PROC_MARKER
    parent = path.rpartition("/")[0] if path.startswith("/sys/") else None  # sysfs has no device without a file
    return [folder for folder in (above, parent) if folder is not None]


def hides_content(error: Unreadable, folder: str) -> bool:
    """Return whether a folder that cannot be listed hides its content; a folder known not to exist does not."""
    return folder in _NEVER_EMPTY if isinstance(error, Absent) else not error.is_missing


_Bytes = bytes  # which a method is called too
_Content = bytes | Unreadable

NOT_ASKED = "not read while a benchmark may run: it would interrupt the CPU"


class Spared(Struct, frozen=True):
    """The CPUs that must not be interrupted (None: all), and the Linux release that decides what interrupts.

    Paths with a prefix in `answered_elsewhere` are known to be read on other CPUs.
    """

    cpus: Set[int] | None
    release: tuple[int, int] | None
    answered_elsewhere: tuple[str, ...] = ()


class Reader:
    """A reader of a machine for one snapshot, through which all sources read.

    `expected=False` marks a file as one of several sources of a value: its absence is not reported, unreadability is.
    """

    def __init__(self, machine: Machine, earlier: EarlierSnapshots | None = None) -> None:
        self.machine = machine
        self.earlier = earlier or EarlierSnapshots()
        self.spared: Spared | None = None
        self.reason_by_path: dict[str, str] = {}
        self.asked: set[str] = set()
        self._ahead: dict[str, bytes] = {}  # read ahead, not requested so far
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
        """Return the parsed file, or None, with the reason kept, if it cannot be read or is malformed."""
        content = self._content(path, expected)
        if isinstance(content, Unreadable):
            return None
        try:
            return self.earlier.parse(path, content, parse)
        except Malformed as error:
            self.note(path, error.reason)
            return None

    def reread(self) -> None:
        """Reread in one call the files of the last two snapshots, except those that interrupt a CPU."""
        earlier = self.earlier
        harmless = earlier.harmless if earlier.spared == self.spared else frozenset()
        files = [file for file in earlier.recurring if file[0] in harmless or not self._is_intrusive(file[0])]
        earlier.spared, earlier.harmless = self.spared, {path for path, _ in files}
        self._reread(files)

    def _reread(self, files: Sequence[tuple[str, _Bytes | None]]) -> bool:
        """Return whether all of the accepted files are unchanged, and absent ones still absent."""
        ahead = dict(files)
        has_changed = False
        for at, content in self.machine.reread(files):
            has_changed, path = True, files[at][0]
            is_believed = content is not None and _implausible_reason(path, content) is None
            ahead[path] = content if is_believed else None
        self._ahead |= {path: content for path, content in ahead.items() if content is not None}
        return not has_changed

    def make_or_reuse(self, name: str, given: object, make: Callable[[], T]) -> T:
        """Return the result of `make` from `given` and from the files and folders that it reads with this reader.

        The last result is reused if all of them are unchanged, which is checked in one call. `make` must not read
        anything else from the machine.
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
        return made.value  # type: ignore[return-value]  # that of the same name

    def _is_unchanged(self, made: ReadInputs) -> bool:
        """Return whether all files and folders of a result are unchanged; those not read yet are reread in one call."""
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
        """Hand this snapshot's contents to the next one."""
        contents = self._content_by_path.items()
        self.earlier.take_in({path: content for path, content in contents if isinstance(content, bytes)})

    def is_absent(self, path: str) -> bool:
        """Return whether the kernel itself reports that there is no such file or directory."""
        return isinstance(self._content(path, expected=False), Absent)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json | None:
        """Return the answer to a question that no file answers, or None, with the reason kept, if there is none."""
        self.asked.add(question)
        try:
            return self.machine.ask(question, answer)
        except Unreadable as error:
            self.note(question, error.reason)
            return None

    def note(self, path: str, reason: str) -> None:
        """Keep the reason why `path` could not be read."""
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
            if isinstance(content, Absent):  # doubted if its folder is hidden, even if its absence was known before
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
        """Return the answer, read at most once.

        The raised error itself is not kept, because it references its frames.
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
        """Return the error as absence if that is certain, or as unknown if everything around the path is hidden too."""
        hidden = next((folder for folder in marker_folders(absent.path) if self._is_hidden(folder)), None)
        if hidden is None:
            return absent.again()
        return Unreadable(absent.path, f"{absent.reason}, and {hidden} is empty")

    def _is_hidden(self, folder: str) -> bool:
        names = self._listing(folder, expected=False)
        return hides_content(names, folder) if isinstance(names, Unreadable) else not names


def _raise_if_unreadable(answer: T | Unreadable) -> T:
    if isinstance(answer, Unreadable):
        raise answer.again()
    return answer


def _text_of(content: bytes) -> str:
    return content.decode("utf-8", "replace")
