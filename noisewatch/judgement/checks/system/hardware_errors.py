"""Area `hardware`: how the machine booted, what its kernel has logged since, and the errors that hardware reports."""

from __future__ import annotations

from noisewatch.judgement.answer import LOOKED_BACK, Answer, Counted, Limit, not_applicable, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import growth_by_name, uncounted_reason
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import hardware_without
from noisewatch.judgement.rules import IO, STRICT
from noisewatch.judgement.terms import Area, Severity, Status
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import Settings
from noisewatch.kernel.system.boot_configuration import Options
from noisewatch.kernel.system.hardware_errors import (
    CONTROLLERS,
    CORRECTED,
    DEVICES,
    PORT_SERVICES,
    PORT_TOTAL,
    UNCORRECTED,
)
from noisewatch.kernel.system.log import PATH as KERNEL_LOG
from noisewatch.kernel.system.log import QUESTION as KERNEL_LOG_QUESTION
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.release import COMMAND_LINE
from noisewatch.kernel.system.release import PATH as UPTIME
from noisewatch.model.interval.interval import Interval
from noisewatch.text import clean
from noisewatch.units import NS_PER_S, describe_count

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
        "The kernel logs heat, power limits and under-voltage; failing memory, disks and links; stuck CPUs; work and "
        "handlers that hold a CPU for long; split locks; an unstable clock source; and processes killed because "
        "memory ran out. It logs a problem when it occurs, often with a name. Later, the counters that other checks "
        "read may be quiet again."
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
        return minor.unknown(case.unread_reason(KERNEL_LOG_QUESTION))  # usually only root may read it
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
    name="uptime below which the check fails",
    is_least=True,
    value=300.0,
    unit="seconds",
    reason="services start, caches fill and jobs run after a boot",
)


@check(
    id="just-booted",
    area=Area.HARDWARE,
    question="Has the machine settled since it booted?",
    severity=Severity.WARNING,
    reads=(UPTIME,),
    limits=(_SETTLED,),
    why="In the minutes after a boot, services start, updates run, huge pages are made and the machine heats up.",
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
    question="Are all configured kernel options that affect noise active?",
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
        return unknown("cannot tell whether this is a container")
    if boot.active is None:
        return case.unread(COMMAND_LINE)
    if boot.configured is None:
        return case.unread("/etc/default/grub", "/etc/default", "/etc/kernel/cmdline")
    if not boot.paths:
        return not_applicable("no readable boot loader configuration was found")
    pending = [*map(clean, sorted(_words(boot.configured) - _words(boot.active)))]
    configured = [*map(clean, sorted(_words(boot.configured)))]
    evidence = {"configured": configured, "pending": pending, "said_by": [*boot.paths]}
    graded = case.graded(evidence=evidence)
    if not pending:
        return graded.passes("all configured options that affect noise are active")
    text = f"configured, but not active: {' '.join(pending)}"
    return graded.fails(text, measured=len(pending), limit=0, unit="options", fix=_regenerate(boot.paths))


def _words(options: Options) -> set[str]:
    return {f"{name}={value}" if value else name for name, values in options.items() for value in values}


def _regenerate(paths: tuple[str, ...]) -> Fix:
    """Return the fix that regenerates the boot loader's configuration; the command depends on the distribution."""
    if any("grub" in path for path in paths):
        command = "sudo update-grub (Fedora: sudo grub2-mkconfig -o /boot/grub2/grub.cfg)"
    else:
        command = "sudo kernel-install add $(uname -r) /lib/modules/$(uname -r)/vmlinuz"
    words = f"regenerate the boot loader's configuration and reboot: {command}"
    return Fix(lasting=(ByHand(words, needs_reboot=True),))


_EXCEPTIONS, _POLLS = "MCE", "MCP"
_CORRECTED_ERRORS = ("THR", "DFR")  # rows of /proc/interrupts: corrected errors above a threshold, and deferred errors
_POLL_EVERY_S = 300.0  # the kernel's default of machinecheck0/check_interval
_NO_EXCEPTION = Limit(
    key="fails",
    name="machine check exceptions",
    value=0,
    unit="exceptions",
    reason="an exception stops all CPUs; sound hardware has none",
)


@check(
    id="machine-checks",
    area=Area.HARDWARE,
    question="Is the processor free of reported hardware errors?",
    severity=Severity.WARNING,
    reads=(f"{INTERRUPTS} (MCE, MCP, THR, DFR) over the sample and the calibration", Knob.MACHINE_CHECK_INTERVAL),
    limits=(_NO_EXCEPTION,),
    why=(
        "A machine check exception stops all CPUs at once. Corrected errors cost time as well: firmware and kernel "
        "read them, and while they keep coming the kernel polls each CPU more and more often."
    ),
    remedy="Read the kernel log (ras-mc-ctl, mcelog): a memory module, the cooling or the processor is failing.",
    sources=("https://docs.kernel.org/arch/x86/x86_64/machinecheck.html",),
    asks_rates=True,
    sees_load=True,
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def machine_checks(case: Case) -> Answer:
    tables = [table for interval in case.intervals for table in (interval.before.interrupts, interval.after.interrupts)]
    if None in tables:
        return case.unread(INTERRUPTS)
    if not any(row.label == _EXCEPTIONS for table in tables if table is not None for row in table.rows):
        if isinstance(case.snapshot.platform.tsc_flags, str):
            return not_applicable("this kernel counts no machine checks")
        return unknown(f"{INTERRUPTS}: lacks the machine check row that x86 has near the end")
    counts = [_counts(interval) for interval in case.intervals]
    known_counts = [count for count in counts if count is not None]
    exceptions = sum(count.get(_EXCEPTIONS, 0) for count in known_counts)
    corrected = sum(count.get(label, 0) for count in known_counts for label in _CORRECTED_ERRORS)
    polls = sum(count.get(_POLLS, 0) for count in known_counts)
    graded = case.graded(evidence={"exceptions": exceptions, "corrected": corrected, "polls": polls})
    if exceptions > case.bound(_NO_EXCEPTION):
        return graded.by(_NO_EXCEPTION, exceptions).fails(f"{exceptions} machine check exceptions")
    if corrected:
        text = f"{corrected} interrupts for corrected errors"
        return graded.warns(text, measured=corrected, limit=0, unit="interrupts")
    polled_often = [interval for interval in case.intervals if _most_polls(interval) > _expected_polls(case, interval)]
    if polled_often:
        polls, seconds = _most_polls(polled_often[0]), polled_often[0].seconds
        text = f"the kernel polled for errors {polls} times in {seconds:.0f} s on one CPU"
        return graded.warns(text)
    reasons = [reason for interval in case.intervals if (reason := uncounted_reason(case, interval, case.running))]
    if reasons:
        return unknown(reasons[0])
    if case.snapshot.platform.virtual != NONE:
        return unknown(f"no errors, but {case.guest_words} may not see the errors of its host")
    return graded.by(_NO_EXCEPTION, 0).passes("no machine checks")


def _counts(interval: Interval) -> dict[str, int] | None:
    """Return the sum over all CPUs of each row without an IRQ number, or None if unknown."""
    rows = interval.interrupts.rows
    return None if rows is None else {row.label: sum(row.count_by_cpu.values()) for row in rows if row.irq is None}


def _most_polls(interval: Interval) -> int:
    rows = interval.interrupts.rows or ()
    return max((count for row in rows if row.label == _POLLS for count in row.count_by_cpu.values()), default=0)


def _expected_polls(case: Case, interval: Interval) -> float:
    """Return how often, at most, the kernel polls a CPU for machine checks in the interval if there are no errors."""
    set_s = case.snapshot.settings.knobs.integer(Knob.MACHINE_CHECK_INTERVAL)
    return 1 + interval.seconds / (set_s if set_s is not None and set_s > 0 else _POLL_EVERY_S)


_NO_CORRECTED = Limit(
    key="passes",
    name="corrected memory errors that pass",
    value=0,
    unit="errors",
    reason="sound memory has one error in months, failing memory has many at once",
)
_NO_UNCORRECTED = Limit(
    key="fails",
    name="uncorrected memory errors since boot",
    value=0,
    unit="errors",
    reason="data was lost: no measurement on this machine can be trusted",
)


@check(
    id="memory-errors",
    area=Area.HARDWARE,
    question="Is the memory free of errors?",
    severity=Severity.WARNING,
    reads=tuple(f"{CONTROLLERS}/mcN/{name} over the sample and the calibration" for name in (CORRECTED, UNCORRECTED)),
    limits=(_NO_CORRECTED, _NO_UNCORRECTED),
    why=(
        "The firmware or the kernel handles each corrected error, which can stop all CPUs for up to milliseconds; no "
        "other check explains such gaps."
    ),
    remedy="Replace the memory module that the kernel log, or ras-mc-ctl --errors, names.",
    sources=("https://docs.kernel.org/admin-guide/RAS/main.html",),
    asks_rates=True,
    sees_load=True,
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def memory_errors(case: Case) -> Answer:
    controllers = case.snapshot.settings.error_counters.controllers
    if controllers is None:
        return case.unread(CONTROLLERS)
    if not controllers:
        return hardware_without(case, "driver that counts memory errors (EDAC)")
    so_far = case.intervals[-1].after.background.hardware_errors
    uncorrected = [so_far.uncorrected_by_controller.get(name) for name in controllers]
    growths = [
        growth_by_name(interval, lambda moment: moment.background.hardware_errors.corrected_by_controller, controllers)
        for interval in case.intervals
    ]
    new = sum(count for counts in growths for count in counts.values() if count is not None)
    lost = sum(count for count in uncorrected if count is not None)
    unknown_reason = None
    if None in uncorrected or any(None in counts.values() for counts in growths):
        unknown_reason = case.unread_reason(*(f"{CONTROLLERS}/{name}" for name in controllers))
    elif not case.snapshot.settings.error_counters.has_all_controllers:
        unknown_reason = f"no errors, but only {len(controllers)} memory controllers were read; there are more"
    graded = case.graded(
        evidence={
            "new_corrected": new,
            "corrected_by_controller": dict(so_far.corrected_by_controller),
            "uncorrected_by_controller": dict(so_far.uncorrected_by_controller),
        }
    )
    corrected = f"{describe_count(new, 'error')} {'was' if new == 1 else 'were'} corrected"
    counts = (
        Counted(lost, _NO_UNCORRECTED, Status.FAIL, describe_count(lost, "uncorrected error")),
        Counted(new, _NO_CORRECTED, Status.WARN, corrected),
    )
    return graded.by_counts(counts, "no memory errors", unknown_reason)


_NO_MESSAGE = Limit(
    key="fails", name="PCI Express error messages", value=0, unit="messages", reason="a sound link has none in days"
)


@check(
    id="pcie-errors",
    area=Area.HARDWARE,
    question="Are the PCI Express links free of errors?",
    severity=Severity.INFORMATION,
    reads=(f"{DEVICES}/*/{PORT_TOTAL} over the sample and the calibration",),
    limits=(_NO_MESSAGE,),
    why=(
        "A repeated transfer takes longer, and each message about a corrected error interrupts a CPU. A bad link can "
        "send thousands a second."
    ),
    remedy=(
        "See which device counts the errors (grep TOTAL /sys/bus/pci/devices/*/aer_dev_correctable); reseat that "
        "device, or boot with pcie_aspm=off."
    ),
    sources=("https://docs.kernel.org/PCI/pcieaer-howto.html",),
    asks_rates=True,
    sees_load=True,
    severity_in={IO: Severity.WARNING, STRICT: Severity.WARNING},
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def pcie_errors(case: Case) -> Answer:
    ports = case.snapshot.settings.error_counters.ports
    if ports is None:
        return case.unread(PORT_SERVICES)
    if not ports:
        return hardware_without(case, "root port that reports errors (AER)")
    growths = [
        growth_by_name(interval, lambda moment: moment.background.hardware_errors.messages_by_port, ports)
        for interval in case.intervals
    ]
    new_by_port = {port: sum(counts[port] or 0 for counts in growths) for port in ports}
    new, worst = sum(new_by_port.values()), max(new_by_port, key=lambda port: new_by_port[port])
    unknown_reason = None
    if any(None in counts.values() for counts in growths):
        unknown_reason = case.unread_reason(*(f"{DEVICES}/{port}/{PORT_TOTAL}" for port in ports))
    elif not case.snapshot.settings.error_counters.has_all_ports:
        unknown_reason = f"no errors, but only {len(ports)} root ports were read; there are more"
    text = f"{new} messages about corrected errors, most below port {worst}"
    graded = case.graded(evidence={"new_by_port": {port: count for port, count in new_by_port.items() if count}})
    counts = [Counted(new, _NO_MESSAGE, Status.FAIL, text)]
    return graded.by_counts(counts, f"no errors at {len(ports)} root ports", unknown_reason)
