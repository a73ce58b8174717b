"""Facts of the machine in earlier entries of its history."""

from __future__ import annotations

from typing import Any

from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import Work
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.operations.history import entry_line, facts_line
from tests.judgement.example import Example
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_TARGET = frozenset({2, 3})
_QUIET = facts_of(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions(_TARGET), TaskReader()))
_OLD_KERNEL: Facts = {**_QUIET, FactClass.KERNEL: {**_QUIET[FactClass.KERNEL], "kernel": "5.4.0"}}


def _history(*facts: Facts, accepted: int = 0, doubt: str | None = None) -> dict[str, Any]:
    entries = [
        Entry(86_400.0 * number, "native", _TARGET, {Work.LATENCY: {1_000_000: 0.01}}, {}, entry_facts)
        for number, entry_facts in enumerate(facts)
    ]
    lines = [line for entry in entries for line in (facts_line(entry.facts), entry_line(entry))]
    return {"history": {"entries": lines, "accepted": accepted, "doubt": doubt}}


_SAME = _history(_QUIET)
_ID = "machine-changed"

EXAMPLES = [
    Example(_ID, "pass", answers=_SAME, named="no known fact differs from 1 earlier entry"),
    Example(_ID, "fail", {Knob.NMI_WATCHDOG: "1\n"}, "changed: kernel.nmi_watchdog: 0 → 1", answers=_SAME),
    Example(_ID, "fail", named="kernel: 5.4.0 → ", answers=_history(_OLD_KERNEL, _OLD_KERNEL, _QUIET)),
    Example(_ID, "pass", named="2 earlier entries", answers=_history(_OLD_KERNEL, _QUIET, _QUIET, accepted=1)),
    Example(_ID, "unknown", {Knob.NMI_WATCHDOG: "rub bish\n"}, "now unknown: kernel.nmi_watchdog", answers=_SAME),
    Example(_ID, "unknown", named="two machines", answers=_history(_QUIET, doubt="two machines have one id")),
    Example(_ID, "unknown", named="contain no facts", answers=_history({}, {})),
    Example(_ID, "not-applicable", named="no history is kept"),
    Example(_ID, "not-applicable", named="collecting: 0 of 1", answers=_history(_QUIET, accepted=1)),
]
