"""What a benchmark inherits from whoever starts it, read off this process, which inherited the same.

    /proc/self/stat         4711 (python3) S 4700 … 20 0 1 …       field 19 is nice, 41 the policy
    /proc/self/personality  00040000                              hexadecimal; this one is ADDR_NO_RANDOMIZE
    /proc/self/status       TracerPid:	0
                            CapEff:	000001ffffffffff
                            Seccomp:	2                     0: none, 1: strict, 2: filters
    /proc/self/uid_map               0          0 4294967295   root is root; otherwise of a user namespace alone
    /proc/self/limits       Max cpu time              unlimited            unlimited            seconds

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html and the pages of the others. The files are those of the
process's first thread, whichever thread reads them.

Whether /proc shows the processes of others depends on how it is mounted:

    proc /proc proc rw,nosuid,nodev,noexec,relatime,hidepid=invisible 0 0

https://docs.kernel.org/filesystems/proc.html (mount options): hidepid=1 hides what is in their folders, 2 (invisible)
and 4 (ptraceable) the folders, but from who may trace them all (CAP_SYS_PTRACE) and from the group gid=.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.memory.policy import MemoryPolicy, parse_allowed_nodes, read_memory_policy
from noisewatch.kernel.numbers import is_count, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import MOUNTS, OWN_MOUNTS, parse_mounts
from noisewatch.machine import Json
from noisewatch.patterns import regex
from noisewatch.records import dataclass

STAT = "/proc/self/stat"
PERSONALITY = "/proc/self/personality"
STATUS = "/proc/self/status"
LIMITS = "/proc/self/limits"
PARENT = "scheduling of the parent process"
ENVIRONMENT = "environment of this process"
NAMESPACE = "whether this process is in the machine's own user namespace"
UNLIMITED = float("inf")
NO_RANDOMISATION = 0x004_0000  # ADDR_NO_RANDOMIZE in linux/personality.h

# Names alone: a value may be a secret, and any other name as well.
TELLING_VARIABLES = frozenset(
    {
        *("LD_PRELOAD", "LD_AUDIT", "LD_BIND_NOW", "GLIBC_TUNABLES", "PYTHONMALLOC", "PYTHONHASHSEED"),
        *("LD_LIBRARY_PATH", "LD_DEBUG", "JAVA_TOOL_OPTIONS", "GOMAXPROCS", "OMP_NUM_THREADS"),
        *("MALLOC_ARENA_MAX", "MALLOC_ARENA_TEST", "MALLOC_CHECK_", "MALLOC_CONF", "MALLOC_MMAP_MAX_"),
        *("MALLOC_MMAP_THRESHOLD_", "MALLOC_PERTURB_", "MALLOC_TOP_PAD_", "MALLOC_TRACE", "MALLOC_TRIM_THRESHOLD_"),
    }
)

_LIMIT = regex(r"(Max [a-z ]+?) {2,}(\S+) +(\S+)(?: +\S+)? *")
_PERSONALITY = regex(r"[0-9a-f]{1,16}")
_TRACER = regex(r"^TracerPid:\t(\d{1,10})$", re.MULTILINE | re.ASCII)
_SECCOMP = regex(r"^Seccomp:\s*([012])$", re.MULTILINE)
_CAPABILITIES = regex(r"^CapEff:\t([0-9a-f]{16})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scheduling:
    """How a process is scheduled: its nice value, and its policy by the kernel's number."""

    nice: int
    policy: int


@dataclass(frozen=True, slots=True)
class OwnParent:
    """The process that started this one, as a rule the user's shell."""

    pid: int
    scheduling: Scheduling


@dataclass(frozen=True, slots=True)
class OwnStatus:
    """Who traces this process (0: nobody), and its effective capabilities as a mask."""

    tracer_pid: int
    capabilities: int


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables among the telling ones that are set, and how many bytes all variables take."""

    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class OwnProcess:
    """None is unknown, in all of them."""

    scheduling: Scheduling | None
    parent: OwnParent | None
    personality: int | None
    status: OwnStatus | None
    limits: Mapping[str, float] | None  # the soft ones, by the kernel's name; infinite is unlimited
    environment: Environment | None
    seccomp_mode: int | None
    is_in_user_namespace: bool | None  # where a capability is one for this process's namespace alone
    allowed_memory_nodes: CpuSet | None
    memory_policy: MemoryPolicy | None


UNKNOWN_PROCESS = OwnProcess(
    scheduling=None,
    parent=None,
    personality=None,
    status=None,
    limits=None,
    environment=None,
    seccomp_mode=None,
    is_in_user_namespace=None,
    allowed_memory_nodes=None,
    memory_policy=None,
)


def parse_scheduling(stat: str) -> Scheduling:
    """Nice value and policy of /proc/PID/stat. Raises Malformed."""
    fields = stat.rpartition(")")[2].split()
    words = [fields[number] for number in (16, 38)] if len(fields) > 38 else []
    if not words or not all(is_count(word.removeprefix("-")) for word in words):
        raise Malformed("`pid (name) state …` with 41 fields or more", stat[:40].strip())
    return Scheduling(*map(int, words))


def parse_personality(text: str) -> int:
    """The flags. Raises Malformed."""
    word = text.strip()
    if _PERSONALITY.fullmatch(word) is None:
        raise Malformed("a hexadecimal number such as 00040000", word)
    return int(word, 16)


def parse_own_status(text: str) -> OwnStatus:
    """Tracer and capabilities. Raises Malformed."""
    tracer, capabilities = _TRACER.search(text), _CAPABILITIES.search(text)
    if tracer is None or capabilities is None:
        raise Malformed("lines `TracerPid: 0` and `CapEff: 0000000000000000`", text[-20:])
    return OwnStatus(int(tracer[1]), int(capabilities[1], 16))


def parse_seccomp_mode(text: str) -> int:
    """The mode. Raises Malformed, also where the line is missing: a kernel without seccomp is rare."""
    match = _SECCOMP.search(text)
    if match is None:
        raise Malformed("a line `Seccomp: 0`", text[-20:])
    return int(match[1])


def parse_limits(text: str) -> Mapping[str, float]:
    """The soft limits by their name. Raises Malformed."""
    limits: dict[str, float] = {}
    for number, line in enumerate(lines_of(text)[1:], start=2):
        match = _LIMIT.fullmatch(line)
        if match is None or not (match[2] == "unlimited" or is_count(match[2])):
            raise Malformed("`Max cpu time  unlimited  unlimited  seconds`", line, number)
        limits[match[1]] = UNLIMITED if match[2] == "unlimited" else int(match[2])
    if not limits:
        raise Malformed("`Max cpu time  unlimited  unlimited  seconds`", text, 1)
    return limits


def read_own_process(reader: Reader) -> OwnProcess:
    """What this process, and so what it or its shell starts, has inherited."""
    return OwnProcess(
        scheduling=reader.parsed(STAT, parse_scheduling),
        parent=_parent(reader.ask(PARENT, ask_parent)),
        personality=reader.parsed(PERSONALITY, parse_personality),
        status=reader.parsed(STATUS, parse_own_status),
        limits=reader.parsed(LIMITS, parse_limits),
        environment=_environment(reader.ask(ENVIRONMENT, ask_environment)),
        seccomp_mode=reader.parsed(STATUS, parse_seccomp_mode),
        is_in_user_namespace=_negated(reader.ask(NAMESPACE, ask_is_machines_namespace)),
        allowed_memory_nodes=reader.parsed(STATUS, parse_allowed_nodes),
        memory_policy=read_memory_policy(reader),
    )


def ask_parent() -> Json:
    """Number, nice value and policy; null where the parent lies outside the container. OSError where it is gone.

    Its stat is read for the list of tasks, and no file is read twice.
    """
    pid = os.getppid()
    return [pid, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)] if pid > 0 else None


def ask_is_machines_namespace() -> Json:
    """Whether all users are mapped to themselves, user_namespaces(7); a kernel without namespaces has just one."""
    try:
        return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    except FileNotFoundError:
        return True


def _negated(answer: Json) -> bool | None:
    """None where the answer is something else, as in a damaged recording."""
    return not answer if isinstance(answer, bool) else None


def _parent(answer: Json) -> OwnParent | None:
    """None where the answer is something else, as in a damaged recording."""
    if not isinstance(answer, list) or len(answer) != 3 or not all(type(each) is int for each in answer):
        return None
    pid, nice, policy = answer
    return OwnParent(pid, Scheduling(nice, policy)) if pid > 0 else None


def ask_environment() -> Json:
    """The names of telling variables, and the size of all as the kernel hands them over."""
    names = sorted(TELLING_VARIABLES & os.environ.keys())
    return {"names": names, "bytes": sum(len(name) + len(value) + 2 for name, value in os.environb.items())}


def _environment(answer: Json) -> Environment | None:
    """None where the answer is something else, as in a damaged recording."""
    if not isinstance(answer, dict):
        return None
    names, size = answer.get("names"), answer.get("bytes")
    if type(size) is not int or not isinstance(names, list):
        return None
    return Environment(tuple(sorted(TELLING_VARIABLES.intersection(map(str, names)))), size)


_PROC = ("/proc", "proc")
_HIDES = regex(r"(?:^|,)hidepid=(?!0(?:,|$)|off(?:,|$))(\w+)")
_MAY_TRACE = 1 << 19  # CAP_SYS_PTRACE, in linux/capability.h


def parse_hidepid(text: str) -> str | None:
    """The value of the option on the last mount of /proc, which covers the others; None where it hides nobody.

    Raises Malformed, also where nothing is told of /proc.
    """
    options = [mount.options for mount in parse_mounts(text) if (mount.folder, mount.kind) == _PROC]
    if not options:
        raise Malformed("how /proc is mounted", text[-20:])
    hides = _HIDES.search(options[-1])
    return hides[1] if hides is not None else None


def read_why_hidden(reader: Reader) -> str | None:
    """Why there may be processes that cannot be seen, although the kernel's own are; None where all can be seen."""
    path = OWN_MOUNTS if reader.text_or_none(OWN_MOUNTS, expected=False) is not None else MOUNTS
    try:
        value = parse_hidepid(reader.text(path, expected=False))
    except (Unreadable, Malformed):
        return f"{OWN_MOUNTS}: does not say whether /proc hides processes"
    if value is None:
        return None
    status = reader.parsed(STATUS, parse_own_status)
    may_see_all = status is not None and bool(status.capabilities & _MAY_TRACE)
    return None if may_see_all else f"/proc is mounted with hidepid={value}, which may hide other users' processes"
