"""Scheduled jobs on this machine, and the clock that schedules them.

They are read only once per run, because listing systemd's timers starts a program. The system's cron jobs are in
/etc/crontab and /etc/cron.d:

    17 *    * * *   root    cd / && run-parts --report /etc/cron.hourly

https://man7.org/linux/man-pages/man5/crontab.5.html. Users' crontabs are not read: they are private, and only root may
read them. anacron's jobs are not read either, because anacron chooses their times.

`systemctl list-timers --all --output=json` lists systemd's timers (since systemd 246, 2020):

    [{"next":1589485390891904,"left":…,"last":…,"passed":…,"unit":"dnf-makecache.timer","activates":"…"}, …]

`next` is in µs of the wall clock; null, 0 or the largest number means never.
https://www.freedesktop.org/software/systemd/man/latest/systemctl.html. Users' timers are private, and not read.
"""

from __future__ import annotations

import os
import re
import time

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json
from noisewatch.machine.recording.privacy import NOT_UNDERSTOOD, OTHER_ZONE, without_commands
from noisewatch.patterns import regex
from noisewatch.text import clean

QUESTION = "timers of systemd"
BOOTED = "/run/systemd/system"  # exists if systemd runs: https://man7.org/linux/man-pages/man3/sd_booted.3.html
_COMMAND = ("systemctl", "list-timers", "--all", "--output=json", "--no-pager")
_DEADLINE_S = 2.0
_UNIT = regex(r"[\w:.\\@-]{1,255}", re.ASCII)  # only characters that are safe in a command
_NEVER_US = 1 << 62


class Timer(Struct, frozen=True):
    """A timer unit, and its next expiry in µs of the wall clock."""

    unit: str
    next_us: int


def read_timers(reader: Reader) -> tuple[Timer, ...] | None:
    """Return the timers that will expire; empty if systemd does not run, None if unknown."""
    try:
        reader.machine.mode(BOOTED)
    except Absent:
        return ()
    except Unreadable:
        pass  # a copied tree or a recording may still have the answer
    answer = reader.ask(QUESTION, ask_timers)
    if answer is None:
        return None
    try:
        return tuple(map(_timer, answer if isinstance(answer, list) else [answer]))
    except Malformed as error:
        reader.note(QUESTION, error.reason)
        return None


def ask_timers() -> Json:
    """Ask systemd for each timer's unit and time. Raise Unreadable, or OSError if systemctl cannot be started."""
    import subprocess  # most snapshots need no timers

    environment = {**os.environ, "LC_ALL": "C"}
    try:
        ran = subprocess.run(
            _COMMAND, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DEADLINE_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Unreadable(QUESTION, f"systemctl did not respond within {_DEADLINE_S:g} s") from error
    if ran.returncode != 0:
        raise Unreadable(QUESTION, f"systemctl ended with status {ran.returncode}")
    try:
        return parse_timers(ran.stdout.decode("utf-8", "replace"))
    except Malformed as error:
        raise Unreadable(QUESTION, f"systemctl: {error.reason}") from error


def parse_timers(text: str) -> list[tuple[str, int]]:
    """Return the unit and time of each timer that will expire. Raise Malformed."""
    import json

    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("JSON, as printed by systemd 246 and later", text[:20].strip()) from error
    if not isinstance(rows, list):
        raise Malformed("a list of timers", text[:20].strip())
    entries = [(row.get("unit"), row.get("next")) if isinstance(row, dict) else (None, None) for row in rows]
    timers = [_timer([unit, next_us or 0]) for unit, next_us in entries]
    return [(timer.unit, timer.next_us) for timer in timers if 0 < timer.next_us < _NEVER_US]


def _timer(row: Json) -> Timer:
    """Return the timer in a row. Raise Malformed."""
    match row:
        case [str(unit), int(next_us)] if _UNIT.fullmatch(unit) and type(next_us) is int:
            return Timer(unit, next_us)
    raise Malformed("the name of a unit and a time", "something else")


FILE = "/etc/crontab"
FOLDER = "/etc/cron.d"
_LEFT_OUT = ("~", ".rpmsave", ".rpmorig", ".rpmnew", ".dpkg-old", ".dpkg-new", ".dpkg-dist")


class CronJob(Struct, frozen=True):
    """A program, the file that schedules it, and its schedule: five fields, or a word such as `@daily`."""

    name: str
    path: str
    schedule: str


class Crontabs(Struct, frozen=True):
    """The jobs in the readable files, and the paths of unreadable ones."""

    jobs: tuple[CronJob, ...]
    unread: tuple[str, ...]


def parse_crontab(text: str) -> list[tuple[str, str]]:
    """Return each job's schedule and program. Raise Malformed, also if the file uses another time zone."""
    jobs = []
    for number, line in enumerate(lines_of(without_commands(text)), start=1):
        if line == OTHER_ZONE:
            raise Malformed("schedules in local time", "CRON_TZ", number)
        if line == NOT_UNDERSTOOD:
            raise Malformed("a schedule, a user and a command", "something else", number)
        schedule, _, name = line.rsplit(" ", 2)
        jobs.append((schedule, name))
    return jobs


def read_crontabs(reader: Reader) -> Crontabs:
    """Return cron's jobs. A missing crontab has no jobs."""
    jobs: list[CronJob] = []
    failed_paths: list[str] = []
    for path in [FILE, *_paths_in_folder(reader, failed_paths)]:
        if reader.is_absent(path):
            continue
        entries = reader.parse(path, parse_crontab)
        if entries is None:
            failed_paths.append(path)
        else:
            jobs += [CronJob(name, clean(path), schedule) for schedule, name in entries]
    return Crontabs(tuple(jobs), tuple(failed_paths))


def _paths_in_folder(reader: Reader, failed_paths: list[str]) -> list[str]:
    """Return the paths of the folder's crontabs, without the names that cron ignores."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return []
    except Unreadable as error:
        reader.note(FOLDER, error.reason)
        failed_paths.append(FOLDER)
        return []
    return [f"{FOLDER}/{name}" for name in names if not name.startswith((".", "#")) and not name.endswith(_LEFT_OUT)]


CLOCK_QUESTION = "wall clock"
_LAST_US = 1 << 57  # in the year 6537: larger values are not dates
_DAY_S = 86_400


class WallClock(Struct, frozen=True):
    """The time in µs since 1970 in UTC, and by how many seconds local time, which cron uses, is ahead of UTC."""

    now_us: int
    ahead_s: int


class Jobs(Struct, frozen=True):
    """The scheduled jobs. None means unknown; without systemd there are no timers."""

    clock: WallClock | None
    timers: tuple[Timer, ...] | None
    crontabs: Crontabs


def read_jobs(reader: Reader) -> Jobs:
    """Return the jobs that are scheduled now."""
    return Jobs(_clock(reader.ask(CLOCK_QUESTION, ask_clock)), read_timers(reader), read_crontabs(reader))


def ask_clock() -> Json:
    """Return the time in UTC (µs), and by how many seconds local time is ahead."""
    now_us = time.time_ns() // 1000
    return [now_us, time.localtime(now_us // 1_000_000).tm_gmtoff]


def _clock(answer: Json) -> WallClock | None:
    """Return the clock in an answer; None for any other answer, such as from a damaged recording."""
    match answer:
        case [int(now_us), int(ahead_s)] if 0 < now_us < _LAST_US and abs(ahead_s) <= _DAY_S:
            return WallClock(now_us, ahead_s)
    return None
