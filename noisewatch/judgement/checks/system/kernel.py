"""Area `kernel`: how the kernel was built, patched and booted, where it prints, and its own background work."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus, parse_cpu_list
from noisewatch.judgement.answer import MINIMUM, Answer, Limit, not_applicable, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import Fix, boot_without, write_for_good
from noisewatch.judgement.grading import judge_knob, unread
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Area, Severity, Status
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.build_options import PACKED, KernelConfig
from noisewatch.kernel.system.build_options import PATH as CONSOLES
from noisewatch.kernel.system.platform import FOLDER as VULNERABILITIES
from noisewatch.kernel.system.release import COMMAND_LINE, release_number
from noisewatch.kernel.system.release import FOLDER as LIVEPATCHES

_SYSCTL_DOC = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"
_VM_DOC = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_LOCKUP_DOC = "https://docs.kernel.org/admin-guide/lockup-watchdogs.html"


@check(
    id="nmi-watchdog-runs",
    area=Area.KERNEL,
    question="Is the hard lockup watchdog (NMI) off?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.NMI_WATCHDOG,),
    why=(
        "The watchdog interrupts each CPU about every ten seconds with a non-maskable interrupt (NMI), and occupies "
        "one of the few hardware counters that profilers need."
    ),
    remedy="Switch the watchdog off during the benchmark.",
    sources=(_LOCKUP_DOC,),
)
def nmi_watchdog_runs(case: Case) -> Answer:
    return judge_knob(case, Knob.NMI_WATCHDOG, "the watchdog is on", quiet=0)


_CHECKS_PER_THRESHOLD = 2.5  # the watchdog's timer fires five times in two thresholds


@check(
    id="lockup-watchdog-on-target",
    area=Area.KERNEL,
    question="Does the soft lockup watchdog leave the target CPUs alone?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(Knob.WATCHDOG, Knob.WATCHDOG_CPUS, Knob.WATCHDOG_THRESHOLD),
    why=(
        "On each watched CPU a timer fires, by default every four seconds, and wakes a kernel thread of the highest "
        "priority, which preempts the benchmark. nohz_full CPUs are left out by default."
    ),
    remedy="Confine the watchdog to the housekeeping CPUs.",
    sources=(_LOCKUP_DOC, _SYSCTL_DOC),
)
def lockup_watchdog_on_target(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    is_on, threshold_s = knobs.integer(Knob.WATCHDOG), knobs.integer(Knob.WATCHDOG_THRESHOLD)
    if is_on is None:
        return unread(case, Knob.WATCHDOG)
    read = {Knob.WATCHDOG.value: is_on, Knob.WATCHDOG_THRESHOLD.value: threshold_s}
    if is_on == 0 or threshold_s == 0:
        return case.graded(evidence=read).passes("the watchdog is off")
    watched = _watched_cpus(case)
    if watched is None:
        return unread(case, Knob.WATCHDOG_CPUS)
    graded = case.graded(evidence={**read, Knob.WATCHDOG_CPUS.value: knobs.word(Knob.WATCHDOG_CPUS)})
    shared = watched & case.target
    if not shared:
        return graded.passes("the watchdog watches other CPUs only")
    every = f" every {threshold_s / _CHECKS_PER_THRESHOLD:g} s" if threshold_s is not None else ""
    fix = _confine_watchdog(watched, case.housekeeping, Knob.WATCHDOG_CPUS not in knobs.absent)
    text = f"the watchdog watches {name_cpus(shared)}{every}"
    return graded.fails(text, cpus=shared, fix=fix)


def _watched_cpus(case: Case) -> CpuSet | None:
    """Return the CPUs that the watchdog covers, or None if unknown. A kernel without a mask covers all CPUs."""
    if Knob.WATCHDOG_CPUS in case.snapshot.settings.knobs.absent:
        return case.snapshot.online.online
    listed = case.snapshot.settings.knobs.text_by_path.get(Knob.WATCHDOG_CPUS)
    return None if listed is None else parse_cpu_list(listed)


def _confine_watchdog(watched: CpuSet, housekeeping: CpuSet, has_mask: bool) -> Fix:
    """Return the fix that moves the watchdog to the housekeeping CPUs, or switches it off if it cannot be moved."""
    if not housekeeping or not has_mask:
        return write_for_good(write(Knob.WATCHDOG, 0, 1))
    return write_for_good(write(Knob.WATCHDOG_CPUS, format_cpu_list(housekeeping), format_cpu_list(watched)))


@check(
    id="timers-migrate-to-target",
    area=Area.KERNEL,
    question="Are timers of idle CPUs kept off the target CPUs?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.TIMER_MIGRATION, "/sys/devices/system/cpu/nohz_full"),
    why="An idle CPU lets a busy CPU handle its timers. On a quiet machine, the benchmark's CPU is the busy one.",
    remedy="Switch timer migration off, or boot with nohz_full, which keeps migrated timers off the listed CPUs.",
    sources=(_SYSCTL_DOC, "https://docs.kernel.org/timers/no_hz.html"),
)
def timers_migrate_to_target(case: Case) -> Answer:
    tickless = case.snapshot.isolation.nohz_full or frozenset()
    if case.target and case.target <= tickless:
        return case.graded().passes(
            "nohz_full keeps migrated timers off the target CPUs", evidence={"nohz_full": sorted(tickless)}
        )
    text = "timers of idle CPUs migrate to busy CPUs"
    return judge_knob(case, Knob.TIMER_MIGRATION, text, quiet=0)


_STATISTICS_INTERVAL = Limit(
    key="fails",
    name="shortest interval between two updates of the memory statistics that passes",
    is_least=True,
    value=10.0,
    unit="s",
    reason="tuned's latency profiles set this interval; one short interruption in ten seconds does not matter",
)
_SPARES_ISOLATED_SINCE = (6, 5)


@check(
    id="memory-statistics-updated-often",
    area=Area.KERNEL,
    question="Are per-CPU memory statistics updated rarely?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.STAT_INTERVAL,),
    limits=(_STATISTICS_INTERVAL,),
    why=(
        "On each CPU whose memory counters have changed, a kernel thread folds them into the global ones, once a "
        "second by default, and preempts the benchmark. Since Linux 6.5 isolated CPUs are spared."
    ),
    remedy="Lengthen the update interval.",
    sources=(_VM_DOC, "https://git.kernel.org/torvalds/c/be5e015d107d"),
)
def memory_statistics_updated_often(case: Case) -> Answer:
    isolation = case.snapshot.isolation
    spared = (isolation.boot or frozenset()) | (isolation.nohz_full or frozenset())
    number = release_number(case.snapshot.platform.kernel)
    if number is not None and number >= _SPARES_ISOLATED_SINCE and case.target and case.target <= spared:
        return case.graded().passes(
            "this kernel does not update statistics on isolated CPUs", evidence={"isolated": sorted(spared)}
        )
    least_s = case.bound(_STATISTICS_INTERVAL)
    text = "the memory statistics are updated every {value} s"
    answer = judge_knob(case, Knob.STAT_INTERVAL, text, quiet=120, is_quiet=lambda value: value >= least_s)
    return _set_minimum(answer, least_s)


def _set_minimum(answer: Answer, least_s: float) -> Answer:
    is_read = answer.status in (Status.PASS, Status.FAIL)
    return replace(answer, limit=least_s, unit="s", limit_role=MINIMUM) if is_read else answer


_POLLING_INTERVAL = Limit(
    key="fails",
    name="shortest interval between two polls that passes",
    is_least=True,
    value=60.0,
    unit="s",
    reason="the default is five minutes; more than one poll a minute hits most benchmarks",
    value_in={STRICT: 3600.0},
)
_POLLED_DAILY_S = 86_400  # used instead of 0, which some kernels treat as 1


@check(
    id="machine-checks-polled-often",
    area=Area.KERNEL,
    question="Does the kernel rarely poll for corrected hardware errors?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(Knob.MACHINE_CHECK_INTERVAL, Knob.MACHINE_CHECK_IGNORED),
    limits=(_POLLING_INTERVAL,),
    why="A timer on every CPU reads the machine check banks, which takes a few microseconds each time.",
    remedy="Lengthen the interval during the benchmark; uncorrected errors are still reported at once.",
    sources=("https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-mce",),
)
def machine_checks_polled_often(case: Case) -> Answer:
    if case.snapshot.settings.knobs.integer(Knob.MACHINE_CHECK_IGNORED) == 1:
        return case.graded().passes("corrected errors are ignored", evidence={Knob.MACHINE_CHECK_IGNORED.value: 1})
    least_s = case.bound(_POLLING_INTERVAL)
    text = "the kernel polls for corrected errors every {value} s"
    answer = judge_knob(
        case,
        Knob.MACHINE_CHECK_INTERVAL,
        text,
        quiet=_POLLED_DAILY_S,
        is_quiet=lambda value: value == 0 or value >= least_s,
    )
    return answer if answer.measured == 0 else _set_minimum(answer, least_s)  # 0 switches polling off


_ALWAYS_SLOW = {
    "KASAN": "the address sanitizer",
    "KCSAN": "the race detector",
    "KMSAN": "the memory sanitizer",
    "PROVE_LOCKING": "the lock validator",
    "LOCK_STAT": "lock statistics",
    "DEBUG_OBJECTS": "object tracking",
    "SLUB_DEBUG_ON": "checked allocations",
    "GCOV_PROFILE_ALL": "coverage counters",
    "KCOV": "coverage tracing",
}
# Debug checks that some distributions build in, and that a boot option switches on or off. The fields: the build
# option; the boot option and its activating value; the build option for the default, and its value for "on".
_DEBUG_PAGES = ("DEBUG_PAGEALLOC", "debug_pagealloc", "on", "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "y")
_LEAK_SCAN = ("DEBUG_KMEMLEAK", "kmemleak", "on", "DEBUG_KMEMLEAK_DEFAULT_OFF", "n")
_DORMANT_NAMES = {"DEBUG_PAGEALLOC": "unmapped free pages", "DEBUG_KMEMLEAK": "the scan for leaks"}


@check(
    id="debug-kernel",
    area=Area.KERNEL,
    question="Does the kernel run without costly debug checks?",
    severity=Severity.WARNING,
    reads=(PACKED, "/boot/config-RELEASE", "/proc/cmdline"),
    why=(
        "A kernel that checks each memory access or lock is several times slower, and some checks run at "
        "unpredictable times. Its results do not apply to any other kernel."
    ),
    remedy="Boot the distribution's standard kernel.",
    sources=("https://docs.kernel.org/dev-tools/index.html", "https://docs.kernel.org/locking/lockdep-design.html"),
)
def debug_kernel(case: Case) -> Answer:
    config = case.snapshot.platform.config
    if config is None:
        return case.unread(PACKED)
    is_on = {option: config.is_set(option) for option in _ALWAYS_SLOW}
    is_on |= {dormant[0]: _is_active(config, case.snapshot.platform.options, dormant) for dormant in _DORMANT}
    enabled = [option for option, state in is_on.items() if state]
    graded = case.graded(evidence={"options": enabled, "said_by": config.path, "tick_hz": config.tick_hz})
    if enabled:
        names = _ALWAYS_SLOW | _DORMANT_NAMES
        text = ", ".join(f"{names[option]} (CONFIG_{option})" for option in enabled)
        return graded.fails(f"the kernel has {text}")
    unreadable = [option for option, state in is_on.items() if state is None]
    if unreadable:
        return unknown(f"{config.path} does not mention CONFIG_{unreadable[0]}: it may be incomplete")
    return graded.passes("no costly debug check is active")


_DORMANT = (_DEBUG_PAGES, _LEAK_SCAN)


def _is_active(
    config: KernelConfig, options: Mapping[str, tuple[str, ...]] | None, dormant: tuple[str, str, str, str, str]
) -> bool | None:
    """Return whether a debug check of the kernel that may be dormant is active, or None if unknown."""
    built_in, boot_option, on, default, starts_with = dormant
    is_built_in, starts_on = config.is_set(built_in), config.is_set(default)
    if not is_built_in:
        return is_built_in
    if options is None:
        return None
    given = options.get(boot_option, ())
    if given:
        return given[-1] in (on, "1")
    return None if starts_on is None else starts_on == (starts_with == "y")


@check(
    id="livepatch-in-transition",
    area=Area.KERNEL,
    question="Are all live patches completely applied?",
    severity=Severity.WARNING,
    reads=(f"{LIVEPATCHES}/*/transition",),
    why=(
        "Until every task uses the new code, the kernel checks all tasks once a second, each call of a patched "
        "function takes a detour, and tasks that lag behind are woken."
    ),
    remedy="Wait for the transition to end; a task that never wakes up can hold it up.",
    sources=("https://docs.kernel.org/livepatch/livepatch.html",),
)
def livepatch_in_transition(case: Case) -> Answer:
    patches = case.snapshot.settings.kernel.livepatches
    if patches is None:
        return case.unread(LIVEPATCHES)
    if isinstance(patches, str):
        return not_applicable("this kernel has no live patching")
    moving = [name for name, is_moving in patches.items() if is_moving]
    if moving:
        return case.graded().fails(f"in transition: {', '.join(moving)}", evidence={"patches": dict(patches)})
    unreadable = [name for name, is_moving in patches.items() if is_moving is None]
    if unreadable:
        return case.unread(f"{LIVEPATCHES}/{unreadable[0]}/transition")
    text = f"{len(patches)} patches, all completely applied" if patches else "no live patches"
    return case.graded().passes(text, evidence={"patches": dict(patches)})


_EXPORTS_MITIGATIONS_SINCE = (4, 15)


@check(
    id="mitigations-chosen-by-hand",
    area=Area.KERNEL,
    question="Are the kernel's default CPU mitigations in use?",
    severity=Severity.INFORMATION,
    reads=(f"{VULNERABILITIES}/*", "/proc/cmdline"),
    why=(
        "With other mitigations, system calls, interrupts and context switches cost several times more or less. This "
        "cost is constant, not noise, but results are only comparable between machines with the same mitigations."
    ),
    remedy="Nothing needs to be changed, but record the active mitigations with the results.",
    sources=("https://docs.kernel.org/admin-guide/hw-vuln/index.html",),
)
def mitigations_chosen_by_hand(case: Case) -> Answer:
    vulnerabilities = case.snapshot.platform.vulnerabilities
    if vulnerabilities.state_by_name is None:
        return case.unread(VULNERABILITIES)
    states = dict(vulnerabilities.state_by_name)
    graded = case.graded(evidence={"state_by_name": states, "options": vulnerabilities.chosen})
    if vulnerabilities.chosen is None:
        return case.unread("/proc/cmdline")
    if vulnerabilities.chosen:
        return graded.fails(f"booted with {' '.join(vulnerabilities.chosen)}")
    if vulnerabilities.unread is not None:
        return case.unread(vulnerabilities.unread)
    number = release_number(case.snapshot.platform.kernel)
    if not states and (number is None or number >= _EXPORTS_MITIGATIONS_SINCE):
        return unknown(f"{VULNERABILITIES}: missing")
    if not states:
        return graded.passes("the kernel's defaults (this kernel does not report which mitigations are active)")
    active = sum(state.startswith("Mitigation") for state in states.values())
    return graded.passes(f"the kernel's defaults: {active} mitigations active", measured=active)


_LEVEL = Limit(
    key="fails",
    name="highest printed log level",
    value=5.0,
    unit="level",
    reason="level 6 is routine information; levels up to 5 report real events",
)
_SHOW_ALL = "ignore_loglevel"


@check(
    id="console-prints-everything",
    area=Area.KERNEL,
    question="Are slow consoles limited to important messages?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.PRINTK, CONSOLES, COMMAND_LINE),
    limits=(_LEVEL,),
    why=(
        "A line of 80 characters takes 7 ms on a serial console at 115,200 baud, and the CPU that prints it often has "
        "interrupts disabled all the while."
    ),
    remedy="Lower the console log level, or boot with quiet; the log keeps everything.",
    sources=(
        "https://docs.kernel.org/core-api/printk-basics.html",
        "https://docs.kernel.org/admin-guide/serial-console.html",
    ),
)
def console_prints_everything(case: Case) -> Answer:
    levels = (case.snapshot.settings.knobs.text_by_path.get(Knob.PRINTK) or "").split()
    consoles = case.snapshot.settings.kernel.consoles
    if not levels:
        return unread(case, Knob.PRINTK)
    if consoles is None:
        return case.unread(CONSOLES)
    shown = int(levels[0]) - 1  # the console shows messages below its level
    slow = [console.name for console in consoles if console.is_slow and console.is_enabled]
    evidence = {"consoles": [console.name for console in consoles], "printk": list(map(int, levels))}
    observed = case.graded(evidence=evidence)
    graded = observed.by(_LEVEL, shown)
    if not slow:
        return observed.passes("there is no slow console")
    options = case.snapshot.platform.options
    if options is not None and _SHOW_ALL in options:
        fix = Fix(lasting=(boot_without(_SHOW_ALL),))
        text = f"all messages go to {', '.join(slow)}, because the kernel was booted with {_SHOW_ALL}"
        return observed.fails(text, evidence=evidence | {"options": [_SHOW_ALL]}, fix=fix)
    text = f"messages up to level {shown} go to {', '.join(slow)}"
    if shown > case.bound(_LEVEL):
        return graded.fails(text, fix=write_for_good(write(Knob.PRINTK, 4, " ".join(levels))))
    return case.unread(COMMAND_LINE) if options is None else graded.passes(text)


@check(
    id="console-cursor-blinks",
    area=Area.KERNEL,
    question="Is the console cursor's blinking off?",
    severity=Severity.INFORMATION,
    reads=(Knob.CURSOR_BLINK,),
    why="The kernel redraws the cursor five times a second, on whichever CPU this work happens to run.",
    remedy="Switch blinking off.",
    sources=("https://docs.kernel.org/fb/fbcon.html",),
)
def console_cursor_blinks(case: Case) -> Answer:
    return judge_knob(case, Knob.CURSOR_BLINK, "the cursor blinks", quiet=0, is_quiet=lambda value: value <= 0)
