"""The state that a benchmark inherits from its shell. noisewatch has inherited the same state, so it reads its own.

    /proc/self/stat         4711 (python3) S 4700 … 20 0 1 …       field 19 is nice, 41 the policy
    /proc/self/personality  00040000                              hexadecimal; this flag is ADDR_NO_RANDOMIZE
    /proc/self/status       TracerPid:  0
                            CapEff:     000001ffffffffff
                            Seccomp:    2                     0: none, 1: strict, 2: filters
    /proc/self/uid_map               0          0 4294967295   the machine's own user namespace
    /proc/self/limits       Max cpu time              unlimited            unlimited            seconds

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html and the other files' pages. Whichever thread reads them, the
files describe the process's first thread.

A mount option of /proc can hide other users' processes:

    proc /proc proc rw,nosuid,nodev,noexec,relatime,hidepid=invisible 0 0

https://docs.kernel.org/filesystems/proc.html (mount options): hidepid=1 hides the content of their folders; 2
(invisible) and 4 (ptraceable) hide the folders. Processes with CAP_SYS_PTRACE and the group gid= still see them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.memory.nodes import MemoryPolicy, parse_allowed_nodes, read_memory_policy
from noisewatch.kernel.numbers import is_count, lines_of, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import MOUNTS, OWN_MOUNTS, parse_mounts
from noisewatch.machine import Json
from noisewatch.patterns import regex

STAT = "/proc/self/stat"
PERSONALITY = "/proc/self/personality"
STATUS = "/proc/self/status"
LIMITS = "/proc/self/limits"
PARENT = "scheduling of the parent process"
ENVIRONMENT = "environment of this process"
NAMESPACE = "whether this process is in the machine's own user namespace"
UNLIMITED = float("inf")
NO_RANDOMISATION = 0x004_0000  # ADDR_NO_RANDOMIZE in linux/personality.h

# Only the names of these variables are read: values and other names may be secret.
_RELEVANT_VARIABLES = frozenset(
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


class Scheduling(Struct, frozen=True):
    """A process's nice value and its scheduling policy (the kernel's number)."""

    nice: int
    policy: int


class OwnParent(Struct, frozen=True):
    """The parent of this process, usually the user's shell."""

    pid: int
    scheduling: Scheduling


class OwnStatus(Struct, frozen=True):
    """The PID of this process's tracer (0: none), and the mask of its effective capabilities."""

    tracer_pid: int
    capabilities: int


class Environment(Struct, frozen=True):
    """The names of _RELEVANT_VARIABLES that are set, and the size (bytes) of all variables."""

    names: tuple[str, ...]
    size_bytes: int


class OwnProcess(Struct, frozen=True):
    """The state that this process has inherited. None means unknown."""

    scheduling: Scheduling | None
    parent: OwnParent | None
    personality: int | None
    status: OwnStatus | None
    limits: Mapping[str, float] | None  # soft limits by the kernel's name; infinite if unlimited
    environment: Environment | None
    seccomp_mode: int | None
    is_in_user_namespace: bool | None  # whether its capabilities are valid only in a user namespace
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
    """Parse the nice value and policy in /proc/PID/stat. Raise Malformed."""
    fields = stat.rpartition(")")[2].split()
    words = [fields[number] for number in (16, 38)] if len(fields) > 38 else []
    if not words or not all(is_count(word.removeprefix("-")) for word in words):
        raise Malformed("`pid (name) state …` with 41 fields or more", stat[:40].strip())
    return Scheduling(*map(int, words))


def parse_personality(text: str) -> int:
    """Parse the personality flags. Raise Malformed."""
    word = text.strip()
    if _PERSONALITY.fullmatch(word) is None:
        raise Malformed("a hexadecimal number such as 00040000", word)
    return int(word, 16)


def parse_own_status(text: str) -> OwnStatus:
    """Parse the tracer and the effective capabilities. Raise Malformed."""
    tracer, capabilities = _TRACER.search(text), _CAPABILITIES.search(text)
    if tracer is None or capabilities is None:
        raise Malformed("lines `TracerPid: 0` and `CapEff: 0000000000000000`", text[-20:])
    return OwnStatus(int(tracer[1]), int(capabilities[1], 16))


def parse_seccomp_mode(text: str) -> int:
    """Parse the seccomp mode. Raise Malformed, even for the rare kernels without seccomp, which lack the line."""
    return int(require_match(_SECCOMP.search(text), "a line `Seccomp: 0`", text[-20:])[1])


def parse_limits(text: str) -> Mapping[str, float]:
    """Parse the soft limits by name, infinite if unlimited. Raise Malformed."""
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
    """Return the state that this process has inherited, like a benchmark started by the same shell."""
    return OwnProcess(
        scheduling=reader.parse(STAT, parse_scheduling),
        parent=_parent(reader.ask(PARENT, ask_parent)),
        personality=reader.parse(PERSONALITY, parse_personality),
        status=reader.parse(STATUS, parse_own_status),
        limits=reader.parse(LIMITS, parse_limits),
        environment=_environment(reader.ask(ENVIRONMENT, ask_environment)),
        seccomp_mode=reader.parse(STATUS, parse_seccomp_mode),
        is_in_user_namespace=_negate(reader.ask(NAMESPACE, ask_is_machines_namespace)),
        allowed_memory_nodes=reader.parse(STATUS, parse_allowed_nodes),
        memory_policy=read_memory_policy(reader),
    )


def ask_parent() -> Json:
    """Return the parent's PID, nice value and policy; None if it is outside the container. Raise OSError if it is gone.

    This is a question, not a read of the parent's stat file, because that file is already read for the list of tasks.
    """
    pid = os.getppid()
    return [pid, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)] if pid > 0 else None


def ask_is_machines_namespace() -> Json:
    """Return whether all users are mapped to themselves, user_namespaces(7); True on a kernel without namespaces."""
    try:
        return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    except FileNotFoundError:
        return True


def _negate(answer: Json) -> bool | None:
    """Negate the answer; return None for any other answer, such as from a damaged recording."""
    return not answer if isinstance(answer, bool) else None


def _parent(answer: Json) -> OwnParent | None:
    """Return the parent in an answer; None for any other answer, such as from a damaged recording."""
    if not isinstance(answer, list) or len(answer) != 3 or not all(type(number) is int for number in answer):
        return None
    pid, nice, policy = answer
    return OwnParent(pid, Scheduling(nice, policy)) if pid > 0 else None


def ask_environment() -> Json:
    """Return the relevant variables that are set, and the size (bytes) of all variables as the kernel passes them."""
    names = sorted(_RELEVANT_VARIABLES & os.environ.keys())
    return {"names": names, "bytes": sum(len(name) + len(value) + 2 for name, value in os.environb.items())}


def _environment(answer: Json) -> Environment | None:
    """Return the environment in an answer; None for any other answer, such as from a damaged recording."""
    if not isinstance(answer, dict):
        return None
    names, size = answer.get("names"), answer.get("bytes")
    if type(size) is not int or not isinstance(names, list):
        return None
    return Environment(tuple(sorted(_RELEVANT_VARIABLES.intersection(map(str, names)))), size)


_PROC = ("/proc", "proc")
_HIDES = regex(r"(?:^|,)hidepid=(?!0(?:,|$)|off(?:,|$))(\w+)")
_MAY_TRACE = 1 << 19  # CAP_SYS_PTRACE, in linux/capability.h


def parse_hidepid(text: str) -> str | None:
    """Parse the value of hidepid on the last mount of /proc, which covers the others; None if it hides no process.

    Raise Malformed, also if /proc is not mounted.
    """
    options = [mount.options for mount in parse_mounts(text) if (mount.folder, mount.kind) == _PROC]
    if not options:
        raise Malformed("a mount of /proc", text[-20:])
    hides = _HIDES.search(options[-1])
    return hides[1] if hides is not None else None


def read_hidepid_reason(reader: Reader) -> str | None:
    """Return why other users' processes may be hidden although kernel threads are visible, or None if all are shown."""
    path = OWN_MOUNTS if reader.text_or_none(OWN_MOUNTS, expected=False) is not None else MOUNTS
    try:
        value = parse_hidepid(reader.text(path, expected=False))
    except (Unreadable, Malformed):
        return f"{OWN_MOUNTS}: does not show whether /proc hides processes"
    if value is None:
        return None
    status = reader.parse(STATUS, parse_own_status)
    may_see_all = status is not None and bool(status.capabilities & _MAY_TRACE)
    return None if may_see_all else f"/proc is mounted with hidepid={value}, which may hide other users' processes"
