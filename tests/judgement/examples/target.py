"""Area `target`: the CPUs themselves, and those that share a core or a cache with them."""

from __future__ import annotations

from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet_machine import CPUS, stat_file

_SIBLINGS_1_2 = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
_VIRTUALBOX = {"/sys/bus/pci/devices/0000:00:02.0/vendor": "0x80ee\n"}  # its version 4 does not set the flag
_IDLE_PAIR = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": "2-3\n" for cpu in (2, 3)}
_IDLE_PAIR |= {f"{CPUS}/cpu2/online": "1\n"}
_NO_CPUFREQ = tuple(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4))
_NO_CACHES = tuple(f"{CPUS}/cpu{cpu}/cache" for cpu in range(4))

EXAMPLES = [
    Example("target-cpu-unusable", "fail", {f"{CPUS}/online": "0-2\n"}, "CPU 3", {3}),
    Example("target-cpu-unusable", "fail", {}, "grants 2", {3}, answers={"pin to CPUs": {"granted": [2]}}),
    Example(
        *("target-cpu-unusable", "fail", {}, "invalid argument", {2, 3}),
        answers={"pin to CPUs": {"reason": "invalid argument"}},
    ),
    Example("target-cpu-unusable", "unknown", gone=(f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo")),
    Example("busy-sibling", "warn", _SIBLINGS_1_2, "sibling on CPU 1", {1}),
    Example("busy-sibling", "fail", _SIBLINGS_1_2, "CPU 1: 50% busy", {1}, {"/proc/stat": stat_file({1: 150}, 300)}),
    Example("busy-sibling", "warn", _VIRTUALBOX, "a virtual machine cannot see"),
    Example("busy-sibling", "warn", named="may be a virtual machine", gone=_NO_CPUFREQ),
    Example("busy-sibling", "warn", _VIRTUALBOX | _IDLE_PAIR, "a virtual machine cannot see", target=frozenset({3})),
    Example("busy-sibling", "pass", _IDLE_PAIR, "CPU 3: online, 0.0% busy", target=frozenset({2})),
    Example("busy-sibling", "unknown", gone=(f"{CPUS}/cpu2/topology/thread_siblings_list",)),
    Example(
        *("busy-cache-neighbour", "fail", {}, "CPU 1, in one", {1}),
        after={"/proc/stat": stat_file({1: 290}, 300)},
    ),
    Example("busy-cache-neighbour", "warn", {}, "0.5 CPUs", {1}, after={"/proc/stat": stat_file({1: 150}, 300)}),
    Example("busy-cache-neighbour", "unknown", {}, f"{CPUS}/cpu2/cache", gone=_NO_CACHES),
    Example("busy-cache-neighbour", "unknown", named="may be a virtual machine", gone=_NO_CPUFREQ),
    Example("busy-cache-neighbour", "unknown", VIRTUAL, "cannot see who else"),
]
