"""A seccomp filter that forbids changes of the personality, as in containers, for the child of a test."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

_PERSONALITY = {"x86_64": 135, "aarch64": 92}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # prctl(2), seccomp(2)
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_FAIL, _ALLOW = 0x0005_0000, 0x7FFF_0000
_NUMBER, _FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
IS_SUPPORTED = platform.machine() in _PERSONALITY


def forbid_personality() -> None:
    """Let personality(2) only read, for this process and its children."""
    program = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (_LOAD, 0, 0, _NUMBER),
            (_JUMP_IF_EQUAL, 0, 3, _PERSONALITY[platform.machine()]),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_JUMP_IF_EQUAL, 1, 0, 0xFFFF_FFFF),
            (_RETURN, 0, 0, _FAIL | errno.EPERM),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions)))
    zero = ctypes.c_ulong(0)
    for option, value, pointer in ((_NO_NEW_PRIVILEGES, 1, zero), (_SECCOMP, _FILTER, filter_)):
        if libc.prctl(option, ctypes.c_ulong(value), pointer, zero, zero) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
