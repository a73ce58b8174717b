"""What systemd will start and when: `systemctl list-timers --all --output=json`, Linux distributions since 2020.

    [{"next":1589485390891904,"left":…,"last":…,"passed":…,"unit":"dnf-makecache.timer","activates":"…"}, …]

`next` is in µs of the wall clock; null, 0 or the largest number is never.
https://www.freedesktop.org/software/systemd/man/latest/systemctl.html. The timers of users are their own business.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json

QUESTION = "timers of systemd"
BOOTED = "/run/systemd/system"  # there where systemd runs: https://man7.org/linux/man-pages/man3/sd_booted.3.html
_COMMAND = ("systemctl", "list-timers", "--all", "--output=json", "--no-pager")
_DEADLINE_S = 2.0
_UNIT = re.compile(r"[\w:.\\@-]{1,255}", re.ASCII)  # of such letters alone, so that it is fit to stand in a command
_NEVER_US = 1 << 62


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer unit, and when it will start something, in µs of the wall clock."""

    unit: str
    next_us: int


def read_timers(reader: Reader) -> tuple[Timer, ...] | None:
    """The timers that will go off; none where systemd does not run, None where nobody can say."""
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
    """Unit and time of each timer. Raises Unreadable; OSError where there is no such program."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        ran = subprocess.run(
            _COMMAND, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DEADLINE_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Unreadable(QUESTION, f"systemctl gave no answer within {_DEADLINE_S:g} s") from error
    if ran.returncode != 0:
        raise Unreadable(QUESTION, f"systemctl ended with status {ran.returncode}")
    try:
        return parse_timers(ran.stdout.decode("utf-8", "replace"))
    except Malformed as error:
        raise Unreadable(QUESTION, f"systemctl: {error.reason}") from error


def parse_timers(text: str) -> list[tuple[str, int]]:
    """Unit and time of those that will go off. Raises Malformed."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("JSON, as systemd 246 and later give", text[:20].strip()) from error
    if not isinstance(rows, list):
        raise Malformed("a list of timers", text[:20].strip())
    found = [(row.get("unit"), row.get("next")) if isinstance(row, dict) else (None, None) for row in rows]
    timers = [_timer([unit, next_us or 0]) for unit, next_us in found]
    return [(timer.unit, timer.next_us) for timer in timers if 0 < timer.next_us < _NEVER_US]


def _timer(row: Json) -> Timer:
    """Raises Malformed."""
    match row:
        case [str(unit), int(next_us)] if _UNIT.fullmatch(unit) and type(next_us) is int:
            return Timer(unit, next_us)
    raise Malformed("the name of a unit and a time", "something else")
