"""A system's crontab without what nobody else is to know: users, variables, and the arguments of commands.

    MAILTO=somebody@example.org
    25 6 * * *  root  test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
    @daily  backup  TOKEN=secret /opt/backup --to //nas/share

https://man7.org/linux/man-pages/man5/crontab.5.html
"""

from __future__ import annotations

import re

NOT_UNDERSTOOD = "?"
OTHER_ZONE = "CRON_TZ=?"
UNNAMED = "a-command"

_PART = r"(?:\*|\d{1,2}(?:[-~]\d{1,2})?|[A-Za-z]{3}(?:-[A-Za-z]{3})?)(?:/\d{1,3})?"
_FIELD = re.compile(rf"{_PART}(?:,{_PART})*", re.ASCII)
_NICKNAME = re.compile(r"@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)")
_ASSIGNMENT = re.compile(r"[\"']?(\w+)[\"']?\s*=")
_RUN_PARTS = re.compile(r"\brun-parts\s+(?:-\S+\s+)*/(?:[\w.-]+/)*([\w.-]+)", re.ASCII)
_PATH = re.compile(r"[\w./+-]*[\w.+-]", re.ASCII)
_SHELL = frozenset({"[", "cd", "command", "env", "exec", "flock", "if", "ionice", "nice", "sh", "sleep", "test"})
_LONGEST_LINE = 4096  # cron itself takes 1000 characters of a command


def without_commands(text: str) -> str:
    """Each job as its schedule, `user`, and the name of what it starts; what is no schedule as `?`.

    Of its own result it is the same again.
    """
    lines = [_reduced(line.strip()) for line in text.split("\n")]
    return "".join(f"{line}\n" for line in lines if line is not None)


def _reduced(line: str) -> str | None:
    if not line or line.startswith("#"):
        return None
    assigned = _ASSIGNMENT.match(line)
    if assigned is not None:
        return OTHER_ZONE if assigned[1] == "CRON_TZ" else None
    if len(line) > _LONGEST_LINE:
        return NOT_UNDERSTOOD
    line = line.removeprefix("-")  # SUSE: without a line in the log
    words = line.split(maxsplit=2 if line.startswith("@") else 6)
    *schedule, _, command = words if len(words) > 2 else ("", "", "")
    if len(schedule) == 5 and all(map(_FIELD.fullmatch, schedule)):
        return f"{' '.join(schedule)} user {_name_of(command)}"
    if len(schedule) == 1 and _NICKNAME.fullmatch(schedule[0]):
        return f"{schedule[0]} user {_name_of(command)}"
    return NOT_UNDERSTOOD


def _name_of(command: str) -> str:
    """The folder whose parts are run, else the first word without its folder: a program, as far as one can tell."""
    folder = _RUN_PARTS.search(command)
    if folder is not None:
        return folder[1]
    first = command.split(maxsplit=1)[0]
    name = first.rpartition("/")[2]
    return name if _PATH.fullmatch(first) and name not in _SHELL else UNNAMED
