"""A recording of a server with many CPUs, made up: the upper half isolated, a queue of a network card on each CPU."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from noisewatch.machine.recorder import Recorder
from noisewatch.sources.snapshot import Snapshot, Wish, read_snapshot
from noisewatch.sources.tasks import TaskReader
from tests.quiet_machine import ANSWERS, CPUS, cpu_row, process, quiet_files
from tests.written import Files, WrittenMachine

_KERNEL_THREADS = ("cpuhp", "migration", "ksoftirqd", "kworker", "idle_inject")
_BOUND = 0x0420_0000
_PROCESSES = 200
_FIRST_PID = 100_000


def record_many_cpus(path: Path, count: int, seconds: int) -> Path:
    """What `noisewatch record` would write in so many seconds, a moment a second."""
    moments = [many_cpus(count, second) for second in range(seconds)]
    half = list(range(count // 2, count))
    answers = {**ANSWERS, "CPUs this process may use": half, "pin to CPUs": {"granted": half}}
    machine = WrittenMachine(*moments, answers=answers, seconds_between=1.0)
    task_reader = TaskReader(asks_all_affinities=True)
    snapshot: Snapshot | None = None
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, interval_s=1.0)
        for second in range(seconds):
            if second:
                machine.advance()
            snapshot = read_snapshot(recorder, Wish(), task_reader, snapshot)
        recorder.close()
    return path


def many_cpus(count: int, second: int) -> Files:
    """All files after so many seconds: a tick a millisecond on the lower half, and packets on every CPU."""
    half = count // 2
    ticks = [9000 + 1000 * second if cpu < half else 9000 + second for cpu in range(count)]
    packets = [10_000 + (cpu % 7) * 40 * second for cpu in range(count)]
    calls = [500 + (cpu % 3) * second for cpu in range(count)]
    header = "".join(f"CPU{cpu:<8}" for cpu in range(count))
    queues = [
        f"{100 + queue}: {_columns(packets[cpu] if cpu == queue else 0 for cpu in range(count))} "
        f"PCI-MSIX-0000:3b:00.0 {queue}-edge mlx5_comp{queue}\n"
        for queue in range(count)
    ]
    own = [
        f"{label}: {_columns(counts)} {words}\n"
        for label, counts, words in (
            ("NMI", [0] * count, "Non-maskable interrupts"),
            ("LOC", ticks, "Local timer interrupts"),
            ("RES", calls, "Rescheduling interrupts"),
            ("CAL", calls, "Function call interrupts"),
            ("TLB", [0] * count, "TLB shootdowns"),
        )
    ]
    softirqs = [f"{label}: {_columns(counts)}\n" for label, counts in (("TIMER", ticks), ("NET_RX", packets))]
    busy = [30 * second if cpu < half else second // 2 for cpu in range(count)]
    rows = [
        cpu_row(f"cpu{cpu}", user=1000 + busy[cpu], idle=100_000 + 100 * second - busy[cpu]) for cpu in range(count)
    ]
    return {
        **quiet_files(float(second)),
        **_places(count),
        **_threads(count, second),
        "/proc/cmdline": f"isolcpus=domain,managed_irq,{half}-{count - 1} nohz_full={half}-{count - 1}\n",
        "/proc/interrupts": f"    {header}\n{''.join(queues)}{''.join(own)}ERR: 0\nMIS: 0\n",
        "/proc/softirqs": f"    {header}\n{''.join(softirqs)}",
        "/proc/stat": f"{cpu_row('cpu')}{''.join(rows)}intr 1 2 3\nctxt 5\nprocs_running 1\n",
    }


def _columns(counts: Iterable[int]) -> str:
    return " ".join(f"{count:>10}" for count in counts)


@cache
def _places(count: int) -> Files:
    """Two sockets without SMT, and who is isolated."""
    half = count // 2
    four = {path: text for path, text in quiet_files().items() if path.startswith(f"{CPUS}/cpu0/")}
    files = {path.replace("/cpu0/", f"/cpu{cpu}/"): text for cpu in range(count) for path, text in four.items()}
    for cpu in range(count):
        first = 0 if cpu < half else half
        files |= {
            f"{CPUS}/cpu{cpu}/topology/core_id": f"{cpu}\n",
            f"{CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // half}\n",
            f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu}\n",
            f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": f"{first}-{first + half - 1}\n",
            f"/proc/irq/{100 + cpu}/smp_affinity_list": f"{cpu}\n",
            f"/proc/irq/{100 + cpu}/effective_affinity_list": f"{cpu}\n",
        }
    return files | {
        f"{CPUS}/online": f"0-{count - 1}\n",
        f"{CPUS}/present": f"0-{count - 1}\n",
        f"{CPUS}/isolated": f"{half}-{count - 1}\n",
        f"{CPUS}/nohz_full": f"{half}-{count - 1}\n",
        "/sys/devices/system/node/node0/cpulist": f"0-{count - 1}\n",
    }


def _threads(count: int, second: int) -> Files:
    """The kernel's on each CPU, of which one in four runs each second, and processes on the lower half."""
    files: dict[str, str] = {}
    for cpu in range(count):
        for number, name in enumerate(_KERNEL_THREADS):
            pid = _FIRST_PID + cpu * len(_KERNEL_THREADS) + number
            ran_ns = 1_000_000 + (200_000 * second if (cpu + number) % 4 == 0 else 0)
            files |= process(pid, f"{name}/{cpu}", cpu, ran_ns, flags=_BOUND, allowed=str(cpu))
    half = count // 2
    for number in range(_PROCESSES):
        ran_ns = 1_000_000 + 50_000_000 * (number % 4) * second
        files |= process(_FIRST_PID * 2 + number, f"server-{number}", number % half, ran_ns, allowed=f"0-{half - 1}")
    return files
