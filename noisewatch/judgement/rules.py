"""The user's rules: the checks to evaluate, and the severity and limits of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.judgement.noise.budget import Budget
from noisewatch.kinds import Work

if TYPE_CHECKING:
    from noisewatch.judgement.terms import Severity
    from noisewatch.model.wanted import WantedMachine

MICRO, PARALLEL, LATENCY, MEMORY, IO = "micro", "parallel", "latency", "memory", "io"
SHARED, STRICT = "shared", "strict"
PROFILES: Mapping[str, str] = {
    MICRO: "one thread that computes, pinned to a target CPU",
    PARALLEL: "several threads on the target CPUs, placed by the scheduler",
    LATENCY: "work that sleeps and is woken: timers, queues, network",
    MEMORY: "work whose data does not fit in the caches",
    IO: "files and disks",
    SHARED: "a virtual machine or a container: judged by measurement, without checks that a guest cannot answer",
    STRICT: "a dedicated laboratory machine: the strictest",
}

CONFIDENCE_IN: Mapping[str, float] = {SHARED: 0.70}  # profiles without the default confidence; see tests/truth/gate
WORK_OF_PROFILE: Mapping[str, Work] = {MEMORY: Work.MEMORY}  # other profiles are for any kind of work


class Rules(Struct, frozen=True):
    """The rules for a verdict. `selected` and `ignored` contain check ids and areas."""

    profile: str = MICRO
    is_profile_given: bool = True  # if False, the kind of machine determines the profile
    profile_reason: str | None = None  # the kind of machine, if it determined the profile
    selected: frozenset[str] = frozenset()  # if empty, all checks are selected
    ignored: frozenset[str] = frozenset()
    severity_by_id: Mapping[str, Severity] = {}
    value_by_limit: Mapping[tuple[str, str], float] = {}  # the user's limits, by check id and limit key
    expected_s: float | None = None  # the expected length of the benchmark
    configured_by: str | None = None  # the configuration file
    required: frozenset[str] = frozenset()  # ids of checks that are blocking and cannot be ignored
    wanted: WantedMachine | None = None  # the required machine
    budget: Budget = Budget()  # the acceptable noise

    def is_made_blocking(self, check_id: str) -> bool:
        """Return whether the user made the check blocking."""
        return check_id in self.required or self.severity_by_id.get(check_id) == "blocking"

    def ignored_reason(self, check_id: str, area: str) -> str | None:
        """Return why the check is not evaluated, or None if it is."""
        if check_id in self.required:
            return None
        names = {check_id, area}
        if names & self.ignored:
            return "ignored, as requested"
        return "not selected" if self.selected and not names & self.selected else None


DEFAULT = Rules()
