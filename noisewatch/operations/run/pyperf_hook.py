"""The hook of pyperf (`pyperf timeit --hook noisewatch …`): what met each value, written into the run's metadata.

It works in pyperf's worker, on the target CPU: while values are measured it only notes counters, and all else is
imported when the last value is known. https://pyperf.readthedocs.io/en/latest/api.html: hooks are context managers;
pyperf makes one for the warm-ups and another one for the values.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from noisewatch.machine.own_thread import OwnThread, ThreadReading, read_cpu_files, read_siblings

if TYPE_CHECKING:
    from noisewatch.judgement.run.measured_values import ValuesVerdict

_MOST_REASONS = 3
VERDICT, VALUES, REASONS = "noisewatch_verdict", "noisewatch_values", "noisewatch_reasons"
DISTURBED_VALUES, VERSION = "noisewatch_disturbed_values", "noisewatch_version"
BEGAN, ENDED = "noisewatch_began_ns", "noisewatch_ended_ns"  # on CLOCK_MONOTONIC
NOT_WATCHED = "noisewatch_not_watched"  # of a whole file, by `run --format pyperf`
_ALL = (VERDICT, VALUES, REASONS, DISTURBED_VALUES, VERSION, BEGAN, ENDED)


class PyperfHook:
    """Notes the counters around each value; `teardown` judges them."""

    def __init__(self) -> None:
        self._thread = OwnThread()
        self._readings: list[tuple[ThreadReading, ThreadReading]] = []
        self._began: ThreadReading | None = None
        self._cpus = os.sched_getaffinity(0)
        self._siblings = read_siblings(min(self._cpus)) if len(self._cpus) == 1 else None
        self._cpu_files = read_cpu_files()

    def __enter__(self) -> None:
        self._began = self._thread.read_before()

    def __exit__(self, *_: object) -> None:
        ended = self._thread.read_after()
        if self._began is not None:
            self._readings.append((self._began, ended))

    def teardown(self, metadata: MutableMapping[str, object]) -> None:
        """Adds the verdict of all values, in place of an earlier one of the warm-ups."""
        cpu_files = read_cpu_files()
        from noisewatch import __version__
        from noisewatch.judgement.run.measured_values import judge_values
        from noisewatch.operations.run.measured_values import around_from, values_from

        values = values_from(self._readings)
        verdict = judge_values(values, around_from(self._cpu_files, cpu_files, self._cpus, self._siblings))
        for name in _ALL:
            metadata.pop(name, None)
        metadata.update(_told(verdict))
        metadata[VERSION] = __version__
        if values:
            metadata[BEGAN] = values[0].began_ns
            metadata[ENDED] = values[-1].began_ns + values[-1].length_ns


def _told(verdict: ValuesVerdict) -> dict[str, object]:
    """As pyperf wants it: numbers and texts without line ends, none of them empty."""
    from noisewatch.judgement.run.reasons import RunOutcome

    outcomes = [value.outcome for value in verdict.values]
    disturbed = [str(at) for at, outcome in enumerate(outcomes, 1) if outcome == RunOutcome.DISTURBED]
    undisturbed = outcomes.count(RunOutcome.UNDISTURBED)
    told: dict[str, object] = {
        VERDICT: verdict.outcome.value,
        VALUES: f"{undisturbed} of {len(outcomes)} undisturbed",
    }
    if disturbed:
        told[DISTURBED_VALUES] = ", ".join(disturbed)
    if verdict.reasons:
        told[REASONS] = "; ".join(verdict.reasons[:_MOST_REASONS])
    return told
