"""A hog that gets its CPU however busy the host is, and options with which noisewatch reports no other process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.live.noise import CPU, noise
from tests.plumbing.waiting import wait_until

# A nice value counts within its session, and then the session's does.
_HOG = """
os.setsid()
os.setpriority(os.PRIO_PROCESS, 0, -20)
if os.path.exists("/proc/self/autogroup"):
    open("/proc/self/autogroup", "w").write("-20")
while True: pass
"""
# On a host that does a little else too: none of its tasks has that much, and the hog more, even where it is estimated.
JUDGED = f"--cpus {CPU} --sample 1 --no-calibration --select tasks-on-target --limit tasks-on-target=70%"


@contextmanager
def hog() -> Iterator[subprocess.Popen[bytes]]:
    """Runs, and has begun to."""
    with noise(_HOG) as process:
        wait_until(lambda: psutil.Process(process.pid).cpu_times().user > 0.5)
        yield process


# Nothing is asked of the first CPU but that it is there, whatever others do on it.
UNWATCHED = "--cpus 0 --sample 0 --no-calibration --select target-cpu-unusable"
# Whether others are there is asked, and without a sample not known.
UNSAMPLED = "--cpus 0 --sample 0 --no-calibration --select tasks-on-target"


def unknown_machine(folder: Path) -> str:
    """Options for a copied tree that tells nothing."""
    (folder / "nothing" / "proc").mkdir(parents=True)
    return f"--sysroot {folder}/nothing {UNWATCHED}"
