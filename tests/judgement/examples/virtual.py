"""Area `virtual`: the machine that is none, or only a part of one, and what others leave to a benchmark on it."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import DMI
from noisewatch.kernel.tasks.own_process import NAMESPACE, STAT, STATUS
from tests.judgement.example import Example
from tests.written import mounted
from tests.written.quiet.process import own_stat, own_status

_GUEST = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
_ARM = {"/proc/cpuinfo": "processor : 0\nFeatures : fp asimd\n"}
_DOCKER = {"/.dockerenv": ""}
_SHARED = Rules("shared")
_UNSEEN = {"/proc/self/cgroup": "0::/docker/4f\n"}


def _amazon(product: str, vendor: str = "Amazon EC2") -> dict[str, str]:
    return _GUEST | {f"{DMI}/sys_vendor": f"{vendor}\n", f"{DMI}/product_name": f"{product}\n"}


def _group(name: str = "ci", **values: str) -> dict[str, str]:
    """This process in a cgroup of its own, with files that say so."""
    folder = f"/sys/fs/cgroup/{name}"
    usual = {"weight": "100", "idle": "0", "uclamp_max": "max"} | values
    return {
        "/proc/self/cgroup": f"0::/{name}\n",
        f"{folder}/cgroup.controllers": "cpu\n",
        f"{folder}/cgroup.events": "populated 1\n",
        f"{folder}/cpu.max": "max 100000\n",
        f"{folder}/cpu.stat": "nr_throttled 0\n",
        **{f"{folder}/cpu.{key.replace('_', '.')}": f"{value}\n" for key, value in usual.items()},
    }


def _group_of_version_1(shares: str, **more: str) -> dict[str, str]:
    folder = "/sys/fs/cgroup/cpu"
    return {
        **mounted(f"cgroup {folder} cgroup rw,cpu 0 0\n"),
        "/proc/self/cgroup": "1:cpu:/ci\n",
        f"{folder}/release_agent": "\n",
        f"{folder}/cpu.shares": "1024\n",
        f"{folder}/ci/cpu.shares": f"{shares}\n",
        **{f"{folder}/ci/cpu.{key}": f"{value}\n" for key, value in more.items()},
    }


_VIRTUAL_MACHINE = [
    Example("virtual-machine", "warn", _GUEST, "unidentified"),
    Example("virtual-machine", "warn", _amazon("m5.large"), "amazon"),
    Example("virtual-machine", "warn", _GUEST, "a virtual machine", rules=Rules("strict")),
    Example("virtual-machine", "pass", _GUEST, "a virtual machine", rules=_SHARED),
    Example("virtual-machine", "unknown", _ARM),
    Example("virtual-machine", "unknown", gone=("/proc/cpuinfo",)),
]
_INSIDE_CONTAINER = [
    Example("inside-container", "warn", _DOCKER, "docker"),
    Example("inside-container", "pass", _DOCKER, "docker", rules=_SHARED),
    Example("inside-container", "unknown", is_copy=True),
]
_BURSTABLE = [
    Example("burstable-instance", "warn", _amazon("t3.micro"), "t3.micro is burstable"),
    Example("burstable-instance", "warn", _amazon("t4g.2xlarge"), "t4g.2xlarge is burstable"),
    Example("burstable-instance", "pass", _amazon("trn1.2xlarge"), "is not burstable"),
    Example("burstable-instance", "pass", _amazon("m5.large"), "m5.large"),
    Example("burstable-instance", "unknown", _amazon("t3.micro", "QEMU"), "does not tell the type"),
    Example("burstable-instance", "unknown", _amazon("Google Compute Engine", "Google"), "'Google Compute Engine'"),
    Example("burstable-instance", "unknown", _GUEST, "product_name"),
    Example("burstable-instance", "not-applicable", _GUEST, "guest", rules=_SHARED),
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
_PRIORITY = [
    Example("priority-lowered", "warn", {STAT: own_stat(nice=1)}, "nice value is 1"),
    Example("priority-lowered", "pass", {STAT: own_stat(nice=-5)}, "nice -5"),
    Example("priority-lowered", "pass", {STAT: own_stat(policy=1)}),
    Example("priority-lowered", "fail", {STAT: own_stat(policy=3)}, "policy is batch"),
    Example("priority-lowered", "fail", {STAT: own_stat(nice=19, policy=5)}, "policy is idle; the nice value is 19"),
    Example("priority-lowered", "pass", _group()),
    Example("priority-lowered", "pass", _group(weight="10000")),
    Example("priority-lowered", "warn", _group(weight="99"), "/ci has 99 of 100 cpu.weight"),
    Example("priority-lowered", "warn", _group(uclamp_max="45.00"), "clamped to 45%"),
    Example("priority-lowered", "fail", _group(weight="0", idle="1"), "/ci is idle"),
    Example("priority-lowered", "fail", _group("a/b") | {"/sys/fs/cgroup/a/cpu.idle": "1\n"}, "/a is idle"),
    Example("priority-lowered", "warn", _group_of_version_1("512"), "512 of 1024 cpu.shares"),
    Example("priority-lowered", "fail", _group_of_version_1("1024", idle="1"), "ci is idle"),
    Example("priority-lowered", "pass", _group_of_version_1("1024", idle="0")),
    Example("priority-lowered", "unknown", _group_of_version_1("rubbish"), "cpu.shares"),
    Example("priority-lowered", "unknown", _group_of_version_1("9"), gone=("/sys/fs/cgroup/cpu/ci",)),
    Example(
        *("priority-lowered", "unknown", _group_of_version_1("1024"), "container"),
        gone=("/sys/fs/cgroup/cpu/release_agent",),
    ),
    Example("priority-lowered", "unknown", _group(weight="rubbish"), "cpu.weight"),
    Example("priority-lowered", "unknown", _group(uclamp_max="101%"), "cpu.uclamp.max"),
    Example("priority-lowered", "unknown", _UNSEEN),
    Example("priority-lowered", "unknown", {"/sys/fs/cgroup/cgroup.events": "populated 1\n"}, "container"),
    Example("priority-lowered", "unknown", gone=("/proc/self/cgroup",)),
    Example("priority-lowered", "unknown", gone=(STAT,)),
    Example("priority-lowered", "unknown", {STAT: "4711 (python3) R 1 2\n"}, "41 fields"),
]

EXAMPLES = [*_VIRTUAL_MACHINE, *_INSIDE_CONTAINER, *_BURSTABLE, *_PRIVILEGES, *_PRIORITY]
