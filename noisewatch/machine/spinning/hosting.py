"""How a host of spinners begins, the calibration's and the idle probe's: what it was told, and where to write."""

from __future__ import annotations

import importlib
import json
import mmap
import sys
from types import ModuleType
from typing import Any

from noisewatch.machine.spinning.loops import load_core, python_loops


def begun() -> tuple[dict[str, Any], memoryview, ModuleType]:
    """The plan in the first line of standard input, the shared memory that `argv[1]` is open as, and the core."""
    plan = json.loads(sys.stdin.buffer.readline())
    words = memoryview(mmap.mmap(int(sys.argv[1]), 0)).cast("q")
    core = load_core(plan["core"])
    if core is python_loops:
        importlib.import_module("ctypes")  # once, instead of in each spinner
    return plan, words, core
