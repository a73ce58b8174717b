"""The process that forks the spinners, and that takes them with it when its parent is gone.

`run.py` starts it with a bare interpreter: what is imported here is in the memory of every spinner.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import select
import signal
import sys

from noisewatch.machine.calibrator.sheet import Sheet, sheet_words
from noisewatch.machine.calibrator.spinner import Spinner
from noisewatch.machine.core import load_core

_MEMORY_BYTES = 1 << 22  # beyond most second-level caches, within the last level; and within our promise of 15 MB
_LOOK_S = 0.05


def main() -> None:
    """Runs the plan in `argv[1]`, its sheets in the shared memory that is open as descriptor `argv[2]`."""
    plan = json.loads(sys.argv[1])
    words = memoryview(mmap.mmap(int(sys.argv[2]), 0)).cast("q")
    core = load_core(plan["core"])
    memory = core.chase_memory(_MEMORY_BYTES)
    size = sheet_words(plan["capacities"])
    gc.disable()
    gc.freeze()  # a collection would write to, and so copy, the pages that all spinners share
    pids = set()
    for number, (cpu, slots) in enumerate(plan["slots"]):
        sheet = Sheet(words[number * size : (number + 1) * size], plan["capacities"])
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)  # with what it starts, so that both can be ended together
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            Spinner(core, sheet, cpu, plan["threshold_ns"], memory, plan["command"]).run(slots, plan["is_realtime"])
            os._exit(0)
        pids.add(pid)
    _wait(pids)


def _wait(pids: set[int]) -> None:
    """Until all have ended; standard input ends when the parent does."""
    while pids:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        pids.discard(pid)
        if pid == 0 and select.select([0], [], [], _LOOK_S)[0]:
            for each in pids:
                _end(each)
            return


def _end(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
