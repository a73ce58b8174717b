"""Whether a machine is as usual: what was just measured, and what it is now, against its earlier entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.history.development import Development, development_of
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.facts import OF_TARGET, FactClass, Facts
from noisewatch.model.history.thinning import Thinning

_NOW_S = 0.0  # when the entry of this moment was made is never told: a move began with an earlier one


def development_until(calibrated: Calibrated, snapshot: Snapshot, past: Past) -> Development | None:
    """With what was just measured as the newest entry; None where that makes no entry."""
    from noisewatch.judgement.history.measured import entry_of  # with all that a calibration comes to

    entry = entry_of(calibrated, snapshot, _NOW_S, None)
    return development_of((*past.like(entry), entry)) if entry is not None else None


def evenly(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Entries of all target CPUs, thinned as those of one series are, so that each stretch of time counts alike."""
    thinning: Thinning[int] = Thinning()
    for number in reversed(range(len(entries))):
        thinning.add(None, entries[number].at_s, entries[number].facts, number)
    return tuple(entries[number] for number in sorted(thinning.kept))


def usual_facts(entries: Sequence[Entry], cpus: CpuSet) -> Facts:
    """Of each fact what most entries say that know it; of two that as many say, the older.

    Entries of other CPUs tell of the same machine: they are left out for facts of the target CPUs alone.
    """
    alike = [entry for entry in entries if entry.cpus == cpus]
    usual = {of_class: _usual(each.facts.get(of_class, {}) for each in entries) for of_class in FactClass}
    of_target = {of_class: _usual(each.facts.get(of_class, {}) for each in alike) for of_class in FactClass}
    return {
        of_class: {
            name: fact if name not in OF_TARGET else of_target[of_class].get(name) for name, fact in named.items()
        }
        for of_class, named in usual.items()
    }


def _usual(named: Iterable[Mapping[str, str | None]]) -> dict[str, str | None]:
    counts: dict[str, Counter[str]] = {}
    for facts in named:
        for name, value in facts.items():
            counts.setdefault(name, Counter()).update([] if value is None else [value])
    return {name: count.most_common(1)[0][0] if count else None for name, count in counts.items()}
