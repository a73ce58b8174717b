"""Makes changes with a journal, and restores the earlier states."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import format_cpu_list
from noisewatch.errors import UsageError, system_reason
from noisewatch.kernel.system.tuning import (
    Change,
    Complete,
    Entry,
    FileChange,
    GroupChange,
    Intent,
    Restored,
    Result,
    Session,
    ThreadChange,
    encode_line,
)
from noisewatch.machine.tuning import JournalFile, Settings
from noisewatch.operations.tuning.states import (
    ABSENT,
    ExitedError,
    are_equal,
    confined_threads,
    is_of_offline_cpu,
    is_side_effect,
    is_widened,
    makes_partition,
    read_settled_state,
    read_state,
    requested_state,
    set_state,
    settles_late,
    usable_cpus,
)


class Outcome(StrEnum):
    """The outcome of a change, or of restoring it."""

    DONE = "done"
    UNCHANGED = "unchanged"  # the state was there already
    REFUSED = "refused"  # the kernel or systemd refused it
    FOREIGN = "changed by another program"  # after tune had made its change
    MISSING = "missing"  # the thread has exited, or the file has vanished
    OFFLINE = "the CPU is offline"  # the setting's file vanishes or is busy until the CPU is online again

    @property
    def is_failure(self) -> bool:
        return self in (Outcome.REFUSED, Outcome.FOREIGN, Outcome.OFFLINE)


class Changed(Struct, frozen=True):
    """A change and its outcome. `before` and `now` are states, None if they could not be read."""

    change: Change
    outcome: Outcome
    before: str | None
    now: str | None
    reason: str = ""


class Tuner:
    """Makes changes; each is in the journal on the disk before it is made."""

    def __init__(self, settings: Settings, journal: JournalFile, last_seq: int) -> None:
        self._settings = settings
        self._journal = journal
        self._seq = last_seq

    def begin(self, session: Session) -> None:
        """Write the start of the session to the journal. Raise UsageError if that fails."""
        self._journal.start_new_line()
        self._journal.append(encode_line(session))

    def end(self) -> None:
        """Write to the journal that the session's changes are complete. Raise UsageError if that fails."""
        self._journal.append(encode_line(Complete()), is_synced=False)

    def make(self, changes: Sequence[Change]) -> list[Changed]:
        """Make the changes of one action, in order, and return their outcomes.

        Independent files share a write to the journal, because waiting for the disk takes longer than the change.
        If the kernel refuses a part of a partition, the earlier parts are restored. Making a partition resets the
        affinities of kernel threads (before Linux 6.2, of all threads). These are also in the journal and among the
        outcomes. Raise UsageError if the journal cannot be written; the changes that are not in it are not made.
        """
        partition = next(filter(makes_partition, changes), None)
        confined = self._journal_affinities(partition) if partition is not None else []
        outcomes: list[Changed] = []
        is_refused = False
        for batch in _batches(changes):
            outcomes += self._make_batch(batch)
            is_refused = any(is_refused_partition(changed) for changed in outcomes)
            if is_refused:
                break
        outcomes = [*self._note_affinities(confined), *outcomes]
        if is_refused:
            self._take_back(outcomes)
        return outcomes

    def _journal_affinities(self, partition: Change) -> list[Intent]:
        """Write to the journal the affinities that the kernel may reset, and return them."""
        threads = confined_threads(self._settings, _parent_group(partition))
        intents = [Intent(seq, thread, cpus) for seq, (thread, cpus) in enumerate(threads, self._seq + 1)]
        if intents:
            self._seq = intents[-1].seq
            self._journal.append(b"".join(map(encode_line, intents)))
        return intents

    def _note_affinities(self, intents: Sequence[Intent]) -> list[Changed]:
        """Write to the journal the affinities that the kernel has set, and return them as outcomes."""
        outcomes = []
        for intent in intents:
            now = _state_or_none(self._settings, intent.change)
            if now is None:
                outcome = Outcome.MISSING
            else:
                outcome = Outcome.UNCHANGED if are_equal(now, intent.before) else Outcome.DONE
            outcomes.append(Changed(intent.change, outcome, intent.before, now))
        results = [Result(intent.seq, changed.now) for intent, changed in zip(intents, outcomes, strict=True)]
        self._journal.append(b"".join(map(encode_line, results)), is_synced=False)
        return outcomes

    def _make_batch(self, changes: Sequence[Change]) -> list[Changed]:
        outcomes: list[Changed] = []
        intents: list[Intent] = []
        for change in changes:
            asked = self._begin(change)
            if isinstance(asked, Intent):
                intents.append(asked)
            else:
                outcomes.append(asked)
        if not intents:
            return outcomes
        self._journal.append(b"".join(map(encode_line, intents)))
        results = []
        for intent in intents:
            changed = make_change(self._settings, intent.change, intent.before)
            results.append(Result(intent.seq, changed.now, changed.reason))
            outcomes.append(changed)
        self._journal.append(b"".join(map(encode_line, results)), is_synced=False)
        return outcomes

    def _begin(self, change: Change) -> Intent | Changed:
        try:
            if isinstance(change, ThreadChange):
                thread = self._settings.thread(change.tid)
                if not thread.is_kernel:
                    return Changed(change, Outcome.REFUSED, None, None, "a thread of a process, not of the kernel")
                change = replace(change, started=thread.started, name=thread.name)
            before = read_state(self._settings, change)
        except OSError as error:
            outcome = Outcome.MISSING if isinstance(error, FileNotFoundError | ProcessLookupError) else Outcome.REFUSED
            return Changed(change, outcome, None, None, system_reason(error))
        if are_equal(before, requested_state(change)):
            return Changed(change, Outcome.UNCHANGED, before, before)
        self._seq += 1
        return Intent(self._seq, change, before)

    def _take_back(self, outcomes: Iterable[Changed]) -> None:
        for changed in reversed([changed for changed in outcomes if changed.outcome != Outcome.UNCHANGED]):
            if changed.before is not None and changed.now != changed.before:
                try:
                    set_state(self._settings, changed.change, changed.before)
                except OSError:
                    continue  # it is in the journal: restore tries again


def make_change(settings: Settings, change: Change, before: str) -> Changed:
    """Make a change without a journal, and return its outcome; `before` is the state that it replaces."""
    reason = ""
    try:
        set_state(settings, change, requested_state(change))
    except OSError as error:
        reason = system_reason(error)
    now = _state_or_none(settings, change, lambda state: bool(reason) or state != before)
    if not reason and makes_partition(change):
        reason = "" if now == requested_state(change) else f"the kernel reports: {now}"
    elif not reason and now is not None and are_equal(now, before) and not settles_late(change):
        reason = f"the kernel kept {now}"
    return Changed(change, Outcome.REFUSED if reason else Outcome.DONE, before, now, reason)


def _batches(changes: Sequence[Change]) -> Iterable[Sequence[Change]]:
    """Return the changes in batches: a single one if no change depends on another, else a batch for each change."""
    paths = {change.path for change in changes if isinstance(change, FileChange)}
    is_independent = all(isinstance(change, FileChange | ThreadChange) for change in changes)
    if is_independent and (len(paths) in (0, len(changes))):
        return [changes] if changes else []
    return [[change] for change in changes]


def _parent_group(partition: Change) -> str:
    return partition.path.rsplit("/", 2)[0] if isinstance(partition, FileChange) else ""


def is_refused_partition(changed: Changed) -> bool:
    """Return whether a part of a partition was refused; the changes of its action are then taken back."""
    change = changed.change
    is_part = isinstance(change, GroupChange) or (isinstance(change, FileChange) and "/cpuset.cpus" in change.path)
    return changed.outcome == Outcome.REFUSED and is_part


def _state_or_none(settings: Settings, change: Change, is_settled: Callable[[str], bool] | None = None) -> str | None:
    try:
        return read_settled_state(settings, change, is_settled or bool)
    except OSError:
        return None


def restore(
    settings: Settings, journal: JournalFile, entries: Sequence[Entry], is_forced: bool = False
) -> list[Changed]:
    """Restore the states before the changes, the newest first, and return the outcomes.

    A state that another program has set since is left, unless forced. What the kernel refuses is tried once more at
    the end: some settings can be written only after others. Changes that need no more restoring are noted in the
    journal, so restoring may be interrupted at any moment and repeated. If the disk is full, restoring
    continues without notes.
    """
    outcomes: list[Changed] = []
    refused: list[Entry] = []
    for entry in reversed(entries):
        changed = _restore_one(settings, entry, is_forced)
        if changed.outcome == Outcome.REFUSED:
            refused.append(entry)
            continue
        outcomes.append(changed)
        _note(journal, entry, changed)
    for entry in refused:
        changed = _restore_one(settings, entry, is_forced)
        outcomes.append(changed)
        _note(journal, entry, changed)
    return outcomes


def preview(settings: Settings, entries: Sequence[Entry], is_forced: bool = False) -> list[Changed]:
    """Return what `restore` would do: the outcome DONE means that it would set the earlier state."""
    return [_decide(settings, entry, is_forced) for entry in reversed(entries)]


def _note(journal: JournalFile, entry: Entry, changed: Changed) -> None:
    if changed.outcome in (Outcome.DONE, Outcome.UNCHANGED, Outcome.MISSING):
        with suppress(UsageError):
            journal.append(encode_line(Restored(entry.intent.seq)), is_synced=False)


def _decide(settings: Settings, entry: Entry, is_forced: bool) -> Changed:
    change, before = entry.intent.change, entry.intent.before
    try:
        now = read_state(settings, change)
    except OSError as error:
        outcome = Outcome.REFUSED
        if is_of_offline_cpu(settings, change):
            outcome = Outcome.OFFLINE
        elif isinstance(error, FileNotFoundError | ProcessLookupError | ExitedError):
            outcome = Outcome.MISSING
        return Changed(change, outcome, before, None, system_reason(error))
    if are_equal(now, before):
        return Changed(change, Outcome.UNCHANGED, before, now)
    after = entry.result.after if entry.result is not None else now
    is_ours = after is None or are_equal(now, after) or are_equal(now, requested_state(change))
    if is_forced or is_ours or (is_side_effect(change) and is_widened(before, now)):
        return Changed(change, Outcome.DONE, before, now)
    if is_side_effect(change):  # pinned since then by the kernel or its owner, such as an IRQ thread at its next IRQ
        return Changed(change, Outcome.UNCHANGED, before, now)
    return Changed(change, Outcome.FOREIGN, before, now, f"tune had set {after}")


def _restore_one(settings: Settings, entry: Entry, is_forced: bool) -> Changed:
    decided = _decide(settings, entry, is_forced)
    change, before = entry.intent.change, entry.intent.before
    is_pending = decided.outcome == Outcome.UNCHANGED and entry.result is None and settles_late(change)
    if decided.outcome != Outcome.DONE and not is_pending:
        return decided
    try:
        _set_back(settings, change, before)
        now = read_settled_state(settings, change, lambda state: are_equal(state, before))
    except OSError as error:
        if isinstance(error, ExitedError):
            return replace(decided, outcome=Outcome.MISSING, reason=system_reason(error))
        is_in_use = isinstance(change, GroupChange) and error.errno == errno.EBUSY
        reason = "processes are still in it: end them, and restore again" if is_in_use else system_reason(error)
        return replace(decided, outcome=Outcome.REFUSED, reason=reason)
    if are_equal(now, before) or before == ABSENT:
        return replace(decided, now=now)
    return replace(decided, outcome=Outcome.REFUSED, now=now, reason=f"the kernel set {now} instead")


def _set_back(settings: Settings, change: Change, before: str) -> None:
    """Set the earlier state. Threads that were pinned while a partition existed are pinned again. Raise OSError.

    Before Linux 6.2 the kernel forgets their affinities when it removes the partition.
    """
    if not makes_partition(change):
        set_state(settings, change, before)
        return
    parent = _parent_group(change)
    confined = confined_threads(settings, parent)
    set_state(settings, change, before)
    usable = format_cpu_list(usable_cpus(settings, parent))
    for thread, cpus in confined:
        with suppress(OSError):  # it has exited
            if read_state(settings, thread) == usable:
                set_state(settings, thread, cpus)
