"""What a recording leaves out, so that it can be attached to a bug report.

Command lines of processes and users are never read in the first place. What is left is the host's name, and
the kernel's command line, where addresses, disk identifiers and passwords may stand.
"""

from __future__ import annotations

import re

HOST_NAME = "/proc/sys/kernel/hostname"
KERNEL_COMMAND_LINE = "/proc/cmdline"
_SHORTEST_NAME = 4  # a host called "vm" would tear holes into every other text

_TELLING_OPTIONS = frozenset(
    {
        *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "rcu_nocb_poll", "irqaffinity", "threadirqs", "skew_tick"),
        *("nosmt", "mitigations", "preempt", "psi", "numa_balancing", "transparent_hugepage"),
        *("idle", "intel_idle.max_cstate", "processor.max_cstate", "intel_pstate", "amd_pstate"),
        *("cpufreq.default_governor", "tsc", "clocksource", "mce", "nmi_watchdog", "nowatchdog", "nosoftlockup"),
        *("workqueue.unbound_cpus", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy"),
    }
)


class Scrubber:
    """Takes the host's identity out of texts; with `identify` it leaves them as they are."""

    def __init__(self, host: str, identify: bool = False) -> None:
        self._identify = identify
        long_enough = len(host) >= _SHORTEST_NAME
        self._host = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])") if long_enough else None

    def __call__(self, path: str, text: str) -> str:
        """The text of `path` as it may be shared."""
        if self._identify:
            return text
        if path == HOST_NAME:
            return "host\n"
        if path == KERNEL_COMMAND_LINE:
            return _telling_options(text)
        return self._host.sub("host", text) if self._host is not None else text


def _telling_options(command_line: str) -> str:
    """The options that matter to noise; all others are dropped, with their values."""
    kept = [option for option in command_line.split() if option.partition("=")[0] in _TELLING_OPTIONS]
    return " ".join(kept) + "\n"
