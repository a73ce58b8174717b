"""Area `hardware`: errors that the processor, the memory and the devices report."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Counted, Limit, check, not_applicable, unknown
from noisewatch.judgement.counted import grown, why_uncounted
from noisewatch.judgement.grading import hardware_without
from noisewatch.judgement.rules import IO, STRICT
from noisewatch.judgement.terms import Area, Severity, Status
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.hardware_errors import (
    CONTROLLERS,
    CORRECTED,
    DEVICES,
    PORT_SERVICES,
    PORT_TOTAL,
    UNCORRECTED,
)
from noisewatch.kernel.system.platform import NONE
from noisewatch.model.interval.interval import Interval

_EXCEPTIONS, _POLLS = "MCE", "MCP"
_CORRECTED_ERRORS = ("THR", "DFR")  # more corrected errors than a threshold, an error that was put off
_POLL_EVERY_S = 300.0  # unless machinecheck0/check_interval differs
_NO_EXCEPTION = Limit(
    key="fails",
    name="machine check exceptions",
    value=0,
    unit="exceptions",
    reason="each stops all CPUs; sound hardware has none",
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
        "read them, and while they keep coming the kernel polls each CPU every second."
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
        return unknown(f"{INTERRUPTS}: no machine check row, which x86 has near the end")
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
    hurried = [interval for interval in case.intervals if _most_polls(interval) > _polls_expected(case, interval)]
    if hurried:
        text = f"the kernel polled for errors {_most_polls(hurried[0])} times in {hurried[0].seconds:.0f} s on one CPU"
        return graded.warns(text)
    reasons = [why for interval in case.intervals if (why := why_uncounted(case, interval, case.running))]
    if reasons:
        return unknown(reasons[0])
    if case.snapshot.platform.virtual != NONE:
        return unknown(f"none, but {case.guest_words} may not see those of its host")
    return graded.by(_NO_EXCEPTION, 0).passes("no machine checks")


def _counts(interval: Interval) -> dict[str, int] | None:
    """Return the sum over all CPUs of each row without an IRQ number, or None if unknown."""
    rows = interval.interrupts.rows
    return None if rows is None else {row.label: sum(row.count_by_cpu.values()) for row in rows if row.irq is None}


def _most_polls(interval: Interval) -> int:
    rows = interval.interrupts.rows or ()
    return max((count for row in rows if row.label == _POLLS for count in row.count_by_cpu.values()), default=0)


def _polls_expected(case: Case, interval: Interval) -> float:
    """Return how often a CPU is expected to be polled for machine checks when there are no errors."""
    set_s = case.snapshot.settings.knobs.integer(Knob.MACHINE_CHECK_INTERVAL)
    return 1 + interval.seconds / (set_s if set_s is not None and set_s > 0 else _POLL_EVERY_S)


_NO_CORRECTED = Limit(
    key="passes",
    name="corrected memory errors that pass",
    value=0,
    unit="errors",
    reason="sound memory has one in months, failing memory has bursts",
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
        "Firmware or kernel handle each corrected error, which can stop all CPUs for up to milliseconds; no other "
        "check explains such gaps."
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
    growths = [grown(interval, _corrected, controllers) for interval in case.intervals]
    new = sum(count for counts in growths for count in counts.values() if count is not None)
    lost = sum(count for count in uncorrected if count is not None)
    why_unknown = None
    if None in uncorrected or any(None in counts.values() for counts in growths):
        why_unknown = case.why_unknown(*(f"{CONTROLLERS}/{name}" for name in controllers))
    elif not case.snapshot.settings.error_counters.has_all_controllers:
        why_unknown = f"none, but only {len(controllers)} memory controllers were read; there are more"
    graded = case.graded(
        evidence={
            "new_corrected": new,
            "corrected_by_controller": dict(so_far.corrected_by_controller),
            "uncorrected_by_controller": dict(so_far.uncorrected_by_controller),
        }
    )
    counts = (
        Counted(lost, _NO_UNCORRECTED, Status.FAIL, f"{lost} uncorrected errors"),
        Counted(new, _NO_CORRECTED, Status.WARN, f"{new} errors were corrected"),
    )
    return graded.by_counts(counts, "no memory errors", why_unknown)


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
        "See which device counts them (grep TOTAL /sys/bus/pci/devices/*/aer_dev_correctable); reseat it, or boot with "
        "pcie_aspm=off."
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
    growths = [grown(interval, _messages, ports) for interval in case.intervals]
    new_by_port = {port: sum(counts[port] or 0 for counts in growths) for port in ports}
    new, worst = sum(new_by_port.values()), max(new_by_port, key=lambda port: new_by_port[port])
    why_unknown = None
    if any(None in counts.values() for counts in growths):
        why_unknown = case.why_unknown(*(f"{DEVICES}/{port}/{PORT_TOTAL}" for port in ports))
    elif not case.snapshot.settings.error_counters.has_all_ports:
        why_unknown = f"none, but only {len(ports)} root ports were read; there are more"
    text = f"{new} messages about corrected errors, most below port {worst}"
    graded = case.graded(evidence={"new_by_port": {port: count for port, count in new_by_port.items() if count}})
    counts = [Counted(new, _NO_MESSAGE, Status.FAIL, text)]
    return graded.by_counts(counts, f"none at {len(ports)} root ports", why_unknown)


def _messages(snapshot: Snapshot) -> Mapping[str, int | None]:
    return snapshot.background.hardware_errors.messages_by_port


def _corrected(snapshot: Snapshot) -> Mapping[str, int | None]:
    return snapshot.background.hardware_errors.corrected_by_controller
