"""A quiet bare-metal machine of four CPUs, 2 and 3 isolated, in two snapshots three seconds apart.

All files that checks read exist and pass, so that a test changes only the file that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from noisewatch.machine import Json
from tests.written import BARE, Files, WrittenMachine, mounted, quiet

CPUS = "/sys/devices/system/cpu"
TARGET = frozenset({2, 3})
ANSWERS: dict[str, Json] = {
    "CPUs this process may use": [2, 3],
    "pin to CPUs": {"granted": [2, 3]},
    "devices by irq": {"24": "Ethernet Controller X550 (eth0)", "25": "NVMe SSD Controller (nvme0n1)"},
    **quiet.answers(),
}

_CPUINFO = (
    "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
    "model name\t: A Processor @ 3.00GHz\nflags\t\t: fpu tsc constant_tsc nonstop_tsc sse2\n\n"
)
_INTERRUPTS = """\
           CPU0       CPU1       CPU2       CPU3
 24: {eth:>10}          0          0          0 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0
 25:          0 {nvme:>10}          0          0 PCI-MSIX-0000:00:05.0   1-edge      nvme0q1
NMI:          0          0          0          0   Non-maskable interrupts
LOC: {tick:>10} {tick:>10}        120        120   Local timer interrupts
RES:        100        100          3          3   Rescheduling interrupts
MCE:          0          0          0          0   Machine check exceptions
MCP:          0          0          0          0   Machine check polls
ERR:          0
MIS:          0
"""
_SOFTIRQS = """\
                    CPU0       CPU1       CPU2       CPU3
       TIMER: {tick:>10} {tick:>10}          7          7
      NET_RX: {eth:>10}          0          0          0
"""
_PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
_STATUS = "Name:\t{name}\nCpus_allowed:\t3\nCpus_allowed_list:\t{allowed}\n"
SCHEDSTAT = "{ran_ns} 1000 10\n"


def stat_line(
    pid: int,
    name: str,
    cpu: int,
    *,
    flags: int = 0,
    parent: int = 1,
    busy: int = 0,
    children: int = 0,
    threads: int = 1,
    policy: int = 0,
) -> str:
    """Return a line of /proc/PID/stat; `busy` and `children` are in ticks."""
    fields = [
        *("S", parent, pid, pid, 0, -1, flags, 0, 0, 0, 0, busy, 0, children, 0, 20, 0, threads, 0, 100 + pid, 0, 0, 0),
        *([0] * 12),
        *(17, cpu, 0, policy, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ]
    return f"{pid} ({name}) {' '.join(map(str, fields))}\n"


def process(
    pid: int, name: str, cpu: int, ran_ns: int, *, allowed: str = "0-1", flags: int = 0, **more: int
) -> dict[str, str]:
    """Return the files of a process with one thread that has run for `ran_ns`, which its stat file rounds to ticks."""
    folder = f"/proc/{pid}"
    more = {"busy": ran_ns // 10_000_000, **more}
    return {
        f"{folder}/stat": stat_line(pid, name, cpu, flags=flags, **more),
        f"{folder}/schedstat": SCHEDSTAT.format(ran_ns=ran_ns),
        f"{folder}/status": _STATUS.format(name=name, allowed=allowed),
    }


def crowd(pid: int, name: str, cpus: list[int], allowed: str, ran_ns: int = 0) -> dict[str, str]:
    """Return the files of a process with a thread on each of the CPUs; each thread has run for `ran_ns`."""
    files = process(pid, name, cpus[0], ran_ns, allowed=allowed, threads=len(cpus))
    for tid, cpu in enumerate(cpus, start=pid):
        own = process(tid, name, cpu, ran_ns, allowed=allowed)
        files |= {path.replace(f"/proc/{tid}/", f"/proc/{pid}/task/{tid}/"): text for path, text in own.items()}
    return files


def cpu_row(name: str, *, user: int = 1000, system: int = 500, idle: int = 100_000, steal: int = 0) -> str:
    """Return a row of /proc/stat, in ticks of 10 ms."""
    return f"{name} {user} 0 {system} {idle} 20 0 5 {steal} 0 0\n"


def stat_file(busy_by_cpu: dict[int, int], elapsed: int, steal_by_cpu: dict[int, int] | None = None) -> str:
    """Return /proc/stat after `elapsed` ticks, with the busy and stolen ticks of each CPU."""
    rows = [cpu_row("cpu", idle=400_000 + 4 * elapsed)]
    for cpu in range(4):
        busy, steal = busy_by_cpu.get(cpu, 0), (steal_by_cpu or {}).get(cpu, 0)
        rows.append(cpu_row(f"cpu{cpu}", user=1000 + busy, idle=100_000 + elapsed - busy - steal, steal=steal))
    return "".join(rows) + "intr 1 2 3\nctxt 5\nprocs_running 1\n"


def _topology() -> dict[str, str]:
    files: dict[str, str] = {}
    for cpu in range(4):
        folder = f"{CPUS}/cpu{cpu}"
        files |= {
            f"{folder}/topology/core_id": f"{cpu}\n",
            f"{folder}/topology/physical_package_id": "0\n",
            f"{folder}/topology/thread_siblings_list": f"{cpu}\n",
            f"{folder}/cache/index3/level": "3\n",
            f"{folder}/cache/index3/type": "Unified\n",
            f"{folder}/cache/index3/size": "28160K\n",
            f"{folder}/cache/index3/shared_cpu_list": "0-3\n",
            f"{folder}/cpufreq/scaling_driver": "acpi-cpufreq\n",
            f"{folder}/cpufreq/scaling_governor": "performance\n",
            f"{folder}/cpufreq/scaling_cur_freq": "3000000\n",
            f"{folder}/cpufreq/scaling_min_freq": "3000000\n",
            f"{folder}/cpufreq/scaling_max_freq": "3000000\n",
            f"{folder}/cpufreq/cpuinfo_min_freq": "1200000\n",
            f"{folder}/cpufreq/cpuinfo_max_freq": "3000000\n",
        }
    return files


def cpuinfo(cpus: Iterable[int]) -> str:
    """Return /proc/cpuinfo of the CPUs, all of one model."""
    return "".join(_CPUINFO.format(cpu=cpu) for cpu in cpus)


def quiet_files(seconds: float = 0.0) -> dict[str, str]:
    """Return all files, `seconds` after the first snapshot."""
    return dict(_quiet_files(seconds))


@cache
def _quiet_files(seconds: float) -> Mapping[str, str]:
    ticks = round(seconds * 100)
    files = _topology() | {
        **BARE,
        "/proc/sys/kernel/osrelease": "6.14.0\n",
        "/proc/sys/kernel/hostname": "benchmark-host\n",
        "/proc/version": "Linux version 6.14.0 (somebody@builder) #1 SMP\n",
        "/proc/cmdline": "root=UUID=1234 isolcpus=managed_irq,domain,2-3 nohz_full=2-3\n",
        "/proc/cpuinfo": cpuinfo(range(4)),
        "/proc/stat": stat_file({0: ticks // 50}, ticks),
        "/proc/interrupts": _INTERRUPTS.format(eth=500 + ticks, nvme=100 + ticks // 10, tick=9000 + ticks),
        "/proc/softirqs": _SOFTIRQS.format(eth=500 + ticks, tick=9000 + ticks),
        "/proc/self/cgroup": "0::/\n",
        **mounted("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"),
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
        "/sys/fs/cgroup/cgroup.subtree_control": "cpu memory\n",
        "/sys/fs/cgroup/cpuset.cpus.isolated": "\n",
        f"{CPUS}/online": "0-3\n",
        f"{CPUS}/offline": "\n",
        f"{CPUS}/isolated": "2-3\n",
        f"{CPUS}/nohz_full": "2-3\n",
        f"{CPUS}/cpufreq/boost": "0\n",
        "/sys/devices/system/node/node0/cpulist": "0-3\n",
        "/sys/devices/system/node/has_memory": "0\n",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm \n",
        "/sys/class/power_supply/AC/type": "Mains\n",
        "/sys/class/power_supply/AC/online": "1\n",
        "/proc/irq/default_smp_affinity": "3\n",
    }
    for resource in ("cpu", "memory", "io"):
        files[f"/proc/pressure/{resource}"] = _PRESSURE.format(total=1000)
    for irq, cpu in ((24, 0), (25, 1)):
        files |= {
            f"/proc/irq/{irq}/smp_affinity": "3\n",
            f"/proc/irq/{irq}/smp_affinity_list": "0-1\n",
            f"/proc/irq/{irq}/effective_affinity_list": f"{cpu}\n",
        }
    files |= quiet.files(seconds)
    files |= process(1, "systemd", 0, 5_000_000)
    files |= process(2, "kthreadd", 1, 1_000_000, flags=0x0020_0000)
    files |= process(30, "migration/2", 2, 1_000, flags=0x0420_0000, allowed="2")
    files |= process(700, "sshd", 0, 8_000_000 + ticks * 200_000)
    return files


def loaded_files(seconds: float = 6.0) -> dict[str, str]:
    """Return all files after a calibration, in which CPUs 2 and 3 were busy for most of the last three seconds."""
    ticks = round(seconds * 100)
    return quiet_files(seconds) | {"/proc/stat": stat_file({0: ticks // 50, 2: 180, 3: 180}, ticks)}


def quiet_machine(before: Files | None = None, after: Files | None = None, **options: object) -> WrittenMachine:
    """Return the machine, with `before` and `after` in place of its files if given, and files after a calibration."""
    return WrittenMachine(
        before if before is not None else quiet_files(),
        after if after is not None else quiet_files(3.0),
        loaded_files(),
        answers=ANSWERS,
        **options,  # type: ignore[arg-type]  # passed through
    )
