"""Area `frequency`: what may change the clock of the target CPUs."""

from __future__ import annotations

from noisewatch.cpus import name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, unknown
from noisewatch.judgement.fixes.actions import write, write_cpus
from noisewatch.judgement.fixes.fix import Fix, set_for_good
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import NO_DRIVER, CpuFrequency
from noisewatch.kernel.system.platform import NONE
from noisewatch.units import describe_clocks

_CPUFREQ_DOC = "https://docs.kernel.org/admin-guide/pm/cpufreq.html"
_PSTATE_DOC = "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"

# There `powersave` is not the slowest clock but the driver's own algorithm, and the only other choice.
ACTIVE_DRIVERS = frozenset({"intel_pstate", "amd-pstate-epp"})

_MOST_WINDOWS = 3  # frequency ranges that are listed one by one


def clocks_of(case: Case) -> dict[int, CpuFrequency]:
    known = case.snapshot.frequency.cpus
    return {cpu: known.get(cpu, CpuFrequency(cpu)) for cpu in sorted(case.target)}


def why_no_clock(case: Case, cpu: int, name: str) -> str:
    reason = case.why_unknown(f"{CPUS}/cpu{cpu}/cpufreq/{name}", f"{CPUS}/cpu{cpu}/cpufreq")
    is_guest = case.snapshot.platform.virtual not in (None, NONE)
    if case.snapshot.frequency.driver == NO_DRIVER:
        return f"this kernel has no cpufreq driver{', as usual in a virtual machine' if is_guest else ''} ({reason})"
    return reason


@check(
    id="governor-not-performance",
    area="frequency",
    question="Does the governor keep the target CPUs at their highest clock?",
    severity=Severity.BLOCKING,
    ground=Ground.RISK,
    reads=(f"{CPUS}/cpuN/cpufreq/scaling_governor", f"{CPUS}/cpuN/cpufreq/scaling_driver"),
    why="Every other governor follows the load with a delay: a short benchmark measures how fast the governor reacts.",
    remedy="Set the governor to performance.",
    sources=(_CPUFREQ_DOC, _PSTATE_DOC),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def governor_not_performance(case: Case) -> Answer:
    clocks = clocks_of(case)
    evidence = {
        "driver": case.snapshot.frequency.driver,
        "governor_by_cpu": {str(cpu): clock.governor for cpu, clock in clocks.items()},
    }
    others = {
        cpu: clock.governor
        for cpu, clock in clocks.items()
        if clock.governor is not None and clock.governor != "performance" and not _is_fixed(clock)
    }
    failing = {
        cpu: name for cpu, name in others.items() if not (name == "powersave" and clocks[cpu].driver in ACTIVE_DRIVERS)
    }
    before = {cpu: str(name) for cpu, name in others.items()}
    fix = set_for_good(write_cpus(dict.fromkeys(others, "performance"), "cpufreq/scaling_governor", before))
    if failing:
        said = f"governor {'/'.join(sorted(set(failing.values())))} on {name_cpus(failing)}"
        return Answer(Status.FAIL, said, cpus=frozenset(failing), evidence=evidence, fix=fix)
    silent = [cpu for cpu, clock in clocks.items() if clock.governor is None]
    if silent or not clocks:
        return unknown(why_no_clock(case, min(silent, default=0), "scaling_governor"))
    if others:
        drivers = "/".join(sorted({str(clocks[cpu].driver) for cpu in others}))
        said = f"governor powersave of {drivers} on {name_cpus(others)}: the driver or the hardware varies the clock"
        return Answer(Status.WARN, said, cpus=frozenset(others), evidence=evidence, fix=fix)
    names = "/".join(sorted({str(clock.governor) for clock in clocks.values()}))
    return Answer(Status.PASS, f"governor {names}", evidence=evidence)


def _is_fixed(clock: CpuFrequency) -> bool:
    """Return whether the governor is `userspace` and its range is a single frequency."""
    return clock.governor == "userspace" and clock.min_khz is not None and clock.min_khz == clock.max_khz


@check(
    id="turbo-enabled",
    area="frequency",
    question="Is turbo off, so that the clock stays at or below its base frequency?",
    severity=Severity.WARNING,
    ground=Ground.RISK,
    reads=(
        f"{CPUS}/intel_pstate/no_turbo",
        f"{CPUS}/cpufreq/boost",
        f"{CPUS}/cpuN/cpufreq/boost",
        f"{CPUS}/cpuN/cpufreq/cpb",
    ),
    why=(
        "How far turbo raises the clock depends on temperature, on the number of busy cores and on the instructions "
        "they run: on much besides the code under test."
    ),
    remedy="Switch turbo off during the benchmark, or pin the frequency at or below the base frequency.",
    sources=(_CPUFREQ_DOC, _PSTATE_DOC),
    answered_by="effective-frequency-moves",
    severity_in={STRICT: Severity.BLOCKING},
    is_hidden_from_guests=True,
)
def turbo_enabled(case: Case) -> Answer:
    frequency = case.snapshot.frequency
    if frequency.turbo is None:
        return unknown(_why_no_turbo(case))
    evidence = {"turbo": frequency.turbo, "said_by": frequency.turbo_path}
    if not _has_turbo(case):
        return Answer(Status.PASS, "turbo is off", evidence=evidence)
    return Answer(Status.FAIL, f"turbo is on ({frequency.turbo_path})", evidence=evidence, fix=_turbo_off(case))


def _why_no_turbo(case: Case) -> str:
    own = (f"{CPUS}/cpu{cpu}/cpufreq/{name}" for name in ("boost", "cpb") for cpu in sorted(case.target))
    paths = (f"{CPUS}/intel_pstate/no_turbo", *own, f"{CPUS}/cpufreq/boost")
    noted = next((path for path in paths if path in case.snapshot.reason_by_path), None)
    return "neither no_turbo, boost nor cpb can be read" if noted is None else case.why_unknown(noted)


def _has_turbo(case: Case) -> bool:
    """Return whether turbo is on for a target CPU."""
    own = case.snapshot.frequency.turbo_by_cpu
    if own:
        return any(own.get(cpu, True) for cpu in case.target)
    return case.snapshot.frequency.turbo != "off"


def _turbo_off(case: Case) -> Fix:
    path = case.snapshot.frequency.turbo_path or ""
    if path.endswith("no_turbo"):
        return set_for_good(write(path, 1, 0))
    own = case.snapshot.frequency.turbo_by_cpu
    if own:
        boosted = [cpu for cpu in case.target if own.get(cpu)]
        name = "cpufreq/" + path.rsplit("/", 1)[1]
        return set_for_good(write_cpus(dict.fromkeys(boosted, 0), name, dict.fromkeys(boosted, 1)))
    return set_for_good(write(path, 0, 1))


@check(
    id="frequency-window-open",
    area="frequency",
    question="Is the frequency pinned to a single value?",
    severity=Severity.WARNING,
    reads=tuple(f"{CPUS}/cpuN/cpufreq/{name}" for name in ("scaling_min_freq", "scaling_max_freq", "base_frequency")),
    why=(
        "Between the lowest and the highest allowed frequency the clock moves with load and temperature. Even a clock "
        "pinned above the base frequency still depends on temperature and power."
    ),
    remedy="Set both the lowest and the highest frequency to the base frequency.",
    sources=(_CPUFREQ_DOC,),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def frequency_window_open(case: Case) -> Answer:
    clocks = clocks_of(case)
    silent = [cpu for cpu, clock in clocks.items() if clock.min_khz is None or clock.max_khz is None]
    if silent or not clocks:
        return unknown(why_no_clock(case, min(silent, default=0), "scaling_min_freq"))
    window = {str(cpu): [clock.min_khz, clock.max_khz] for cpu, clock in clocks.items()}
    evidence = {"window_khz_by_cpu": window}
    open_cpus = [cpu for cpu, clock in clocks.items() if clock.min_khz != clock.max_khz]
    if open_cpus:
        is_held = not _has_turbo(case) and all(clock.governor == "performance" for clock in clocks.values())
        said = _said_of_windows(clocks, open_cpus)
        if is_held:
            return Answer(
                Status.PASS, said + ", held at the maximum by governor performance without turbo", evidence=evidence
            )
        return Answer(
            Status.WARN,
            said,
            cpus=frozenset(open_cpus),
            evidence=evidence,
            fix=_narrow(clocks, case.snapshot.frequency.driver),
        )
    above = [
        cpu for cpu, clock in clocks.items() if clock.base_khz is not None and (clock.max_khz or 0) > clock.base_khz
    ]
    if above:
        said = f"pinned above the base frequency on {name_cpus(above)}, in the turbo range"
        return Answer(
            Status.WARN,
            said,
            cpus=frozenset(above),
            evidence=evidence,
            fix=_narrow(clocks, case.snapshot.frequency.driver),
        )
    if _has_turbo(case) and any(clock.base_khz is None for clock in clocks.values()):
        said = "pinned, but turbo is not off and may raise the clock above these limits"
        return Answer(Status.WARN, said, evidence=evidence)
    return Answer(Status.PASS, "pinned", evidence=evidence)


def _said_of_windows(clocks: dict[int, CpuFrequency], cpus: list[int]) -> str:
    """Return text on the frequency ranges with their CPUs, the widest first, limited to one line."""
    windows: dict[tuple[int, int], list[int]] = {}
    for cpu in cpus:
        windows.setdefault((clocks[cpu].min_khz or 0, clocks[cpu].max_khz or 0), []).append(cpu)
    widest = sorted(windows.items(), key=lambda each: (each[0][0] - each[0][1], each[1]))
    told = [f"{describe_clocks(low, high)} allowed on {name_cpus(own)}" for (low, high), own in widest[:_MOST_WINDOWS]]
    others = [cpu for _, own in widest[_MOST_WINDOWS:] for cpu in own]
    return "; ".join([*told, *([f"others on {name_cpus(others)}"] if others else [])])


def _narrow(clocks: dict[int, CpuFrequency], driver: str | None) -> Fix | None:
    """Return the fix that sets both limits to the base frequency, or None if a base frequency is unknown.

    acpi-cpufreq exports no base frequency and keeps turbo outside its limits: there the highest frequency is used.
    """
    is_acpi = driver == "acpi-cpufreq"
    values = {cpu: clock.base_khz or (clock.hardware_max_khz if is_acpi else None) for cpu, clock in clocks.items()}
    wanted = {cpu: value for cpu, value in values.items() if value is not None}
    if len(wanted) < len(clocks):
        return None
    lowest, highest = "cpufreq/scaling_min_freq", "cpufreq/scaling_max_freq"
    # The kernel refuses a lowest frequency above the highest: the write that makes room is first, and undone last.
    raises = any(khz > (clocks[cpu].max_khz or 0) for cpu, khz in wanted.items())
    order = (highest, lowest) if raises else (lowest, highest)
    before = {
        lowest: {cpu: clock.min_khz or 0 for cpu, clock in clocks.items()},
        highest: {cpu: clock.max_khz or 0 for cpu, clock in clocks.items()},
    }
    return set_for_good(*(write_cpus(wanted, name, before[name]) for name in order))
