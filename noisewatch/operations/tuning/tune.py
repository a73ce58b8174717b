"""Tunes this host and restores it, with a journal of all sessions since the boot and a public summary.

Only one process at a time does either: it locks the journal until it ends.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import Malformed, Unreadable, UsageError, system_reason
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.tuned import Tuned, TunedSession, encode_tuned, parse_tuned, read_tuned
from noisewatch.kernel.system.tuning import LARGEST, PATH, Journal, Session, parse_journal
from noisewatch.kernel.tasks.machine_lock import read_owner
from noisewatch.machine.history_file import boot_key, machine_key
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.tuning import JournalFile, Settings, opened_journal, read_public_file
from noisewatch.operations.tuning.plan import TuningPlan
from noisewatch.operations.tuning.tuner import Changed, Listener, Tuner, preview, restore

JOURNAL = Path(PATH)
AFTER_LOSS = "reboot, or see noisewatch restore --to-defaults"


class TuningStatus(Struct, frozen=True):
    """The sessions whose changes are not restored, and the state of each of these changes.

    A change's outcome is what `restore` would do: DONE if the change is in effect. For `loss` see `read_loss`.
    """

    sessions: tuple[Session, ...] = ()
    changes: tuple[Changed, ...] = ()
    loss: str | None = None


def new_session(cpus: CpuSet, is_until_exit: bool = False) -> Session:
    """Return the session of this process, which is about to tune. Raise UsageError if /proc does not identify it."""
    try:
        owner = read_owner(Reader(LiveMachine()), os.getpid()).line().strip()
    except (Unreadable, Malformed) as error:
        raise UsageError(f"this process is not visible, so a journal cannot name it: {error}") from error
    return Session(_require_boot(), machine_key(), time.time(), owner, format_cpu_list(cpus), is_until_exit)


def tune_host(
    plan: TuningPlan,
    session: Session,
    listener: Listener,
    settings: Settings | None = None,
    path: Path = JOURNAL,
    waits: bool = False,
) -> list[Changed]:
    """Make the plan's changes, and return their outcomes. For `waits` see `opened_journal`.

    Raise UsageError if the journal has lost changes or cannot be written: no change is made that it does not contain.
    """
    with opened_journal(path, waits) as file:
        journal = _parse(file, path)
        if (loss := _loss_of(journal, read_published(path), session.boot_id)) is not None:
            raise UsageError(f"{path}: {loss}; {AFTER_LOSS}")
        if not journal.of_boot(session.boot_id):
            file.clear()  # an earlier boot's changes are lost with that boot
        tuner = Tuner(settings or Settings(), file, journal.last_seq)
        tuner.begin(session)
        _publish(file, path, session)
        outcomes = [changed for changes in plan.actions for changed in tuner.make(changes, listener)]
        tuner.end()
        with suppress(UsageError):  # the state published at the start shows that the machine is being tuned
            _publish(file, path)
        return outcomes


def restore_host(
    listener: Listener,
    is_forced: bool = False,
    settings: Settings | None = None,
    path: Path = JOURNAL,
    only: Session | None = None,
) -> list[Changed]:
    """Restore the states before all changes since the boot, the newest first, and return the outcomes.

    With `only`, restore this session's changes, and wait until the journal is free. The journal is emptied when
    nothing remains to be restored, unless it has lost changes (see `read_loss`). Raise UsageError.
    """
    with _existing_journal(path, waits=only is not None) as file:
        if file is None:
            return []
        journal = _parse(file, path)
        file.start_new_line()
        boot_id = _require_boot()
        entries = [entry for entry in journal.of_boot(boot_id) if only in (None, entry.session)]
        loss = _loss_of(journal, read_published(path), boot_id)
        outcomes = restore(settings or Settings(), file, entries, listener, is_forced)
        if loss is not None:
            return outcomes
        if len(entries) == len(journal.of_boot(boot_id)) and not failed(outcomes):
            file.publish(None)
            file.clear()
        else:
            with suppress(UsageError):  # on a full disk the earlier state remains: the machine is tuned
                _publish(file, path)
        return outcomes


def read_loss(path: Path = JOURNAL) -> str | None:
    """Return which changes of this boot the journal no longer contains, or None if it has them all.

    The published state counts the changes of each session, so a lost or cut journal is detected. Raise UsageError.
    """
    published = read_published(path)
    with _existing_journal(path, waits=True) as file:
        if file is not None:
            return _loss_of(_parse(file, path), published, _require_boot())
    return _loss_of_all(published, _require_boot())


def _loss_of_all(published: Tuned, boot_id: str) -> str | None:
    sessions = _published_sessions(published, boot_id)
    return f"the journal is missing ({published.summary})" if sessions else None


def _loss_of(journal: Journal, published: Tuned, boot_id: str) -> str | None:
    sessions = _published_sessions(published, boot_id)
    if not sessions and not any(session.boot_id == boot_id for session in journal.sessions):
        return None
    if journal.damaged:
        lines = ", ".join(map(str, journal.damaged))
        return f"damaged lines of the journal ({lines}), so changes in them cannot be restored"
    complete = {(session.owner, session.began_s) for session in journal.complete}
    is_cut = any(
        session.settings is not None and (session.owner, session.began_s) not in complete for session in sessions
    )
    return "the end of the journal is missing, so changes in it cannot be restored" if is_cut else None


def _published_sessions(published: Tuned, boot_id: str) -> tuple[TunedSession, ...]:
    return published.sessions if published.boot_id == boot_id else ()


def read_published(path: Path = JOURNAL) -> Tuned:
    """Return the state that is published beside the journal; if it is unreadable, a state without changes."""
    try:
        return parse_tuned(read_public_file(path))
    except (OSError, Malformed):
        return Tuned()


def _publish(file: JournalFile, path: Path, beginning: Session | None = None) -> None:
    """Publish which sessions have changes in effect, and the one that is beginning. Raise UsageError."""
    journal, boot_id = _parse(file, path), _require_boot()
    settings = Counter(entry.session for entry in journal.of_boot(boot_id) if not entry.is_refused)
    sessions = [
        TunedSession(
            session.owner,
            session.began_s,
            session.cpus,
            session.is_until_exit,
            settings[session] if session in journal.complete else None,
        )
        for session in dict.fromkeys(journal.sessions)  # a session may begin several times
        if session in settings or session == beginning
    ]
    file.publish(encode_tuned(Tuned(boot_id, tuple(sessions))) if sessions else None)


def read_tuning(is_forced: bool = False, settings: Settings | None = None, path: Path = JOURNAL) -> TuningStatus:
    """Return the changes that are not restored. Raise UsageError if the journal is unreadable or being written."""
    with _existing_journal(path) as file:
        if file is None:
            return TuningStatus(loss=_loss_of_all(read_published(path), _require_boot()))
        journal, boot_id = _parse(file, path), _require_boot()
        entries = journal.of_boot(boot_id)
        sessions = dict.fromkeys(entry.session for entry in entries)
        return TuningStatus(
            tuple(sessions),
            tuple(preview(settings or Settings(), entries, is_forced)),
            _loss_of(journal, read_published(path), boot_id),
        )


def require_untuned(settings: Settings | None = None, path: Path = JOURNAL) -> None:
    """Raise UsageError if changes are not restored: a measurement compares settings with and without changes."""
    if read_tuning(settings=settings, path=path).changes:
        raise UsageError(
            "the machine is tuned: restore it first (sudo noisewatch restore); --measure needs untuned settings"
        )


def read_public_tuning() -> Tuned:
    """Return the published state of this host's tuning, which every user may read. Raise Unreadable."""
    reader = Reader(LiveMachine())
    tuned = read_tuned(reader)
    if tuned is None:
        path, reason = next(iter(reader.reason_by_path.items()))
        raise Unreadable(path, reason)
    return tuned


def forget_tuning(path: Path = JOURNAL) -> None:
    """Empty the journal and remove the published state. Raise UsageError."""
    with opened_journal(path) as file:
        file.clear()
        file.publish(None)


def has_changes(path: Path = JOURNAL) -> bool:
    """Return whether the journal has legible changes of this boot. Raise UsageError if it cannot be read."""
    with _existing_journal(path) as file:
        try:
            return file is not None and bool(parse_journal(file.read(LARGEST)).of_boot(_require_boot()))
        except Malformed:
            return False


def has_journal(path: Path = JOURNAL) -> bool:
    """Return whether a journal with content exists; any user may ask. Raise UsageError."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error)}") from error


@contextmanager
def _existing_journal(path: Path, waits: bool = False) -> Iterator[JournalFile | None]:
    """Yield the open journal, or None if there is none; it is not created. For `waits` see `opened_journal`."""
    if not has_journal(path):
        yield None
        return
    with opened_journal(path, waits) as file:
        yield file


def _parse(file: JournalFile, path: Path) -> Journal:
    try:
        return parse_journal(file.read(LARGEST))
    except Malformed as error:
        raise UsageError(f"{path}: {error}; move the file away to tune without it") from error


def _require_boot() -> str:
    boot_id = boot_key()
    if boot_id is None:
        raise UsageError("the boot's ID is unreadable (/proc/sys/kernel/random/boot_id): a journal needs it")
    return boot_id


def failed(outcomes: Sequence[Changed]) -> list[Changed]:
    """Return the changes that were not made, or not restored."""
    return [changed for changed in outcomes if changed.outcome.is_failure]
