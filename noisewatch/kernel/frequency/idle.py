"""The CPUs' idle states (cpuidle): how deep CPUs may sleep, which limits apply, and how long they have slept.

    /sys/devices/system/cpu/cpuN/cpuidle/state3/{name,latency,disable}     C6, 133 (us), 0
    /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us            0 (no limit), n/a (no latency), or us
    /dev/cpu_dma_latency                                                   the lowest request, s32, us
    /proc/812/fd/7 -> /dev/cpu_dma_latency                                 a request, which lasts while it is open
    /proc/cmdline                                                          idle=poll

https://docs.kernel.org/admin-guide/pm/cpuidle.html, https://docs.kernel.org/power/pm_qos_interface.html

How long each CPU has slept in each idle state since boot; reading it wakes no CPU:

    /sys/devices/system/cpu/cpuN/cpuidle/state3/{name,time}     C6, 8410533 (us)

A sleep is counted when it ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.numbers import MOST_UNSIGNED, integer_from, parse_count, parse_flag, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.release import read_command_line
from noisewatch.patterns import regex
from noisewatch.text import clean

LATENCY_REQUEST = "/dev/cpu_dma_latency"
NO_LIMIT_US = 2_000_000_000  # the kernel's value
_STATE = regex(r"state(\d{1,3})")
_REQUEST_BYTES = 4
HOLDERS = "processes that hold /dev/cpu_dma_latency open"
_LOOKED_FOR_S = 0.25  # time to search for processes with a request; most of them are among the first hundred processes
POLL = "POLL"  # the spinning state, always the first


class IdleState(Struct, frozen=True):
    """One idle state of a CPU. None means unknown."""

    index: int
    name: str | None
    latency_us: int | None  # to wake up
    is_disabled: bool | None

    @property
    def is_sleep(self) -> bool:
        """Whether the CPU stops in this state rather than spins."""
        return self.name != POLL


class CpuIdle(Struct, frozen=True):
    """The idle states of one CPU. None means unknown; `states` is empty if the kernel has none for this CPU."""

    states: tuple[IdleState, ...] | None
    limit_us: int | None


class Idle(Struct, frozen=True):
    """The target CPUs' idle states, and the settings for all CPUs. None means unknown."""

    cpus: Mapping[int, CpuIdle]
    request_us: int | None
    boot_option: str | None  # the value of idle=; empty if not given
    holders: frozenset[int] = frozenset()  # processes known to request a latency


def read_idle(reader: Reader, target: CpuSet, previous: Idle | None = None) -> Idle:
    """Return the current idle states and limits.

    Requesters are only searched for if the request differs from the `previous` one, because a search reads the open
    files of all processes.
    """
    options = read_command_line(reader)
    answer = reader.ask(LATENCY_REQUEST, _ask_request)
    request_us = answer if type(answer) is int and answer >= 0 else None
    if previous is not None and previous.request_us == request_us:
        holders = previous.holders
    else:
        is_limited = request_us is not None and request_us < NO_LIMIT_US
        holders = (
            _holders(reader.ask(HOLDERS, lambda: list(processes_holding(LATENCY_REQUEST))))
            if is_limited
            else frozenset()
        )
    return Idle(
        reader.make_or_reuse(
            "idle states",
            target,
            lambda: {cpu: CpuIdle(_read_states(reader, cpu), _read_limit(reader, cpu)) for cpu in sorted(target)},
        ),
        request_us,
        None if options is None else (options.get("idle") or ("",))[-1],
        holders,
    )


def _read_states(reader: Reader, cpu: int) -> tuple[IdleState, ...] | None:
    folder = f"{CPUS}/cpu{cpu}/cpuidle"
    names = reader.names_or_none(folder)
    if names is None:
        return () if reader.is_absent(folder) and reader.names_or_none(f"{CPUS}/cpu{cpu}") else None
    numbers = _state_numbers(names)
    if not numbers:
        reader.note(folder, "no state in it")
        return None
    return tuple(_read_state(reader, f"{folder}/state{index}", index) for index in numbers)


def _state_numbers(names: Iterable[str]) -> list[int]:
    return sorted(int(match[1]) for match in map(_STATE.fullmatch, names) if match is not None)


def _read_state(reader: Reader, folder: str, index: int) -> IdleState:
    name = reader.parse(f"{folder}/name", parse_word)
    return IdleState(
        index=index,
        name=clean(name) if name is not None else None,
        latency_us=reader.parse(f"{folder}/latency", integer_from(0, MOST_UNSIGNED)),
        is_disabled=reader.parse(f"{folder}/disable", parse_flag),
    )


def _read_limit(reader: Reader, cpu: int) -> int | None:
    path = f"{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us"
    limit_us = reader.parse(path, parse_resume_latency)
    return NO_LIMIT_US if limit_us is None and reader.is_absent(path) else limit_us


def parse_resume_latency(text: str) -> int:
    """Return the longest accepted latency (us). Raise Malformed."""
    stripped = text.strip()
    if stripped == "n/a":
        return 0
    return integer_from(0)(stripped) or NO_LIMIT_US


def _ask_request() -> int:
    """Read the lowest request (us). The file is closed at once, because an open descriptor is itself a request."""
    descriptor = os.open(LATENCY_REQUEST, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        content = os.read(descriptor, _REQUEST_BYTES)
    finally:
        os.close(descriptor)
    return int.from_bytes(content, byteorder=sys.byteorder, signed=True)


def processes_holding(path: str) -> Iterator[int]:
    """Yield the pids of processes that have the file open, lowest first, as far as time and permissions allow."""
    until_s = time.monotonic() + _LOOKED_FOR_S
    for pid in sorted(map(int, filter(str.isdecimal, os.listdir("/proc")))):
        if time.monotonic() > until_s:
            return
        folder = f"/proc/{pid}/fd"
        with suppress(OSError):  # the process has ended or belongs to another user
            if any(_leads_to(f"{folder}/{name}", path) for name in os.listdir(folder)):
                yield pid


def _leads_to(link: str, path: str) -> bool:
    with suppress(OSError):
        return os.readlink(link) == path
    return False


def _holders(answer: object) -> frozenset[int]:
    return frozenset(pid for pid in answer if type(pid) is int) if isinstance(answer, list) else frozenset()


MOST_CPUS = 128  # reading a file takes 2 to 10 us, and a CPU has up to ten files


class StateTime(Struct, frozen=True):
    """How long a CPU has slept in one idle state since boot. None means unknown."""

    index: int
    name: str | None
    slept_us: int | None


def read_state_times(
    reader: Reader, cpus: Sequence[int], previous: Mapping[int, tuple[StateTime, ...] | None] | None = None
) -> Mapping[int, tuple[StateTime, ...] | None]:
    """Return the idle states of each of the first `MOST_CPUS` CPUs: empty if the CPU has none, None if unknown.

    Names are taken from `previous`, because they never change.
    """
    states_by_cpu = previous or {}
    return {cpu: _reread_times(reader, cpu, states_by_cpu.get(cpu)) for cpu in cpus[:MOST_CPUS]}


def _reread_times(reader: Reader, cpu: int, previous: tuple[StateTime, ...] | None) -> tuple[StateTime, ...] | None:
    states = previous or _read_names(reader, cpu)
    if states is None:
        return None
    folder = f"{CPUS}/cpu{cpu}/cpuidle"
    return tuple(
        StateTime(state.index, state.name, reader.parse(f"{folder}/state{state.index}/time", parse_count))
        for state in states
    )


def _read_names(reader: Reader, cpu: int) -> tuple[StateTime, ...] | None:
    folder = f"{CPUS}/cpu{cpu}/cpuidle"
    names = reader.names_or_none(folder)
    if names is None:
        return () if reader.is_absent(folder) else None
    texts = {number: reader.parse(f"{folder}/state{number}/name", parse_word) for number in _state_numbers(names)}
    return tuple(StateTime(number, None if name is None else clean(name), None) for number, name in texts.items())
