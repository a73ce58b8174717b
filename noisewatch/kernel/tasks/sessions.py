"""The numbers of login sessions and users, never the users' names.

psutil reads /run/utmp; where the distribution has dropped that file, /run/systemd/sessions has them:

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
_SYSTEMD_RUNS = "/run/systemd/system"  # sd_booted(3); without it the folder of sessions may exist but stay empty
_USERS_OWN = ("user", "user-early")  # not those of the greeter, or of services that systemd runs for a user


class Sessions(Struct, frozen=True):
    """The numbers of login sessions and users. None is unknown."""

    sessions: int | None
    users: int | None


def read_sessions(reader: Reader) -> Sessions:
    """Return the numbers of open sessions and of their users."""
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
    """Count the sessions in logind's files, and their users."""
    described = [dict(line.partition("=")[::2] for line in text.splitlines()) for text in texts]
    open_ones = [
        session for session in described if session.get("CLASS") in _USERS_OWN and session.get("STATE") != "closing"
    ]
    return {"sessions": len(open_ones), "users": len({session.get("UID") for session in open_ones})}
