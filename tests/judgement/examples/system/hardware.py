"""Clocks, disks, hardware errors and uptime."""

from __future__ import annotations

from typing import Any

from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Severity
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.clock import QUESTION as CLOCK
from noisewatch.kernel.system.hardware_errors import CONTROLLERS, DEVICES, PORT_SERVICES, PORT_TOTAL
from noisewatch.kernel.system.log import QUESTION as KERNEL_LOG
from noisewatch.kernel.system.mounts import TEMPORARY_FILES
from noisewatch.machine import Json
from noisewatch.model.wanted import parse_description
from tests.judgement.example import VIRTUAL, Example, device_table, served_by_lxcfs
from tests.written.quiet.system import MDSTAT, PORT, diskstats
from tests.written.quiet_machine import quiet_files

_CLOCKS = "/sys/devices/system/clocksource/clocksource0"
_STEADY = "processor : 0\nflags : fpu tsc constant_tsc nonstop_tsc\n"
_ARM = {"/proc/cpuinfo": "processor : 0\nBogoMIPS : 50.00\nFeatures : fp asimd\nCPU implementer : 0x41\n"}
_CORRECTED, _UNCORRECTED = f"{CONTROLLERS}/mc0/ce_count", f"{CONTROLLERS}/mc0/ue_count"
_CONTROLLERS = {f"{CONTROLLERS}/mc{number}/{name}_count": "0\n" for number in range(33) for name in ("ce", "ue")}
_MESSAGES = f"{DEVICES}/{PORT}/{PORT_TOTAL}"
_PORTS = [f"0000:{bus:02x}:1c.1" for bus in range(65)]
_MANY_PORTS = {f"{PORT_SERVICES}/{port}:pcie002/uevent": "" for port in _PORTS} | {
    f"{DEVICES}/{port}/{PORT_TOTAL}": "0\n" for port in _PORTS
}
_GRUB, _KERNEL_INSTALL = "/etc/default/grub", "/etc/kernel/cmdline"
_THREE_LISTED = {"/sys/devices/system/cpu/online": "0-2\n"}
_DISKSTATS, _MDSTAT = "/proc/diskstats", "/proc/mdstat"
_WORK = "      [==>..................]  {} = 12.6% (246/1953) finish=165.2min speed=172213K/sec\n"
_SERVED = {
    "/proc/self/mounts": (
        "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
        "lxcfs /proc/loadavg fuse.lxcfs rw 0 0\n"
        "lxcfs /proc/diskstats fuse.lxcfs rw 0 0\n"
    )
}


def _rules(description: bytes) -> Rules:
    return Rules(wanted=parse_description(description, "machine.toml"))


def _rate(tick_us: int, ppm: int) -> dict[str, Json]:
    return {CLOCK: {"status": 0, "tick": tick_us, "freq": ppm * 65_536}}


def _rows(seconds: float, mce: int = 0, mcp: int = 0, thr: int = 0) -> dict[str, str]:
    """Return the interrupt table with these counts of machine checks and threshold interrupts on CPU 0."""
    text = quiet_files(seconds)["/proc/interrupts"]
    text = text.replace("MCE:          0", f"MCE: {mce}").replace("MCP:          0", f"MCP: {mcp}")
    return {"/proc/interrupts": text + f"THR: {thr} 0 0 0 Threshold APIC interrupts\n"}


_NO_MCE = {
    "/proc/interrupts": "".join(f"{row}\n" for row in _rows(0.0)["/proc/interrupts"].splitlines() if "MC" not in row)
}


_NO_TSC = {f"{_CLOCKS}/current_clocksource": "hpet\n", f"{_CLOCKS}/available_clocksource": "hpet acpi_pm \n"}


def _complaint(kind: str, at_s: float, *culprits: str) -> dict[str, Any]:
    return {KERNEL_LOG: {"troubles": {kind: [3, round(at_s * 1_000_000), *culprits]}, "is_complete": True}}


def _log_since(at_s: float) -> dict[str, Any]:
    return {KERNEL_LOG: {"troubles": {}, "is_complete": True, "since_us": round(at_s * 1_000_000)}}


def _grub(options: str) -> dict[str, str]:
    return {_GRUB: f"GRUB_CMDLINE_LINUX_DEFAULT='quiet splash {options}'\n"}


def _working(word: str) -> dict[str, str]:
    return {_MDSTAT: MDSTAT.replace("[UU]\n", "[UU]\n" + _WORK.format(word))}


def _busy(**ms: int) -> dict[str, str]:
    return {_DISKSTATS: diskstats(**ms)}


_DISKS = [
    Example("disks-busy", "fail", {}, "nvme0n1 was busy for 30%", after=_busy(nvme0n1=900)),
    Example("disks-busy", "warn", {}, "sda was busy for 10%", after=_busy(sda=300)),
    Example("disks-busy", "pass", {}, "5.0% of the time", after=_busy(sda=150)),
    Example("disks-busy", "warn", {}, "sda was busy for 5%", after=_busy(sda=150), rules=Rules("io")),
    Example("disks-busy", "fail", {}, "sda was busy for 15%", after=_busy(sda=450), rules=Rules("io")),
    Example("disks-busy", "pass", {}, after=_busy(loop0=3000, sda1=3000)),
    Example("disks-busy", "pass", _working("check"), "md0, sda, sdb left out", after=_busy(sda=3000, sdb=3000, md0=90)),
    Example("disks-busy", "fail", _working("check"), "nvme0n1", after=_busy(nvme0n1=900)),
    *(
        Example("disks-busy", "fail", _working("check"), "sda was busy for 100%", after=_busy(sda=3000), rules=rules)
        for rules in (
            Rules(ignored=frozenset({"disk-array-rebuilds"})),
            Rules(selected=frozenset({"disks-busy"})),
            Rules(severity_by_id={"disk-array-rebuilds": Severity.INFORMATION}),
        )
    ),
    Example("disks-busy", "unknown", {}, "appeared, disappeared", after=_busy(nvme0n1=-5)),
    Example(
        "disks-busy",
        "unknown",
        {},
        "sdb appeared, disappeared",
        after={_DISKSTATS: diskstats().replace(" sdb ", " sdc ")},
    ),
    Example("disks-busy", "unknown", {_DISKSTATS: ""}, "no disk"),
    Example("disks-busy", "unknown", gone=(_DISKSTATS,)),
    Example("disks-busy", "unknown", _SERVED, "lxcfs"),
    Example("disk-array-rebuilds", "fail", _working("check"), "md0: check, 12.6% done"),
    Example("disk-array-rebuilds", "fail", _working("recovery"), "md0: recovery", rules=Rules("io")),
    Example("disk-array-rebuilds", "pass", {}, "no array", gone=(_MDSTAT,)),
    Example("disk-array-rebuilds", "unknown", gone=(_MDSTAT,), is_copy=True),
    Example("disk-array-rebuilds", "unknown", {_MDSTAT: "rubbish\n"}),
    Example("temporary-files-far-away", "fail", {}, "on nfs4", answers={TEMPORARY_FILES: "nfs4"}),
    Example(*("temporary-files-far-away", "fail", {}, "on nfs4"), answers={TEMPORARY_FILES: "nfs4"}, rules=Rules("io")),
    Example("temporary-files-far-away", "fail", {}, "on 9p", answers={TEMPORARY_FILES: "9p"}),
    Example("temporary-files-far-away", "warn", {}, "on overlay", answers={TEMPORARY_FILES: "overlay"}),
    Example("temporary-files-far-away", "pass", {}, "on tmpfs", answers={TEMPORARY_FILES: "tmpfs"}),
    Example("temporary-files-far-away", "unknown", {}, answers={TEMPORARY_FILES: None}),
    Example("temporary-files-far-away", "unknown", {}, answers={TEMPORARY_FILES: "two words"}),
]


_OTHERS = b'[identity]\n"CPU model" = "B *"\n[hardware]\nmemory = { at_least = "64 GiB" }\nnodes = 1\n'

EXAMPLES = [
    Example("not-the-machine-wanted", "not-applicable", named="no machine was requested"),
    Example(
        "not-the-machine-wanted", "fail", named='CPU model: expected "B *", found "A Processor', rules=_rules(_OTHERS)
    ),
    Example(
        *("not-the-machine-wanted", "fail"),
        named='memory: expected at least "64 GiB", found "15.6 GiB"; unknown: CPU model (/proc/cpuinfo: no such file)',
        gone=("/proc/cpuinfo",),
        rules=_rules(_OTHERS),
    ),
    Example(
        *("not-the-machine-wanted", "unknown"),
        named="whether this machine matches machine.toml: memory (/proc/meminfo: no such file)",
        gone=("/proc/meminfo",),
        rules=_rules(b'[hardware]\nmemory = "16 GiB"\nnodes = 1\n'),
    ),
    Example(
        *("not-the-machine-wanted", "unknown"),
        {"/sys/class/dmi/id/bios_version": "F12\n"},
        named='BIOS ("F12" cannot be compared with the requested value)',
        rules=_rules(b"[firmware]\nBIOS = { at_least = '2.19' }\n"),
    ),
    Example(
        *("not-the-machine-wanted", "pass"),
        named="all 3 facts match",
        rules=_rules(b'[identity]\n"CPU model" = ["B", "A Processor*"]\n[hardware]\nmemory="16 GiB"\nnodes=[1, 2]\n'),
    ),
    Example("slow-clock-source", "fail", {f"{_CLOCKS}/current_clocksource": "hpet\n"}, "hpet"),
    Example("slow-clock-source", "fail", _NO_TSC, "slow to read; tsc is not available: the kernel gave it up"),
    Example(
        *("slow-clock-source", "fail", _NO_TSC, "marked tsc as unstable (the skew is too large)"),
        answers=_complaint("unstable clock", 0.0, "the skew is too large"),
    ),
    Example(
        *(
            "slow-clock-source",
            "fail",
            _NO_TSC | {"/proc/cmdline": "root=/dev/sda tsc=unstable\n"},
            "tsc=unstable disables",
        ),
    ),
    Example(
        *(
            "slow-clock-source",
            "fail",
            _NO_TSC | VIRTUAL,
            "the host exposes no invariant TSC (constant_tsc and nonstop",
        ),
    ),
    Example("slow-clock-source", "fail", _NO_TSC | _ARM, "hpet is slow to read"),
    Example("slow-clock-source", "unknown", gone=(f"{_CLOCKS}/current_clocksource",)),
    Example(
        "tsc-not-invariant", "fail", {"/proc/cpuinfo": "processor : 0\nflags : fpu tsc constant_tsc\n"}, "nonstop_tsc"
    ),
    Example("tsc-not-invariant", "fail", {"/proc/cpuinfo": f"{_STEADY}\n\n{_STEADY}".replace(" nonstop_tsc", "", 1)}),
    Example("tsc-not-invariant", "unknown", {"/proc/cpuinfo": "processor : 0\n"}),
    Example("tsc-not-invariant", "unknown", gone=("/proc/cpuinfo",)),
    Example("tsc-not-invariant", "not-applicable", {"/proc/cpuinfo": "processor : 0\nCPU implementer : 0x41\n"}),
    Example("clock-steered", "fail", named="+510 ppm", answers=_rate(10_005, 10)),
    Example("clock-steered", "fail", named="-8333 ppm", answers=_rate(9_917, -33)),
    Example("clock-steered", "pass", named="+500 ppm", answers=_rate(10_000, 500)),
    Example("clock-steered", "unknown", answers={CLOCK: {"status": 0, "tick": 10_000}}),
    #
    Example("disk-array-rebuilds", "unknown", {"/proc/mdstat": "Personalities : [raid1]\nmd0 : active\n"}, "unused"),
    Example("just-booted", "unknown", served_by_lxcfs("uptime"), "lxcfs"),
    #
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
    Example("machine-checks", "unknown", _NO_MCE, "lacks the machine check row"),
    Example("machine-checks", "unknown", _NO_MCE, gone=("/proc/cpuinfo",)),
    Example("machine-checks", "unknown", VIRTUAL, "may not see"),
    Example("machine-checks", "fail", _rows(0.0) | VIRTUAL, after=_rows(3.0, mce=1), loaded=_rows(6.0, mce=1)),
    Example("machine-checks", "unknown", gone=("/proc/interrupts",)),
    Example("memory-errors", "warn", {}, "3 errors were corrected", after={_CORRECTED: "5\n"}),
    Example("memory-errors", "warn", {}, "1 error was corrected", loaded={_CORRECTED: "3\n"}),
    Example("memory-errors", "pass", {_CORRECTED: "900\n"}),
    Example("memory-errors", "fail", {_UNCORRECTED: "1\n"}, "1 uncorrected error"),
    Example("memory-errors", "unknown", {_UNCORRECTED: "rubbish\n"}),
    Example("memory-errors", "unknown", {}, after={_CORRECTED: "0\n"}),
    Example("memory-errors", "unknown", gone=(_CORRECTED,)),
    Example("memory-errors", "unknown", gone=(CONTROLLERS,), is_copy=True),
    Example("memory-errors", "unknown", _CONTROLLERS, "only 32 memory controllers"),
    Example("memory-errors", "not-applicable", gone=(CONTROLLERS,)),
    Example("memory-errors", "unknown", _ARM, "may be a virtual machine", gone=(CONTROLLERS,)),
    Example(
        "pcie-errors",
        "fail",
        {},
        f"3 messages about corrected errors, most below port {PORT}",
        after={_MESSAGES: "20\n"},
    ),
    Example("pcie-errors", "fail", {}, "1 messages", loaded={_MESSAGES: "18\n"}, rules=Rules("io")),
    Example("pcie-errors", "unknown", gone=(_MESSAGES,)),
    Example("pcie-errors", "unknown", {}, after={_MESSAGES: "3\n"}),
    Example("pcie-errors", "unknown", gone=(PORT_SERVICES,), is_copy=True),
    Example("pcie-errors", "unknown", _MANY_PORTS, "only 64 root ports"),
    Example("pcie-errors", "not-applicable", gone=(PORT_SERVICES,)),
    Example("pcie-errors", "unknown", _ARM, "may be a virtual machine", gone=(PORT_SERVICES,)),
    Example("kernel-log-troubled", "fail", {}, "lock-up (0 s ago)", answers=_complaint("lock-up", 5.0)),
    Example("kernel-log-troubled", "fail", {}, "disk (1 s ago)", answers=_complaint("disk", 0.0)),
    Example(
        "kernel-log-troubled", "fail", {}, "disk (sda, sdb, 1 s ago)", answers=_complaint("disk", 0.0, "sda", "sdb")
    ),
    Example("kernel-log-troubled", "unknown", answers={KERNEL_LOG: None}),
    Example("kernel-log-troubled", "unknown", answers={KERNEL_LOG: {"troubles": {}, "is_complete": False}}),
    Example("kernel-log-troubled", "unknown", answers={KERNEL_LOG: {"troubles": {"disk": "?"}, "is_complete": True}}),
    Example("kernel-log-troubled", "unknown", {}, "were overwritten", answers=_log_since(4.0)),
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
    #
    Example("machine-checks", "unknown", device_table("MCE: 0 0 0 Machine check exceptions", columns=3), "CPU 3"),
    Example(
        *(
            "machine-checks",
            "unknown",
            device_table("MCE: 0 0 0 Machine check exceptions", columns=3) | _THREE_LISTED,
            "CPU 3",
        ),
    ),
    #
    *_DISKS,
]
