"""No report repeats a word of 256 kB from a kernel file, as in a hostile or damaged copy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import pytest

from noisewatch.text import clean
from tests.judgement.judging import judged
from tests.surfaces.reports.verdicts import rendered
from tests.written import WrittenMachine, mounted
from tests.written.quiet_machine import ANSWERS, process, quiet_files, stat_file

_WORD = "x" * (256 << 10)
_MAX_GROWTH = 64_000  # characters, in addition to the report without the word
_FORMATS = ("text", "json", "markdown")
_NAME = re.compile(r"[^\W\d][\w./-]*")
_ROOT = "/sys/fs/cgroup"
_EXTRA_FILES = {
    "/proc/mdstat": (
        "Personalities : [raid1]\nmd0 : active raid1 sda1[0] sdb1[1]\n"
        "      [==>..................]  check = 12.6% (246/1953) finish=165.2min speed=172213K/sec\n"
        "unused devices: <none>\n"
    ),
    "/proc/self/cgroup": "0::/ci.slice\n",
    f"{_ROOT}/ci.slice/cgroup.controllers": "cpuset cpu io memory pids\n",
    f"{_ROOT}/ci.slice/cpu.max": "50000 100000\n",
    f"{_ROOT}/ci.slice/cpu.stat": "nr_throttled 0\n",
    "/sys/kernel/tracing/set_event": "sched:sched_switch\n",
    "/proc/sys/kernel/printk": "7 4 1 7\n",
    **mounted(f"cgroup2 {_ROOT} cgroup2 rw,nosuid 0 0\nlxcfs /proc/loadavg fuse.lxcfs rw 0 0\n"),
}


@cache
def _files(seconds: float) -> dict[str, str]:
    """Return the files of the quiet machine with a hog and other details to report."""
    ticks = round(seconds * 100)
    files = quiet_files(seconds) | process(900, "hog", 2, 1_000_000 + ticks * 9_000_000, allowed="0-3") | _EXTRA_FILES
    files["/proc/stat"] = stat_file({2: ticks * 9 // 10}, ticks)
    rows = files["/proc/interrupts"].splitlines()
    rows[1] = f" 24: 500 0 {ticks} 0 PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0"
    files["/proc/interrupts"] = "\n".join(rows) + "\n"
    return files


def _sizes(changed: dict[str, str]) -> dict[str, int]:
    verdict = judged(WrittenMachine(_files(0.0) | changed, _files(3.0) | changed, answers=ANSWERS))
    return {name: len(rendered(name, verdict)) for name in _FORMATS}


def _with_long_names(text: str) -> list[str]:
    """Return copies of the text in which one of the first names, or the last one, has grown by the long word."""
    names = list(_NAME.finditer(text))[:3] + list(_NAME.finditer(text))[3:][-1:]
    return [text[: name.end()] + _WORD + text[name.end() :] for name in names]


@cache
def _paths() -> list[str]:
    """Return one path for each kind of file that is read; files of other CPUs and devices are read alike."""
    machine = WrittenMachine(_files(0.0), _files(3.0), answers=ANSWERS)
    judged(machine)
    return sorted({re.sub(r"\d+", "0", path): path for path in machine.reads if path in _files(0.0)}.values())


def _find_repetitions(grown: Mapping[str, list[str]]) -> list[tuple[str, str, int]]:
    usual = _sizes({})
    return [
        (path, name, size)
        for path, texts in grown.items()
        for text in texts
        for name, size in _sizes({path: text}).items()
        if size > usual[name] + _MAX_GROWTH
    ]


def test_no_report_repeats_a_file_that_is_one_long_word() -> None:
    assert len(_paths()) > 100
    assert _find_repetitions({path: [_WORD] for path in _paths()}) == []


def test_no_report_repeats_a_long_name_in_a_file() -> None:
    assert _find_repetitions({path: _with_long_names(_files(3.0)[path]) for path in _paths()}) == []


@pytest.mark.parametrize("name", ["x" * 513, "\x1b" * 513])
def test_long_name_is_cut_with_an_ellipsis(name: str) -> None:
    assert (len(clean(name)), clean(name)[-1], clean(name[:512])[-1]) == (513, "…", clean(name[:1]))
