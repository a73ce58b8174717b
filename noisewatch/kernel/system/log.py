"""What the kernel has complained about: /dev/kmsg, counted by kind, and never quoted.

    6,339,5140900,-;NET: Registered PF_INET6 protocol family
    3,812,91277123456,-;watchdog: BUG: soft lockup - CPU#2 stuck for 26s! [kworker/2:1:77]
     SUBSYSTEM=pci

https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg: priority, sequence number, microseconds since boot, flags
and the text; lines that begin with a blank belong to the record before. What a process wrote there has a facility, and
so a priority of 8 and more. Usually only root may read it. The text may name devices, files and people: it stays here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from noisewatch.errors import Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json
from noisewatch.patterns import regex
from noisewatch.records import dataclass

PATH = "/dev/kmsg"
QUESTION = "troubles in /dev/kmsg"
_MOST_RECORDS = 20_000  # a buffer of 1 MiB holds about ten thousand
_LARGEST_RECORD = 8192
_RECORD = regex(r"\d{1,10},(\d{1,20}),(\d{1,17}),[^;\n]*;", re.ASCII)
_KERNELS_OWN = regex(r"([0-7]),(\d{1,20}),(\d{1,17}),[^;]*;", re.ASCII)

# By kind: words to look for, which is quick, and what has to stand there.
TROUBLES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    kind: {words: regex(pattern) for words, pattern in pattern_by_words.items()}
    for kind, pattern_by_words in {
        "throttling": {"temperature above threshold": "", " clock throttled": ""},
        "machine check": {"[Hardware Error]": ""},
        "memory error": {"EDAC ": r"EDAC [^\n]{0,40}: \d+ [CU]E\b"},
        "lock-up": {"soft lockup - CPU": "", "hard LOCKUP": "", "detected stall": "", "detected expedited stall": ""},
        "hung task": {" blocked for more than ": r" blocked for more than \d+ seconds"},
        "unstable clock": {"Marking ": r"Marking (clocksource [^\n]{1,60} as unstable|TSC unstable)"},
        "out of memory": {"ut of memory: Kill": ""},
        "disk": {
            "I/O error, dev ": "",
            ": failed command: ": "",
            "nvme": r"nvme\d+: I/O [^\n]{0,60}timeout",
        },
        "long interrupt": {"hrtimer: interrupt took ": r"hrtimer: interrupt took \d+ ns"},
        "real-time throttling": {"RT throttling activated": ""},
    }.items()
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """How often the kernel wrote of it, and when for the last time: µs since boot, by the log's clock."""

    count: int
    last_us: int


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The troubles that are still in the kernel's buffer, by kind."""

    trouble_by_kind: Mapping[str, Trouble]
    is_complete: bool  # all from `since_us` on was read
    since_us: int = 0  # when the oldest record was written; what came before has been overwritten


def read_kernel_log(reader: Reader) -> KernelLog | None:
    """The log's troubles; None where it cannot be read."""
    return _log(reader.ask(QUESTION, _ask))


def _log(answer: Json) -> KernelLog | None:
    """The log of an answer; None where it is something else, as in a damaged recording."""
    if not isinstance(answer, dict) or not isinstance(answer.get("troubles"), dict):
        return None
    troubles = {kind: _trouble(said) for kind, said in answer["troubles"].items() if kind in TROUBLES}
    known = {kind: trouble for kind, trouble in troubles.items() if trouble is not None}
    is_whole = len(known) == len(answer["troubles"])
    since_us = answer.get("since_us", 0)  # not told by recordings of old
    if not is_whole or type(since_us) is not int or since_us < 0:
        return None
    return KernelLog(known, answer.get("is_complete") is True, since_us)


def _trouble(said: Json) -> Trouble | None:
    is_pair = isinstance(said, list) and len(said) == 2 and all(type(each) is int and each >= 0 for each in said)
    return Trouble(*said) if is_pair else None


def _ask() -> Json:
    text, is_complete = _records()
    since_us = parse_start(text)
    if since_us is None:  # a container's may be its console, or nothing
        raise Unreadable(PATH, "no kernel record in it")
    return {
        "troubles": {kind: [trouble.count, trouble.last_us] for kind, trouble in parse_records(text).items()},
        "is_complete": is_complete,
        "since_us": since_us,
    }


def _records() -> tuple[str, bool]:
    """All records of the buffer, and whether none was left or lost. One read gives one record."""
    descriptor = os.open(PATH, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    records: list[bytes] = []
    is_complete = True
    try:
        while len(records) < _MOST_RECORDS:
            try:
                record = os.read(descriptor, _LARGEST_RECORD)
            except BlockingIOError:
                return b"".join(records).decode("utf-8", "replace"), is_complete
            except BrokenPipeError:  # overwritten before we came to it; the next read goes on behind
                is_complete = False
                continue
            if not record:
                break
            records.append(record)
    finally:
        os.close(descriptor)
    return b"".join(records).decode("utf-8", "replace"), False


def parse_start(text: str) -> int | None:
    """Since when the records tell everything: 0 where the first is the boot's first; None where there is no record."""
    match = _RECORD.match(text)
    if match is None:
        return None
    return 0 if int(match[1]) == 0 else int(match[2])


def parse_records(text: str) -> Mapping[str, Trouble]:
    """The troubles in records of the kernel's own; what is no record is passed over."""
    found: dict[str, Trouble] = {}
    for kind, pattern_by_words in TROUBLES.items():
        places = (place for words, pattern in pattern_by_words.items() for place in _places(text, words, pattern))
        records = {record[2]: int(record[3]) for place in places if (record := _record_at(text, place)) is not None}
        if records:
            found[kind] = Trouble(len(records), max(records.values()))
    return found


def _places(text: str, words: str, pattern: re.Pattern[str]) -> Iterator[int]:
    place = text.find(words)
    while place >= 0:
        if pattern.match(text, place):
            yield place
        place = text.find(words, place + 1)


def _record_at(text: str, place: int) -> re.Match[str] | None:
    """The head of the kernel's record at that place; None of a process's record, or of a line below a record."""
    start = text.rfind("\n", 0, place) + 1
    match = _KERNELS_OWN.match(text, start)
    return match if match is not None and match.end() <= place else None
