"""The sampler: a process of its own, so that a painting screen does not make it late.

`python -m noisewatch.surfaces.sampler OPTIONS` writes a frame a line to standard output until nobody reads it, and
takes requests on standard input meanwhile (inbox.py).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import Namespace

from noisewatch.faults import contained
from noisewatch.machine.trace_instances import remove_stale_where_mounted
from noisewatch.surfaces.cli.machines import open_machine, wish_of
from noisewatch.surfaces.frame import encode_frame
from noisewatch.surfaces.inbox import Inbox
from noisewatch.surfaces.sampling import sample_frames
from noisewatch.surfaces.sentinel import Sentinel


def main() -> int:
    """Samples until the reader goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal group; the screen decides
    return contained(lambda: _sample(Namespace(**json.loads(sys.argv[1]))), _tell)


def _tell(reason: str) -> int:
    """Our last words, which the screen shows."""
    sys.stderr.write(f"{reason}\n")
    return 2


def _sample(arguments: Namespace) -> int:
    try:
        machine = open_machine(arguments, own_pids=[arguments.observer])
        wish = wish_of(arguments, machine, frozenset(arguments.allowed))
        sentinel = Sentinel(arguments.interval)
        sentinel.want(arguments.sentinel)
        if machine.is_live:
            remove_stale_where_mounted()
        inbox = Inbox(sys.stdin.fileno(), {"sentinel": sentinel.want})
        for frame in sample_frames(machine, wish, arguments.interval, inbox.wait, sentinel):
            if inbox.is_abandoned:
                break
            sys.stdout.buffer.write(encode_frame(frame))
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
