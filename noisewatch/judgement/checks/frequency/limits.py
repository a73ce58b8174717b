"""Area `frequency`: limits that lie outside cpufreq's own window."""

from __future__ import annotations

from noisewatch.cpus import name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, unknown
from noisewatch.judgement.checks.frequency.cpufreq import clocks_of, why_no_clock
from noisewatch.judgement.fixes.actions import Setting, Write
from noisewatch.judgement.fixes.fix import Fix, set_for_good
from noisewatch.judgement.grading import hardware_without, judged_knob, turned, unread
from noisewatch.judgement.rules import IO, LATENCY, MEMORY
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import INTEL_DRIVERS, CpuFrequency
from noisewatch.kernel.frequency.limits import FOLDER as UNCORE
from noisewatch.kernel.frequency.limits import FrequencyCap, UncoreDomain, cap_path
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.units import describe_clock, describe_clocks

_PSTATE_DOC = "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"
_ALL_PERCENT = 100


@check(
    id="clock-capped",
    area="frequency",
    question="May the target CPUs reach the clock that cpufreq shows?",
    severity=Severity.WARNING,
    reads=(
        Knob.PSTATE_MAX_PERF,
        Knob.PSTATE_MIN_PERF,
        f"{CPUS}/cpuN/cpufreq/{{bios_limit,scaling_available_frequencies}}",
    ),
    why=(
        "Firmware and power daemons can cap the clock outside cpufreq's own limits and lift the cap again at any "
        "time: results from before and after cannot be compared."
    ),
    remedy="Lift the cap: find the daemon, the charger or the firmware setting behind it.",
    sources=(_PSTATE_DOC, "https://docs.kernel.org/admin-guide/pm/cpufreq.html"),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def clock_capped(case: Case) -> Answer:
    clocks = clocks_of(case)
    knobs, caps = case.snapshot.settings.knobs, case.snapshot.settings.caps
    most, least = knobs.integer(Knob.PSTATE_MAX_PERF), knobs.integer(Knob.PSTATE_MIN_PERF)
    evidence = {
        "max_perf_pct": most,
        "min_perf_pct": least,
        "bios_limit_khz_by_cpu": {str(cpu): cap.limit_khz for cpu, cap in caps.items() if cpu in clocks},
    }
    if most is not None and most < _ALL_PERCENT and most != least:
        fix = turned(case, Knob.PSTATE_MAX_PERF, _ALL_PERCENT)
        said = f"intel_pstate allows only {most} % of the highest clock"
        return Answer(Status.FAIL, said, measured=most, unit="%", cpus=case.target, evidence=evidence, fix=fix)
    capped = {cpu: cap.limit_khz for cpu, cap in caps.items() if cpu in clocks and _is_capped(clocks[cpu], cap)}
    if capped:
        lowest = min(khz for khz in capped.values() if khz is not None)
        said = f"firmware caps {name_cpus(capped)} at {describe_clock(lowest)}"
        return Answer(Status.FAIL, said, measured=lowest, unit="kHz", cpus=frozenset(capped), evidence=evidence)
    silent = [cpu for cpu, clock in clocks.items() if clock.driver is None]
    if silent or not clocks:
        return unknown(why_no_clock(case, min(silent, default=0), "scaling_driver"))
    is_intel = any(clock.driver in INTEL_DRIVERS for clock in clocks.values())
    is_expected = _is_silent(case, Knob.PSTATE_MAX_PERF) or (is_intel and Knob.PSTATE_MAX_PERF not in knobs.absent)
    if most is None and is_expected:
        return unread(case, Knob.PSTATE_MAX_PERF)
    doubtful = [cpu for cpu, cap in caps.items() if cpu in clocks and _is_capped(clocks[cpu], cap) is None]
    if doubtful:
        path = cap_path(doubtful[0])
        known = caps[doubtful[0]].limit_khz
        return unknown(
            case.why_unknown(path) if known is None else f"{path}: {known} kHz, but no clock to compare it with"
        )
    return Answer(Status.PASS, "the clock is not capped", evidence=evidence)


def _is_silent(case: Case, knob: Knob) -> bool:
    """Whether it is there, and says nothing that can be believed."""
    return knob in case.snapshot.reason_by_path


def _is_capped(clock: CpuFrequency, cap: FrequencyCap) -> bool | None:
    """Whether firmware's limit keeps the CPU from a clock that it would have; None is unknown."""
    if cap.limit_khz is None:
        return False if clock.driver in INTEL_DRIVERS else None  # which tells none
    is_pinned = clock.min_khz is not None and clock.min_khz == clock.max_khz
    wanted_khz = [khz for khz in (cap.highest_khz or clock.base_khz, clock.max_khz if is_pinned else None) if khz]
    if cap.highest_khz is None and clock.base_khz is None:  # the highest clock may be turbo's, which is no part of it
        return False if clock.hardware_max_khz is not None and cap.limit_khz >= clock.hardware_max_khz else None
    return cap.limit_khz < min(wanted_khz)


@check(
    id="clock-boosted-after-io",
    area="frequency",
    question="Does the clock stay the same after a wait for I/O?",
    severity=Severity.INFORMATION,
    severity_in={IO: Severity.WARNING, LATENCY: Severity.WARNING},
    reads=(Knob.PSTATE_DYNAMIC_BOOST,),
    why="With this setting intel_pstate raises the clock briefly whenever a task returns from waiting for I/O.",
    remedy="Switch the boost off, or hold the clock with governor performance.",
    sources=(_PSTATE_DOC,),
    is_hidden_from_guests=True,
)
def clock_boosted_after_io(case: Case) -> Answer:
    clocks = clocks_of(case)
    boost = case.snapshot.settings.knobs.word(Knob.PSTATE_DYNAMIC_BOOST)
    drivers = {clock.driver for clock in clocks.values()}
    is_silent = _is_silent(case, Knob.PSTATE_DYNAMIC_BOOST)
    if boost is None and not is_silent and drivers and not drivers & {None, *INTEL_DRIVERS}:
        return hardware_without(case, "I/O boost, a feature of intel_pstate")
    is_held = bool(clocks) and all(clock.governor == "performance" for clock in clocks.values())
    if is_held and boost is not None:
        return Answer(Status.PASS, "with governor performance there is nothing to boost")
    return judged_knob(case, Knob.PSTATE_DYNAMIC_BOOST, lambda value: value == 0, "the I/O boost is on", quiet=0)


@check(
    id="uncore-frequency-moves",
    area="frequency",
    question="Does the uncore (last-level cache, memory controller) keep one clock?",
    severity=Severity.INFORMATION,
    severity_in={MEMORY: Severity.WARNING},
    reads=(f"{UNCORE}/*/{{min_freq_khz,max_freq_khz}} at the start of the run",),
    why=(
        "The uncore has its own clock, which follows the load of all cores of the package: on an idle machine cache "
        "and memory are slower than on a busy one."
    ),
    remedy="Raise the minimum uncore frequency of the target's packages to the maximum.",
    sources=("https://docs.kernel.org/admin-guide/pm/intel_uncore_frequency_scaling.html",),
    answered_by="memory-unsteady",
    is_hidden_from_guests=True,
)
def uncore_frequency_moves(case: Case) -> Answer:
    uncore = case.snapshot.hardware.uncore
    if uncore.is_absent:
        return hardware_without(case, "setting of the uncore's frequency")
    if uncore.domains is None:
        return unknown(case.why_unknown(UNCORE))
    evidence = {domain.path: [domain.min_khz, domain.max_khz] for domain in uncore.domains}
    known = [each for each in uncore.domains if each.min_khz is not None and each.max_khz is not None]
    moving = [domain for domain in known if domain.min_khz != domain.max_khz]
    if moving:
        return Answer(Status.FAIL, _said_of_domains(moving), evidence=evidence, fix=_hold(moving))
    if len(known) < len(uncore.domains):
        return unknown(case.why_unknown(*(each.path for each in uncore.domains if each not in known)))
    if not uncore.is_complete:
        return unknown(case.why_unknown(UNCORE))
    return Answer(Status.PASS, "held at one frequency", evidence=evidence)


def _said_of_domains(moving: list[UncoreDomain]) -> str:
    """Each range with the domains that have it."""
    names: dict[tuple[int | None, int | None], list[str]] = {}
    for domain in moving:
        names.setdefault((domain.min_khz, domain.max_khz), []).append(domain.path.rsplit("/", 1)[1])
    return "; ".join(f"{describe_clocks(low or 0, high or 0)} ({', '.join(own)})" for (low, high), own in names.items())


def _hold(domains: list[UncoreDomain]) -> Fix:
    raised = [Setting(f"{each.path}/min_freq_khz", str(each.max_khz), str(each.min_khz)) for each in domains]
    return set_for_good(Write(tuple(raised)))
