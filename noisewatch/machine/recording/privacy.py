"""Removes private data from a recording, so that it can be attached to a bug report.

Users' names are never recorded; of the command lines of processes only the program's name is kept, of their
environments only irqbalance's variables. Other files may contain the host's name, and private data next to relevant
data: addresses and passwords in the kernel's command line, mounts and crontabs, user IDs in the status of processes. A
crontab (https://man7.org/linux/man-pages/man5/crontab.5.html) keeps its schedules and the names of the programs that
they start:

    25 6 * * *  root  test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
    @daily  backup  TOKEN=secret /opt/backup --to //nas/share
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence

from noisewatch.machine import Json
from noisewatch.patterns import regex

NOT_UNDERSTOOD = "?"
OTHER_ZONE = "CRON_TZ=?"
UNNAMED = "a-command"

_PART = r"(?:\*|\d{1,2}(?:[-~]\d{1,2})?|[A-Za-z]{3}(?:-[A-Za-z]{3})?)(?:/\d{1,3})?"
_FIELD = regex(rf"{_PART}(?:,{_PART})*", re.ASCII)
_NICKNAME = regex(r"@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)")
_ASSIGNMENT = regex(r"[\"']?(\w+)[\"']?\s*=")
_RUN_PARTS = regex(r"\brun-parts\s+(?:-\S+\s+)*/(?:[\w.-]+/)*([\w.-]+)", re.ASCII)
_PATH = regex(r"[\w./+-]*[\w.+-]", re.ASCII)
_SHELL = frozenset({"[", "cd", "command", "env", "exec", "flock", "if", "ionice", "nice", "sh", "sleep", "test"})
_LONGEST_LINE = 4096  # cron itself accepts commands of 1000 characters
_MAGIC = b"\x1f\x8b"
GZIP = 31  # zlib's code for its largest window in a gzip file
_MOST_BYTES = 4 << 20  # ten times the largest configuration of a kernel
HOST_NAME = "/proc/sys/kernel/hostname"
KERNEL_COMMAND_LINE = "/proc/cmdline"
GRUB = "/etc/default/grub"
GRUB_FOLDER = "/etc/default/grub.d"
KERNEL_INSTALL = "/etc/kernel/cmdline"
IRQBALANCE_FILES = (
    *("/etc/irqbalance.env", "/etc/conf.d/irqbalance", "/etc/default/irqbalance", "/etc/sysconfig/irqbalance"),
    "/etc/systemd/system/irqbalance.service",
)
IRQBALANCE_FOLDERS = ("/etc/systemd/system/irqbalance.service.d", "/run/systemd/system/irqbalance.service.d")
IRQBALANCE_VARIABLES = ("IRQBALANCE_BANNED_CPUS", "IRQBALANCE_BANNED_CPULIST")
IDENTITY = "/proc/{}/cmdline, started at {}"  # the question for a process's name, command and cgroups
_LONGEST_NAME = 15  # bytes of a process's name in the kernel: TASK_COMM_LEN less the NUL
NO_ARGUMENTS = "arguments_removed"
_CPUINFO = "/proc/cpuinfo"  # on ARM it contains the board's serial number
_SHORTEST_NAME = 4  # replacing the name of a host called "vm" would damage every other text

MITIGATION_OPTIONS = frozenset(
    {
        *("mitigations", "gather_data_sampling", "indirect_target_selection", "kpti", "kvm.nx_huge_pages", "l1d_flush"),
        *("l1tf", "mds", "mmio_stale_data", "nopti", "nospectre_bhb", "nospectre_v1", "nospectre_v2", "nospec"),
        *("nospec_store_bypass_disable", "no_entry_flush", "no_stf_barrier", "no_uaccess_flush", "pti"),
        *("reg_file_data_sampling", "retbleed", "spec_rstack_overflow", "spec_store_bypass_disable", "spectre_bhi"),
        *("spectre_v2", "spectre_v2_user", "srbds", "ssbd", "tsa", "tsx", "tsx_async_abort", "vmscape"),
    }
)
RELEVANT_OPTIONS = MITIGATION_OPTIONS | frozenset(
    {
        *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "rcu_nocb_poll", "irqaffinity", "threadirqs", "skew_tick"),
        *("nosmt", "preempt", "psi", "numa_balancing", "transparent_hugepage"),
        *("idle", "intel_idle.max_cstate", "processor.max_cstate", "intel_pstate", "amd_pstate"),
        *("cpufreq.default_governor", "tsc", "clocksource", "mce", "nmi_watchdog", "nowatchdog", "nosoftlockup"),
        *("workqueue.unbound_cpus", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy"),
        *("audit", "hugepages", "hugepagesz", "default_hugepagesz", "init_on_alloc", "init_on_free", "nokaslr"),
        *("iommu", "intel_iommu", "amd_iommu", "pcie_aspm", "mem", "maxcpus", "nr_cpus"),
        *("debug_pagealloc", "kmemleak", "slub_debug", "slab_debug", "ignore_loglevel"),
    }
)
# The options kept from the kernel's configuration. Other parts of it tell who built the kernel, and where.
TELLING_CONFIG = frozenset(
    {
        *("HZ", "NO_HZ_FULL", "NO_HZ_IDLE", "HZ_PERIODIC", "PREEMPT_RT", "PREEMPT_DYNAMIC", "RT_GROUP_SCHED"),
        *("RCU_NOCB_CPU", "RCU_NOCB_CPU_DEFAULT_ALL", "RUNTIME_TESTING_MENU", "GCOV_PROFILE_ALL", "KCOV"),
        *("KASAN", "KASAN_HW_TAGS", "KCSAN", "KMSAN", "LOCK_STAT", "PROVE_LOCKING", "DEBUG_OBJECTS", "SLUB_DEBUG_ON"),
        *("DEBUG_PAGEALLOC", "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "DEBUG_KMEMLEAK", "DEBUG_KMEMLEAK_DEFAULT_OFF"),
    }
)


_GRUB_OPTIONS = regex(r"^[ \t]*(?:export[ \t]+)?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)=(.*)$", re.MULTILINE)
_STATUS = regex(r"/proc/\d+(?:/task/\d+)?/status")
_SCHED = regex(r"/proc/\d+(?:/task/\d+)?/sched")
_IDENTITY = regex(IDENTITY.format(r"\d+", r"\d+"))
_CGROUP_PART = regex(
    r"|\.\.|.*\.(?:service|scope|slice)|(?:.*[-:])?[0-9a-f]{64}|pod[-0-9a-f]+|docker|kubepods|burstable|besteffort"
    r"|libpod_parent"
)
_USER_ID = regex(r"\buser([-@])\d+")
_CONFIG = regex(r"/proc/config\.gz|/boot/config-[^/]+|/lib/modules/[^/]+/config")
_CONFIG_NAME = regex(r"(?:# )?CONFIG_(\w+)")
_ENVIRONMENT = regex(r"/proc/\d+/environ")
_IRQBALANCE_SETTING = regex(rf"(?<!\w)({'|'.join(IRQBALANCE_VARIABLES)})=[\"']?([^\s\"']*)")
_IN_IRQBALANCE_FOLDERS = tuple(f"{folder}/" for folder in IRQBALANCE_FOLDERS)

_LXCFS_FILES = ("stat", "loadavg", "diskstats", "meminfo", "uptime")
_RELEVANT_MOUNTS = (" cgroup2 ", " cgroup ", " /proc proc ", *(f" /proc/{name} fuse" for name in _LXCFS_FILES))
_OWN_STATUS = "/proc/self/status"
_CRONTAB = regex(r"/etc/crontab|/etc/cron\.d/[^/]+")
# A pattern for the start of a valid line, and an empty mount.
_MOUNT = (regex(r"(?:[^ ]* ){5}"), "none / none rw 0 0\n")
_MOUNT_ROOT = (regex(r"(?:[^ ]* ){5}.* - "), "1 1 0:1 / / rw - none none rw\n")
_MOUNTS = {"/proc/mounts": _MOUNT, "/proc/self/mounts": _MOUNT, "/proc/self/mountinfo": _MOUNT_ROOT}
_DAMAGED = "\0"  # marks content that no kernel writes, so that it stays damaged in the recording
_LONGEST_COMMAND_LINE = 1 << 16  # characters: 4096 from the boot loader, and 32,768 more from a bootconfig


def without_commands(text: str) -> str:
    """Reduce each job to its schedule, `user` and its program's name; a line that is not a job becomes `?`.

    Reducing a result again changes nothing.
    """
    lines = [_reduce_line(line.strip()) for line in text.split("\n")]
    return "".join(f"{line}\n" for line in lines if line is not None)


def _reduce_line(line: str) -> str | None:
    if not line or line.startswith("#"):
        return None
    assigned = _ASSIGNMENT.match(line)
    if assigned is not None:
        return OTHER_ZONE if assigned[1] == "CRON_TZ" else None
    if len(line) > _LONGEST_LINE:
        return NOT_UNDERSTOOD
    line = line.removeprefix("-")  # in SUSE's cron, a leading `-` keeps the job out of the system log
    words = line.split(maxsplit=2 if line.startswith("@") else 6)
    *schedule, _, command = words if len(words) > 2 else ("", "", "")
    if len(schedule) == 5 and all(map(_FIELD.fullmatch, schedule)):
        return f"{' '.join(schedule)} user {_program_of(command)}"
    if len(schedule) == 1 and _NICKNAME.fullmatch(schedule[0]):
        return f"{schedule[0]} user {_program_of(command)}"
    return NOT_UNDERSTOOD


def _program_of(command: str) -> str:
    """Return the folder that run-parts runs, otherwise the program's name without its folder, otherwise UNNAMED."""
    folder = _RUN_PARTS.search(command)
    if folder is not None:
        return folder[1]
    first = command.split(maxsplit=1)[0]
    name = first.rpartition("/")[2]
    return name if _PATH.fullmatch(first) and name not in _SHELL else UNNAMED


def gunzip(content: bytes) -> bytes:
    """Return the content of a gzip file, and any other content unchanged. Raise ValueError if it is damaged or huge."""
    if not content.startswith(_MAGIC):
        return content
    unpacking = zlib.decompressobj(wbits=GZIP)
    try:
        unpacked = unpacking.decompress(content, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacking.eof:
        raise ValueError("incomplete or huge")
    return unpacked


def program_name(words: Sequence[Json], name: str) -> str:
    """Return the kernel's name for a process, completed from the start of its command if the kernel has cut it.

    Anything else in the command may be private, even its first word: a title such as `sshd: user@pts/0`.
    """
    first = str(words[0]).split(maxsplit=1)[:1] if words and len(name.encode(errors="replace")) >= _LONGEST_NAME else []
    program = os.path.basename(first[0]).partition(":")[0] if first else ""
    return program if program.startswith(name) else name


class Scrubber:
    """A filter that removes private data from answers; with `identify`, answers stay unchanged."""

    def __init__(self, host: str, identify: bool = False) -> None:
        self._identify = identify
        long_enough = len(host) >= _SHORTEST_NAME
        self._host = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])") if long_enough else None

    def __call__(self, path: str, answer: Json) -> Json:
        """Return the answer for `path` without private data."""
        if self._identify:
            return answer
        if _IDENTITY.fullmatch(path):
            return self._identity(answer)
        if isinstance(answer, list):
            return [self.without_host(item) if isinstance(item, str) else item for item in answer]
        if isinstance(answer, dict) and isinstance(answer.get("command"), list):
            return {**answer, "command": [os.path.basename(word) for word in answer["command"][:1]]}
        return self._text(path, answer) if isinstance(answer, str) else answer

    def path(self, path: str) -> str:
        """Return the path without private data: a cgroup may be named after the host."""
        return path if self._identify or path == HOST_NAME else self.without_host(path)

    def _identity(self, answer: Json) -> Json:
        """Return a process's identity with its program's name in place of its command."""
        words = answer.get("command") if isinstance(answer, dict) else None
        if not isinstance(words, list) or not words:
            return None
        name = str(answer.get("name"))
        program = program_name(words, name)
        return {
            "name": name,
            "command": [program],
            "cgroup": self.without_host(_reduce_cgroups(str(answer.get("cgroup")))),
            NO_ARGUMENTS: len(words) > 1 or os.path.basename(str(words[0])) not in ("", program),
        }

    def _text(self, path: str, text: str) -> str:
        if path == HOST_NAME:
            return "host\n"
        if not text:
            return text  # an empty text means that the file is hidden or was not copied
        if path in (KERNEL_COMMAND_LINE, KERNEL_INSTALL):
            return _reduce_options(text)
        if path == GRUB or path.startswith(GRUB_FOLDER + "/"):
            return _reduce_assignments(text)
        if path in _MOUNTS:
            return _reduce_mounts(text, *_MOUNTS[path])
        if path == _CPUINFO:
            return re.sub(r"^Serial\b.*\n", "", text, flags=re.MULTILINE)
        if _STATUS.fullmatch(path):
            return _lines_with(text, ("Cpus_allowed_list:",))
        if _SCHED.fullmatch(path):
            return _lines_with(text, ("nr_migrations",))
        if path == _OWN_STATUS:
            return _lines_with(text, ("TracerPid:", "CapEff:", "Seccomp:", "Mems_allowed_list:"))
        if _CONFIG.fullmatch(path):
            return _reduce_config(text)
        if _ENVIRONMENT.fullmatch(path):
            return _reduce_environment(text)
        if path in IRQBALANCE_FILES or path.startswith(_IN_IRQBALANCE_FOLDERS):
            settings = "".join(f"{name}={value}\n" for name, value in irqbalance_settings(text))
            # Ends without a newline, because the original was truncated.
            return settings if text.endswith("\n") else f"{settings}#"
        if _CRONTAB.fullmatch(path):
            return self.without_host(without_commands(text))
        return self.without_host(text)

    def without_host(self, text: str) -> str:
        """Return the text with `host` in place of the host's name."""
        return self._host.sub("host", text) if self._host is not None else text


def is_command_line(text: str) -> bool:
    """Return whether a kernel accepts the command line: not too long, and without NULs except a trailing one."""
    return len(text) <= _LONGEST_COMMAND_LINE and "\0" not in text.removesuffix("\0").strip("\n")


def _reduce_options(command_line: str) -> str:
    """Return the options that matter to noise; all others are dropped, with their values."""
    if not is_command_line(command_line):
        return f"{_DAMAGED}?\n"
    kept = [option for option in command_line.split() if _is_relevant(option)]
    return " ".join(kept) + "\n"


def _reduce_assignments(text: str) -> str:
    """Return GRUB's assignments, reduced to the relevant kernel options and references to other assignments."""
    kept = []
    for match in _GRUB_OPTIONS.finditer(text):
        words = [word for word in re.split(r"[\s\"']+", match[2]) if _is_reference(word) or _is_relevant(word)]
        kept.append(f'{match[1]}="{" ".join(words) if is_command_line(match[2]) else _DAMAGED + "?"}"\n')
    return "".join(kept)


def _is_relevant(word: str) -> bool:
    return word.partition("=")[0] in RELEVANT_OPTIONS


def _is_reference(word: str) -> bool:
    return re.fullmatch(r"\$\{?GRUB_CMDLINE_LINUX(_DEFAULT)?\}?", word) is not None


def irqbalance_settings(text: str) -> list[tuple[str, str]]:
    """Return irqbalance's CPU-banning variables with values, as a shell, an environment file or a unit sets them."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))
    return [(match[1], match[2]) for line in lines for match in _IRQBALANCE_SETTING.finditer(line)]


def _reduce_environment(text: str) -> str:
    """Return irqbalance's variables, and one without a name for all others: an empty environment counts as hidden."""
    *variables, end = text.split("\0")
    kept = [variable for variable in variables if variable.partition("=")[0] in IRQBALANCE_VARIABLES]
    return "".join(f"{variable}\0" for variable in ("=", *kept)) + ("" if not end else "?")


def _reduce_config(text: str) -> str:
    """Return the build options that matter to noise as plain text, even if the file is compressed."""
    try:
        lines = gunzip(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace").split("\n")
    except ValueError:
        return ""
    names = ((line, _CONFIG_NAME.match(line)) for line in lines)
    return "".join(line + "\n" for line, name in names if name is not None and name[1] in TELLING_CONFIG)


def _reduce_cgroups(text: str) -> str:
    """Return a process's cgroups with only the parts of paths that name units, containers and pods, and no user IDs."""
    lines = [line.split(":", 2) for line in text.split("\n") if line.count(":") >= 2]
    paths = ["/".join(part if _CGROUP_PART.fullmatch(part) else "?" for part in path.split("/")) for *_, path in lines]
    reduced = [_USER_ID.sub(r"user\1?", path) for path in paths]
    return "".join(f"{line[0]}:{line[1]}:{path}\n" for line, path in zip(lines, reduced, strict=True))


def _reduce_mounts(text: str, sound: re.Pattern[str], nothing: str) -> str:
    """Return the relevant mounts, and a marker for each damaged line; return `nothing` if there are neither."""
    lines = re.sub(r"(?:\n[ \t]*)+\Z", "", text).split("\n")
    damaged = [_DAMAGED for line in lines if sound.match(line) is None]
    relevant = [line for line in lines if any(word in line for word in _RELEVANT_MOUNTS)]
    return "".join(f"{line}\n" for line in [*relevant, *damaged]) or nothing


def _lines_with(text: str, words: tuple[str, ...]) -> str:
    return "".join(line + "\n" for line in text.split("\n") if any(word in line for word in words))
