"""Prefixes that start a command, as root, with another level of privilege."""

from __future__ import annotations

_TRACEFS = "/sys/kernel/tracing"


def _where(script: str) -> tuple[str, ...]:
    """Return a prefix that runs the script and then a command in a private mount namespace."""
    return ("unshare", "--mount", "sh", "-c", f'{script}; exec "$@"', "sh")


NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
WITH_TRACEFS = _where(f"mountpoint -q {_TRACEFS} || mount -t tracefs tracefs {_TRACEFS}")
WITHOUT_TRACEFS = _where(f"while mountpoint -q {_TRACEFS}; do umount -l {_TRACEFS}; done")
WITH_HIDDEN_PROCESSES = _where("mount -t proc -o hidepid=2 proc /proc")  # users other than root see only their own
