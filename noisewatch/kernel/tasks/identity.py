"""The identity of a process that may be named as a culprit: program, arguments, and systemd unit, container or pod.

    /proc/4711/cmdline   python3\\0-c\\0while 1: pass\\0              or a title of the process's own choice
    /proc/4711/cgroup    0::/system.slice/nginx.service
                         0::/system.slice/docker-3f4e….scope        64 hexadecimal digits
                         0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c….slice/cri-containerd-….scope
                         4:memory:/kubepods/burstable/pod1b2c…/3f4e…        cgroup v1

https://man7.org/linux/man-pages/man5/proc_pid_cmdline.5.html, https://systemd.io/CGROUP_DELEGATION,
https://kubernetes.io/docs/concepts/architecture/cgroups. Both files are read once per process and program, and only if
the process used a CPU: a snapshot reads the processes with the most CPU time. The start time distinguishes a process
from later ones with the same PID.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import parse_stat
from noisewatch.kernel.tasks.task import Tasks, descendants_in, parents_in
from noisewatch.machine import Json
from noisewatch.machine.recording.privacy import IDENTITY, NO_ARGUMENTS, program_name
from noisewatch.patterns import regex
from noisewatch.text import clean, printable

_LONGEST_COMMAND = 4096  # bytes that are read
_LONGEST_CGROUPS = 1 << 16
_LONGEST_SHOWN = 200  # characters of a command line
_LEAST_NS = 100_000  # since the previous snapshot; a process that ran for less is no culprit
_MOST_AT_ONCE = 16  # processes read in one snapshot
_NOT_RECORDED = "(arguments not recorded)"
_SHORT_ID = 12  # digits, as container tools print them

_CONTAINER = regex(r"(?:([a-z][a-z-]*)-)?([0-9a-f]{64})(?:\.scope)?")
_MONITOR = "conmon"  # watches a container, but is not in it
_POD = regex(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$")
_RUNTIMES = {
    "docker": "docker",
    "libpod": "podman",
    "libpod_parent": "podman",
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
}
_SYSTEMD = "name=systemd"


class Surroundings(Struct, frozen=True):
    """The systemd unit, container and pod of a process; None if it is in none."""

    unit: str | None = None
    runtime: str | None = None  # of the container, such as `docker`; None also if its name does not show it
    container: str | None = None  # the first 12 digits of its ID
    pod: str | None = None  # the UID

    def __str__(self) -> str:
        container = None if self.container is None else f"{self.runtime or 'container'} {self.container}"
        return ", ".join(filter(None, (self.unit, container, None if self.pod is None else f"pod {self.pod}")))


NO_SURROUNDINGS = Surroundings()


class ProcessIdentity(Struct, frozen=True):
    """The program and the surroundings of one process."""

    started_ticks: int
    name: str  # the program's file name
    command: str  # with arguments, in one printable line; empty if unknown
    surroundings: Surroundings = NO_SURROUNDINGS

    def details(self, with_arguments: bool = True, with_folder: bool = True) -> str:
        """Return `/usr/bin/python3 -c while 1: pass · nginx.service`, without unknown parts.

        A command that only repeats the name is left out. `with_folder` is whether the program's folder is included.
        """
        first, blank, arguments = self.command.partition(" ")
        command = self.command if with_folder else os.path.basename(first) + blank + arguments
        command = command if with_arguments and command != self.name else ""
        return " · ".join(filter(None, (command, str(self.surroundings))))


def parse_surroundings(cgroups: str) -> Surroundings:
    """Return the unit, container and pod that /proc/PID/cgroup names; of several hierarchies, prefer systemd's own."""
    paths: dict[str, str] = {}
    for line in cgroups.split("\n"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths.setdefault(controllers, path)
    preferred = [paths.pop(controllers) for controllers in (_SYSTEMD, "") if controllers in paths]
    for path in (*preferred, *sorted(paths.values(), key=len, reverse=True)):
        surroundings = _surroundings_of(path)
        if surroundings != NO_SURROUNDINGS:
            return surroundings
    return NO_SURROUNDINGS


def _surroundings_of(path: str) -> Surroundings:
    """Return the innermost unit, container and pod; the scope of a container is not a unit of its own."""
    unit = runtime = container = pod = None
    before = ""
    for part in path.replace(":", "/").split("/"):
        if (in_pod := _POD.search(part)) is not None:
            pod = in_pod[1].replace("_", "-")
        match = _CONTAINER.fullmatch(part)
        if match is not None and _MONITOR not in (match[1] or ""):
            unit, runtime, container = None, _RUNTIMES.get(match[1] or before), match[2][:_SHORT_ID]
        elif part.endswith((".service", ".scope")):
            unit = clean(part)
        before = part
    return Surroundings(unit, runtime, container, pod)


def parse_identity(answer: Json, started_ticks: int) -> ProcessIdentity | None:
    """Return the identity in the answer of a machine or a recording, or None if there is none."""
    if not isinstance(answer, dict):
        return None
    name, words, cgroups = (answer.get(key) for key in ("name", "command", "cgroup"))
    if not isinstance(name, str) or not isinstance(words, list) or not isinstance(cgroups, str):
        return None
    command = " ".join([printable(str(word)) for word in words])
    if len(command) > _LONGEST_SHOWN:
        command = command[: _LONGEST_SHOWN - 1] + "…"
    if answer.get(NO_ARGUMENTS) is True:
        command = f"{command} {_NOT_RECORDED}"
    return ProcessIdentity(started_ticks, clean(program_name(words, name)), command, parse_surroundings(cgroups))


def read_identities(
    reader: Reader, tasks: Tasks, previous: Tasks | None, target: CpuSet
) -> Mapping[int, ProcessIdentity]:
    """Return the identities by PID: of running processes as read before, and of a few processes that ran since then.

    Processes that used the target CPUs come first. Processes of noisewatch, and of commands that it measures, are left
    out.
    """
    if previous is None:
        return {}
    identities = {pid: identity for pid, identity in previous.identities.items() if _is_of(identity, pid, tasks)}
    ran_ns: Counter[int] = Counter()
    on_target: set[int] = set()
    for tid, task in tasks.by_tid.items():
        before = previous.by_tid.get(tid)
        if before is task or task.is_kernel or task.pid in identities:
            continue
        before_ns = before.ran_ns if before is not None and before.started_ticks == task.started_ticks else 0
        ran_ns[task.pid] += task.ran_ns - before_ns
        if task.cpu in target:
            on_target.add(task.pid)
    ran = [pid for pid, ns in ran_ns.items() if ns >= _LEAST_NS and pid in tasks.by_tid]
    own = descendants_in(parents_in(tasks), reader.machine.own_pids) if ran else frozenset()
    ran = sorted((pid for pid in ran if pid not in own), key=lambda pid: (pid not in on_target, -ran_ns[pid]))
    for pid in ran[:_MOST_AT_ONCE]:
        identity = _read_identity(reader, pid, tasks.by_tid[pid].started_ticks)
        if identity is not None:
            identities[pid] = identity
    return identities


def _is_of(identity: ProcessIdentity, pid: int, tasks: Tasks) -> bool:
    """Return whether the process with this PID is still the same, and runs the same program.

    A process whose threads were not read counts as the same.
    """
    task = tasks.by_tid.get(pid)
    if task is None:
        return pid in tasks.pids
    is_named_alike = task.name.startswith(identity.name) or identity.name.startswith(task.name)
    return is_named_alike and task.started_ticks == identity.started_ticks


def merge_identities(looks: Iterable[Tasks]) -> Mapping[int, ProcessIdentity]:
    """Return the identities of all processes in the looks, except processes whose PID was reused later."""
    merged: dict[int, ProcessIdentity] = {}
    for tasks in looks:
        merged |= tasks.identities
        reused = [pid for pid in merged if pid in tasks.by_tid and not _is_of(merged[pid], pid, tasks)]
        for pid in reused:
            del merged[pid]
    return merged


def _read_identity(reader: Reader, pid: int, started_ticks: int) -> ProcessIdentity | None:
    """Read the identity; None if the process has ended, or if another one has its PID by now."""
    try:
        answer = reader.machine.ask(IDENTITY.format(pid, started_ticks), lambda: _ask_identity(pid, started_ticks))
    except Unreadable:
        return None
    return parse_identity(answer, started_ticks)


def _ask_identity(pid: int, started_ticks: int) -> Json:
    """Return a process's name, command and cgroups, or None if another process has its PID.

    The start is read last: if it is the expected one, the other files were of the same process.
    """
    command, cgroups, stat = (
        _read_start(f"/proc/{pid}/{name}", size)
        for name, size in (("cmdline", _LONGEST_COMMAND), ("cgroup", _LONGEST_CGROUPS), ("stat", _LONGEST_COMMAND))
    )
    try:
        parsed = parse_stat(stat)
    except Malformed:
        return None
    if parsed.started_ticks != started_ticks:
        return None
    return {"name": parsed.name, "command": command.rstrip("\0").split("\0"), "cgroup": cgroups}


def _read_start(path: str, size: int) -> str:
    with open(path, "rb") as file:
        return file.read(size).decode("utf-8", "replace")
