"""The process of a traced thread, from /proc, as long as the thread exists."""

from __future__ import annotations

from pathlib import Path

from noisewatch.errors import Malformed
from noisewatch.kernel.tasks.files import parse_stat
from noisewatch.machine import Json
from noisewatch.text import clean


def describe_thread(tid: int, name: str) -> dict[str, Json]:
    """Return the thread's name, process and whether it is the kernel's; None for both if it has ended."""
    known: dict[str, Json] = {"name": clean(name), "pid": None, "is_kernel": None}
    try:
        stat = parse_stat(Path(f"/proc/{tid}/stat").read_text(errors="replace"))
        status = Path(f"/proc/{tid}/status").read_text(errors="replace")
    except (OSError, Malformed):
        return known
    process = [line.split()[1] for line in status.splitlines() if line.startswith("Tgid:\t")]
    known["name"] = known["name"] or stat.name
    known["is_kernel"] = stat.is_kernel
    known["pid"] = int(process[0]) if process and process[0].isdecimal() else None
    return known
