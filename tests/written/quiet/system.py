"""A clock that follows its server, hardware without errors, a quiet kernel, and disks that write a log now and then."""

from __future__ import annotations

from typing import Any

from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.clock import OFFSETS
from noisewatch.kernel.system.clock import QUESTION as CLOCK_RATE
from noisewatch.kernel.system.hardware_errors import CONTROLLERS, DEVICES, PORT_SERVICES, PORT_TOTAL
from noisewatch.kernel.system.hypervisor import PCI_TABLE
from noisewatch.kernel.system.log import QUESTION as KERNEL_LOG
from noisewatch.kernel.system.mounts import TEMPORARY_FILES
from noisewatch.kernel.system.reference_clock import QUESTION as COMPARISON
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from noisewatch.machine import Json

PORT = "0000:00:1c.0"
TRACING = "/sys/kernel/tracing"
CONFIG = "/boot/config-6.14.0"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
CONFIG_TEXT = """\
CONFIG_HZ=250
CONFIG_NO_HZ_FULL=y
CONFIG_RCU_NOCB_CPU=y
# CONFIG_RCU_NOCB_CPU_DEFAULT_ALL is not set
# CONFIG_RT_GROUP_SCHED is not set
CONFIG_DEBUG_KERNEL=y
# CONFIG_DEBUG_PAGEALLOC is not set
CONFIG_DEBUG_KMEMLEAK=y
CONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y
# CONFIG_KASAN is not set
# CONFIG_PROVE_LOCKING is not set
CONFIG_RUNTIME_TESTING_MENU=y
"""
MDSTAT = """\
Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      1953382464 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""
WALL_NS = 1_795_000_000 * 10**9


def compared(*deviations: float, error_ns: int = 4_000_000, seconds: int = 6) -> Json:
    """Return a comparison of CLOCK_MONOTONIC with a real-time clock, with its deviation between readings."""
    edges = [(0, 10**9)]
    for deviation in deviations:
        reference_ns, at_ns = edges[-1]
        edges.append((reference_ns + seconds * 10**9, at_ns + round(seconds * 10**9 * (1 + deviation))))
    return {"reference": "rtc0 (rtc_cmos)", "readings": [[at, ns - error_ns, ns + error_ns] for at, ns in edges]}


ANSWERS: dict[str, Any] = {
    CLOCK_RATE: {"status": 0x2001, "tick": 10_000, "freq": 12 * 65_536},
    OFFSETS: [WALL_NS, 0],
    COMPARISON: compared(0.0),
    KERNEL_LOG: {"troubles": {}, "is_complete": True},
    SESSIONS: {"sessions": 2, "users": 1},
    TEMPORARY_FILES: "ext4",
}


def _hardware(seconds: float) -> dict[str, str]:
    """Return the files of the hardware, with constant counters, and the uptime, which advances."""
    return {
        f"{CONTROLLERS}/mc0/ce_count": "2\n",
        f"{CONTROLLERS}/mc0/ue_count": "0\n",
        f"{PORT_SERVICES}/{PORT}:pcie001/uevent": "",
        f"{PORT_SERVICES}/{PORT}:pcie002/uevent": "",
        f"{DEVICES}/{PORT}/{PORT_TOTAL}": "17\n",
        PCI_TABLE: "0000\t8086191f\t0\t\t\n00e0\t8086a110\t7a\t\tpcieport\n",
        "/proc/uptime": f"{34_521.77 + seconds:.2f} 66120.03\n",
        "/etc/default/grub": 'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT="quiet nohz_full=2-3"\n',
    }


def _kernel() -> dict[str, str]:
    """Return the kernel's settings."""
    return {
        Knob.NMI_WATCHDOG: "0\n",
        Knob.WATCHDOG: "1\n",
        Knob.WATCHDOG_CPUS: "0-1\n",
        Knob.WATCHDOG_THRESHOLD: "10\n",
        Knob.TIMER_MIGRATION: "0\n",
        Knob.STAT_INTERVAL: "120\n",
        Knob.MACHINE_CHECK_INTERVAL: "86400\n",
        Knob.REALTIME_RUNTIME: "-1\n",
        Knob.REALTIME_PERIOD: "1000000\n",
        Knob.AUTOGROUP: "1\n",
        Knob.SCHEDULER_STATISTICS: "0\n",
        Knob.DELAY_ACCOUNTING: "0\n",
        Knob.BPF_STATISTICS: "0\n",
        Knob.PERF_SAMPLE_RATE: "100000\n",
        Knob.PRINTK: "4\t4\t1\t7\n",
        Knob.CURSOR_BLINK: "0\n",
        CONFIG: CONFIG_TEXT,
        "/proc/consoles": "ttyS0                -W- (EC  p a)    4:64\ntty0                 -WU (EC  p  )    4:1\n",
        "/sys/kernel/livepatch/a_patch/transition": "0\n",
        Knob.STACK_TRACER: "0\n",
        f"{TRACING}/function_profile_enabled": "0\n",
        f"{TRACING}/current_tracer": "nop\n",
        f"{TRACING}/set_event": "",
        f"{TRACING}/instances/rasdaemon/current_tracer": "nop\n",
        f"{TRACING}/instances/rasdaemon/set_event": "ras:mc_event\nras:aer_event\n",
        f"{VULNERABILITIES}/meltdown": "Mitigation: PTI\n",
        f"{VULNERABILITIES}/l1tf": "Not affected\n",
    }


def diskstats(**busy_ms: int) -> str:
    """Return the table of two disks, one with a partition, an array and a loop, with their busy times since boot."""
    names = ("loop0", "sda", "sda1", "sdb", "sdb1", "md0", "nvme0n1")
    rows = [(name, 1000 + busy_ms.get(name, 0)) for name in names]
    return "".join(f"   8   0 {name} {ms} 0 900 7 {ms} 0 800 9 0 {ms} 16 0 0 0 0 0 0\n" for name, ms in rows)


def _disks(seconds: float) -> dict[str, str]:
    """Return the files of disks with an occasional request."""
    return {
        "/proc/diskstats": diskstats(nvme0n1=round(seconds * 4)),
        "/proc/mdstat": MDSTAT,
        "/proc/loadavg": "0.12 0.34 0.30 1/312 4711\n",
    }


def files(seconds: float) -> dict[str, str]:
    """Return the files of hardware, kernel and disks, `seconds` after the first snapshot."""
    return _hardware(seconds) | _kernel() | _disks(seconds)
