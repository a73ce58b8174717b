"""Troubles in the kernel's log: records in /dev/kmsg, counted by kind, with the culprits that they name.

    6,339,5140900,-;NET: Registered PF_INET6 protocol family
    3,812,91277123456,-;watchdog: BUG: soft lockup - CPU#2 stuck for 26s! [kworker/2:1:77]
     SUBSYSTEM=pci

https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg: priority, sequence number, microseconds since boot, flags
and the text; lines that begin with a blank belong to the record before. Records written by processes have a facility,
and so a priority of at least 8. Usually only root may read the log. The rest of the text is not kept, because it may
name devices, files and people.

Each kind's texts are from Linux 6.12, and from earlier versions if these differ:

    arch/x86/kernel/cpu/bus_lock.c (intel.c before 6.13)   split and bus locks
    arch/x86/kernel/nmi.c                                  NMI handlers, NMIs without a reason
    drivers/thermal/intel/therm_throt.c                    throttling; power limits up to 5.4
    drivers/thermal/intel/intel_powerclamp.c               injected idle time
    drivers/thermal/thermal_core.c                         critical temperatures
    drivers/hwmon/raspberrypi-hwmon.c                      under-voltage ("Under-voltage" in Raspberry Pi's own kernels)
    drivers/pci/pcie/aer.c                                 errors of PCI Express
    kernel/events/core.c                                   samples that took too long
    kernel/irq/spurious.c                                  interrupts that no driver handled
    kernel/sched/ext.c                                     schedulers in BPF that failed
    kernel/sched/isolation.c                               isolcpus= and nohz_full= that were not understood
    kernel/time/clocksource.c, arch/x86/kernel/tsc.c       unstable clocks, and the clock sources chosen instead
    kernel/time/tick-sched.c                               ticks that could not be stopped
    kernel/workqueue.c                                     work that hogs a CPU (6.5), work that does not advance
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from noisewatch.errors import Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json
from noisewatch.patterns import regex
from noisewatch.text import clean

PATH = "/dev/kmsg"
QUESTION = "troubles in /dev/kmsg"
_MOST_RECORDS = 20_000  # a buffer of 1 MiB holds about ten thousand records
_LARGEST_RECORD = 8192
_MOST_CULPRITS = 3
_RECORD = regex(r"\d{1,10},(\d{1,20}),(\d{1,17}),[^;\n]*;", re.ASCII)
_KERNELS_OWN = regex(r"([0-7]),(\d{1,20}),(\d{1,17}),[^;]*;", re.ASCII)

UNSTABLE_CLOCK = "unstable clock"
_SLOW_CLOCK_SOURCE, _SWITCHED = "slow clock source", "Switched to clocksource "

# By kind: words for a quick search, and the record's pattern, with the group `culprit` if it names a culprit.
TROUBLES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    kind: {words: regex(pattern, re.ASCII) for words, pattern in pattern_by_words.items()}
    for kind, pattern_by_words in {
        "throttling": {
            "emperature above threshold": "",
            " clock throttled": "",
            "temperature is above threshold": r"(?P<culprit>CPU\d+): ",
        },
        "power limit": {" power limit notification": r"(?P<culprit>CPU\d+: \w+) power limit notification"},
        "critical temperature": {"ritical temperature reached": r"(?:(?P<culprit>[\w-]+): )?[Cc]ritical temperature"},
        "injected idle time": {"powerclamp: Start idle injection": ""},
        "under-voltage": {"Under-voltage detected!": "", "Undervoltage detected!": ""},
        "machine check": {"[Hardware Error]": ""},
        "memory error": {"EDAC ": r"EDAC (?P<culprit>[^\n:]{0,40}): \d+ [CU]E\b"},
        "PCI Express error": {"PCIe Bus Error: severity=": r"(?P<culprit>[\w:.]+): (?:AER: )?PCIe Bus Error"},
        "lock-up": {
            "soft lockup - CPU": r"soft lockup(?:.*\[(?P<culprit>[^\]]{1,40}):\d+\])?",
            "hard LOCKUP": "",
            "workqueue lockup": "",
            "detected stall": "",
            "detected expedited stall": "",
        },
        "hung task": {" blocked for more than ": r"task (?P<culprit>.{1,40}):\d+ blocked for more than \d+ seconds"},
        "split lock": {
            "_lock trap at address": r"#(?:AC|DB): (?P<culprit>.{1,40}/\d+) .{0,10}took a (?:split|bus)_lock"
        },
        UNSTABLE_CLOCK: {
            "Marking ": r"Marking (?:clocksource .{1,60} as unstable|TSC unstable|unstable \()"
            r"(?: (?:because|due to) (?P<culprit>[^:(]{1,60}\b))?"
        },
        _SLOW_CLOCK_SOURCE: {_SWITCHED: rf"{_SWITCHED}(?P<culprit>hpet|acpi_pm|pit|(?:refined-)?jiffies)$"},
        "out of memory": {"ut of memory: Kill": r"Kill(?:.*process \d+ \((?P<culprit>.{1,40}?)\))?"},
        "disk": {
            "I/O error, dev ": r"I/O error, dev (?P<culprit>[\w!-]{1,40})",
            ": failed command: ": r"(?P<culprit>[\w.]{1,40}): failed command: ",
            "nvme": r"(?P<culprit>nvme\d+): I/O .{0,60}timeout",
        },
        "long interrupt": {"hrtimer: interrupt took ": r"hrtimer: interrupt took \d+ ns"},
        "long NMI": {"NMI handler (": r"NMI handler \((?P<culprit>\w{1,80}).{0,60}\) took too long"},
        "NMI without a reason": {"NMI received for unknown reason": ""},
        "long samples of perf": {"perf: interrupt took too long": r"too long \(\d+ > \d+\), lowering"},
        "interrupt without a handler": {": nobody cared": r"(?P<culprit>irq \d+): nobody cared"},
        "work hogs a CPU": {" hogged CPU for >": r"workqueue: (?P<culprit>\w{1,80}).{0,60} hogged CPU for >\d+us"},
        "scheduler failed": {
            "sched_ext: BPF scheduler ": r'scheduler "(?P<culprit>.{1,128})" (?:errored|disabled \((?!unreg|disabled ))'
        },
        "tick not stopped": {
            "local softirq work is pending": r"pending, (?P<culprit>handler #\w+)",
            "NOHZ: local_softirq_pending": "",
        },
        "boot option ignored": {
            "Housekeeping: ": r"nohz unsupported|nohz_full= |must include one present CPU",
            "isolcpus: ": r"isolcpus: (?:Invalid flag|Skipped unknown flag|Error, unknown flag)",
        },
        "real-time throttling": {"RT throttling activated": ""},
    }.items()
}


class Trouble(Struct, frozen=True):
    """Records of one kind: their number, and the last one's time in µs since boot, by the log's clock.

    `culprits` are named in the records, the latest last: processes, devices, functions, or why a clock is unstable.
    """

    count: int
    last_us: int
    culprits: tuple[str, ...] = ()


class KernelLog(Struct, frozen=True):
    """The troubles still in the kernel's buffer, by kind."""

    trouble_by_kind: Mapping[str, Trouble]
    is_complete: bool  # whether all records since `since_us` were read
    since_us: int = 0  # time of the oldest record if earlier ones were overwritten, otherwise 0


def read_kernel_log(reader: Reader) -> KernelLog | None:
    """Return the troubles in the log, or None if the log cannot be read."""
    return _log(reader.ask(QUESTION, _ask))


def _log(answer: Json) -> KernelLog | None:
    """Return the log in an answer; None for any other answer, such as from a damaged recording."""
    if not isinstance(answer, dict) or not isinstance(answer.get("troubles"), dict):
        return None
    troubles = {kind: _trouble(fields) for kind, fields in answer["troubles"].items() if kind in TROUBLES}
    parsed = {kind: trouble for kind, trouble in troubles.items() if trouble is not None}
    is_whole = len(parsed) == len(answer["troubles"])
    since_us = answer.get("since_us", 0)  # missing from old recordings
    if not is_whole or type(since_us) is not int or since_us < 0:
        return None
    return KernelLog(parsed, answer.get("is_complete") is True, since_us)


def _trouble(answer: Json) -> Trouble | None:
    match answer:
        case [count, last_us, *culprits] if len(culprits) <= _MOST_CULPRITS:
            are_counts = all(type(number) is int and number >= 0 for number in (count, last_us))
            if are_counts and all(isinstance(culprit, str) for culprit in culprits):
                return Trouble(count, last_us, tuple(map(clean, culprits)))
    return None


def _ask() -> Json:
    text, is_complete = _records()
    since_us = parse_start(text)
    if since_us is None:  # in a container, /dev/kmsg may be the console, or empty
        raise Unreadable(PATH, "no kernel record in it")
    return {
        "troubles": {
            kind: [trouble.count, trouble.last_us, *trouble.culprits] for kind, trouble in parse_records(text).items()
        },
        "is_complete": is_complete,
        "since_us": since_us,
    }


def _records() -> tuple[str, bool]:
    """Return all records in the buffer, and whether they are complete. Each read returns one record."""
    descriptor = os.open(PATH, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    records: list[bytes] = []
    is_complete = True
    try:
        while len(records) < _MOST_RECORDS:
            try:
                record = os.read(descriptor, _LARGEST_RECORD)
            except BlockingIOError:
                return b"".join(records).decode("utf-8", "replace"), is_complete
            except BrokenPipeError:  # a record was overwritten before it was read; the next read continues after it
                is_complete = False
                continue
            if not record:
                break
            records.append(record)
    finally:
        os.close(descriptor)
    return b"".join(records).decode("utf-8", "replace"), False


def parse_start(text: str) -> int | None:
    """Return the time (µs since boot) from which the records are complete, 0 if from boot; None without records."""
    match = _RECORD.match(text)
    if match is None:
        return None
    return 0 if int(match[1]) == 0 else int(match[2])


def parse_records(text: str) -> Mapping[str, Trouble]:
    """Return the troubles in the kernel's own records by kind. Other text is skipped."""
    troubles = {kind: _sum_up(_matches(text, kind)) for kind in TROUBLES}
    slow, switched_us = troubles[_SLOW_CLOCK_SOURCE], [us for _, us, _ in _records_containing(text, _SWITCHED)]
    if slow is not None and slow.last_us < max(
        switched_us
    ):  # a clock source used early, until the kernel switched to a better one
        troubles[_SLOW_CLOCK_SOURCE] = None
    return {kind: trouble for kind, trouble in troubles.items() if trouble is not None}


def _sum_up(records: Iterable[tuple[str, int, str | None]]) -> Trouble | None:
    """Sum up records of one kind (sequence number, time, culprit), which may be repeated; None without records."""
    ordered = sorted({(us, sequence, culprit or "") for sequence, us, culprit in records})
    if not ordered:
        return None
    culprits = dict.fromkeys(clean(culprit) for _, _, culprit in reversed(ordered) if culprit)
    return Trouble(
        len({sequence for _, sequence, _ in ordered}), ordered[-1][0], tuple(list(culprits)[:_MOST_CULPRITS][::-1])
    )


def _matches(text: str, kind: str) -> Iterator[tuple[str, int, str | None]]:
    for words, pattern in TROUBLES[kind].items():
        for sequence, us, line in _records_containing(text, words):
            if (match := pattern.search(line)) is not None:
                yield sequence, us, match.groupdict().get("culprit")


def _records_containing(text: str, words: str) -> Iterator[tuple[str, int, str]]:
    """Yield the sequence number, time (µs) and text of each of the kernel's own records with these words."""
    place = text.find(words)
    while place >= 0:
        start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        end = len(text) if end < 0 else end
        head = _KERNELS_OWN.match(text, start)
        if head is not None and head.end() <= place:
            yield head[2], int(head[3]), text[head.end() : end]
        place = text.find(words, end)
