"""Area `frequency`: clock limits outside of cpufreq's own range."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from noisewatch.cpus import name_cpus
from noisewatch.judgement.answer import Answer, Graded, Limit, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.checks.frequency.cpufreq import ACTIVE_DRIVERS, clocks_of, unread_clock_reason
from noisewatch.judgement.checks.frequency.heat import BETTER_SUPPLY, supply_voltages
from noisewatch.judgement.fixes.actions import Setting, Write
from noisewatch.judgement.fixes.fix import ByHand, Fix, write_for_good
from noisewatch.judgement.grading import MICROBENCHMARK, hardware_without, judge_knob, knob_fix, unread
from noisewatch.judgement.rules import IO, LATENCY, MEMORY
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import INTEL_DRIVERS, CpuFrequency
from noisewatch.kernel.frequency.limits import FOLDER as UNCORE
from noisewatch.kernel.frequency.limits import FrequencyCap, UncoreDomain, cap_path
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import driver_clock_path
from noisewatch.model.interval.interval import slowdowns_of
from noisewatch.patterns import regex
from noisewatch.units import describe_clock, describe_clocks

_PSTATE_DOC = "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"
_ALL_PERCENT = 100
_BUSY = 0.9  # share of the sample; the current clock of a CPU that is less busy is not its clock under load
_HELD = Limit(
    key="fails",
    name="clock under load, as a share of the clock that cpufreq promises",
    is_least=True,
    value=0.9,
    unit="share",
    reason="the measurement is accurate to 2%, and cores that are busy together may be one turbo step lower",
)
# The highest frequency of these drivers includes turbo, which they do not promise.
_WITH_TURBO = INTEL_DRIVERS | {"acpi-cpufreq", "amd-pstate", "amd-pstate-epp", "cppc_cpufreq", "powernow-k8"}
_RISES_UNDER_LOAD = frozenset({"performance", "schedutil", "ondemand"})
_SAVES_MOST = frozenset({"power", "255"})
# Drivers that read cpuinfo_cur_freq from the clock hardware, or from the firmware (Raspberry Pi). Other drivers ask the
# CPU, which may be idle.
_ASKS_THE_CLOCK = frozenset({"cpufreq-dt"})
_BASE_IN_NAME = regex(r"@ (\d{1,2}\.\d{1,3})GHz")
_BY_HAND = (
    "find what asserts PROCHOT or limits the power: try another charger, dock and battery, read the BMC's log, reset "
    "the embedded controller (power off, unplug, wait), update the firmware and look at its power settings"
)


@check(
    id="clock-capped",
    area=Area.FREQUENCY,
    question="Can the target CPUs reach the clock that cpufreq shows?",
    severity=Severity.WARNING,
    reads=(
        Knob.PSTATE_MAX_PERF,
        Knob.PSTATE_MIN_PERF,
        f"{CPUS}/cpuN/cpufreq/{{bios_limit,scaling_available_frequencies,scaling_cur_freq,cpuinfo_cur_freq}}",
        f"{MICROBENCHMARK}: chains of dependent multiplications",
    ),
    limits=(_HELD,),
    reads_counters=True,
    why=(
        "Firmware and power daemons can cap the clock outside cpufreq's own limits and lift the cap again at any "
        "time, so results from before and after cannot be compared. A PROCHOT signal from outside the processor (from "
        "a dock, a charger, a battery or a BMC) holds the clock far below the base frequency. Neither cpufreq nor a "
        "throttling counter shows this signal, only a clock that is measured under load."
    ),
    remedy="Lift the cap: find the daemon, the charger, the dock, the power limit or the firmware setting behind it.",
    sources=(
        _PSTATE_DOC,
        "https://docs.kernel.org/admin-guide/pm/cpufreq.html",
        "https://github.com/torvalds/linux/blob/v6.12/drivers/cpufreq/intel_pstate.c",
    ),
    is_hidden_from_guests=True,
)
def clock_capped(case: Case) -> Answer:
    clocks = clocks_of(case)
    knobs, caps = case.snapshot.settings.knobs, case.snapshot.settings.caps
    max_percent, min_percent = knobs.integer(Knob.PSTATE_MAX_PERF), knobs.integer(Knob.PSTATE_MIN_PERF)
    evidence: dict[str, object] = {
        "max_perf_pct": max_percent,
        "min_perf_pct": min_percent,
        "bios_limit_khz_by_cpu": {str(cpu): cap.limit_khz for cpu, cap in caps.items() if cpu in clocks},
    }
    graded = case.graded(evidence=evidence)
    if max_percent is not None and max_percent < _ALL_PERCENT and max_percent != min_percent:
        fix = knob_fix(case, Knob.PSTATE_MAX_PERF, _ALL_PERCENT)
        text = f"intel_pstate allows only {max_percent}% of the highest clock"
        return graded.fails(text, measured=max_percent, unit="%", cpus=case.target, fix=fix)
    capped = {cpu: cap.limit_khz for cpu, cap in caps.items() if cpu in clocks and _is_capped(clocks[cpu], cap)}
    if capped:
        lowest = min(khz for khz in capped.values() if khz is not None)
        text = f"firmware caps {name_cpus(capped)} at {describe_clock(lowest)}"
        return graded.fails(text, measured=lowest, unit="kHz", cpus=frozenset(capped))
    readings = {cpu: _reading(case, clock) for cpu, clock in clocks.items()}
    clocks_khz = {str(cpu): [reading.khz, reading.promised_khz] for cpu, reading in readings.items()}
    graded = case.graded(evidence={**evidence, "clock_khz_by_cpu": clocks_khz})
    held = {cpu: reading for cpu, reading in readings.items() if reading.is_under_load and _is_held(case, reading)}
    if held:
        return _judge_held_clock(case, held, graded)
    unreadable = [cpu for cpu, clock in clocks.items() if clock.driver is None]
    if unreadable or not clocks:
        return unknown(unread_clock_reason(case, min(unreadable, default=0), "scaling_driver"))
    is_intel = any(clock.driver in INTEL_DRIVERS for clock in clocks.values())
    is_expected = _is_unreadable(case, Knob.PSTATE_MAX_PERF) or (is_intel and Knob.PSTATE_MAX_PERF not in knobs.absent)
    if max_percent is None and is_expected:
        return unread(case, Knob.PSTATE_MAX_PERF)
    doubtful = [cpu for cpu, cap in caps.items() if cpu in clocks and _is_capped(clocks[cpu], cap) is None]
    if doubtful:
        path = cap_path(doubtful[0])
        limit_khz = caps[doubtful[0]].limit_khz
        return unknown(
            case.unread_reason(path)
            if limit_khz is None
            else f"{path}: {limit_khz} kHz, but no clock to compare it with"
        )
    reasons = [reason for reading in readings.values() if (reason := _lowered_clock_reason(case, reading)) is not None]
    if reasons:
        return graded.unknown(reasons[0])
    lowest_khz = min(
        (reading.khz for reading in readings.values() if reading.is_under_load and reading.khz), default=None
    )
    text = "no setting caps the clock; it was not measured under load"
    if lowest_khz is not None:
        text = f"the clock is not capped: {describe_clock(lowest_khz)} or more"
    return graded.passes(text)


class _Reading(Struct, frozen=True):
    """The clock of one CPU, and the lowest clock that cpufreq promises under load; None means unknown.

    `is_under_load`: the clock was measured, the CPU was busy, or the clock does not depend on load. Otherwise `khz` is
    what cpufreq shows for a CPU that may be idle: a low clock unless the governor `holds_high`. `path` is the file that
    is missing if the clock is unknown.
    """

    cpu: int
    khz: float | None
    promised_khz: float | None
    is_under_load: bool
    holds_high: bool
    path: str


def _reading(case: Case, clock: CpuFrequency) -> _Reading:
    """Return the best reading of the CPU's clock.

    The scaling_cur_freq of an idle CPU is not its clock: since Linux 6.6 intel_pstate and amd-pstate-epp show the
    lowest allowed one (intel_pstate_set_policy sets policy->cur to policy->min, arch_freq_get_on_cpu falls back to it).
    """
    holds_high = clock.governor in ("performance", None)
    promised_khz = _promised_khz(case, clock)
    measured = {figures.cpu: figures.effective_khz for figures in (case.calibrated.complete if case.calibrated else ())}
    folder = f"{CPUS}/cpu{clock.cpu}/cpufreq"
    if (khz := measured.get(clock.cpu)) is not None:
        return _Reading(clock.cpu, khz, promised_khz, True, holds_high, f"{folder}/scaling_max_freq")
    asked_path = driver_clock_path(clock.cpu)
    asked_khz = case.snapshot.hardware.driver_khz.integer(asked_path)
    is_there = asked_khz is not None or asked_path in case.snapshot.reason_by_path
    if clock.driver in _ASKS_THE_CLOCK and holds_high and is_there:
        return _Reading(clock.cpu, asked_khz, promised_khz, True, holds_high, asked_path)
    is_busy = _was_busy(case, clock.cpu)
    return _Reading(clock.cpu, clock.current_khz, promised_khz, is_busy, holds_high, f"{folder}/scaling_cur_freq")


def _was_busy(case: Case, cpu: int) -> bool:
    share = case.interval.busy_share(cpu) if case.interval is not None else None
    return share is not None and share >= _BUSY


def _promised_khz(case: Case, clock: CpuFrequency) -> float | None:
    """Return the lowest clock (kHz) that settings and base frequency promise under load, or None if unknown."""
    cap = case.snapshot.settings.caps.get(clock.cpu)
    name = _BASE_IN_NAME.search(case.snapshot.platform.cpu_model or "")
    table_khz = cap.highest_khz if cap is not None else None
    base_khz = clock.base_khz or table_khz or (float(name[1]) * 1e6 if name is not None else None)
    has_turbo = clock.driver in _WITH_TURBO and case.snapshot.frequency.turbo != "off"
    highest_khz = base_khz or (None if has_turbo else clock.max_khz)
    if None in (clock.governor, clock.driver, clock.min_khz, clock.max_khz) or highest_khz is None:
        return None
    max_percent = case.snapshot.settings.knobs.integer(Knob.PSTATE_MAX_PERF)
    if clock.driver in INTEL_DRIVERS and max_percent is not None and clock.hardware_max_khz is not None:
        highest_khz = min(highest_khz, clock.hardware_max_khz * max_percent / _ALL_PERCENT)
    saves = clock.governor == "powersave" and clock.energy_preference in _SAVES_MOST
    rises = clock.governor in _RISES_UNDER_LOAD or (clock.driver in ACTIVE_DRIVERS and not saves)
    return min((clock.max_khz if rises else clock.min_khz) or 0, highest_khz)


def _is_held(case: Case, reading: _Reading) -> bool:
    return bool(reading.khz and reading.promised_khz) and _share(reading) < case.bound(_HELD)


def _share(reading: _Reading) -> float:
    return (reading.khz or 0) / reading.promised_khz if reading.promised_khz else math.inf


def _lowered_clock_reason(case: Case, reading: _Reading) -> str | None:
    """Return why the clock is unknown or may be held down, or None if there is no such sign."""
    if not reading.is_under_load and not reading.holds_high:
        return None  # the governor lowers an idle CPU's clock; another check warns about that governor
    if reading.khz is None:
        return case.unread_reason(reading.path)
    clock = describe_clock(reading.khz)
    if reading.promised_khz is None:
        return f"CPU {reading.cpu} runs at {clock}, and no base frequency is exported to compare it with"
    if not _is_held(case, reading):
        return None
    promised = describe_clock(reading.promised_khz)
    return f"CPU {reading.cpu} shows {clock} of {promised}: it is idle or held down; a calibration measures its clock"


def _judge_held_clock(case: Case, held: Mapping[int, _Reading], graded: Graded) -> Answer:
    worst = min(held.values(), key=_share)
    verb = "runs" if len(held) == 1 else "run"
    by, fix = _find_holder(case)
    text = (
        f"{name_cpus(held)} {verb} at {describe_clock(worst.khz)}, {_share(worst):.0%} of the "
        f"{describe_clock(worst.promised_khz)} that cpufreq promises: {by}"
    )
    return graded.by(_HELD, _share(worst)).fails(text, cpus=frozenset(held), fix=fix)


def _find_holder(case: Case) -> tuple[str, Fix | None]:
    """Return the likely reason for the lowered clock, and its fix. The fix is None if the check `throttled` has it."""
    if any(voltage.is_low or voltage.was_low for voltage in supply_voltages(case)):
        return "the firmware lowers it for under-voltage", BETTER_SUPPLY
    by = sorted({slowdown.by for interval in case.intervals for slowdown in slowdowns_of(interval) if slowdown.times})
    if by:
        return f"the processor was slowed by {' and '.join(by)} during the measurement", None
    return "something outside the kernel holds it down", Fix(lasting=(ByHand(_BY_HAND),), needs_root=False)


def _is_unreadable(case: Case, knob: Knob) -> bool:
    """Return whether the knob exists but has no valid value."""
    return knob in case.snapshot.reason_by_path


def _is_capped(clock: CpuFrequency, cap: FrequencyCap) -> bool | None:
    """Return whether the firmware's limit is below a clock that the CPU could otherwise reach; None means unknown."""
    if cap.limit_khz is None:
        return False if clock.driver in INTEL_DRIVERS else None  # these drivers export no limit of the firmware
    is_pinned = clock.min_khz is not None and clock.min_khz == clock.max_khz
    reachable_khz = [khz for khz in (cap.highest_khz or clock.base_khz, clock.max_khz if is_pinned else None) if khz]
    if cap.highest_khz is None and clock.base_khz is None:  # the highest clock may be turbo's, which the limit excludes
        return False if clock.hardware_max_khz is not None and cap.limit_khz >= clock.hardware_max_khz else None
    return cap.limit_khz < min(reachable_khz)


@check(
    id="clock-boosted-after-io",
    area=Area.FREQUENCY,
    question="Does the clock stay the same after a wait for I/O?",
    severity=Severity.INFORMATION,
    severity_in={IO: Severity.WARNING, LATENCY: Severity.WARNING},
    reads=(Knob.PSTATE_DYNAMIC_BOOST,),
    why="With hwp_dynamic_boost, intel_pstate raises the clock briefly whenever a task returns from waiting for I/O.",
    remedy="Switch the boost off, or hold the clock with governor performance.",
    sources=(_PSTATE_DOC,),
    is_hidden_from_guests=True,
)
def clock_boosted_after_io(case: Case) -> Answer:
    clocks = clocks_of(case)
    boost = case.snapshot.settings.knobs.word(Knob.PSTATE_DYNAMIC_BOOST)
    drivers = {clock.driver for clock in clocks.values()}
    is_unreadable = _is_unreadable(case, Knob.PSTATE_DYNAMIC_BOOST)
    if boost is None and not is_unreadable and drivers and not drivers & {None, *INTEL_DRIVERS}:
        return hardware_without(case, "I/O boost (intel_pstate)")
    is_held = bool(clocks) and all(clock.governor == "performance" for clock in clocks.values())
    if is_held and boost is not None:
        return case.graded().passes("with governor performance there is nothing to boost")
    return judge_knob(case, Knob.PSTATE_DYNAMIC_BOOST, "the I/O boost is on", quiet=0)


@check(
    id="uncore-frequency-moves",
    area=Area.FREQUENCY,
    question="Does the uncore (last-level cache, memory controller) keep one clock?",
    severity=Severity.INFORMATION,
    severity_in={MEMORY: Severity.WARNING},
    reads=(f"{UNCORE}/*/{{min_freq_khz,max_freq_khz}} when noisewatch starts",),
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
        return case.unread(UNCORE)
    graded = case.graded(evidence={domain.path: [domain.min_khz, domain.max_khz] for domain in uncore.domains})
    known_domains = [domain for domain in uncore.domains if domain.min_khz is not None and domain.max_khz is not None]
    moving = [domain for domain in known_domains if domain.min_khz != domain.max_khz]
    if moving:
        return graded.fails(_describe_domains(moving), fix=_hold(moving))
    if len(known_domains) < len(uncore.domains):
        return case.unread(*(domain.path for domain in uncore.domains if domain not in known_domains))
    if not uncore.is_complete:
        return case.unread(UNCORE)
    return graded.passes("held at one frequency")


def _describe_domains(moving: list[UncoreDomain]) -> str:
    """Return text on the frequency ranges with the uncore domains that have them."""
    names: dict[tuple[int | None, int | None], list[str]] = {}
    for domain in moving:
        names.setdefault((domain.min_khz, domain.max_khz), []).append(domain.path.rsplit("/", 1)[1])
    return "; ".join(f"{describe_clocks(low or 0, high or 0)} ({', '.join(own)})" for (low, high), own in names.items())


def _hold(domains: list[UncoreDomain]) -> Fix:
    raised = [Setting(f"{domain.path}/min_freq_khz", str(domain.max_khz), str(domain.min_khz)) for domain in domains]
    return write_for_good(Write(tuple(raised)))
