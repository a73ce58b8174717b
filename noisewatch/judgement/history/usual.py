"""Whether a machine is as usual: the new calibration and its current facts against earlier entries."""

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
    """Return the development with the new calibration as the newest entry, or None if it makes no entry."""
    from noisewatch.judgement.history.measured import entry_of  # imports all of the noise prediction

    entry = entry_of(calibrated, snapshot, _NOW_S, None)
    return development_of((*past.like(entry), entry)) if entry is not None else None


def evenly(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return entries of all target CPUs, thinned like those of one series, so that equal times have equal weight."""
    thinning: Thinning[int] = Thinning()
    for number in reversed(range(len(entries))):
        thinning.add(None, entries[number].at_s, entries[number].facts, number)
    return tuple(entries[number] for number in sorted(thinning.kept))


def usual_facts(entries: Sequence[Entry], cpus: CpuSet) -> Facts:
    """Return the most frequent value of each fact, the older of equally frequent ones.

    Only entries that have the fact count. Entries of other CPUs describe the same machine: they are left out only for
    facts of the target CPUs.
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
