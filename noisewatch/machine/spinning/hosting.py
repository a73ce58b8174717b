"""Prepares the host process of the calibration or of the idle probe: reads its plan and maps its shared memory."""

from __future__ import annotations

import importlib
import json
import mmap
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

from noisewatch.machine.spinning.loops import load_core, python_loops


def receive_plan(name: str) -> tuple[dict[str, Any], memoryview, ModuleType]:
    """Return the plan, the shared memory and the core.

    The plan is the first line of standard input, and `argv[1]` the memory's descriptor. From now on this process and
    its children have the `name` by which another noisewatch recognizes them.
    """
    write_if_present("/proc/self/comm", name)
    plan = json.loads(sys.stdin.buffer.readline())
    words = memoryview(mmap.mmap(int(sys.argv[1]), 0)).cast("q")
    core = load_core(plan["core"])
    if core is python_loops:
        importlib.import_module("ctypes")  # done once here instead of in each spinner
    return plan, words, core


def write_if_present(path: str, text: str) -> None:
    """Write the text to the kernel's file, if it exists."""
    with suppress(OSError), open(path, "w") as file:
        file.write(text)
