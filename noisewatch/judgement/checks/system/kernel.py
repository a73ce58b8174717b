"""Area `kernel`: the kernel's own background work, by its own timers."""

from __future__ import annotations

from dataclasses import replace

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus, parse_cpu_list
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import MINIMUM, Answer, Limit, check
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import Fix, set_for_good
from noisewatch.judgement.grading import judged_knob, unread
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.release import release_number

_SYSCTL_DOC = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"
_VM_DOC = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_LOCKUP_DOC = "https://docs.kernel.org/admin-guide/lockup-watchdogs.html"


@check(
    id="nmi-watchdog-runs",
    area="kernel",
    question="Is the hard lockup watchdog (NMI) off?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.NMI_WATCHDOG,),
    why=(
        "It interrupts each CPU about every ten seconds with a non-maskable interrupt (NMI), and occupies one of the "
        "few hardware counters that profilers need."
    ),
    remedy="Switch it off during the benchmark.",
    sources=(_LOCKUP_DOC,),
)
def nmi_watchdog_runs(case: Case) -> Answer:
    return judged_knob(case, Knob.NMI_WATCHDOG, lambda value: value == 0, "the watchdog is on", quiet=0)


_CHECKS_PER_THRESHOLD = 2.5  # the timer runs five times in two thresholds


@check(
    id="lockup-watchdog-on-target",
    area="kernel",
    question="Does the soft lockup watchdog leave the target CPUs alone?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(Knob.WATCHDOG, Knob.WATCHDOG_CPUS, Knob.WATCHDOG_THRESHOLD),
    why=(
        "On each watched CPU a timer fires every four seconds and wakes a kernel thread of the highest priority, "
        "which preempts the benchmark. nohz_full CPUs are left out by default."
    ),
    remedy="Confine the watchdog to the housekeeping CPUs.",
    sources=(_LOCKUP_DOC, _SYSCTL_DOC),
)
def lockup_watchdog_on_target(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    is_on, threshold_s = knobs.integer(Knob.WATCHDOG), knobs.integer(Knob.WATCHDOG_THRESHOLD)
    if is_on is None:
        return unread(case, Knob.WATCHDOG)
    evidence: dict[str, object] = {Knob.WATCHDOG.value: is_on, Knob.WATCHDOG_THRESHOLD.value: threshold_s}
    if is_on == 0 or threshold_s == 0:
        return Answer(Status.PASS, "the watchdog is off", evidence=evidence)
    watched = _watched_cpus(case)
    if watched is None:
        return unread(case, Knob.WATCHDOG_CPUS)
    evidence[Knob.WATCHDOG_CPUS.value] = knobs.word(Knob.WATCHDOG_CPUS)
    shared = watched & case.target
    if not shared:
        return Answer(Status.PASS, "the watchdog watches other CPUs only", evidence=evidence)
    every = f" every {threshold_s / _CHECKS_PER_THRESHOLD:g} s" if threshold_s is not None else ""
    fix = _confine_watchdog(watched, case.housekeeping, Knob.WATCHDOG_CPUS not in knobs.absent)
    return Answer(
        Status.FAIL, f"the watchdog watches {name_cpus(shared)}{every}", cpus=shared, evidence=evidence, fix=fix
    )


def _watched_cpus(case: Case) -> CpuSet | None:
    """Return the CPUs that the watchdog covers, or None if unknown: all before Linux 4.3, which has no mask."""
    if Knob.WATCHDOG_CPUS in case.snapshot.settings.knobs.absent:
        return case.snapshot.online.online
    listed = case.snapshot.settings.knobs.text_by_path.get(Knob.WATCHDOG_CPUS)
    return None if listed is None else parse_cpu_list(listed)


def _confine_watchdog(watched: CpuSet, housekeeping: CpuSet, has_mask: bool) -> Fix:
    """Return the fix that moves the watchdog to the housekeeping CPUs, or switches it off where it cannot be moved."""
    if not housekeeping or not has_mask:
        return set_for_good(write(Knob.WATCHDOG, 0, 1))
    return set_for_good(write(Knob.WATCHDOG_CPUS, format_cpu_list(housekeeping), format_cpu_list(watched)))


@check(
    id="timers-migrate-to-target",
    area="kernel",
    question="Are timers of idle CPUs kept off the target CPUs?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.TIMER_MIGRATION, "/sys/devices/system/cpu/nohz_full"),
    why="An idle CPU lets a busy CPU handle its timers: on a quiet machine that is the benchmark's CPU.",
    remedy="Switch timer migration off, or boot with nohz_full, which keeps migrated timers off its CPUs.",
    sources=(_SYSCTL_DOC, "https://docs.kernel.org/timers/no_hz.html"),
)
def timers_migrate_to_target(case: Case) -> Answer:
    tickless = case.snapshot.isolation.nohz_full or frozenset()
    if case.target and case.target <= tickless:
        return Answer(
            Status.PASS, "nohz_full keeps migrated timers off the target CPUs", evidence={"nohz_full": sorted(tickless)}
        )
    said = "timers of idle CPUs migrate to busy CPUs"
    return judged_knob(case, Knob.TIMER_MIGRATION, lambda value: value == 0, said, quiet=0)


_STATISTICS_INTERVAL = Limit(
    key="fails",
    name="shortest interval between two updates of the memory statistics that passes",
    is_least=True,
    value=10.0,
    unit="s",
    reason="as tuned's latency profiles set it: one short interruption in ten seconds does not matter",
)
_SPARES_ISOLATED_SINCE = (6, 5)


@check(
    id="memory-statistics-updated-often",
    area="kernel",
    question="Are per-CPU memory statistics updated rarely?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.STAT_INTERVAL,),
    limits=(_STATISTICS_INTERVAL,),
    why=(
        "On each CPU whose memory counters have changed, a kernel thread folds them into the global ones, once a "
        "second by default, and preempts the benchmark for it. Since Linux 6.5 isolated CPUs are spared."
    ),
    remedy="Lengthen the update interval.",
    sources=(_VM_DOC, "https://git.kernel.org/torvalds/c/be5e015d107d"),
)
def memory_statistics_updated_often(case: Case) -> Answer:
    isolation = case.snapshot.isolation
    spared = (isolation.boot or frozenset()) | (isolation.nohz_full or frozenset())
    number = release_number(case.snapshot.platform.kernel)
    if number is not None and number >= _SPARES_ISOLATED_SINCE and case.target and case.target <= spared:
        return Answer(
            Status.PASS, "this kernel does not update them on isolated CPUs", evidence={"isolated": sorted(spared)}
        )
    least_s = case.bound(_STATISTICS_INTERVAL)
    said = "updated every {value} s"
    answer = judged_knob(case, Knob.STAT_INTERVAL, lambda value: value >= least_s, said, quiet=120)
    return (
        replace(answer, limit=least_s, unit="s", limit_role=MINIMUM)
        if answer.status in (Status.PASS, Status.FAIL)
        else answer
    )


_POLLING_INTERVAL = Limit(
    key="fails",
    name="shortest interval between two polls that passes",
    is_least=True,
    value=60.0,
    unit="s",
    reason="the default is five minutes; one poll a minute hits most benchmarks",
    value_in={STRICT: 3600.0},
)
_POLLED_DAILY_S = 86_400  # 0 is taken for 1 by some kernels


@check(
    id="machine-checks-polled-often",
    area="kernel",
    question="Does the kernel rarely poll for corrected hardware errors?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(Knob.MACHINE_CHECK_INTERVAL, Knob.MACHINE_CHECK_IGNORED),
    limits=(_POLLING_INTERVAL,),
    why="A timer on every CPU reads the machine check banks, a few microseconds each.",
    remedy="Lengthen the interval during the benchmark; uncorrected errors are still reported at once.",
    sources=("https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-mce",),
)
def machine_checks_polled_often(case: Case) -> Answer:
    if case.snapshot.settings.knobs.integer(Knob.MACHINE_CHECK_IGNORED) == 1:
        return Answer(Status.PASS, "corrected errors are ignored", evidence={Knob.MACHINE_CHECK_IGNORED.value: 1})
    least_s = case.bound(_POLLING_INTERVAL)
    said = "polled for every {value} s"
    answer = judged_knob(
        case,
        Knob.MACHINE_CHECK_INTERVAL,
        lambda value: value == 0 or value >= least_s,
        said,
        quiet=_POLLED_DAILY_S,
    )
    if answer.measured == 0:
        return answer  # these errors are not polled
    return (
        replace(answer, limit=least_s, unit="s", limit_role=MINIMUM)
        if answer.status in (Status.PASS, Status.FAIL)
        else answer
    )
