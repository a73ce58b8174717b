"""Whether `noisewatch tune` has tuned this machine: a file for all users. Only root may read the journal.

    /var/lib/noisewatch/tuned.json
    {"boot_id": "5f3c…", "sessions": [{"owner": "4711 81234567 4026531836 noisewatch", "began_s": 1790000000,
     "cpus": "2-3", "is_until_exit": false, "settings": 12}]}

The file is written before the first change and removed after the last was restored, so its absence means that nothing
is tuned. After a reboot it is out of date.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import parse_nonempty_cpu_list
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.machine_lock import Owner, is_alive, parse_lock
from noisewatch.units import describe_count, describe_minute

PATH = "/var/lib/noisewatch/tuned.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
_EXPECTED = "what noisewatch tune has changed"
_MOST_SHOWN = 40  # characters of a malformed text


class TunedSession(Struct, frozen=True, omit_defaults=True):
    """A session of `noisewatch tune` whose changes are in effect. `owner` is its process, as in the machine's lock.

    `is_until_exit`: the changes are restored when the owner ends. `settings` is the number of changes, None until the
    owner has made them all. `is_owner_alive` is not in the file; None means unknown.
    """

    owner: str
    began_s: float  # since the epoch
    cpus: str
    is_until_exit: bool
    settings: int | None
    is_owner_alive: bool | None = None

    @property
    def process(self) -> Owner:
        """The process that made the changes. Raise Malformed."""
        owner = parse_lock(self.owner)
        if owner is None:
            raise Malformed(_EXPECTED, "no owner")
        return owner

    @property
    def is_left_behind(self) -> bool | None:
        """Whether the owner ended before it completed or restored the changes as planned; None if unknown."""
        if not self.is_until_exit and self.settings is not None:
            return False
        return None if self.is_owner_alive is None else not self.is_owner_alive


class Tuned(Struct, frozen=True):
    """The sessions whose changes are in effect, the oldest first; none if the machine is not tuned."""

    boot_id: str = ""
    sessions: tuple[TunedSession, ...] = ()

    @property
    def summary(self) -> str:
        """The state as text: `tuned since 2026-11-14 09:30: 12 settings`."""
        if not self.sessions:
            return "not tuned by noisewatch"
        counts = [session.settings for session in self.sessions if session.settings is not None]
        settings = describe_count(sum(counts), "setting")
        open_sessions = [session for session in self.sessions if session.settings is None]
        if any(session.is_owner_alive is not False for session in open_sessions):
            settings = "in progress"
        elif open_sessions:
            settings += ", and the changes of an interrupted tune"
        return f"tuned since {describe_minute(self.sessions[0].began_s)}: {settings}"


_DECODER = msgspec.json.Decoder(Tuned)


def encode_tuned(tuned: Tuned) -> bytes:
    """Return the file's content."""
    return msgspec.json.encode(tuned) + b"\n"


def parse_tuned(text: str) -> Tuned:
    """Return the content of the file. Raise Malformed."""
    try:
        tuned = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise Malformed(_EXPECTED, text[:_MOST_SHOWN]) from error
    for session in tuned.sessions:
        parse_nonempty_cpu_list(session.cpus)
        assert session.process
    return tuned


def read_tuned(reader: Reader) -> Tuned | None:
    """Return the sessions of this boot whose changes are in effect, or None if unknown."""
    try:
        tuned = reader.earlier.parse(PATH, reader.bytes(PATH, expected=False), parse_tuned)
    except Absent:
        return Tuned()
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(PATH, error.reason)
        return None
    boot_id = reader.text_or_none(BOOT_ID)
    if boot_id is None:
        return None
    if boot_id.strip() != tuned.boot_id:
        return Tuned()
    sessions = [replace(session, is_owner_alive=is_alive(reader, session.process)) for session in tuned.sessions]
    return replace(tuned, sessions=tuple(sessions))
