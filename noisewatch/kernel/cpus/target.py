"""The target CPUs: the benchmark will run on them, and noisewatch judges them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import Unreadable, system_reason
from noisewatch.kernel.cpus.isolation import Isolation
from noisewatch.kernel.cpus.online import Online
from noisewatch.kernel.cpus.topology import CpuPlace, fastest_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import parse_allowed
from noisewatch.machine import Json
from noisewatch.text import clean

OWN_AFFINITY = "CPUs this process may use"
OWN_STATUS = "/proc/self/status"
_PIN = "pin to CPUs"
_REQUESTED = "CPUs that were asked for"
_MOST_LOOKS = 200
_BETWEEN_LOOKS_S = 0.0005


class Target(Struct, frozen=True):
    """The target CPUs, and why they were chosen."""

    cpus: CpuSet
    chosen_by: str
    doubt: str | None = None  # why isolated CPUs, which would be preferred, may have been missed


def read_own_affinity(reader: Reader, allowed_at_start: CpuSet | None, online: Online | None = None) -> CpuSet | None:
    """Return the CPUs that this process may use, or None if unknown.

    In a copy of a container whose CPUs lxcfs renumbers, these are the CPUs of the process that made the copy.
    """

    def ask() -> list[int]:
        return sorted(allowed_at_start if allowed_at_start is not None else os.sched_getaffinity(0))

    allowed = _cpus(reader.ask(OWN_AFFINITY, ask))
    if allowed is None and online is not None and online.renumbered is not None:
        return reader.parse(OWN_STATUS, parse_allowed, expected=False)
    return allowed


def read_requested(reader: Reader, requested: CpuSet | None) -> CpuSet | None:
    """Return the CPUs that the user requests now, else those requested for the recording; None without a request."""

    def ask() -> list[int] | None:
        return sorted(requested) if requested is not None else None

    with suppress(Unreadable):  # recordings of earlier versions do not contain this answer
        recorded = _cpus(reader.machine.ask(_REQUESTED, ask))
        return requested if requested is not None else recorded or None  # an empty list: none were requested
    return requested


def choose_target(
    requested: CpuSet | None,
    isolation: Isolation,
    online: Online,
    own_affinity: CpuSet | None,
    topology: Mapping[int, CpuPlace],
) -> Target:
    """Choose the target CPUs: requested, else isolated, else allowed except CPU 0's core, else all allowed CPUs.

    If no CPU is isolated and the affinity is unknown, choose all online CPUs. Unless CPUs were requested, only choose
    the fastest kind of core.
    """
    available = online.online or frozenset()
    if own_affinity is not None and not own_affinity & available:
        available |= own_affinity  # sched_getaffinity(2) only returns active CPUs (kernel/sched/syscalls.c)
    target = _usual_target(isolation, available, own_affinity, topology)
    if requested is not None:
        target = Target(requested, "as requested")
    elif (fastest := fastest_of(target.cpus, topology)) != target.cpus:
        target = replace(target, cpus=fastest, chosen_by=f"{target.chosen_by}, the fastest kind of core")
    if online.renumbered is not None:
        target = replace(target, chosen_by=f"{target.chosen_by}; {online.renumbered}")
    return target


def fastest_target(
    isolation: Isolation, online: CpuSet | None, own_affinity: CpuSet | None, topology: Mapping[int, CpuPlace]
) -> CpuSet | None:
    """Return the CPUs for `--cpus fast`: the default target CPUs as if only the fastest kind of core were online.

    The set may be empty; None if the online CPUs, or the kind of any of them, are unknown.
    """
    online = online or frozenset()
    if not online or any(cpu not in topology or topology[cpu].kind is None for cpu in online):
        return None
    return _usual_target(isolation, fastest_of(online, topology), own_affinity, topology).cpus


def _usual_target(
    isolation: Isolation, online: CpuSet, own_affinity: CpuSet | None, topology: Mapping[int, CpuPlace]
) -> Target:
    """Return the default target CPUs among `online`."""
    isolated = (isolation.isolated or frozenset()) & online
    if isolated:
        return Target(isolated, "isolated")
    if own_affinity is None:
        return Target(online, "all online CPUs" if online else "no CPU is known to be online")
    place = topology.get(0)
    boot_core = frozenset({0}) | (place.siblings if place is not None and place.siblings else frozenset())
    without_boot_core = (own_affinity & online) - boot_core
    if without_boot_core:
        return Target(without_boot_core, "allowed to this process, without CPU 0's core", isolation.doubt)
    return Target(own_affinity & online, "allowed to this process", isolation.doubt)


class PinTrial(Struct, frozen=True):
    """The result of pinning to the target CPUs: the granted CPUs, or why pinning failed; both None if not tried."""

    granted: CpuSet | None
    reason: str | None


def read_pin_trial(reader: Reader, cpus: CpuSet) -> PinTrial:
    """Pin one of noisewatch's sleeping threads to exactly `cpus`, without running there. Return the granted CPUs."""
    answer = reader.ask(f"{_PIN} {format_cpu_list(cpus)}", lambda: _try_pin(cpus))
    if not isinstance(answer, dict):
        return PinTrial(None, None)
    reason = answer.get("reason")
    return PinTrial(_cpus(answer.get("granted")), clean(reason) if isinstance(reason, str) else None)


def _cpus(answer: Json) -> CpuSet | None:
    """Return the CPU numbers in an answer; None for any other answer, such as from a damaged recording."""
    is_list = isinstance(answer, list) and all(type(cpu) is int for cpu in answer)
    return frozenset(answer) if is_list else None


def _try_pin(cpus: CpuSet) -> dict[str, object]:
    """Pin a sleeping thread, which never runs on `cpus`. Raise OSError if the thread does not fall asleep.

    The kernel only migrates tasks that run or wait to run: kernel/sched/core.c, affine_move_task.
    """
    tid = _sleeper(os.getpid())
    before = os.sched_getaffinity(tid)
    try:
        os.sched_setaffinity(tid, cpus)
    except OSError as error:
        return {"reason": system_reason(error)}
    granted = sorted(os.sched_getaffinity(tid))
    os.sched_setaffinity(tid, before)
    return {"granted": granted}


@cache
def _sleeper(_of_pid: int) -> int:
    """Return the tid of a thread that sleeps until this process ends; cached to start only one."""
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    for _ in range(_MOST_LOOKS):
        stat = Path(f"/proc/self/task/{thread.native_id}/stat").read_bytes()
        if thread.native_id is not None and stat.rpartition(b")")[2].split()[0] == b"S":
            return thread.native_id
        time.sleep(_BETWEEN_LOOKS_S)
    raise OSError(None, "the thread to pin did not fall asleep")
