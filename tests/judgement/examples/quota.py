"""Area `quota`."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.written import mounted

_CPU = "/sys/fs/cgroup/cpu"
_NEVER = {f"{_CPU}.stat": "nr_throttled 0\n"}

EXAMPLES = [
    Example("cpu-quota", "fail", _NEVER | {f"{_CPU}.max": "150000 100000\n"}, "1.5 of 2"),
    Example("cpu-quota", "warn", _NEVER | {f"{_CPU}.max": "400000 100000\n"}, "4 CPUs"),
    Example(
        *("cpu-quota", "fail", _NEVER | {f"{_CPU}.max": "400000 100000\n"}, "throttled in 2 periods"),
        after={f"{_CPU}.stat": "nr_throttled 2\n"},
    ),
    Example("cpu-quota", "unknown", mounted("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/.."), "cgroup namespace"),
    Example("cpu-quota", "unknown", gone=("/proc/self/mountinfo",)),
    Example("cpu-quota", "unknown", gone=("/proc/self/cgroup",)),
    Example("cpu-quota", "unknown", gone=("/proc/self/mounts",)),
]
