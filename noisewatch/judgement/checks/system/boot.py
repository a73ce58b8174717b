"""Area `hardware`: how the machine booted, and which problems its kernel has logged since."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import LOOKED_BACK, Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.snapshot.snapshot import Settings
from noisewatch.kernel.system.boot_configuration import Options
from noisewatch.kernel.system.log import PATH as KERNEL_LOG
from noisewatch.kernel.system.log import QUESTION as KERNEL_LOG_QUESTION
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.release import COMMAND_LINE
from noisewatch.kernel.system.release import PATH as UPTIME
from noisewatch.text import clean
from noisewatch.units import NS_PER_S

_US_PER_S = 1_000_000
_RECENT = Limit(
    key="recent",
    name="age up to which a log entry counts",
    value=600.0,
    unit="seconds",
    reason="a recent problem is likely to come back",
)


@check(
    id="kernel-log-troubled",
    area=Area.HARDWARE,
    question="Is the kernel log free of errors in the last ten minutes?",
    severity=Severity.WARNING,
    reads=(KERNEL_LOG,),
    limits=(_RECENT,),
    reads_counters=True,
    why=(
        "Heat, power limits and under-voltage, failing memory, disks and links, stuck CPUs, work and handlers that "
        "hold a CPU for long, split locks, an unstable clock source, processes killed because memory ran out: the "
        "kernel logs each once, often with a name, and the counters that other checks read may be quiet again."
    ),
    remedy="Read the log (dmesg --level=emerg,alert,crit,err,warn) and fix the cause.",
    sources=(
        "https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg",
        "https://docs.kernel.org/core-api/printk-basics.html",
    ),
    covers_calibration=True,
)
def kernel_log_troubled(case: Case) -> Answer:
    settings = case.under_load.after.settings if case.under_load is not None else case.snapshot.settings
    log = settings.kernel_log
    minor = case.graded(severity=Severity.INFORMATION)
    if log is None:
        return minor.unknown(case.why_unknown(KERNEL_LOG_QUESTION))  # usually only root may read it
    recent_s = case.bound(_RECENT)
    if case.interval is not None:
        recent_s = max(recent_s, (settings.read_at_ns - case.interval.before.taken_at_ns) / NS_PER_S)
    age_s = {kind: _age_s(settings, trouble.last_us) for kind, trouble in log.trouble_by_kind.items()}
    evidence = {
        kind: {"lines": trouble.count, "last_s_ago": round(age_s[kind], 1), "culprits": list(trouble.culprits)}
        for kind, trouble in sorted(log.trouble_by_kind.items())
    }
    graded = case.graded(limit=recent_s, unit="seconds", evidence=evidence, limit_role=LOOKED_BACK)
    recent = sorted((kind for kind in age_s if age_s[kind] <= recent_s), key=lambda kind: age_s[kind])
    if recent:
        culprits = {kind: log.trouble_by_kind[kind].culprits for kind in recent}
        text = ", ".join(f"{kind} ({', '.join((*culprits[kind], _ago(age_s[kind])))})" for kind in recent)
        return graded.fails(text, measured=age_s[recent[0]])
    if not log.is_complete:
        return minor.unknown(f"{KERNEL_LOG}: the log is longer than the part that was read")
    if log.since_us and _age_s(settings, log.since_us) < recent_s:
        oldest = _ago(_age_s(settings, log.since_us))
        return minor.unknown(f"{KERNEL_LOG}: entries from more than {oldest} were overwritten")
    older = ", ".join(f"{kind} ({_ago(age_s[kind])})" for kind in sorted(age_s, key=lambda kind: age_s[kind]))
    return graded.passes(f"none recently; earlier: {older}" if older else "no errors logged")


def _age_s(settings: Settings, at_us: int) -> float:
    """Return the age of a log line (s). The log's clock is not corrected by NTP: after months it may be minutes off."""
    return max(settings.read_at_ns / NS_PER_S - at_us / _US_PER_S, 0.0)


def _ago(age_s: float) -> str:
    if age_s < 120:
        return f"{age_s:.0f} s ago"
    return f"{age_s / 60:.0f} min ago" if age_s < 7200 else f"{age_s / 3600:.0f} h ago"


_SETTLED = Limit(
    key="fails",
    name="uptime below which it fails",
    is_least=True,
    value=300.0,
    unit="seconds",
    reason="after booting services start, caches fill and jobs run",
)


@check(
    id="just-booted",
    area=Area.HARDWARE,
    question="Has the machine settled since it booted?",
    severity=Severity.WARNING,
    reads=(UPTIME,),
    limits=(_SETTLED,),
    why="For minutes after booting services start, updates run, huge pages are made and the machine heats up.",
    remedy="Wait.",
    sources=("https://docs.kernel.org/filesystems/proc.html", "https://github.com/softdevteam/krun"),
)
def just_booted(case: Case) -> Answer:
    uptime_s = case.snapshot.settings.uptime_s
    if uptime_s is None:
        return case.unread(UPTIME)
    graded = case.graded().by(_SETTLED, uptime_s)
    if uptime_s < case.bound(_SETTLED):
        return graded.fails(f"up for {uptime_s:.0f} s")
    return graded.passes(f"up for {_ago(uptime_s).removesuffix(' ago')}")


@check(
    id="boot-options-pending",
    area=Area.HARDWARE,
    question="Are the kernel options that were configured active?",
    severity=Severity.INFORMATION,
    reads=(COMMAND_LINE, "/etc/default/grub", "/etc/default/grub.d/*.cfg", "/etc/kernel/cmdline"),
    why=(
        "A kernel option in the boot loader's configuration does nothing until that configuration is regenerated and "
        "the machine reboots: isolation may be configured but not active."
    ),
    remedy="Regenerate the boot loader's files, and reboot.",
    sources=("https://www.gnu.org/software/grub/manual/grub/html_node/Simple-configuration.html",),
)
def boot_options_pending(case: Case) -> Answer:
    boot = case.snapshot.settings.boot_configuration
    if case.snapshot.platform.container not in (NONE, None):
        return not_applicable("a container does not boot its kernel")
    if case.snapshot.platform.container is None:
        return unknown("whether this is a container is unknown")
    if boot.active is None:
        return case.unread(COMMAND_LINE)
    if boot.configured is None:
        return case.unread("/etc/default/grub", "/etc/default", "/etc/kernel/cmdline")
    if not boot.said_by:
        return not_applicable("no readable boot loader configuration was found")
    pending = [*map(clean, sorted(_words(boot.configured) - _words(boot.active)))]
    configured = [*map(clean, sorted(_words(boot.configured)))]
    evidence = {"configured": configured, "pending": pending, "said_by": [*boot.said_by]}
    graded = case.graded(evidence=evidence)
    if not pending:
        return graded.passes("all configured options that affect noise are active")
    text = f"configured, but not active: {' '.join(pending)}"
    return graded.fails(text, measured=len(pending), limit=0, unit="options", fix=_write_out(boot.said_by))


def _words(options: Options) -> set[str]:
    return {f"{name}={value}" if value else name for name, values in options.items() for value in values}


def _write_out(said_by: tuple[str, ...]) -> Fix:
    """Return the fix that regenerates the boot loader's configuration; the command depends on the distribution."""
    if any("grub" in path for path in said_by):
        command = "sudo update-grub (Fedora: sudo grub2-mkconfig -o /boot/grub2/grub.cfg)"
    else:
        command = "sudo kernel-install add $(uname -r) /lib/modules/$(uname -r)/vmlinuz"
    words = f"regenerate the boot loader's configuration and reboot: {command}"
    return Fix(lasting=(ByHand(words, needs_reboot=True),))
