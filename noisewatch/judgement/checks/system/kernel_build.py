"""Area `kernel`: how the kernel was built, patched and booted, and where it prints."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import Fix, set_for_good
from noisewatch.judgement.fixes.lasting import boot_without
from noisewatch.judgement.grading import judged_knob, unread
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.build_options import PACKED, KernelConfig
from noisewatch.kernel.system.build_options import PATH as CONSOLES
from noisewatch.kernel.system.release import COMMAND_LINE, release_number
from noisewatch.kernel.system.release import FOLDER as LIVEPATCHES
from noisewatch.kernel.system.vulnerabilities import FOLDER as VULNERABILITIES

_SLOW_BY_THEMSELVES = {
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
# Built in by some distributions, and dormant until the boot option: the option, what it says then, and what says that
# the kernel starts with it.
_DEBUG_PAGES = ("DEBUG_PAGEALLOC", "debug_pagealloc", "on", "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "y")
_LEAK_SCAN = ("DEBUG_KMEMLEAK", "kmemleak", "on", "DEBUG_KMEMLEAK_DEFAULT_OFF", "n")
_NAME_OF_DORMANT = {"DEBUG_PAGEALLOC": "unmapped free pages", "DEBUG_KMEMLEAK": "the scan for leaks"}


@check(
    id="debug-kernel",
    area="kernel",
    question="Is the kernel built without expensive debug checks?",
    severity=Severity.WARNING,
    reads=(PACKED, "/boot/config-RELEASE", "/proc/cmdline"),
    why=(
        "A kernel that checks each memory access or each lock is several times slower, and some checks run at times "
        "of their own. What is measured there holds nowhere else."
    ),
    remedy="Boot the distribution's ordinary kernel.",
    sources=("https://docs.kernel.org/dev-tools/index.html", "https://docs.kernel.org/locking/lockdep-design.html"),
)
def debug_kernel(case: Case) -> Answer:
    config = case.snapshot.platform.config
    if config is None:
        return unknown(case.why_unknown(PACKED))
    is_on = {option: config.is_set(option) for option in _SLOW_BY_THEMSELVES}
    is_on |= {dormant[0]: _is_awake(config, case.snapshot.platform.options, dormant) for dormant in _DORMANT}
    found = [option for option, state in is_on.items() if state]
    evidence = {"options": found, "said_by": config.said_by, "tick_hz": config.tick_hz}
    if found:
        names = _SLOW_BY_THEMSELVES | _NAME_OF_DORMANT
        said = ", ".join(f"{names[option]} (CONFIG_{option})" for option in found)
        return Answer(Status.FAIL, f"the kernel has {said}", evidence=evidence)
    silent = [option for option, state in is_on.items() if state is None]
    if silent:
        return unknown(f"{config.said_by} does not tell of CONFIG_{silent[0]}: it may not be whole")
    return Answer(Status.PASS, "no costly check is built in", evidence=evidence)


_DORMANT = (_DEBUG_PAGES, _LEAK_SCAN)


def _is_awake(
    config: KernelConfig, options: Mapping[str, tuple[str, ...]] | None, dormant: tuple[str, str, str, str, str]
) -> bool | None:
    """Whether a check that may be dormant is at work."""
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
    area="kernel",
    question="Have all live patches reached all tasks?",
    severity=Severity.WARNING,
    reads=(f"{LIVEPATCHES}/*/transition",),
    why=(
        "Until every task has been moved to the new code, the kernel looks at all tasks once a second, calls each "
        "patched function by a detour that decides anew, and wakes those that lag behind."
    ),
    remedy="Wait for the transition to end; a task that sleeps for good can hold it up.",
    sources=("https://docs.kernel.org/livepatch/livepatch.html",),
)
def livepatch_in_transition(case: Case) -> Answer:
    patches = case.snapshot.settings.kernel.livepatches
    if patches is None:
        return unknown(case.why_unknown(LIVEPATCHES))
    if isinstance(patches, str):
        return not_applicable("this kernel cannot be patched while it runs")
    moving = [name for name, is_moving in patches.items() if is_moving]
    if moving:
        return Answer(Status.FAIL, f"in transition: {', '.join(moving)}", evidence={"patches": dict(patches)})
    silent = [name for name, is_moving in patches.items() if is_moving is None]
    if silent:
        return unknown(case.why_unknown(f"{LIVEPATCHES}/{silent[0]}/transition"))
    said = f"{len(patches)} patches, all settled" if patches else "no live patch"
    return Answer(Status.PASS, said, evidence={"patches": dict(patches)})


_TELLS_MITIGATIONS_SINCE = (4, 15)


@check(
    id="mitigations-chosen-by-hand",
    area="kernel",
    question="Are the processor's vulnerabilities mitigated as the kernel does by itself?",
    severity=Severity.INFORMATION,
    reads=(f"{VULNERABILITIES}/*", "/proc/cmdline"),
    why=(
        "System calls, interrupts and switches of tasks cost several times more or less with other mitigations. That "
        "is steady and no noise, but results compare only with those of machines that have the same."
    ),
    remedy="Nothing needs to be done: write down what is in force beside the results.",
    sources=("https://docs.kernel.org/admin-guide/hw-vuln/index.html",),
)
def mitigations_chosen_by_hand(case: Case) -> Answer:
    known = case.snapshot.platform.vulnerabilities
    if known.state_by_name is None:
        return unknown(case.why_unknown(VULNERABILITIES))
    evidence = {"state_by_name": dict(known.state_by_name), "options": known.chosen}
    if known.chosen is None:
        return unknown(case.why_unknown("/proc/cmdline"))
    if known.chosen:
        return Answer(Status.FAIL, f"booted with {' '.join(known.chosen)}", evidence=evidence)
    if known.unread is not None:
        return unknown(case.why_unknown(known.unread))
    number = release_number(case.snapshot.platform.kernel)
    if not known.state_by_name and (number is None or number >= _TELLS_MITIGATIONS_SINCE):
        return unknown(f"{VULNERABILITIES}: not there")
    if not known.state_by_name:
        return Answer(Status.PASS, "the kernel's own choice, which it does not tell", evidence=evidence)
    active = sum(state.startswith("Mitigation") for state in known.state_by_name.values())
    return Answer(
        Status.PASS, f"the kernel's own choice: {active} mitigations in force", measured=active, evidence=evidence
    )


_LEVEL = Limit(
    key="fails",
    name="highest severity number that is still printed",
    value=5.0,
    unit="level",
    reason="6 is what drivers and services say in passing; up to 5 something must have happened",
)
_SHOW_ALL = "ignore_loglevel"


@check(
    id="console-prints-everything",
    area="kernel",
    question="Do slow consoles show only what matters?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.PRINTK, CONSOLES, COMMAND_LINE),
    limits=(_LEVEL,),
    why=(
        "A line of eighty characters takes 7 ms on a serial line of 115,200 baud, and the CPU that happens to print "
        "it often takes no interrupt meanwhile."
    ),
    remedy="Lower the level of what is shown, or boot with quiet; the log keeps everything.",
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
        return unknown(case.why_unknown(CONSOLES))
    shown = int(levels[0]) - 1  # those below the console's level
    slow = [console.name for console in consoles if console.is_slow and console.is_enabled]
    evidence = {"consoles": [console.name for console in consoles], "printk": list(map(int, levels))}
    limit = case.bound(_LEVEL)
    if not slow:
        return Answer(Status.PASS, "there is no slow console", evidence=evidence)
    options = case.snapshot.platform.options
    if options is not None and _SHOW_ALL in options:
        fix = Fix(lasting=(boot_without(_SHOW_ALL),))
        said = f"all messages go to {', '.join(slow)}, as booted with {_SHOW_ALL}"
        return Answer(Status.FAIL, said, evidence=evidence | {"options": [_SHOW_ALL]}, fix=fix)
    said = f"messages up to level {shown} go to {', '.join(slow)}"
    if shown > limit:
        fix = set_for_good(write(Knob.PRINTK, 4, " ".join(levels)))
        return Answer(Status.FAIL, said, measured=shown, limit=limit, unit="level", evidence=evidence, fix=fix)
    if options is None:
        return unknown(case.why_unknown(COMMAND_LINE))
    return Answer(Status.PASS, said, measured=shown, limit=limit, unit="level", evidence=evidence)


@check(
    id="console-cursor-blinks",
    area="kernel",
    question="Is the console's cursor not blinking?",
    severity=Severity.INFORMATION,
    reads=(Knob.CURSOR_BLINK,),
    why="The kernel draws it five times a second, on whatever CPU the work lands.",
    remedy="Switch the blinking off.",
    sources=("https://docs.kernel.org/fb/fbcon.html",),
)
def console_cursor_blinks(case: Case) -> Answer:
    return judged_knob(case, Knob.CURSOR_BLINK, lambda value: value <= 0, "the cursor blinks", quiet=0)
