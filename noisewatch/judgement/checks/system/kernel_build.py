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
from noisewatch.kernel.system.platform import FOLDER as VULNERABILITIES
from noisewatch.kernel.system.release import COMMAND_LINE, release_number
from noisewatch.kernel.system.release import FOLDER as LIVEPATCHES

_SLOW_BY_THEMSELVES = {
    "KASAN": "address sanitizer",
    "KCSAN": "the race detector",
    "KMSAN": "the memory sanitizer",
    "PROVE_LOCKING": "the lock validator",
    "LOCK_STAT": "lock statistics",
    "DEBUG_OBJECTS": "object tracking",
    "SLUB_DEBUG_ON": "checked allocations",
    "GCOV_PROFILE_ALL": "coverage counters",
    "KCOV": "coverage tracing",
}
# Built in by some distributions, and dormant until the boot option: the build option, the boot option and its value,
# the build option for the default, and its value if the kernel starts with it.
_DEBUG_PAGES = ("DEBUG_PAGEALLOC", "debug_pagealloc", "on", "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "y")
_LEAK_SCAN = ("DEBUG_KMEMLEAK", "kmemleak", "on", "DEBUG_KMEMLEAK_DEFAULT_OFF", "n")
_NAME_OF_DORMANT = {"DEBUG_PAGEALLOC": "unmapped free pages", "DEBUG_KMEMLEAK": "the scan for leaks"}


@check(
    id="debug-kernel",
    area="kernel",
    question="Is the kernel built without costly debug checks?",
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
        return unknown(f"{config.said_by} does not mention CONFIG_{silent[0]}: it may be incomplete")
    return Answer(Status.PASS, "no costly debug check is built in", evidence=evidence)


_DORMANT = (_DEBUG_PAGES, _LEAK_SCAN)


def _is_awake(
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
    area="kernel",
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
        return unknown(case.why_unknown(LIVEPATCHES))
    if isinstance(patches, str):
        return not_applicable("this kernel has no live patching")
    moving = [name for name, is_moving in patches.items() if is_moving]
    if moving:
        return Answer(Status.FAIL, f"in transition: {', '.join(moving)}", evidence={"patches": dict(patches)})
    silent = [name for name, is_moving in patches.items() if is_moving is None]
    if silent:
        return unknown(case.why_unknown(f"{LIVEPATCHES}/{silent[0]}/transition"))
    said = f"{len(patches)} patches, all completely applied" if patches else "no live patches"
    return Answer(Status.PASS, said, evidence={"patches": dict(patches)})


_TELLS_MITIGATIONS_SINCE = (4, 15)


@check(
    id="mitigations-chosen-by-hand",
    area="kernel",
    question="Are CPU vulnerabilities mitigated by the kernel's defaults?",
    severity=Severity.INFORMATION,
    reads=(f"{VULNERABILITIES}/*", "/proc/cmdline"),
    why=(
        "With other mitigations system calls, interrupts and context switches cost several times more or less. This "
        "is constant, not noise, but results only compare between machines with the same mitigations."
    ),
    remedy="Nothing needs to be done: note the active mitigations with the results.",
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
        return Answer(Status.PASS, "the kernel's defaults, which it does not export", evidence=evidence)
    active = sum(state.startswith("Mitigation") for state in known.state_by_name.values())
    return Answer(
        Status.PASS, f"the kernel's defaults: {active} mitigations active", measured=active, evidence=evidence
    )


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
    area="kernel",
    question="Are slow consoles limited to important messages?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.PRINTK, CONSOLES, COMMAND_LINE),
    limits=(_LEVEL,),
    why=(
        "A line of 80 characters takes 7 ms on a serial console at 115,200 baud, and the CPU that prints it often has "
        "interrupts disabled meanwhile."
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
        return unknown(case.why_unknown(CONSOLES))
    shown = int(levels[0]) - 1  # messages below the console's level
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
    question="Is the console cursor's blinking off?",
    severity=Severity.INFORMATION,
    reads=(Knob.CURSOR_BLINK,),
    why="The kernel redraws it five times a second, on any CPU where the work happens to run.",
    remedy="Switch blinking off.",
    sources=("https://docs.kernel.org/fb/fbcon.html",),
)
def console_cursor_blinks(case: Case) -> Answer:
    return judged_knob(case, Knob.CURSOR_BLINK, lambda value: value <= 0, "the cursor blinks", quiet=0)
