"""Append made-up entries of this machine: `python -m tests.lab.history.remember STORE CPUS COUNT LATENCY_NS`.

Emulated CPUs are too slow and unstable to be measured: only the facts of the entries are real.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from noisewatch.cpus import parse_cpu_list
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kinds import Work
from noisewatch.machine.history_file import append_entry, boot_key, machine_key
from noisewatch.machine.live import LiveMachine
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.figures import Figure
from noisewatch.operations.history import entry_line, facts_line


def main() -> None:
    """Append the given number of entries, whose latency work took the given time within a permille."""
    store, cpus, count, latency_ns = (
        Path(sys.argv[1]),
        parse_cpu_list(sys.argv[2]),
        int(sys.argv[3]),
        float(sys.argv[4]),
    )
    facts, machine = facts_of(read_snapshot(LiveMachine(), SnapshotOptions(cpus, asks_inventory=True))), machine_key()
    for number in range(count):
        entry = Entry(
            at_s=time.time(),
            core="native",
            cpus=cpus,
            cvs={Work.LATENCY: {1_000_000: 0.01}},
            figures={Figure.LATENCY: latency_ns * (1 + 0.001 * (number % 3 - 1))},
            facts=facts,
            boot=boot_key(),
        )
        append_entry(store, entry_line(entry) | {"machine": machine}, facts_line(facts) | {"machine": machine})


if __name__ == "__main__":
    main()
