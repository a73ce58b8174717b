"""Tunes this host and restores it, with a journal of all sessions since the boot and a public summary.

Tuning and restoring lock the journal, so only one process at a time does either.
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
from noisewatch.operations.tuning.tuner import Changed, Tuner, preview, restore

JOURNAL = Path(PATH)
AFTER_LOSS = "reboot, or see noisewatch restore --to-defaults"


class TuningStatus(Struct, frozen=True):
    """The sessions whose changes are not restored, and the state of each of these changes.

    A change's outcome is what `restore` would do: DONE if the change is in effect. For `loss` see `Restoring`.
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
    settings: Settings | None = None,
    path: Path = JOURNAL,
    waits: bool = False,
) -> list[Changed]:
    """Make the plan's changes, and return their outcomes. For `waits` see `opened_journal`.

    Each change is in the journal before it is made. Raise UsageError if the journal has lost changes or cannot be
    written.
    """
    with opened_journal(path, waits) as file:
        journal = _parse(file, path)
        if (loss := _loss_of(journal, read_published(path), session.boot_id)) is not None:
            raise UsageError(f"{path}: {loss}; {AFTER_LOSS}")
        if not journal.of_boot(session.boot_id):
            file.clear()  # a reboot has undone the changes of earlier boots
        tuner = Tuner(settings or Settings(), file, journal.last_seq)
        tuner.begin(session)
        _publish(file, path, session)
        outcomes = [changed for changes in plan.actions for changed in tuner.make(changes)]
        tuner.end()
        with suppress(UsageError):  # the state published at the start shows that the machine is being tuned
            _publish(file, path)
        return outcomes


class Restoring(Struct, frozen=True):
    """The outcomes of restoring changes, the newest first, and the changes that the journal has lost.

    `loss` is None if the journal has all changes of this boot. The published state counts the changes of each session,
    so a lost or cut journal is detected.
    """

    outcomes: Sequence[Changed]
    loss: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all settings are restored."""
        return self.loss is None and not failed(self.outcomes)


def restore_host(
    is_forced: bool = False,
    settings: Settings | None = None,
    path: Path = JOURNAL,
    only: Session | None = None,
) -> Restoring:
    """Restore the states before all changes since the boot, the newest first.

    With `only`, restore only that session's changes, and wait until the journal is free. The journal is emptied when
    nothing remains to be restored, unless it has lost changes. Raise UsageError if it cannot be used.
    """
    with _existing_journal(path, waits=only is not None) as file:
        if file is None:
            return Restoring((), _loss_of_all(path))
        journal = _parse(file, path)
        file.start_new_line()
        boot_id = _require_boot()
        entries = [entry for entry in journal.of_boot(boot_id) if only in (None, entry.session)]
        loss = _loss_of(journal, read_published(path), boot_id)
        restoring = Restoring(restore(settings or Settings(), file, entries, is_forced), loss)
        if len(entries) == len(journal.of_boot(boot_id)) and restoring.is_complete:
            file.forget()
        elif loss is None:
            with suppress(UsageError):  # on a full disk the earlier state remains: the machine is tuned
                _publish(file, path)
        return restoring


def _loss_of_all(path: Path) -> str | None:
    """Return what a missing journal has lost, or None if nothing was tuned since the boot."""
    published = read_published(path)
    if published is None:
        return "the published state is unreadable"
    sessions = _published_sessions(published, _require_boot())
    return f"the journal is missing ({published.summary})" if sessions else None


def _loss_of(journal: Journal, published: Tuned | None, boot_id: str) -> str | None:
    sessions = () if published is None else _published_sessions(published, boot_id)
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


def read_published(path: Path = JOURNAL) -> Tuned | None:
    """Return the state that is published next to the journal, or None if it is unreadable."""
    try:
        return parse_tuned(read_public_file(path))
    except FileNotFoundError:
        return Tuned()
    except (OSError, Malformed):
        return None


def _publish(file: JournalFile, path: Path, beginning: Session | None = None) -> None:
    """Publish which sessions have changes in effect, and the one that is beginning.

    Raise UsageError if the public file cannot be written.
    """
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
            return TuningStatus(loss=_loss_of_all(path))
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


def require_no_changes(path: Path = JOURNAL) -> None:
    """Raise UsageError if the journal has readable changes of this boot, or is being written."""
    with _existing_journal(path) as file:
        if file is not None:
            require_none_in(file, path)


def require_none_in(file: JournalFile, path: Path) -> None:
    """Raise UsageError if the open journal has readable changes of this boot."""
    try:
        entries = parse_journal(file.read(LARGEST)).of_boot(_require_boot())
    except Malformed:
        return
    if entries:
        raise UsageError(f"{path} has the earlier values: noisewatch restore restores them")


def has_journal(path: Path = JOURNAL) -> bool:
    """Return whether a journal with content exists; root is not needed. Raise UsageError if this cannot be known."""
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
