"""The history of this machine, as it is shown; and the word that from here on this is the machine."""

from __future__ import annotations

import time
from pathlib import Path

from noisewatch.errors import UsageError
from noisewatch.judgement.development import Development, development_of
from noisewatch.machine.history_file import append_entry, has_identity, machine_key, read_entries
from noisewatch.model.history.entries import Past, boots_interleave
from noisewatch.operations.history.calibrations import past_of
from noisewatch.operations.history.described import ACCEPTED
from noisewatch.records import dataclass

_SHARED = (
    "two machines have the same /etc/machine-id (one was cloned from the other), so their entries are mixed here: give "
    "each its own (systemd-machine-id-setup)"
)
_NAMELESS = (
    "this machine has no /etc/machine-id, so its entries cannot be told from those of others without one "
    "(systemd-machine-id-setup makes one)"
)


@dataclass(frozen=True, slots=True)
class HistoryView:
    """What a file holds of this machine. `development` is of the entries like the newest one; None without any."""

    path: Path
    past: Past
    development: Development | None
    other_machines: int
    doubt: str | None  # why its entries may be another's


def read_history(path: Path) -> HistoryView:
    """Raises UsageError where the file cannot be read, or is no history."""
    lines, own = read_entries(path), machine_key()
    past = past_of(lines, own)
    newest = next((entry for entry in reversed(past.entries) if entry.figures), None)
    return HistoryView(
        path=path,
        past=past,
        development=development_of(past.like(newest)) if newest is not None else None,
        other_machines=len({str(line.get("machine")) for line in lines} - {own}),
        doubt=_doubt(past),
    )


def _doubt(past: Past) -> str | None:
    if not has_identity():
        return _NAMELESS
    return _SHARED if boots_interleave(past.entries) else None


def accept_machine(path: Path, why: str) -> None:
    """What is usual is what comes from now on. Raises UsageError, also where there is nothing to accept."""
    own = machine_key()
    if not past_of(read_entries(path), own).entries:
        raise UsageError(f"{path}: no entry of this machine yet (noisewatch preflight --history makes one)")
    append_entry(path, {"kind": ACCEPTED, "at": time.time(), "machine": own, "why": why})
