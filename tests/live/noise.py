"""Deliberate noise on this host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CPU = max(os.sched_getaffinity(0))
LOOP = "while True: pass"
CHILDREN = "import subprocess\nwhile True: subprocess.run(['/bin/true'])"


@contextmanager
def noise(program: str, cpu: int = CPU) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python program pinned to a CPU."""
    process = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\n{program}"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
