"""A hog that gets its CPU even on a busy host, and options with which noisewatch reports no other process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.live.noise import CPU, noise
from tests.plumbing.waiting import wait_until

# A nice value applies within its session, so the session's nice value is set too.
_HOG = """
os.setsid()
os.setpriority(os.PRIO_PROCESS, 0, -20)
if os.path.exists("/proc/self/autogroup"):
    open("/proc/self/autogroup", "w").write("-20")
while True: pass
"""
# The hog's share exceeds this limit even if it is estimated; no other task of a lightly loaded host has so much.
JUDGED = f"--cpus {CPU} --sample 1 --no-calibration --select tasks-on-target --limit tasks-on-target=70%"


@contextmanager
def hog() -> Iterator[subprocess.Popen[bytes]]:
    """Run a hog, and yield once it has used some CPU time."""
    with noise(_HOG) as process:
        wait_until(lambda: psutil.Process(process.pid).cpu_times().user > 0.5)
        yield process


# Stable whatever runs on the first CPU: only its presence is checked.
UNWATCHED = "--cpus 0 --sample 0 --no-calibration --select target-cpu-unusable"
# Unknown: a check of other tasks, without a sample.
UNSAMPLED = "--cpus 0 --sample 0 --no-calibration --select tasks-on-target"


def unknown_machine(folder: Path) -> str:
    """Return options for an empty copied tree."""
    (folder / "nothing" / "proc").mkdir(parents=True)
    return f"--sysroot {folder}/nothing {UNWATCHED}"
