"""Files of a made-up machine of many CPUs: the constant ones, and its tables as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter

from noisewatch.cpus import format_cpu_list
from tests.written.quiet_machine import CPUS, cpuinfo, process, quiet_files

NIC_IRQ, NVME_IRQ = 200, 100
NVME_QUEUES = 4
PERFORMANCE, POWERSAVE = "performance", "powersave"
_OF_A_CPU = f"{CPUS}/cpu2/"
_OWN = (
    "/proc/irq/",
    "/sys/class/net/",
    "/sys/devices/system/node/",
    f"{CPUS}/cpu",
    "/proc/1/",
    "/proc/2/",
    "/proc/30/",
)
_KTHREAD = 0x0420_0000  # a kernel thread that cannot be moved


def housekeeping(count: int) -> range:
    """Return the housekeeping CPUs; a machine of two CPUs has one."""
    return range(min(2, count - 1))


def still_files(count: int) -> dict[str, str]:
    """Return the files that are constant: all but those of CPUs, counters and processes."""
    all_cpus = f"0-{count - 1}"
    isolated = format_cpu_list(range(len(housekeeping(count)), count))
    files = {path: text for path, text in quiet_files().items() if not path.startswith((*_OWN, "/proc/700/"))}
    files |= {
        "/proc/cpuinfo": cpuinfo(range(count)),
        "/proc/sys/kernel/hostname": f"example-{count}\n",
        "/proc/cmdline": f"root=UUID=1234 isolcpus=managed_irq,domain,{isolated} nohz_full={isolated}\n",
        "/etc/default/grub": f'GRUB_CMDLINE_LINUX_DEFAULT="quiet nohz_full={isolated}"\n',
        f"{CPUS}/isolated": f"{isolated}\n",
        f"{CPUS}/nohz_full": f"{isolated}\n",
        f"{CPUS}/present": f"{all_cpus}\n",
        f"{CPUS}/possible": f"{all_cpus}\n",
        f"{CPUS}/cpufreq/boost": "0\n",
        "/proc/irq/default_smp_affinity": "3\n",
    }
    for node, cpus in enumerate(packages_of(count)):
        files[f"/sys/devices/system/node/node{node}/cpulist"] = f"{format_cpu_list(cpus)}\n"
    if len(packages_of(count)) == 1:
        return files | _affinity_files(count)
    second = {path.replace("/hwmon1/", "/hwmon2/"): text for path, text in files.items() if "/hwmon1/" in path}
    files |= second | {"/sys/class/hwmon/hwmon2/temp1_label": "Package id 1\n"}
    return files | _affinity_files(count)


def _affinity_files(count: int) -> dict[str, str]:
    files: dict[str, str] = {}
    for irq, cpu in affinities(count).items():
        files |= {
            f"/proc/irq/{irq}/smp_affinity": f"{mask_of(cpu)}\n",
            f"/proc/irq/{irq}/smp_affinity_list": f"{cpu}\n",
            f"/proc/irq/{irq}/effective_affinity_list": f"{cpu}\n",
        }
    return files


def affinities(count: int) -> dict[int, int]:
    """Return the CPU of each queue, by IRQ: the network card has a queue for each CPU, the disk has a few."""
    queues = {NVME_IRQ + queue: queue % len(housekeeping(count)) for queue in range(NVME_QUEUES)}
    return queues | {NIC_IRQ + cpu: cpu for cpu in range(count)}


def mask_of(cpu: int) -> str:
    """Return the mask of one CPU, in words of 32 bits."""
    return f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)


def packages_of(count: int) -> tuple[range, ...]:
    """Return the CPUs of each package, which is a memory node too."""
    return (range(count),) if count == 2 else (range(count // 2), range(count // 2, count))


@cache
def files_of_cpu(cpu: int, count: int, governor: str) -> Mapping[str, str]:
    """Return the files of an online CPU. A core has two threads; if there are only two CPUs, each is a core."""
    node = next(number for number, cpus in enumerate(packages_of(count)) if cpu in cpus)
    folder, threads = f"{CPUS}/cpu{cpu}", 1 if count == 2 else 2
    first_thread = cpu - cpu % threads
    siblings = range(first_thread, first_thread + threads)
    files = {
        path.replace(_OF_A_CPU, f"{folder}/"): text
        for path, text in quiet_files().items()
        if path.startswith(_OF_A_CPU)
    }
    return files | {
        f"{folder}/topology/core_id": f"{first_thread // threads}\n",
        f"{folder}/topology/physical_package_id": f"{node}\n",
        f"{folder}/topology/thread_siblings_list": f"{format_cpu_list(siblings)}\n",
        f"{folder}/cache/index3/shared_cpu_list": f"{format_cpu_list(packages_of(count)[node])}\n",
        f"{folder}/cpufreq/scaling_governor": f"{governor}\n",
        f"{folder}/cpufreq/scaling_cur_freq": "3000000\n" if governor == PERFORMANCE else "1200000\n",
    }


def files_of_thread(pid: int, name: str, cpu: int, ran_ns: int, at_home: range) -> dict[str, str]:
    """Return the files of a process of one thread. A name with a slash, as in ksoftirqd/2, is that of a kernel thread.

    An isolated CPU runs only threads that were put there, so its threads are allowed no other CPU. All other threads
    are allowed the housekeeping CPUs.
    """
    flags = _KTHREAD if "/" in name else 0
    return process(
        pid, name, cpu, ran_ns, allowed=format_cpu_list(at_home) if cpu in at_home else str(cpu), flags=flags
    )


def table(labels: Mapping[str, Sequence[int]], cpus: Sequence[int], tails: Mapping[str, str]) -> str:
    """Return a table of counts by row and CPU, as the kernel prints it, with the text after each row."""
    lines = ["     " + "".join(f"{f'CPU{cpu}':>11}" for cpu in cpus)]
    counts_of, form = itemgetter(*cpus), "%11d" * len(cpus)
    lines += [f"{label:>4}:{form % counts_of(counts)}{tails.get(label, '')}" for label, counts in labels.items()]
    return "\n".join(lines) + "\n"


def interrupt_tails(count: int) -> dict[str, str]:
    """Return the description that /proc/interrupts prints after the counts of each row."""
    tails = {
        "NMI": "   Non-maskable interrupts",
        "LOC": "   Local timer interrupts",
        "RES": "   Rescheduling interrupts",
        "CAL": "   Function call interrupts",
        "TLB": "   TLB shootdowns",
        "MCE": "   Machine check exceptions",
        "MCP": "   Machine check polls",
    }
    for queue in range(NVME_QUEUES):
        tails[str(NVME_IRQ + queue)] = f" PCI-MSIX-0000:05:00.0 {queue:>3}-edge      nvme0q{queue}"
    for cpu in range(count):
        tails[str(NIC_IRQ + cpu)] = f" PCI-MSIX-0000:41:00.0 {cpu:>3}-edge      ice-eth0-TxRx-{cpu}"
    return tails


def devices(count: int) -> dict[str, str]:
    """Return the device of each IRQ, with its name in udev's hardware database."""
    disks = {str(NVME_IRQ + queue): "NVMe SSD Controller (nvme0n1)" for queue in range(NVME_QUEUES)}
    return disks | {str(NIC_IRQ + cpu): "Ethernet Controller E810-C (eth0)" for cpu in range(count)}
