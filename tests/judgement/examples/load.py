"""Area `load`."""

from __future__ import annotations

from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet_machine import process, stat_file

_FULL = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"
_STOLEN_ONCE = VIRTUAL | {"/proc/stat": stat_file({}, 0, {2: 5, 3: 5})}

_MANY = {
    path: text for pid in range(900, 930) for path, text in process(pid, "worker", 2, 4_000_000, allowed="2").items()
}

EXAMPLES = [
    Example(
        *("target-cpu-busy", "warn", {}, "worker (30 threads)", {2}),
        after=_MANY | {"/proc/stat": stat_file({2: 12}, 300)},
    ),
    Example("target-cpu-busy", "fail", {}, "CPU 3 is 10.0% busy", {3}, after={"/proc/stat": stat_file({3: 30}, 300)}),
    Example("target-cpu-busy", "warn", {}, "3.3% busy", after={"/proc/stat": stat_file({3: 10}, 300)}),
    Example("target-cpu-busy", "unknown", gone=("/proc/stat",)),
    Example("hypervisor-steal", "fail", {}, "2.0% of CPU 2", {2}, after={"/proc/stat": stat_file({}, 300, {2: 6})}),
    Example("hypervisor-steal", "not-applicable", {}, "not a virtual machine"),
    Example("hypervisor-steal", "unknown", VIRTUAL, "no steal time since boot"),
    Example(
        *("hypervisor-steal", "pass", _STOLEN_ONCE, "took nothing"),
        after={"/proc/stat": stat_file({}, 310, {2: 5, 3: 5})},
    ),
    Example("pressure-stall", "warn", {}, "io 0.8%", after={"/proc/pressure/io": _FULL.format(total=25_000)}),
    Example("pressure-stall", "fail", {}, "cpu 10.0%", after={"/proc/pressure/cpu": _FULL.format(total=301_000)}),
    Example("pressure-stall", "unknown", gone=("/proc/pressure",)),
]
