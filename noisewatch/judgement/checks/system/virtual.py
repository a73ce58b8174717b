"""Area `virtual`: the layers between the benchmark and the hardware, and how much of the machine they expose."""

from __future__ import annotations

import re

from noisewatch.judgement.answer import Answer, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.rules import SHARED
from noisewatch.judgement.terms import Area, Severity, Status
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.hypervisor import GVISOR, NAMED_GUESTS, PCI, PCI_TABLE, WSL
from noisewatch.kernel.system.platform import DMI, NONE
from noisewatch.kernel.system.release import BUILD, RELEASE
from noisewatch.kernel.tasks.own_process import NAMESPACE, STATUS
from noisewatch.patterns import regex
from noisewatch.program import as_root

_AMAZON = "amazon"
_INSTANCE_TYPE = regex(r"[a-z][a-z0-9-]*\.[a-z0-9-]+", re.ASCII)
_BURSTABLE = regex(r"t\d+[a-z]*\.")
_BY_HAND = {  # what the user can set outside of a guest
    WSL: (
        "in Windows choose a power plan that keeps the clock up (powercfg), and leave CPUs to Windows: processors=N "
        "below [wsl2] in %UserProfile%\\.wslconfig, then wsl --shutdown"
    ),
    GVISOR: "start the container with another runtime (docker run --runtime=runc; in Kubernetes another RuntimeClass)",
}


@check(
    id="virtual-machine",
    area=Area.VIRTUAL,
    question="Does the benchmark run on bare metal?",
    severity=Severity.WARNING,
    severity_in={SHARED: Severity.INFORMATION},
    reads=(
        "/proc/cpuinfo",
        f"{DMI}/{{sys_vendor,product_name,product_version,bios_vendor,board_vendor,board_name,chassis_vendor}}",
        f"{PCI}/*/{{vendor,subsystem_vendor}}, {PCI_TABLE}",
        "/sys/hypervisor/type, /proc/xen/capabilities, /proc/device-tree, /proc/sysinfo",
        f"{RELEASE}, {BUILD}, /proc/stat (steal)",
    ),
    why=(
        "A guest cannot see the frequency and temperature of its CPUs, which of them share a core, or what else runs "
        "on them. These have to be measured, repeatedly, because they change without notice. WSL has the clock that "
        "Windows' power plan gives it; gVisor answers system calls itself, and pins no thread to a CPU."
    ),
    remedy="Use a dedicated machine for changes below the measured noise floor.",
    sources=(
        "https://docs.kernel.org/virt/kvm/x86/cpuid.html",
        "https://man7.org/linux/man-pages/man1/virt-what.1.html",
        "https://learn.microsoft.com/en-us/windows/wsl/wsl-config",
        "https://gvisor.dev/docs/user_guide/compatibility/linux/amd64/",
        "https://github.com/util-linux/util-linux/blob/master/sys-utils/lscpu-virt.c",
    ),
)
def virtual_machine(case: Case) -> Answer:
    platform = case.snapshot.platform
    if platform.virtual is None:
        return unknown(platform.virtual_because or case.unread_reason("/proc/cpuinfo", f"{DMI}/sys_vendor"))
    graded = case.graded(
        evidence={
            "hypervisor": platform.virtual,
            "vendor": platform.vendor,
            "product": platform.product,
            "because": platform.virtual_because,
        }
    )
    if platform.virtual == NONE:
        return graded.passes("bare metal")
    text = NAMED_GUESTS.get(platform.virtual, f"a virtual machine ({platform.virtual})")
    if case.rules.profile == SHARED:
        return graded.passes(text)
    by_hand = _BY_HAND.get(platform.virtual)
    fix = Fix(lasting=(ByHand(by_hand),), needs_root=False) if by_hand is not None else None
    return graded.warns(text, fix=fix)


@check(
    id="inside-container",
    area=Area.VIRTUAL,
    question="Is the whole machine visible, not only a container?",
    severity=Severity.INFORMATION,
    reads=("/.dockerenv", "/run/.containerenv", "/run/systemd/container", "/proc/self/cgroup"),
    why=(
        "Inside a container, CPU times, interrupts and pressure are the whole host's, but only the container's "
        "processes and cgroups are visible. Load of the host is visible, but its culprit is not."
    ),
    remedy="Run noisewatch on the host, with --cpus for the container's CPUs.",
    sources=("https://man7.org/linux/man-pages/man7/pid_namespaces.7.html",),
)
def inside_container(case: Case) -> Answer:
    container = case.snapshot.platform.container
    if container is None:
        return case.unread("/.dockerenv", "/run/.containerenv", "/proc/self/cgroup")
    graded = case.graded(evidence={"container": container})
    if container == NONE:
        return graded.passes("no container")
    status = Status.PASS if case.rules.profile == SHARED else Status.WARN
    text = f"a container ({container}): it shows the host's CPU times and interrupts, but only its own processes"
    return graded.answer(status, text)


@check(
    id="burstable-instance",
    area=Area.VIRTUAL,
    question="Is this cloud instance independent of CPU credits?",
    severity=Severity.WARNING,
    reads=(f"{DMI}/sys_vendor", f"{DMI}/product_name"),
    why=(
        "Burstable instances pay for CPU time with credits. When these run out, in the middle of a run, the CPUs slow "
        "down to a fraction of their speed; the missing time shows as steal, or not at all."
    ),
    remedy="Use another instance type. Only Amazon's cloud exports the type to the guest.",
    sources=("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances.html",),
    is_hidden_from_guests=True,
)
def burstable_instance(case: Case) -> Answer:
    platform = case.snapshot.platform
    if platform.virtual == NONE:
        return case.graded().passes("not a cloud instance: bare metal")
    if platform.product is None:
        return case.unread(f"{DMI}/product_name")
    graded = case.graded(evidence={"vendor": platform.vendor, "product": platform.product})
    if platform.virtual != _AMAZON or _INSTANCE_TYPE.fullmatch(platform.product) is None:
        return unknown(f"{DMI}/product_name: {platform.product[:40]!r} does not name the instance type")
    if _BURSTABLE.match(platform.product):
        return graded.warns(f"{platform.product} is burstable")
    return graded.passes(f"{platform.product} is not burstable")


_PERFMON, _SYS_ADMIN = 38, 21
_NEEDED = {  # capabilities by their numbers in linux/capability.h
    _SYS_ADMIN: "CAP_SYS_ADMIN",
    1: "CAP_DAC_OVERRIDE",
    17: "CAP_SYS_RAWIO",
    19: "CAP_SYS_PTRACE",
    23: "CAP_SYS_NICE",
    34: "CAP_SYSLOG",
    _PERFMON: "CAP_PERFMON",
}


@check(
    id="privileges-limited",
    area=Area.VIRTUAL,
    question="Can noisewatch read everything?",
    severity=Severity.INFORMATION,
    reads=(f"{STATUS} (CapEff)", NAMESPACE, Knob.LOCKDOWN, Knob.SECURITY_MODULES),
    why=(
        "Some files are readable by root only, and a locked-down kernel (Secure Boot) denies model-specific registers "
        "and tracing even to root. This may be why other checks are unknown."
    ),
    remedy='Run noisewatch as root if an important check is unknown: sudo "$(command -v noisewatch)" preflight.',
    sources=(
        "https://man7.org/linux/man-pages/man7/capabilities.7.html",
        "https://man7.org/linux/man-pages/man7/kernel_lockdown.7.html",
    ),
)
def privileges_limited(case: Case) -> Answer:
    own = case.snapshot.settings.own
    status = own.status
    lockdown = _lockdown(case)
    missing = None if status is None else _missing_capabilities(status.capabilities)
    graded = case.graded(evidence={"missing_capabilities": missing, "lockdown": lockdown})
    limits = [f"without {', '.join(missing)}" if len(missing) < len(_NEEDED) else "not root"] if missing else []
    if own.is_in_user_namespace and not missing:
        limits.append("root of a user namespace, not of the machine")
    if lockdown not in (None, NONE):
        limits.append(f"the kernel is locked down ({lockdown})")
    if limits:
        text = "; ".join(limits)
        if missing and case.snapshot.is_live:
            text += f"; to read everything: {as_root('preflight', is_here=True)}"
        return graded.warns(text)
    if missing is None or own.is_in_user_namespace is None:
        return case.unread(STATUS if missing is None else NAMESPACE)
    if lockdown is None:
        return unknown(f"{case.unread_reason(Knob.LOCKDOWN)} (is securityfs mounted?)")
    return graded.passes("all privileges, no lockdown")


def _missing_capabilities(capabilities: int) -> list[str]:
    """Return the missing capabilities. CAP_SYS_ADMIN stands in for CAP_PERFMON, which Linux 5.8 introduced."""
    held = {number for number in _NEEDED if capabilities >> number & 1}
    if _SYS_ADMIN in held:
        held.add(_PERFMON)
    return [name for number, name in _NEEDED.items() if number not in held]


def _lockdown(case: Case) -> str | None:
    """Return the lockdown level, or None if unknown; `none` if lockdown is not among the kernel's security modules."""
    knobs = case.snapshot.settings.knobs
    level = knobs.word(Knob.LOCKDOWN)
    if level is not None:
        return level
    modules = knobs.text_by_path.get(Knob.SECURITY_MODULES)
    is_without = Knob.LOCKDOWN in knobs.absent and modules and "lockdown" not in modules.split(",")
    return NONE if is_without else None
