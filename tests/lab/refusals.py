"""Print how often preflight rejects a tuned machine under each disturbance, and accepts it without one.

`python -m tests.lab.refusals [COUNT]`, after tests/lab/set_up: half a minute per trial on an otherwise idle host.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.lab import Lab
from tests.lab.machine import ISOLATED, kernel_image
from tests.lab.tuning import apply_fixes

_LOOP = "while :; do :; done"
_GROUP = "/sys/fs/cgroup/small"
_OPTIONS = "--cpus 2 --profile shared --max-cv 1%"
_COMMANDS = {
    "nothing": "",
    "a loop": f"taskset -c 2 sh -c '{_LOOP}'",
    "a loop at nice 19": f"taskset -c 2 nice -n 19 sh -c '{_LOOP}'",
    "a SCHED_FIFO loop": f"taskset -c 2 chrt -f 1 sh -c '{_LOOP}'",
    "a loop on the sibling": f"taskset -c 3 sh -c '{_LOOP}'",
    "a quota that throttles": f"taskset -c 0-1 sh -c 'echo 0 > {_GROUP}/cgroup.procs; ({_LOOP}) & {_LOOP}'",
}


def main() -> int:
    """Print one line for each disturbance: how often the exit status was 0, 1 and 3."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    image = kernel_image(ISOLATED)
    if image is None:
        print("run tests/lab/set_up first", file=sys.stderr)
        return 2
    with Lab(ISOLATED, image) as lab, apply_fixes(lab, lab.preflight("--sample 0 --no-calibration")):
        lab.do(
            f"echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir {_GROUP}; echo 150000 100000 > {_GROUP}/cpu.max"
        )
        for name in _COMMANDS:
            statuses = []
            for _ in range(count):
                with _disturbance(lab, name) as group:
                    statuses.append(lab.preflight(_OPTIONS, group)["exit_status"])
            counts = ", ".join(f"{word} {statuses.count(status)}" for status, word in _WORDS.items())
            print(f"{name}: {counts} of {count}", flush=True)
    return 0


_WORDS = {0: "stable", 1: "unstable", 3: "unknown"}


@contextmanager
def _disturbance(lab: Lab, name: str) -> Iterator[str | None]:
    """Run the disturbance, and yield the cgroup in which to run preflight, or None."""
    command = _COMMANDS[name]
    pid = int(lab.do(f"setsid {command} </dev/null >/dev/null 2>&1 & echo $!")) if command else None
    try:
        yield _GROUP if _GROUP in command else None
    finally:
        if pid is not None:
            lab.stop(pid)


if __name__ == "__main__":
    sys.exit(main())
