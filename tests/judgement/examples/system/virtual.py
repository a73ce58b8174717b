"""Virtual machines, containers and privileges."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.hypervisor import PCI_TABLE
from noisewatch.kernel.system.platform import DMI
from noisewatch.kernel.system.release import BUILD, RELEASE
from noisewatch.kernel.tasks.own_process import NAMESPACE, STATUS
from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet.tasks import own_status

_ARM = {"/proc/cpuinfo": "processor : 0\nFeatures : fp asimd\n"}
_SHARED = Rules("shared")
_DOCKER = {"/.dockerenv": ""}
_INSIDE_CONTAINER = [
    Example("inside-container", "warn", _DOCKER, "docker"),
    Example("inside-container", "pass", _DOCKER, "docker", rules=_SHARED),
    Example("inside-container", "unknown", is_copy=True),
]
_PRIVILEGES = [
    Example("privileges-limited", "warn", {STATUS: own_status(capabilities="0" * 16)}, "not root"),
    Example(
        *("privileges-limited", "warn", {STATUS: own_status(capabilities="00000000a80425fb")}),
        named="CAP_SYS_ADMIN, CAP_SYS_RAWIO, CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_SYSLOG, CAP_PERFMON",
    ),
    Example("privileges-limited", "pass", {STATUS: own_status(capabilities="0000003fffffffff")}),
    Example("privileges-limited", "warn", named="root of a user namespace", answers={NAMESPACE: False}),
    Example("privileges-limited", "unknown", named=NAMESPACE, answers={NAMESPACE: None}),
    Example("privileges-limited", "warn", {Knob.LOCKDOWN: "none [integrity] confidentiality\n"}, "(integrity)"),
    Example("privileges-limited", "pass", {Knob.SECURITY_MODULES: "capability,yama"}, gone=(Knob.LOCKDOWN,)),
    Example("privileges-limited", "unknown", {Knob.SECURITY_MODULES: "lockdown,yama"}, gone=(Knob.LOCKDOWN,)),
    Example("privileges-limited", "unknown", {}, "securityfs", gone=(Knob.LOCKDOWN,)),
    Example("privileges-limited", "unknown", {Knob.LOCKDOWN: "rubbish\n"}),
    Example("privileges-limited", "unknown", gone=(STATUS,)),
    Example("privileges-limited", "unknown", {STATUS: "rubbish\n"}, "TracerPid"),
]


def _amazon(product: str, vendor: str = "Amazon EC2") -> dict[str, str]:
    return VIRTUAL | {f"{DMI}/sys_vendor": f"{vendor}\n", f"{DMI}/product_name": f"{product}\n"}


def _release(release: str) -> dict[str, str]:
    return VIRTUAL | {RELEASE: f"{release}\n"}


_VIRTUAL_MACHINE = [
    Example("virtual-machine", "warn", VIRTUAL, "unidentified"),
    Example("virtual-machine", "warn", _amazon("m5.large"), "amazon"),
    Example("virtual-machine", "warn", VIRTUAL, "a virtual machine", rules=Rules("strict")),
    Example("virtual-machine", "pass", VIRTUAL, "a virtual machine", rules=_SHARED),
    Example("virtual-machine", "warn", _release("5.15.90.1-microsoft-standard-WSL2"), "WSL, a guest of Windows"),
    Example("virtual-machine", "pass", _release("4.4.0-19041-Microsoft"), "WSL", rules=_SHARED),
    Example("virtual-machine", "warn", _release("4.19.0-gvisor"), "gVisor"),
    Example("virtual-machine", "warn", {BUILD: "#1 SMP Sun Jan 10 15:06:54 PST 2016\n"}, "gVisor"),
    Example("virtual-machine", "warn", {PCI_TABLE: "0020\t80eecafe\t14\t\tvboxguest\n"}, "virtualbox"),
    Example("virtual-machine", "unknown", {}, "no PCI device is listed", gone=(PCI_TABLE,)),
    Example("virtual-machine", "unknown", {PCI_TABLE: "rubbish\n"}, PCI_TABLE),
    Example("virtual-machine", "unknown", _ARM),
    Example("virtual-machine", "unknown", gone=("/proc/cpuinfo",)),
]


_BURSTABLE = [
    Example("burstable-instance", "warn", _amazon("t3.micro"), "t3.micro is burstable"),
    Example("burstable-instance", "warn", _amazon("t4g.2xlarge"), "t4g.2xlarge is burstable"),
    Example("burstable-instance", "pass", _amazon("trn1.2xlarge"), "is not burstable"),
    Example("burstable-instance", "pass", _amazon("m5.large"), "m5.large"),
    Example("burstable-instance", "unknown", _amazon("t3.micro", "QEMU"), "does not name the instance type"),
    Example("burstable-instance", "unknown", _amazon("Google Compute Engine", "Google"), "'Google Compute Engine'"),
    Example("burstable-instance", "unknown", VIRTUAL, "product_name"),
    Example("burstable-instance", "not-applicable", VIRTUAL, "guest", rules=_SHARED),
]


EXAMPLES = [
    *_VIRTUAL_MACHINE,
    *_INSIDE_CONTAINER,
    *_BURSTABLE,
    *_PRIVILEGES,
]
