"""Area `frequency`: hints and profiles that trade speed for energy, and the daemons that set them."""

from __future__ import annotations

from noisewatch.cpus import name_cpus
from noisewatch.errors import quoted
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.checks.frequency.cpufreq import ACTIVE_DRIVERS, clocks_of, why_no_clock
from noisewatch.judgement.fixes.actions import run_command, write, write_cpus
from noisewatch.judgement.fixes.fix import Fix, set_for_good
from noisewatch.judgement.grading import hardware_without, unread
from noisewatch.judgement.programs import running, why_unseen
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import INTEL_DRIVERS, NO_PREFERENCE, CpuFrequency
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import bias_path
from noisewatch.kernel.system.platform import NONE
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance

_PSTATE_DOC = "https://docs.kernel.org/admin-guide/pm/intel_pstate.html"
_DRIVERS_WITH_PREFERENCE = INTEL_DRIVERS | {"amd-pstate", "amd-pstate-epp"}
_FASTEST = frozenset({"performance", "0"})
_PREFERENCE = "cpufreq/energy_performance_preference"


@check(
    id="energy-preference-not-performance",
    area="frequency",
    question="Does the hardware's energy preference favour speed?",
    severity=Severity.WARNING,
    reads=(f"{CPUS}/cpuN/{_PREFERENCE} at the start of the run",),
    why=(
        "Where the hardware chooses the clock (HWP, CPPC), this hint decides how soon it raises the clock, and "
        "whether it ever reaches the maximum."
    ),
    remedy="Set the preference to performance; governor performance does so too if the driver is active.",
    sources=(_PSTATE_DOC, "https://docs.kernel.org/admin-guide/pm/amd-pstate.html"),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def energy_preference_not_performance(case: Case) -> Answer:
    clocks = clocks_of(case)
    evidence = {"preference_by_cpu": {str(cpu): clock.energy_preference for cpu, clock in clocks.items()}}
    others = {
        cpu: clock.energy_preference
        for cpu, clock in clocks.items()
        if clock.energy_preference is not None and clock.energy_preference not in _FASTEST | {NO_PREFERENCE}
    }
    if others:
        fix = set_for_good(write_cpus(dict.fromkeys(others, "performance"), _PREFERENCE, others))
        said = f"{'/'.join(sorted(set(others.values())))} on {name_cpus(others)}"
        is_blamed = all(clocks[cpu].governor == "powersave" and clocks[cpu].driver in ACTIVE_DRIVERS for cpu in others)
        said += "; governor performance would fix it" if is_blamed else ""
        severity = Severity.INFORMATION if is_blamed else None  # governor-not-performance warns of it
        return Answer(Status.FAIL, said, cpus=frozenset(others), evidence=evidence, fix=fix, severity=severity)
    if clocks and not any(_takes_preference(case, clock) for clock in clocks.values()):
        return not_applicable(
            f"{'/'.join(sorted({str(clock.driver) for clock in clocks.values()}))} has no such setting"
        )
    silent = [
        cpu for cpu, clock in clocks.items() if clock.energy_preference is None and _takes_preference(case, clock)
    ]
    if silent or not clocks:
        return unknown(why_no_clock(case, min(silent, default=0), "energy_performance_preference"))
    return Answer(Status.PASS, "performance", evidence=evidence)


def _takes_preference(case: Case, clock: CpuFrequency) -> bool:
    """Return whether the driver passes a preference on to the hardware, as far as known."""
    if clock.energy_preference is not None or clock.driver is None:
        return clock.energy_preference != NO_PREFERENCE
    if f"{CPUS}/cpu{clock.cpu}/{_PREFERENCE}" in case.snapshot.reason_by_path:
        return True  # it is there, and cannot be read
    return clock.driver in _DRIVERS_WITH_PREFERENCE


_BIASES = {0: "performance", 4: "balance-performance", 6: "normal", 8: "balance-power", 15: "power"}


@check(
    id="energy-bias-not-performance",
    area="frequency",
    question="Is the processor's energy bias set to speed?",
    severity=Severity.INFORMATION,
    reads=(bias_path(0).replace("cpu0", "cpuN") + " at the start of the run",),
    why=(
        "Intel's older hint, from 0 (performance) to 15 (power saving); many processors still use it for turbo and "
        "the uncore. The kernel sets it to 6 at boot if the firmware leaves it at 0."
    ),
    remedy="Set it to 0 during the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/pm/intel_epb.html",),
    is_hidden_from_guests=True,
)
def energy_bias_not_performance(case: Case) -> Answer:
    known = case.snapshot.hardware.energy_bias
    biases = {cpu: known.integer(bias_path(cpu)) for cpu in sorted(case.target)}
    evidence = {"bias_by_cpu": {str(cpu): bias for cpu, bias in biases.items()}}
    others = {cpu: bias for cpu, bias in biases.items() if bias}
    if others:
        fix = set_for_good(write_cpus(dict.fromkeys(others, 0), "power/energy_perf_bias", others))
        worst = max(others.values())
        said = f"{worst}{f' ({_BIASES[worst]})' if worst in _BIASES else ''} on {name_cpus(others)}"
        return Answer(Status.FAIL, said, measured=worst, cpus=frozenset(others), evidence=evidence, fix=fix)
    if biases and all(bias_path(cpu) in known.absent for cpu in biases):
        return hardware_without(case, "energy bias")
    silent = [cpu for cpu, bias in biases.items() if bias is None]
    if silent or not biases:
        return unknown(case.why_unknown(bias_path(min(silent, default=0))))
    return Answer(Status.PASS, "performance", measured=0, evidence=evidence)


_SAVING = frozenset({"low-power", "quiet", "cool"})
_FAST = frozenset({"performance", "balanced-performance"})


@check(
    id="platform-profile-saves-power",
    area="frequency",
    question="Does the platform profile let the processor run at full speed?",
    severity=Severity.WARNING,
    reads=(Knob.PLATFORM_PROFILE, Knob.PLATFORM_PROFILES),
    why=(
        "On laptops and some workstations the firmware derives power limits and fan curves from this profile. A key "
        "or a desktop menu changes it; cpufreq does not show that."
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
            return unknown(f"{Knob.PLATFORM_PROFILE}: missing, but {Knob.PLATFORM_PROFILES} is not")
        return unread(case, Knob.PLATFORM_PROFILE)
    known = knobs.text_by_path.get(Knob.PLATFORM_PROFILES)
    choices = (known or "").split()
    evidence = {"profile": profile, "choices": None if known is None else choices}
    if profile in _FAST:
        return Answer(Status.PASS, profile, evidence=evidence)
    if profile not in {*_SAVING, "balanced"}:
        return unknown(f"{Knob.PLATFORM_PROFILE}: {quoted(profile)} is not understood")
    path, fix = Knob.PLATFORM_PROFILE, None
    if "performance" in choices:
        fix = set_for_good(write(path, "performance", profile))
    said = f"the platform profile is {profile}"
    return Answer(Status.FAIL if profile in _SAVING else Status.WARN, said, evidence=evidence, fix=fix)


_AT_ANY_TIME = frozenset({"auto-cpufreq", "cpufreqd"})  # every few seconds, by load
_UNITS = {
    **{name: name for name in ("power-profiles-daemon", "thermald", "tuned", "tuned-ppd", "asusd")},
    **{name: name for name in ("auto-cpufreq", "cpufreqd")},
}
_DAEMONS = frozenset({*_UNITS, "gamemoded", "system76-power", "slimbookbattery"})


@check(
    id="frequency-daemon-runs",
    area="frequency",
    question="Is the machine free of daemons that change frequency settings?",
    severity=Severity.INFORMATION,
    reads=("/proc/PID/stat",),
    why=(
        "Power daemons change governor, energy preference, turbo and power limits when the charger, the load or the "
        "profile changes. Some do so every few seconds and undo manual settings."
    ),
    remedy="Stop the daemon during the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
)
def frequency_daemon_runs(case: Case) -> Answer:
    found = running(case, _DAEMONS)
    names = sorted({next(name for name in _DAEMONS if name[:15] == task.name[:15]) for task in found})
    if names:
        units = " ".join(_UNITS[name] for name in names if name in _UNITS)
        fix = Fix(
            (run_command(f"systemctl stop {units}", f"systemctl start {units}"),),
            (run_command(f"systemctl disable {units}", f"systemctl enable {units}"),),
        )
        culprits = tuple(
            Disturbance(
                kind=Kind.THREAD,
                name=task.name,
                cpu=task.cpu,
                stolen_ns=None,
                share=None,
                rate_per_s=None,
                pid=task.pid,
            )
            for task in sorted(found, key=lambda task: task.pid)
        )
        return Answer(
            Status.FAIL,
            f"{', '.join(names)} may change them at any time",
            evidence={"daemons": names},
            culprits=culprits,
            fix=fix if units else None,
            severity=Severity.WARNING if set(names) & _AT_ANY_TIME else None,
        )
    reason = why_unseen(case)
    return Answer(Status.PASS, "no power daemon runs") if reason is None else unknown(reason)
