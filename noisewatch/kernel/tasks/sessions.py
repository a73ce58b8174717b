"""The numbers of login sessions and their users, without the users' names.

psutil reads /run/utmp. Distributions that no longer have this file list sessions in /run/systemd/sessions:

    UID=1000
    CLASS=user
    STATE=active

https://www.freedesktop.org/software/systemd/man/latest/sd-login.html
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json

QUESTION = "sessions of users"
_UTMP = ("/run/utmp", "/var/run/utmp")
_LOGIND = "/run/systemd/sessions"
_SYSTEMD_RUNS = "/run/systemd/system"  # sd_booted(3); without systemd the sessions folder may exist but stay empty
_USER_CLASSES = ("user", "user-early")  # not the sessions of the greeter or of users' services


class Sessions(Struct, frozen=True):
    """The numbers of login sessions and their users. None means unknown."""

    sessions: int | None
    users: int | None


def read_sessions(reader: Reader) -> Sessions:
    """Return the numbers of open sessions and their users."""
    answer = reader.ask(QUESTION, _count)
    numbers = [answer.get(name) if isinstance(answer, dict) else None for name in ("sessions", "users")]
    return Sessions(*(number if type(number) is int and number >= 0 else None for number in numbers))


def _count() -> Json:
    if any(map(os.path.exists, _UTMP)):
        import psutil

        names = [user.name for user in psutil.users()]
        return {"sessions": len(names), "users": len(set(names))}
    if not os.path.isdir(_SYSTEMD_RUNS) or not os.path.isdir(_LOGIND):
        return None
    files = [file for file in Path(_LOGIND).iterdir() if file.is_file()]
    return count_sessions([file.read_text(errors="replace") for file in files])


def count_sessions(texts: list[str]) -> dict[str, int]:
    """Count the open sessions in the texts of logind's files, and their users."""
    sessions = [dict(line.partition("=")[::2] for line in text.splitlines()) for text in texts]
    open_sessions = [
        session for session in sessions if session.get("CLASS") in _USER_CLASSES and session.get("STATE") != "closing"
    ]
    return {"sessions": len(open_sessions), "users": len({session.get("UID") for session in open_sessions})}
