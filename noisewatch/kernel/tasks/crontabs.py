"""What cron will start on behalf of the system: /etc/crontab and the files in /etc/cron.d.

    17 *    * * *   root    cd / && run-parts --report /etc/cron.hourly

https://man7.org/linux/man-pages/man5/crontab.5.html. The crontabs of users are their own business, and only root may
read them; anacron's jobs start when it pleases.
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.machine.recording.crontab_lines import NOT_UNDERSTOOD, OTHER_ZONE, without_commands
from noisewatch.text import clean

FILE = "/etc/crontab"
FOLDER = "/etc/cron.d"
_LEFT_OUT = ("~", ".rpmsave", ".rpmorig", ".rpmnew", ".dpkg-old", ".dpkg-new", ".dpkg-dist")


@dataclass(frozen=True, slots=True)
class CronJob:
    """A program, the file that schedules it, and when: five fields, or a word such as `@daily`."""

    name: str
    path: str
    schedule: str


@dataclass(frozen=True, slots=True)
class Crontabs:
    """The jobs of the files that could be read, and the paths of those that could not."""

    jobs: tuple[CronJob, ...]
    unread: tuple[str, ...]


def parse_crontab(text: str) -> list[tuple[str, str]]:
    """Schedule and program of each job. Raises Malformed, also where the file means the time of another place."""
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
    """The jobs; no file is no job."""
    jobs: list[CronJob] = []
    unread: list[str] = []
    for path in [FILE, *_paths_in_folder(reader, unread)]:
        if reader.is_absent(path):
            continue
        found = reader.parsed(path, parse_crontab)
        if found is None:
            unread.append(path)
        else:
            jobs += [CronJob(name, clean(path), schedule) for schedule, name in found]
    return Crontabs(tuple(jobs), tuple(unread))


def _paths_in_folder(reader: Reader, unread: list[str]) -> list[str]:
    """Less what cron itself leaves out."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return []
    except Unreadable as error:
        reader.note(FOLDER, error.reason)
        unread.append(FOLDER)
        return []
    return [f"{FOLDER}/{name}" for name in names if not name.startswith((".", "#")) and not name.endswith(_LEFT_OUT)]
