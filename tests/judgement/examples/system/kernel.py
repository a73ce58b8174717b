"""Settings of the kernel, and its build."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.written.quiet.system import CONFIG, CONFIG_TEXT, VULNERABILITIES
from tests.written.quiet.tasks import own_stat
from tests.written.quiet_machine import CPUS

_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
_BEFORE_4_15 = {"/proc/sys/kernel/osrelease": "4.14.0\n", "/proc/version": "Linux version 4.14.0 (a@b) #1 SMP\n"}
_STRICT, _LATENCY = Rules("strict"), Rules("latency")
_NOT_TICKLESS = {f"{CPUS}/nohz_full": "3\n"}
_NOT_SPARED = {f"{CPUS}/nohz_full": "3\n", f"{CPUS}/isolated": "3\n"}
_OLD = {"/proc/sys/kernel/osrelease": "6.1.0\n", "/proc/version": "Linux version 6.1.0 (somebody@builder) #1 SMP\n"}
_THROTTLED: dict[str, str] = {Knob.REALTIME_RUNTIME: "950000\n"}
_PATCH = "/sys/kernel/livepatch/a_patch"
_VERBOSE: dict[str, str] = {Knob.PRINTK: "7\t4\t1\t7\n"}
_IGNORED_LEVEL: dict[str, str] = {Knob.PRINTK: "4 4 1 7\n", "/proc/cmdline": "quiet ignore_loglevel\n"}


def _config(option: str, *replaced: str) -> dict[str, str]:
    """Return the kernel's configuration with one more line, and without lines that contain a replaced word."""
    kept = [line for line in CONFIG_TEXT.splitlines() if not any(word in line for word in replaced)]
    return {CONFIG: "\n".join([option, *kept]) + "\n"}


def _booted(options: str) -> dict[str, str]:
    return {"/proc/cmdline": f"isolcpus=managed_irq,domain,2-3 nohz_full=2-3 {options}\n"}


EXAMPLES = [
    Example("mitigations-chosen-by-hand", "unknown", {f"{_VULNERABILITIES}/l1tf": ""}, "empty"),
    Example("mitigations-chosen-by-hand", "pass", _BEFORE_4_15, "does not report which", gone=(_VULNERABILITIES,)),
    Example("mitigations-chosen-by-hand", "unknown", gone=(_VULNERABILITIES,)),
    Example("lockup-watchdog-on-target", "fail", {}, "CPUs 2-3", {2, 3}, gone=("/proc/sys/kernel/watchdog_cpumask",)),
    Example("nmi-watchdog-runs", "unknown", gone=("/proc/sys",)),
    #
    Example("nmi-watchdog-runs", "fail", {Knob.NMI_WATCHDOG: "1\n"}, "is on"),
    Example("nmi-watchdog-runs", "fail", {Knob.NMI_WATCHDOG: "1\n"}, "is on", rules=_STRICT),
    Example("nmi-watchdog-runs", "unknown", {Knob.NMI_WATCHDOG: "rubbish\n"}, "'rubbish'"),
    Example("nmi-watchdog-runs", "not-applicable", gone=(Knob.NMI_WATCHDOG,)),
    #
    Example("lockup-watchdog-on-target", "fail", {Knob.WATCHDOG_CPUS: "0-3\n"}, "every 4 s", {2, 3}),
    Example("lockup-watchdog-on-target", "fail", {Knob.WATCHDOG_CPUS: "0,3\n"}, "CPU 3", {3}, rules=_STRICT),
    Example(
        *("lockup-watchdog-on-target", "fail"),
        {Knob.WATCHDOG_CPUS: "2\n"},
        "CPU 2",
        {2},
        gone=(Knob.WATCHDOG_THRESHOLD,),
    ),
    Example("lockup-watchdog-on-target", "pass", {Knob.WATCHDOG_CPUS: "0-3\n", Knob.WATCHDOG: "0\n"}, "is off"),
    Example("lockup-watchdog-on-target", "pass", {Knob.WATCHDOG_CPUS: "0-3\n", Knob.WATCHDOG_THRESHOLD: "0\n"}, "off"),
    Example("lockup-watchdog-on-target", "pass", {Knob.WATCHDOG_CPUS: "1\n"}, "other CPUs"),
    Example("lockup-watchdog-on-target", "unknown", {Knob.WATCHDOG_CPUS: "rubbish\n"}, "'rubbish'"),
    Example("lockup-watchdog-on-target", "unknown", {Knob.WATCHDOG: "\n"}, "''"),
    Example("lockup-watchdog-on-target", "not-applicable", gone=(Knob.WATCHDOG,)),
    Example("lockup-watchdog-on-target", "unknown", gone=(Knob.WATCHDOG,), is_copy=True),
    #
    Example("timers-migrate-to-target", "fail", {Knob.TIMER_MIGRATION: "1\n", **_NOT_TICKLESS}, "idle CPUs"),
    Example("timers-migrate-to-target", "pass", {Knob.TIMER_MIGRATION: "1\n"}, "nohz_full"),
    Example("timers-migrate-to-target", "pass", _NOT_TICKLESS, "is 0"),
    Example("timers-migrate-to-target", "unknown", {Knob.TIMER_MIGRATION: "x\n", **_NOT_TICKLESS}, "'x'"),
    Example("timers-migrate-to-target", "not-applicable", _NOT_TICKLESS, gone=(Knob.TIMER_MIGRATION,)),
    #
    Example("memory-statistics-updated-often", "fail", {Knob.STAT_INTERVAL: "1\n", **_NOT_SPARED}, "every 1 s"),
    Example("memory-statistics-updated-often", "fail", {Knob.STAT_INTERVAL: "9\n", **_OLD}, "every 9 s"),
    Example("memory-statistics-updated-often", "pass", {Knob.STAT_INTERVAL: "10\n", **_OLD}, "is 10"),
    Example("memory-statistics-updated-often", "pass", {Knob.STAT_INTERVAL: "1\n"}, "does not update statistics"),
    Example("memory-statistics-updated-often", "unknown", {Knob.STAT_INTERVAL: "soon\n", **_OLD}, "'soon'"),
    #
    Example("machine-checks-polled-often", "fail", {Knob.MACHINE_CHECK_INTERVAL: "59\n"}, "every 59 s"),
    Example("machine-checks-polled-often", "pass", {Knob.MACHINE_CHECK_INTERVAL: "300\n"}, "is 300"),
    Example("machine-checks-polled-often", "fail", {Knob.MACHINE_CHECK_INTERVAL: "300\n"}, "300 s", rules=_STRICT),
    Example("machine-checks-polled-often", "pass", {Knob.MACHINE_CHECK_INTERVAL: "0\n"}, "is 0", rules=_STRICT),
    Example(
        *("machine-checks-polled-often", "pass"),
        {Knob.MACHINE_CHECK_INTERVAL: "1\n", Knob.MACHINE_CHECK_IGNORED: "1\n"},
        "ignored",
    ),
    Example("machine-checks-polled-often", "unknown", {Knob.MACHINE_CHECK_INTERVAL: "12c\n"}, "'12c'"),
    Example("machine-checks-polled-often", "not-applicable", gone=(Knob.MACHINE_CHECK_INTERVAL,)),
    #
    Example("real-time-work-throttled", "fail", _THROTTLED | _OLD, "after 950 of 1000 ms"),
    Example(
        *("real-time-work-throttled", "fail"),
        _THROTTLED | _config("CONFIG_RT_GROUP_SCHED=y", "RT_GROUP_SCHED"),
        "after 950",
    ),
    Example("real-time-work-throttled", "pass", _THROTTLED, "only if others starve"),
    Example("real-time-work-throttled", "pass", {Knob.REALTIME_RUNTIME: "1000000\n"} | _OLD, "never throttled"),
    Example("real-time-work-throttled", "unknown", {Knob.REALTIME_RUNTIME: "\n"}, "''"),
    Example("real-time-work-throttled", "unknown", _THROTTLED | {Knob.REALTIME_PERIOD: "x\n"}, "'x'"),
    Example("real-time-work-throttled", "not-applicable", gone=(Knob.REALTIME_RUNTIME,)),
    #
    Example("nice-value-confined-to-session", "fail", {"/proc/self/stat": own_stat(-20)}, "-20"),
    Example(
        *("nice-value-confined-to-session", "pass"),
        {"/proc/self/stat": own_stat(-20), Knob.AUTOGROUP: "0\n"},
        "no autogroups",
    ),
    Example("nice-value-confined-to-session", "unknown", {"/proc/self/stat": "800 (x) R\n"}, "41 fields"),
    Example("nice-value-confined-to-session", "unknown", {Knob.AUTOGROUP: "?\n"}, "'?'"),
    Example("nice-value-confined-to-session", "not-applicable", gone=(Knob.AUTOGROUP,)),
    #
    Example("debug-kernel", "fail", _config("CONFIG_KASAN=y", "_KASAN"), "address sanitizer"),
    Example("debug-kernel", "fail", _config("CONFIG_PROVE_LOCKING=y", "PROVE_LOCKING"), "lock validator"),
    Example("debug-kernel", "fail", _booted("kmemleak=on"), "scan for leaks"),
    Example("debug-kernel", "fail", _config("", "DEFAULT_OFF"), "scan for leaks"),
    Example("debug-kernel", "pass", _config("", "DEFAULT_OFF") | _booted("kmemleak=off"), "no costly"),
    Example("debug-kernel", "pass", _config("CONFIG_DEBUG_PAGEALLOC=y", "PAGEALLOC"), "no costly"),
    Example(
        *("debug-kernel", "fail"),
        _config("CONFIG_DEBUG_PAGEALLOC=y", "PAGEALLOC") | _booted("debug_pagealloc=on"),
        "unmapped free pages",
    ),
    Example("debug-kernel", "unknown", {CONFIG: CONFIG_TEXT[:60]}, "may be incomplete"),
    Example("debug-kernel", "unknown", gone=("/proc/cmdline",)),
    Example("debug-kernel", "unknown", {CONFIG: "rubbish\n"}, "'rubbish"),
    Example("debug-kernel", "unknown", {"/proc/config.gz": "\x1f\udc8bcut"}, "not a gzip file", gone=(CONFIG,)),
    Example("debug-kernel", "unknown", gone=(CONFIG,)),
    #
    Example("livepatch-in-transition", "fail", {f"{_PATCH}/transition": "1\n"}, "a_patch"),
    Example("livepatch-in-transition", "unknown", {f"{_PATCH}/transition": "perhaps\n"}, "a_patch"),
    Example("livepatch-in-transition", "unknown", gone=("/sys/kernel/livepatch",), is_copy=True),
    Example("livepatch-in-transition", "not-applicable", gone=("/sys/kernel/livepatch",)),
    #
    Example("mitigations-chosen-by-hand", "fail", _booted("mitigations=off"), "mitigations=off"),
    Example("mitigations-chosen-by-hand", "fail", _booted("nopti spectre_v2=off"), "nopti spectre_v2=off"),
    Example("mitigations-chosen-by-hand", "pass", _booted("mitigations=auto"), "1 mitigations"),
    Example(
        *("mitigations-chosen-by-hand", "pass"),
        {f"{VULNERABILITIES}/mds": "Vulnerable\n"},
        "kernel's defaults",
        rules=_STRICT,
    ),
    Example("mitigations-chosen-by-hand", "unknown", gone=("/proc/cmdline",)),
    Example("mitigations-chosen-by-hand", "unknown", gone=(VULNERABILITIES,), is_copy=True),
    #
    Example("console-prints-everything", "fail", _VERBOSE, "level 6 go to ttyS0"),
    Example("console-prints-everything", "fail", _VERBOSE, "ttyS0", rules=_LATENCY),
    Example("console-prints-everything", "pass", {Knob.PRINTK: "6 4 1 7\n"}, "level 5 go to ttyS0"),
    Example("console-prints-everything", "pass", _VERBOSE | {"/proc/consoles": "tty0 -WU (EC p ) 4:7\n"}, "no slow"),
    Example("console-prints-everything", "pass", _VERBOSE | {"/proc/consoles": "ttyS0 -W- ( C p ) 4:64\n"}, "no slow"),
    Example("console-prints-everything", "fail", _IGNORED_LEVEL, "all messages go to ttyS0"),
    Example("console-prints-everything", "pass", _IGNORED_LEVEL | {"/proc/consoles": "tty0 -WU (EC p ) 4:7\n"}),
    Example("console-prints-everything", "unknown", {Knob.PRINTK: "6 4 1 7\n"}, gone=("/proc/cmdline",)),
    Example("console-prints-everything", "unknown", {Knob.PRINTK: "loud\n"}, "'loud'"),
    Example("console-prints-everything", "unknown", {"/proc/consoles": "rubbish\n"}, "rubbish"),
    Example("console-prints-everything", "unknown", gone=("/proc/consoles",)),
    #
    Example("console-cursor-blinks", "fail", {Knob.CURSOR_BLINK: "1\n"}, "blinks"),
    Example("console-cursor-blinks", "pass", {Knob.CURSOR_BLINK: "-1\n"}, "is -1"),
    Example("console-cursor-blinks", "unknown", {Knob.CURSOR_BLINK: "x\n"}, "'x'"),
    Example("console-cursor-blinks", "not-applicable", gone=(Knob.CURSOR_BLINK,)),
]
