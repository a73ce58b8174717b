"""A network card whose packets stay where its interrupts are."""

from __future__ import annotations

QUEUE = "/sys/class/net/eth0/queues/rx-0"


def files(seconds: float) -> dict[str, str]:
    """Return the files of one queue in each direction; any CPU may send through eth0's queue, as is usual."""
    return {f"{QUEUE}/rps_cpus": "0\n", "/sys/class/net/eth0/queues/tx-0/xps_cpus": "f\n"}
