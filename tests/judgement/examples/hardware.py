"""Area `hardware`."""

from __future__ import annotations

from typing import Any

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.hardware_errors import CONTROLLERS, DEVICES, PORT_SERVICES, PORT_TOTAL
from noisewatch.kernel.system.log import QUESTION
from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet.hardware import PORT
from tests.written.quiet_machine import quiet_files

_CORRECTED, _UNCORRECTED = f"{CONTROLLERS}/mc0/ce_count", f"{CONTROLLERS}/mc0/ue_count"
_MESSAGES = f"{DEVICES}/{PORT}/{PORT_TOTAL}"
_GRUB, _KERNEL_INSTALL = "/etc/default/grub", "/etc/kernel/cmdline"


def _rows(seconds: float, mce: int = 0, mcp: int = 0, thr: int = 0) -> dict[str, str]:
    """The interrupts with other counts of CPU 0, and a row of thresholds."""
    text = quiet_files(seconds)["/proc/interrupts"]
    text = text.replace("MCE:          0", f"MCE: {mce}").replace("MCP:          0", f"MCP: {mcp}")
    return {"/proc/interrupts": text + f"THR: {thr} 0 0 0 Threshold APIC interrupts\n"}


def _complaint(kind: str, at_s: float, is_complete: bool = True) -> dict[str, Any]:
    return {QUESTION: {"troubles": {kind: [3, round(at_s * 1_000_000)]}, "is_complete": is_complete}}


def _log_since(at_s: float) -> dict[str, Any]:
    return {QUESTION: {"troubles": {}, "is_complete": True, "since_us": round(at_s * 1_000_000)}}


def _grub(options: str) -> dict[str, str]:
    return {_GRUB: f"GRUB_CMDLINE_LINUX_DEFAULT='quiet splash {options}'\n"}


_NO_MCE = {"/proc/interrupts": "".join(f"{x}\n" for x in _rows(0.0)["/proc/interrupts"].splitlines() if "MC" not in x)}

_ARM = {"/proc/cpuinfo": "processor : 0\nBogoMIPS : 50.00\nFeatures : fp asimd\nCPU implementer : 0x41\n"}
_CONTROLLERS = {f"{CONTROLLERS}/mc{number}/{name}_count": "0\n" for number in range(33) for name in ("ce", "ue")}
_PORTS = [f"0000:{bus:02x}:1c.1" for bus in range(65)]
_MANY_PORTS = {f"{PORT_SERVICES}/{port}:pcie002/uevent": "" for port in _PORTS}
_MANY_PORTS |= {f"{DEVICES}/{port}/{PORT_TOTAL}": "0\n" for port in _PORTS}

EXAMPLES = [
    Example("machine-checks", "pass", _rows(0.0), after=_rows(3.0, mcp=1)),
    Example("machine-checks", "fail", _rows(0.0), "4 machine check", after=_rows(3.0, mce=4), loaded=_rows(6.0, 4)),
    Example("machine-checks", "fail", _rows(0.0), "4 machine check", loaded=_rows(6.0, mce=4)),
    Example("machine-checks", "warn", _rows(0.0), "corrected", after=_rows(3.0, thr=1)),
    Example("machine-checks", "warn", _rows(0.0), "polled for errors 3 times", after=_rows(3.0, mcp=3)),
    Example(
        *("machine-checks", "pass", _rows(0.0) | {Knob.MACHINE_CHECK_INTERVAL: "1\n"}),
        after=_rows(3.0, mcp=3),
    ),
    Example("machine-checks", "not-applicable", _NO_MCE | _ARM, "counts no machine checks"),
    Example("machine-checks", "unknown", _NO_MCE, "no row of machine checks"),
    Example("machine-checks", "unknown", _NO_MCE, gone=("/proc/cpuinfo",)),
    Example("machine-checks", "unknown", VIRTUAL, "may not be told"),
    Example("machine-checks", "fail", _rows(0.0) | VIRTUAL, after=_rows(3.0, mce=1), loaded=_rows(6.0, mce=1)),
    Example("machine-checks", "unknown", gone=("/proc/interrupts",)),
    Example("memory-errors", "warn", {}, "3 errors were corrected", after={_CORRECTED: "5\n"}),
    Example("memory-errors", "warn", {}, "1 errors were corrected", loaded={_CORRECTED: "3\n"}),
    Example("memory-errors", "pass", {_CORRECTED: "900\n"}),
    Example("memory-errors", "fail", {_UNCORRECTED: "1\n"}, "could not be corrected"),
    Example("memory-errors", "unknown", {_UNCORRECTED: "rubbish\n"}),
    Example("memory-errors", "unknown", {}, after={_CORRECTED: "0\n"}),
    Example("memory-errors", "unknown", gone=(_CORRECTED,)),
    Example("memory-errors", "unknown", gone=(CONTROLLERS,), is_copy=True),
    Example("memory-errors", "unknown", _CONTROLLERS, "more memory controllers than the 32"),
    Example("memory-errors", "not-applicable", gone=(CONTROLLERS,)),
    Example("memory-errors", "unknown", _ARM, "may be a virtual machine", gone=(CONTROLLERS,)),
    Example(
        "pcie-errors",
        "fail",
        {},
        f"3 messages of corrected errors, most of them below port {PORT}",
        after={_MESSAGES: "20\n"},
    ),
    Example("pcie-errors", "fail", {}, "1 messages", loaded={_MESSAGES: "18\n"}, rules=Rules("io")),
    Example("pcie-errors", "unknown", gone=(_MESSAGES,)),
    Example("pcie-errors", "unknown", {}, after={_MESSAGES: "3\n"}),
    Example("pcie-errors", "unknown", gone=(PORT_SERVICES,), is_copy=True),
    Example("pcie-errors", "unknown", _MANY_PORTS, "more root ports than the 64"),
    Example("pcie-errors", "not-applicable", gone=(PORT_SERVICES,)),
    Example("pcie-errors", "unknown", _ARM, "may be a virtual machine", gone=(PORT_SERVICES,)),
    Example("kernel-log-troubled", "fail", {}, "lock-up (0 s ago)", answers=_complaint("lock-up", 5.0)),
    Example("kernel-log-troubled", "fail", {}, "disk (1 s ago)", answers=_complaint("disk", 0.0)),
    Example("kernel-log-troubled", "unknown", answers={QUESTION: None}),
    Example("kernel-log-troubled", "unknown", answers={QUESTION: {"troubles": {}, "is_complete": False}}),
    Example("kernel-log-troubled", "unknown", answers={QUESTION: {"troubles": {"disk": "?"}, "is_complete": True}}),
    Example("kernel-log-troubled", "unknown", {}, "is overwritten", answers=_log_since(4.0)),
    Example("kernel-log-troubled", "pass", answers=_log_since(0.0)),
    Example("just-booted", "fail", {"/proc/uptime": "299.99 100.00\n"}, "up for 300 s"),
    Example("just-booted", "pass", {"/proc/uptime": "300.00 100.00\n"}, "5 min"),
    Example("just-booted", "unknown", {"/proc/uptime": "soon\n"}),
    Example("just-booted", "unknown", gone=("/proc/uptime",)),
    Example("boot-options-pending", "fail", _grub("isolcpus=2-7 nohz_full=2-3"), "not active: isolcpus=2-7"),
    Example("boot-options-pending", "fail", {_KERNEL_INSTALL: "root=/dev/sda nosmt\n"}, "nosmt", gone=(_GRUB,)),
    Example("boot-options-pending", "fail", {"/etc/default/grub.d/50-x.cfg": 'GRUB_CMDLINE_LINUX="nosmt"\n'}, "nosmt"),
    Example("boot-options-pending", "pass", _grub("rd.luks.key=secret")),
    Example("boot-options-pending", "unknown", {"/etc/default/grub.d/50-x.cfg/a": ""}, "directory"),
    Example("boot-options-pending", "unknown", gone=("/proc/cmdline",)),
    Example("boot-options-pending", "unknown", gone=(_GRUB,), is_copy=True),
    Example("boot-options-pending", "not-applicable", gone=(_GRUB,)),
    Example("boot-options-pending", "not-applicable", _grub("nosmt") | {"/.dockerenv": ""}, "container"),
]
