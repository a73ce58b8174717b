"""The process that forks the idle probe's spinners. It ends when its parent is gone, as each spinner does.

`run.py` starts it with a bare interpreter: what is imported here is in the memory of every spinner.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from noisewatch.machine.spinning.hosting import begun, say
from noisewatch.machine.spinning.idle_probe.buffer import BUFFER_WORDS, ProbeBuffer
from noisewatch.machine.spinning.idle_probe.worker import ProbeSpinner

NAME = "noisewatch-sent"  # what others, `noisewatch preflight` among them, call whom they see: 15 bytes


def main() -> None:
    """Run the plan in the first line of standard input; the buffers are in the memory with the descriptor `argv[1]`."""
    plan, words, core = begun(NAME)
    # SCHED_IDLE may hold within our session alone, sched(7), autogroup: so that gets the smallest share.
    say("/proc/self/autogroup", "19")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.disable()
    gc.freeze()  # a collection would write to, and so copy, the pages that all spinners share
    doors = [door for _, door in plan["doors"]]
    for number, (cpu, door) in enumerate(plan["doors"]):
        if os.fork() == 0:
            for other in doors[number + 1 :]:
                os.close(other)
            buffer = ProbeBuffer(words[number * BUFFER_WORDS : (number + 1) * BUFFER_WORDS])
            ProbeSpinner(core, buffer, cpu, door).run()
            os._exit(0)
        os.close(door)
    sys.stdin.buffer.read(1)  # which ends when the parent does
