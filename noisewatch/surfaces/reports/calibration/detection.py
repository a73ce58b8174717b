"""The smallest detectable change as a sentence, and the samples needed for a given change (`--detect`) as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.detection import WORKLOAD, Needed, SmallestChange, needed_samples, smallest_change_of
from noisewatch.judgement.noise.smallest_change import MOST_SAMPLES, TEST, samples_needed
from noisewatch.surfaces.drawing.tables import align
from noisewatch.surfaces.drawing.wraps import wrap, wrap_all
from noisewatch.units import describe_ns, share_text

NOT_CALIBRATED = "no calibration was run"
_NONE = "—"
_STEPS = (5, 2, 1)  # the proposed changes within each decade
_LEAST = 1e-4  # a change that no benchmark can detect
_ROUNDED = 1e-9  # rounding error of floats


def change_sentence(calibrated: Calibrated) -> str:
    """Return `A change of 1.9% can be detected here with 25 samples of 100 ms.`, or why it is unknown."""
    change = smallest_change_of(calibrated)
    if change.floor is None:
        return _unknown_sentence(calibrated, change)
    return f"A change of {_size(change.floor.smallest_change_share)} can be detected here with {_samples(calibrated)}."


def opening_sentence(calibrated: Calibrated) -> str:
    """Return the smallest detectable change in a sentence, and the samples for the requested or a smaller change.

    `A change of 1.3% can be detected here with 25 samples of 100 ms (cache work, which varies most); for 1% take 42.`
    """
    change = smallest_change_of(calibrated)
    if change.floor is None:
        return _unknown_sentence(calibrated, change)
    shown = change.floor.smallest_change_share
    of_what = "the workload" if change.work == WORKLOAD else f"{change.work} work"
    if calibrated.is_of_any_work:
        of_what += ", which varies most"
    sentence = f"A change of {_size(shown)} can be detected here with {_samples(calibrated)} ({of_what})"
    share = calibrated.budget.detect or _smaller_than(shown)
    if share is None:
        return f"{sentence}."
    samples = samples_needed(change.floor.cv_high, share)
    needed = f"more than {MOST_SAMPLES:,} are needed" if samples is None else f"take {samples}"
    return f"{sentence}; for {_requested_text(share)} {needed}."


def _unknown_sentence(calibrated: Calibrated, change: SmallestChange) -> str:
    kinds = f" ({change.work})" if change.work else ""
    return f"The smallest detectable change with {_samples(calibrated)} is unknown: {change.reason}{kinds}."


def _samples(calibrated: Calibrated) -> str:
    return f"{calibrated.budget.samples} samples of {describe_ns(calibrated.budget.at_ns)}"


def _size(share: float) -> str:
    """Return `1.3%` or `0.21%`: two digits, at least `0.01%`, rounded up because no smaller change can be detected."""
    least = max(share, _LEAST)
    step = 10.0 ** (math.floor(math.log10(least)) - 1)
    return share_text(math.ceil(least / step - _ROUNDED) * step)


def _requested_text(share: float) -> str:
    return f"{share * 100:g}%"


def _smaller_than(share: float) -> float | None:
    """Return the largest round share (1, 2 or 5 times a power of ten) up to half of `share`; None below `_LEAST`."""
    half = share / 2 * (1 + _ROUNDED)
    if half < _LEAST:
        return None
    decade = 10.0 ** math.floor(math.log10(half))
    return next(step * decade for step in _STEPS if step * decade <= half)


def detect_lines(calibrated: Calibrated | None, share: float | None, width: int) -> list[str]:
    """Return the table of `--detect SHARE` with heading and notes, at most `width` columns wide; [] without a share.

    Without a calibration, or if no number is known, the result is a sentence with the reason.
    """
    if share is None:
        return []
    rows = None if calibrated is None else needed_samples(calibrated, share)
    reasons = {NOT_CALIBRATED} if rows is None else {row.reason for row in rows}
    if rows is None or (len(reasons) == 1 and None not in reasons):
        (reason,) = reasons
        return wrap(
            f"The number of samples needed to show a change of {_requested_text(share)} is unknown: {reason}.", width
        )
    heading = f"samples of each version needed to show a change of {_requested_text(share)}, by sample length ({TEST})"
    notes = wrap_all(_notes(rows), width)
    return [*wrap(heading, width), *align(detect_table(rows)).splitlines(), *notes]


def detect_table(rows: Sequence[Needed]) -> list[list[str]]:
    """Return a heading, and for each kind of work the number of samples of each length."""
    lengths_ns = list(dict.fromkeys(row.sample_ns for row in rows))
    by_work: dict[str, list[str]] = {}
    for row in rows:
        by_work.setdefault(row.work, []).append(_NONE if row.samples is None else str(row.samples))
    return [["kind of work", *map(describe_ns, lengths_ns)], *([work, *cells] for work, cells in by_work.items())]


def _notes(rows: Sequence[Needed]) -> list[str]:
    """Return the reasons for dashes in the table, each once, with their kinds of work and lengths."""
    all_works = list(dict.fromkeys(row.work for row in rows))
    all_lengths = list(dict.fromkeys(_lengths_of(rows)))
    notes = []
    for reason in dict.fromkeys(row.reason for row in rows if row.reason is not None):
        works_by_lengths: dict[str, list[str]] = {}
        for work in all_works:
            lengths = _lengths_of([row for row in rows if (row.work, row.reason) == (work, reason)])
            if lengths:
                at = "" if lengths == all_lengths else ", ".join(lengths)
                works_by_lengths.setdefault(at, []).append(work)
        places = [
            " at ".join(filter(None, ("" if works == all_works else ", ".join(works), at)))
            for at, works in works_by_lengths.items()
        ]
        notes.append(f"{_NONE} {reason}: {'; '.join(places)}")
    return notes


def _lengths_of(rows: Sequence[Needed]) -> list[str]:
    return [describe_ns(row.sample_ns) for row in rows]
