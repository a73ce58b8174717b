"""The view of this machine's history, and the acceptance of the machine as it is."""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import Struct

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import UsageError
from noisewatch.judgement.history.development import Development, development_of
from noisewatch.machine.history_file import append_entry, machine_key
from noisewatch.model.history.entries import Past
from noisewatch.operations.history.past import ACCEPTED, read_past


class HistoryView(Struct, frozen=True):
    """The entries of this machine in a file.

    `development` is of the entries with one set of CPUs, or None without any.
    """

    path: Path
    past: Past
    development: Development | None


def read_history(path: Path, cpus: CpuSet | None = None, or_others: bool = False) -> HistoryView:
    """Read the history of these CPUs, or of the CPUs of the newest entry.

    Raise UsageError if the file cannot be read or is not a history, or if it has no entry of these CPUs. With
    `or_others`, the newest entry of other CPUs is used instead.
    """
    past = read_past(path)
    measured = [entry for entry in past.entries if entry.figures]
    newest = next((entry for entry in reversed(measured) if cpus is None or entry.cpus == cpus), None)
    if newest is None and measured and or_others:
        newest = measured[-1]
    if newest is None and measured:
        names = dict.fromkeys(name_cpus(entry.cpus) for entry in reversed(measured))
        raise UsageError(f"{path}: no entry of {name_cpus(cpus or ())}; there are entries of {', '.join(names)}")
    return HistoryView(
        path=path,
        past=past,
        development=development_of(past.like(newest)) if newest is not None else None,
    )


def accept_machine(path: Path, why: str) -> None:
    """Make the current machine the new baseline: later entries define what is usual.

    Raise UsageError if the file cannot be read or written, or if it has no entry of this machine.
    """
    if not read_past(path).entries:
        raise UsageError(
            f"{path}: nothing to accept: no entry of this machine yet (noisewatch preflight --history makes one)"
        )
    append_entry(path, {"kind": ACCEPTED, "at": time.time(), "machine": machine_key(), "why": why})
