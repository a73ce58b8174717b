"""What a recording leaves out, so that it can be attached to a bug report.

Command lines of processes and users are never read in the first place. What is left is the host's name, and
what may stand beside what matters: addresses and passwords in the kernel's command line and the mounts, user numbers in
the status of processes.
"""

from __future__ import annotations

import os
import re

from noisewatch.machine import Json

HOST_NAME = "/proc/sys/kernel/hostname"
KERNEL_COMMAND_LINE = "/proc/cmdline"
GRUB = "/etc/default/grub"
GRUB_FOLDER = "/etc/default/grub.d"
KERNEL_INSTALL = "/etc/kernel/cmdline"
_CPUINFO = "/proc/cpuinfo"  # ARM tells the board's serial number there
_SHORTEST_NAME = 4  # a host called "vm" would tear holes into every other text

TELLING_OPTIONS = frozenset(
    {
        *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "rcu_nocb_poll", "irqaffinity", "threadirqs", "skew_tick"),
        *("nosmt", "mitigations", "preempt", "psi", "numa_balancing", "transparent_hugepage"),
        *("idle", "intel_idle.max_cstate", "processor.max_cstate", "intel_pstate", "amd_pstate"),
        *("cpufreq.default_governor", "tsc", "clocksource", "mce", "nmi_watchdog", "nowatchdog", "nosoftlockup"),
        *("workqueue.unbound_cpus", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy"),
    }
)


_GRUB_OPTIONS = re.compile(r"^[ \t]*(?:export[ \t]+)?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)=(.*)$", re.MULTILINE)
_STATUS = re.compile(r"/proc/\d+(?:/task/\d+)?/status")
_MOUNTS = frozenset({"/proc/mounts", "/proc/self/mounts"})


class Scrubber:
    """Takes the host's identity out of answers; with `identify` it leaves them as they are."""

    def __init__(self, host: str, identify: bool = False) -> None:
        self._identify = identify
        long_enough = len(host) >= _SHORTEST_NAME
        self._host = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])") if long_enough else None

    def __call__(self, path: str, answer: Json) -> Json:
        """The answer about `path` as it may be shared."""
        if self._identify:
            return answer
        if isinstance(answer, list):
            return [self._without_host(each) if isinstance(each, str) else each for each in answer]
        if isinstance(answer, dict) and isinstance(answer.get("command"), list):
            return {**answer, "command": _without_arguments(answer["command"])}
        return self._text(path, answer) if isinstance(answer, str) else answer

    def path(self, path: str) -> str:
        """The path as it may be shared: a cgroup may be called like the host."""
        return path if self._identify or path == HOST_NAME else self._without_host(path)

    def _text(self, path: str, text: str) -> str:
        if path == HOST_NAME:
            return "host\n"
        if path in (KERNEL_COMMAND_LINE, KERNEL_INSTALL):
            return _telling_options(text)
        if path == GRUB or path.startswith(GRUB_FOLDER + "/"):
            return _telling_assignments(text)
        if path in _MOUNTS:
            return _lines_with(text, (" cgroup2 ", " cgroup ", " /proc/stat fuse")) or "none / none rw 0 0\n"
        if path == _CPUINFO:
            return re.sub(r"^Serial\b.*\n", "", text, flags=re.MULTILINE)
        if _STATUS.fullmatch(path):
            return _lines_with(text, ("Cpus_allowed_list:",))
        return self._without_host(text)

    def _without_host(self, text: str) -> str:
        return self._host.sub("host", text) if self._host is not None else text


def _without_arguments(command: list[str]) -> list[str]:
    """The name of the program that a calibration ran, without its folder."""
    return [os.path.basename(word) for word in command[:1]]


def _telling_options(command_line: str) -> str:
    """The options that matter to noise; all others are dropped, with their values."""
    kept = [option for option in command_line.split() if _is_telling(option)]
    return " ".join(kept) + "\n"


def _telling_assignments(text: str) -> str:
    """GRUB's assignments of kernel options, with nothing in them but those options and references to one another."""
    kept = []
    for match in _GRUB_OPTIONS.finditer(text):
        words = [word for word in re.split(r"[\s\"']+", match[2]) if _is_reference(word) or _is_telling(word)]
        kept.append(f'{match[1]}="{" ".join(words)}"\n')
    return "".join(kept)


def _is_telling(word: str) -> bool:
    return word.partition("=")[0] in TELLING_OPTIONS


def _is_reference(word: str) -> bool:
    return re.fullmatch(r"\$\{?GRUB_CMDLINE_LINUX(_DEFAULT)?\}?", word) is not None


def _lines_with(text: str, words: tuple[str, ...]) -> str:
    return "".join(line + "\n" for line in text.split("\n") if any(word in line for word in words))
