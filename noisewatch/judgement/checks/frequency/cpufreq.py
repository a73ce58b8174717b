"""Area `frequency`: governor, turbo, range, energy hints and daemons, which may change the target CPUs' clock."""

from __future__ import annotations

from noisewatch.cpus import name_cpus
from noisewatch.errors import quote
from noisewatch.judgement.answer import Answer, not_applicable, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import run_command, write, write_cpus
from noisewatch.judgement.fixes.fix import Fix, write_for_good
from noisewatch.judgement.grading import by_cpu, hardware_without, unread
from noisewatch.judgement.programs import as_culprits, passes_if_visible, running
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import INTEL_DRIVERS, NO_DRIVER, NO_PREFERENCE, CpuFrequency
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import bias_path
from noisewatch.kernel.system.platform import NONE
from noisewatch.units import describe_clocks

_CPUFREQ_DOC = "https://docs.kernel.org/admin-guide/pm/cpufreq.html"
_PSTATE_DOC = "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"

# Drivers with two governors: `performance`, and `powersave`, which is not the slowest clock but their own algorithm.
ACTIVE_DRIVERS = frozenset({"intel_pstate", "amd-pstate-epp"})

_MAX_WINDOWS = 3  # longest list of frequency ranges, the widest first


def clocks_of(case: Case) -> dict[int, CpuFrequency]:
    clock_by_cpu = case.snapshot.frequency.cpus
    return {cpu: clock_by_cpu.get(cpu, CpuFrequency(cpu)) for cpu in sorted(case.target)}


def unread_clock_reason(case: Case, cpu: int, name: str) -> str:
    reason = case.unread_reason(f"{CPUS}/cpu{cpu}/cpufreq/{name}", f"{CPUS}/cpu{cpu}/cpufreq")
    is_guest = case.snapshot.platform.virtual not in (None, NONE)
    if case.snapshot.frequency.driver == NO_DRIVER:
        return f"this kernel has no cpufreq driver{', as usual in a virtual machine' if is_guest else ''} ({reason})"
    return reason


@check(
    id="governor-not-performance",
    area=Area.FREQUENCY,
    question="Does the governor keep the target CPUs at their highest clock?",
    severity=Severity.BLOCKING,
    ground=Ground.RISK,
    reads=(f"{CPUS}/cpuN/cpufreq/scaling_governor", f"{CPUS}/cpuN/cpufreq/scaling_driver"),
    why=(
        "Other governors hold a lower clock, or follow the load with a delay: a short benchmark then measures how fast "
        "the governor reacts."
    ),
    remedy="Set the governor to performance.",
    sources=(_CPUFREQ_DOC, _PSTATE_DOC),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def governor_not_performance(case: Case) -> Answer:
    clocks = clocks_of(case)
    graded = case.graded(
        evidence={
            "driver": case.snapshot.frequency.driver,
            "governor_by_cpu": {str(cpu): clock.governor for cpu, clock in clocks.items()},
        }
    )
    others = {
        cpu: clock.governor
        for cpu, clock in clocks.items()
        if clock.governor is not None and clock.governor != "performance" and not _is_fixed(clock)
    }
    failing = {
        cpu: name for cpu, name in others.items() if not (name == "powersave" and clocks[cpu].driver in ACTIVE_DRIVERS)
    }
    before = {cpu: str(name) for cpu, name in others.items()}
    fix = write_for_good(write_cpus(dict.fromkeys(others, "performance"), "cpufreq/scaling_governor", before))
    if failing:
        text = f"governor {'/'.join(sorted(set(failing.values())))} on {name_cpus(failing)}"
        return graded.fails(text, cpus=frozenset(failing), fix=fix)
    unreadable = [cpu for cpu, clock in clocks.items() if clock.governor is None]
    if unreadable or not clocks:
        return unknown(unread_clock_reason(case, min(unreadable, default=0), "scaling_governor"))
    if others:
        drivers = "/".join(sorted({str(clocks[cpu].driver) for cpu in others}))
        text = f"governor powersave of {drivers} on {name_cpus(others)}: the driver or the hardware varies the clock"
        return graded.warns(text, cpus=frozenset(others), fix=fix)
    names = "/".join(sorted({str(clock.governor) for clock in clocks.values()}))
    return graded.passes(f"governor {names}")


def _is_fixed(clock: CpuFrequency) -> bool:
    """Return whether the governor is `userspace` and its range is a single frequency."""
    return clock.governor == "userspace" and clock.min_khz is not None and clock.min_khz == clock.max_khz


@check(
    id="turbo-enabled",
    area=Area.FREQUENCY,
    question="Is turbo off, keeping the clock at or below its base frequency?",
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
        "they run, not only on the code under test."
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
        return unknown(_no_turbo_reason(case))
    graded = case.graded(evidence={"turbo": frequency.turbo, "said_by": frequency.turbo_path})
    if not _has_turbo(case):
        return graded.passes("turbo is off")
    return graded.fails(f"turbo is on ({frequency.turbo_path})", fix=_turbo_off(case))


def _no_turbo_reason(case: Case) -> str:
    own = (f"{CPUS}/cpu{cpu}/cpufreq/{name}" for name in ("boost", "cpb") for cpu in sorted(case.target))
    paths = (f"{CPUS}/intel_pstate/no_turbo", *own, f"{CPUS}/cpufreq/boost")
    noted = next((path for path in paths if path in case.snapshot.reason_by_path), None)
    return "neither no_turbo, boost nor cpb can be read" if noted is None else case.unread_reason(noted)


def _has_turbo(case: Case) -> bool:
    """Return whether turbo is, or may be, on for a target CPU."""
    own = case.snapshot.frequency.turbo_by_cpu
    if own:
        return any(own.get(cpu, True) for cpu in case.target)
    return case.snapshot.frequency.turbo != "off"


def _turbo_off(case: Case) -> Fix:
    path = case.snapshot.frequency.turbo_path or ""
    if path.endswith("no_turbo"):
        return write_for_good(write(path, 1, 0))
    own = case.snapshot.frequency.turbo_by_cpu
    if own:
        boosted = [cpu for cpu in case.target if own.get(cpu)]
        name = "cpufreq/" + path.rsplit("/", 1)[1]
        return write_for_good(write_cpus(dict.fromkeys(boosted, 0), name, dict.fromkeys(boosted, 1)))
    return write_for_good(write(path, 0, 1))


@check(
    id="frequency-window-open",
    area=Area.FREQUENCY,
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
    unreadable = [cpu for cpu, clock in clocks.items() if clock.min_khz is None or clock.max_khz is None]
    if unreadable or not clocks:
        return unknown(unread_clock_reason(case, min(unreadable, default=0), "scaling_min_freq"))
    window = {str(cpu): [clock.min_khz, clock.max_khz] for cpu, clock in clocks.items()}
    graded = case.graded(evidence={"window_khz_by_cpu": window})
    open_cpus = [cpu for cpu, clock in clocks.items() if clock.min_khz != clock.max_khz]
    if open_cpus:
        is_held = not _has_turbo(case) and all(clock.governor == "performance" for clock in clocks.values())
        text = _describe_windows(clocks, open_cpus)
        if is_held:
            return graded.passes(text + ", held at the maximum by governor performance without turbo")
        fix = _narrow(clocks, case.snapshot.frequency.driver)
        return graded.warns(text, cpus=frozenset(open_cpus), fix=fix)
    above = [
        cpu for cpu, clock in clocks.items() if clock.base_khz is not None and (clock.max_khz or 0) > clock.base_khz
    ]
    if above:
        text = f"pinned above the base frequency on {name_cpus(above)}, in the turbo range"
        return graded.warns(text, cpus=frozenset(above), fix=_narrow(clocks, case.snapshot.frequency.driver))
    if _has_turbo(case) and any(clock.base_khz is None for clock in clocks.values()):
        return graded.warns("pinned, but turbo is not off and may raise the clock above these limits")
    return graded.passes("pinned")


def _describe_windows(clocks: dict[int, CpuFrequency], cpus: list[int]) -> str:
    """Return text on the frequency ranges with their CPUs, the widest first; after three ranges, only CPUs."""
    windows: dict[tuple[int, int], list[int]] = {}
    for cpu in cpus:
        windows.setdefault((clocks[cpu].min_khz or 0, clocks[cpu].max_khz or 0), []).append(cpu)
    widest = sorted(windows.items(), key=lambda item: (item[0][0] - item[0][1], item[1]))
    windows_text = [
        f"{describe_clocks(low, high)} allowed on {name_cpus(own)}" for (low, high), own in widest[:_MAX_WINDOWS]
    ]
    others = [cpu for _, own in widest[_MAX_WINDOWS:] for cpu in own]
    return "; ".join([*windows_text, *([f"others on {name_cpus(others)}"] if others else [])])


def _narrow(clocks: dict[int, CpuFrequency], driver: str | None) -> Fix | None:
    """Return the fix that sets both limits to the base frequency, or None if a base frequency is unknown.

    acpi-cpufreq exports no base frequency and keeps turbo outside its limits: there the highest frequency is used.
    """
    is_acpi = driver == "acpi-cpufreq"
    values = {cpu: clock.base_khz or (clock.hardware_max_khz if is_acpi else None) for cpu, clock in clocks.items()}
    value_by_cpu = {cpu: value for cpu, value in values.items() if value is not None}
    if len(value_by_cpu) < len(clocks):
        return None
    lowest, highest = "cpufreq/scaling_min_freq", "cpufreq/scaling_max_freq"
    # The kernel refuses a minimum above the maximum, so the limit that makes room is written first and restored last.
    raises = any(khz > (clocks[cpu].max_khz or 0) for cpu, khz in value_by_cpu.items())
    order = (highest, lowest) if raises else (lowest, highest)
    before = {
        lowest: {cpu: clock.min_khz or 0 for cpu, clock in clocks.items()},
        highest: {cpu: clock.max_khz or 0 for cpu, clock in clocks.items()},
    }
    return write_for_good(*(write_cpus(value_by_cpu, name, before[name]) for name in order))


_DRIVERS_WITH_PREFERENCE = INTEL_DRIVERS | {"amd-pstate", "amd-pstate-epp"}
_FASTEST = frozenset({"performance", "0"})
_PREFERENCE = "cpufreq/energy_performance_preference"


@check(
    id="energy-preference-not-performance",
    area=Area.FREQUENCY,
    question="Does the hardware's energy preference favour speed?",
    severity=Severity.WARNING,
    reads=(f"{CPUS}/cpuN/{_PREFERENCE} when noisewatch starts",),
    why=(
        "If the hardware chooses the clock (HWP, CPPC), the energy preference decides how soon it raises the "
        "clock, and whether the clock ever reaches the maximum."
    ),
    remedy="Set the preference to performance; in the driver's active mode, governor performance has the same effect.",
    sources=(_PSTATE_DOC, "https://docs.kernel.org/admin-guide/pm/amd-pstate.html"),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def energy_preference_not_performance(case: Case) -> Answer:
    clocks = clocks_of(case)
    graded = case.graded(
        evidence={"preference_by_cpu": {str(cpu): clock.energy_preference for cpu, clock in clocks.items()}}
    )
    others = {
        cpu: clock.energy_preference
        for cpu, clock in clocks.items()
        if clock.energy_preference is not None and clock.energy_preference not in _FASTEST | {NO_PREFERENCE}
    }
    if others:
        fix = write_for_good(write_cpus(dict.fromkeys(others, "performance"), _PREFERENCE, others))
        text = f"{'/'.join(sorted(set(others.values())))} on {name_cpus(others)}"
        is_blamed = all(clocks[cpu].governor == "powersave" and clocks[cpu].driver in ACTIVE_DRIVERS for cpu in others)
        text += "; governor performance would fix it" if is_blamed else ""
        severity = Severity.INFORMATION if is_blamed else None  # governor-not-performance warns already
        return graded.fails(text, cpus=frozenset(others), fix=fix, severity=severity)
    if clocks and not any(_takes_preference(case, clock) for clock in clocks.values()):
        return not_applicable(
            f"{'/'.join(sorted({str(clock.driver) for clock in clocks.values()}))} has no such setting"
        )
    unreadable = [
        cpu for cpu, clock in clocks.items() if clock.energy_preference is None and _takes_preference(case, clock)
    ]
    if unreadable or not clocks:
        return unknown(unread_clock_reason(case, min(unreadable, default=0), "energy_performance_preference"))
    return graded.passes("performance")


def _takes_preference(case: Case, clock: CpuFrequency) -> bool:
    """Return whether the driver passes a preference on to the hardware, as far as known."""
    if clock.energy_preference is not None or clock.driver is None:
        return clock.energy_preference != NO_PREFERENCE
    if f"{CPUS}/cpu{clock.cpu}/{_PREFERENCE}" in case.snapshot.reason_by_path:
        return True  # the file exists, but cannot be read
    return clock.driver in _DRIVERS_WITH_PREFERENCE


_BIASES = {0: "performance", 4: "balance-performance", 6: "normal", 8: "balance-power", 15: "power"}


@check(
    id="energy-bias-not-performance",
    area=Area.FREQUENCY,
    question="Is the processor's energy bias set to performance?",
    severity=Severity.INFORMATION,
    reads=(bias_path(0).replace("cpu0", "cpuN") + " when noisewatch starts",),
    why=(
        "The energy bias is Intel's older hint, from 0 (performance) to 15 (power saving). Many processors still use "
        "it for turbo and the uncore. The kernel sets it to 6 at boot if the firmware leaves it at 0."
    ),
    remedy="Set the energy bias to 0 during the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/pm/intel_epb.html",),
    is_hidden_from_guests=True,
)
def energy_bias_not_performance(case: Case) -> Answer:
    bias_by_cpu = case.snapshot.hardware.energy_bias
    biases = {cpu: bias_by_cpu.integer(bias_path(cpu)) for cpu in sorted(case.target)}
    graded = case.graded(evidence={"bias_by_cpu": by_cpu(biases)})
    others = {cpu: bias for cpu, bias in biases.items() if bias}
    if others:
        fix = write_for_good(write_cpus(dict.fromkeys(others, 0), "power/energy_perf_bias", others))
        worst = max(others.values())
        text = f"{worst}{f' ({_BIASES[worst]})' if worst in _BIASES else ''} on {name_cpus(others)}"
        return graded.fails(text, measured=worst, cpus=frozenset(others), fix=fix)
    if biases and all(bias_path(cpu) in bias_by_cpu.absent for cpu in biases):
        return hardware_without(case, "energy bias")
    unreadable = [cpu for cpu, bias in biases.items() if bias is None]
    if unreadable or not biases:
        return case.unread(bias_path(min(unreadable, default=0)))
    return graded.passes("performance", measured=0)


_SAVING = frozenset({"low-power", "quiet", "cool"})
_FAST = frozenset({"performance", "balanced-performance"})


@check(
    id="platform-profile-saves-power",
    area=Area.FREQUENCY,
    question="Does the platform profile let the processor run at full speed?",
    severity=Severity.WARNING,
    reads=(Knob.PLATFORM_PROFILE, Knob.PLATFORM_PROFILES),
    why=(
        "On laptops and some workstations the firmware derives power limits and fan curves from the platform "
        "profile. A key or a desktop menu changes the profile; cpufreq does not show that."
    ),
    remedy="Set the platform profile to performance.",
    sources=("https://docs.kernel.org/userspace-api/sysfs-platform_profile.html",),
    is_hidden_from_guests=True,
)
def platform_profile_saves_power(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    profile = knobs.word(Knob.PLATFORM_PROFILE)
    if profile is None:
        if Knob.PLATFORM_PROFILE in knobs.absent and case.snapshot.platform.container != NONE:
            return unknown(f"{Knob.PLATFORM_PROFILE}: a container may hide it")
        if Knob.PLATFORM_PROFILE in knobs.absent and Knob.PLATFORM_PROFILES not in knobs.absent:
            return unknown(f"{Knob.PLATFORM_PROFILE}: missing, although {Knob.PLATFORM_PROFILES} exists")
        return unread(case, Knob.PLATFORM_PROFILE)
    profiles = knobs.text_by_path.get(Knob.PLATFORM_PROFILES)
    choices = (profiles or "").split()
    graded = case.graded(evidence={"profile": profile, "choices": None if profiles is None else choices})
    if profile in _FAST:
        return graded.passes(profile)
    if profile not in {*_SAVING, "balanced"}:
        return unknown(f"{Knob.PLATFORM_PROFILE}: {quote(profile)} is not a known profile")
    path, fix = Knob.PLATFORM_PROFILE, None
    if "performance" in choices:
        fix = write_for_good(write(path, "performance", profile))
    text = f"the platform profile is {profile}"
    return graded.answer(Status.FAIL if profile in _SAVING else Status.WARN, text, fix=fix)


_AT_ANY_TIME = frozenset({"auto-cpufreq", "cpufreqd"})  # daemons that change settings every few seconds
_UNITS = {
    **{name: name for name in ("power-profiles-daemon", "thermald", "tuned", "tuned-ppd", "asusd")},
    **{name: name for name in ("auto-cpufreq", "cpufreqd")},
}
_DAEMONS = frozenset({*_UNITS, "gamemoded", "system76-power", "slimbookbattery"})


@check(
    id="frequency-daemon-runs",
    area=Area.FREQUENCY,
    question="Is the machine free of daemons that change frequency settings?",
    severity=Severity.INFORMATION,
    reads=("/proc/PID/stat",),
    reads_counters=True,
    why=(
        "Power daemons change governor, energy preference, turbo and power limits when the charger, the load or the "
        "profile changes. Some do so every few seconds and undo manual settings."
    ),
    remedy="Stop the daemon during the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
)
def frequency_daemon_runs(case: Case) -> Answer:
    daemons = running(case, _DAEMONS)
    names = sorted({next(name for name in _DAEMONS if name[:15] == task.name[:15]) for task in daemons})
    if names:
        units = " ".join(_UNITS[name] for name in names if name in _UNITS)
        fix = Fix(
            (run_command(f"systemctl stop {units}", f"systemctl start {units}"),),
            (run_command(f"systemctl disable {units}", f"systemctl enable {units}"),),
        )
        graded = case.graded(
            evidence={"daemons": names},
            culprits=as_culprits(sorted(daemons, key=lambda task: task.pid)),
            severity=Severity.WARNING if set(names) & _AT_ANY_TIME else None,
        )
        return graded.fails(f"{', '.join(names)} may change frequency settings at any time", fix=fix if units else None)
    return passes_if_visible(case, "no power daemon runs")
