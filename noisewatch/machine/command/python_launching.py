"""Starts commands in Python if there is no compiled core.

It forks this process, which takes a millisecond or two more, partly on the target CPUs: the last Python code before
execve runs there, and the forked memory is freed there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import warnings
from collections.abc import Callable
from mmap import mmap
from time import monotonic_ns
from typing import NoReturn

STARTED, CGROUP, MEMORY, USER, AFFINITY, QUIET, EXEC, LAYOUT = range(8)  # the stage reached, or at which it failed
INHERITED_LAYOUT, FIXED_LAYOUT, RANDOM_LAYOUT = range(3)
USAGE_FIELDS = 8
_BIND_MEMORY = 2  # MPOL_BIND
_READ_PERSONALITY, _NO_RANDOMIZATION = 0xFFFFFFFF, 0x0040000  # ADDR_NO_RANDOMIZE, personality(2)
_MOST_NODES = 1 << 10
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}  # numbers of system calls, by machine type
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT}
GUARDED_PID = struct.Struct("=i")  # a C int
_REPORT = struct.Struct(f"=iiq{USAGE_FIELDS}q")
_EXIT_STATUS = 127  # never shown: the report contains the error

# Pid; stage; error number, 0 on success; CLOCK_MONOTONIC just before execve, in ns; and usage until then: user and
# system time (µs), minor and major faults, blocks in and out, voluntary and involuntary context switches.
Launched = tuple[int, int, int, int, tuple[int, ...]]


def launch(
    paths: tuple[bytes, ...],
    argv: tuple[bytes, ...],
    environment: tuple[bytes, ...],
    cpus: tuple[int, ...],
    must_have_all: bool,
    nodes: tuple[int, ...],
    cgroup: int,
    has_user: bool,
    uid: int,
    gid: int,
    groups: tuple[int, ...],
    is_quiet: bool,
    blocked: int,
    ignored: int,
    layout: int,
    guarded: mmap,
) -> Launched:
    """Start the first of the `paths` that can be executed. Raise OSError if no process can be created.

    Empty `cpus` or `nodes` leave the affinity or memory policy unchanged; `must_have_all` requires all of the CPUs.
    `cgroup` is the cgroup's `cgroup.procs`, open for writing, or -1. Signals are bits, 1 << (number - 1): the command
    starts with `blocked` and `ignored` signals; all others have their default handling. `layout` is the layout
    of its addresses: fixed, random or inherited. The child writes its PID into `guarded` before it runs the command.
    """
    set_signals = _signal_setter(ignored)
    mask = [number for number in signal.valid_signals() if blocked >> (number - 1) & 1]
    arguments, variables = list(argv), dict(pair for pair in map(_variable, environment) if pair is not None)
    bind_memory = _memory_binder(nodes) if nodes else None
    set_layout = _layout_setter(layout) if layout != INHERITED_LAYOUT else None
    wanted_cpus = set(cpus)

    def become_command(write_end: int) -> NoReturn:
        """Prepare the child and run the command; report the start, or the failed stage."""
        stage = STARTED
        try:
            set_signals()
            if is_quiet:
                stage = QUIET
                _redirect_to_null()
            if cgroup >= 0:
                stage = CGROUP
                os.write(cgroup, b"0")
            if bind_memory is not None:
                stage = MEMORY
                bind_memory()
            if set_layout is not None:
                stage = LAYOUT
                set_layout()
            if has_user:
                stage = USER
                os.setgroups(groups)
                os.setresgid(gid, gid, gid)
                os.setresuid(uid, uid, uid)
            if wanted_cpus:
                stage = AFFINITY
                os.sched_setaffinity(0, wanted_cpus)
                if must_have_all and os.sched_getaffinity(0) != wanted_cpus:
                    raise _os_error(errno.EINVAL)
            used = _own_usage()
            GUARDED_PID.pack_into(guarded, 0, os.getpid())
            os.write(write_end, _REPORT.pack(STARTED, 0, monotonic_ns(), *used))
            stage = EXEC
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _execute_first(paths, arguments, variables)
        except OSError as error:
            os.write(write_end, _REPORT.pack(stage, error.errno or errno.EIO, 0, *[0] * USAGE_FIELDS))
        finally:
            os._exit(_EXIT_STATUS)

    return _start(become_command)


def _start(become_command: Callable[[int], NoReturn]) -> Launched:
    """Fork the child; all signals are blocked until it has its own signal handling."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        pid = _fork()
        if pid == 0:
            become_command(write_end)
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _read_report(pid, read_end)


def _fork() -> int:
    """Fork this process. Python 3.12 warns if there are other threads; the child takes no lock that they may hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _read_report(pid: int, read_end: int) -> Launched:
    """Wait until the child runs the command or has ended; return its report."""
    content = b""
    with open(read_end, "rb", buffering=0) as file:
        while piece := file.read(2 * _REPORT.size):
            content += piece
    reports = list(_REPORT.iter_unpack(content))
    if not reports:  # killed before it could report anything
        return pid, STARTED, 0, 0, (0,) * USAGE_FIELDS
    (_, _, began_ns, *used), (stage, error, *_) = reports[0], reports[-1]
    if error:
        os.waitpid(pid, 0)
    return pid, stage, error, began_ns, tuple(used)


def prctl(option: int, value: int) -> None:
    """Call prctl(2) for this process. Raise OSError."""
    _check(_libc().prctl(option, *_longs(value, 0, 0, 0)))


def signalfd(numbers: int) -> int:
    """Return a descriptor to read these signals from (bits, 1 << (number - 1)); the caller closes it. Raise OSError."""
    mask = (ctypes.c_uint64 * 16)(numbers)  # the C library's set has 1024 bits
    descriptor = int(_libc().signalfd(-1, mask, os.O_CLOEXEC | os.O_NONBLOCK))
    if descriptor < 0:
        raise _os_error(ctypes.get_errno())
    return descriptor


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _longs(*values: int) -> list[ctypes.c_ulong]:
    return [ctypes.c_ulong(value) for value in values]


def _check(result: int) -> None:
    if result != 0:
        raise _os_error(ctypes.get_errno())


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _variable(text: bytes) -> tuple[bytes, bytes] | None:
    """Return the variable's name and value, or None if os.execve would not accept it."""
    name, sign, value = text.partition(b"=")
    return (name, value) if name and sign else None


def _signal_setter(ignored: int) -> Callable[[], None]:
    """Return a function that resets the signal handling in which the command must differ from this process.

    execve itself resets handlers that were not installed by Python.
    """
    handlers: list[tuple[int, signal.Handlers]] = []
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        handler = signal.SIG_IGN if ignored >> (number - 1) & 1 else signal.SIG_DFL
        if signal.getsignal(number) not in (handler, None):
            handlers.append((number, handler))

    def set_signals() -> None:
        for number, handler in handlers:
            signal.signal(number, handler)

    return set_signals


def _redirect_to_null() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    if nothing > 2:
        os.close(nothing)
    else:
        os.set_inheritable(nothing, True)


def _memory_binder(nodes: tuple[int, ...]) -> Callable[[], None]:
    libc, number = _libc(), _SET_MEMPOLICY.get(platform.machine())
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (_MOST_NODES // bits))()
    for node in nodes:
        mask[node // bits] |= 1 << node % bits
    arguments = [*_longs(number or 0, _BIND_MEMORY), mask, *_longs(_MOST_NODES + 1)]  # the kernel subtracts 1

    def bind() -> None:
        if number is None:
            raise _os_error(errno.ENOSYS)
        _check(libc.syscall(*arguments))

    return bind


def try_layout(layout: int) -> None:
    """Set the layout of programs that this thread executes, and restore it. Raise OSError."""
    was_fixed = _layout_setter(layout)()
    _layout_setter(FIXED_LAYOUT if was_fixed else RANDOM_LAYOUT)()


def _layout_setter(layout: int) -> Callable[[], bool]:
    """Return a function that sets the layout of this thread's next program, and returns whether it was fixed before."""
    libc = _libc()

    def call(personality: int) -> int:
        result = int(libc.personality(*_longs(personality)))
        if result < 0:
            raise _os_error(ctypes.get_errno())
        return result

    def set_layout() -> bool:
        before = call(_READ_PERSONALITY)
        after = before | _NO_RANDOMIZATION if layout == FIXED_LAYOUT else before & ~_NO_RANDOMIZATION
        if after != before:
            call(after)
        return bool(before & _NO_RANDOMIZATION)

    return set_layout


def _own_usage() -> tuple[int, ...]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    times = (round(1e6 * seconds) for seconds in (used.ru_utime, used.ru_stime))
    return *times, used.ru_minflt, used.ru_majflt, used.ru_inblock, used.ru_oublock, used.ru_nvcsw, used.ru_nivcsw


def _execute_first(paths: tuple[bytes, ...], argv: list[bytes], environment: dict[bytes, bytes]) -> NoReturn:
    """Replace this process by the first path that can be executed. Raise the OSError that execvp(3) would report."""
    failure = _os_error(errno.ENOENT)
    for path in paths:
        try:
            _execute(path, argv, environment)
        except OSError as error:
            if error.errno == errno.EACCES and b"/" not in argv[0] and not os.access(path, os.F_OK):
                continue  # in a folder without search permission, so it counts as absent, as in every shell
            if error.errno == errno.EACCES or len(paths) == 1:
                failure = error
            elif error.errno not in _MISSING:
                raise
    raise failure


def _execute(path: bytes, argv: list[bytes], environment: dict[bytes, bytes]) -> NoReturn:
    try:
        os.execve(path, argv, environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    os.execve(b"/bin/sh", [b"/bin/sh", path, *argv[1:]], environment)
