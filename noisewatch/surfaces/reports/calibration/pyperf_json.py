"""A calibration as a file that pyperf reads: https://pyperf.readthedocs.io/en/latest/api.html#pyperf-json-format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisewatch import __version__
from noisewatch.model.calibration.figures import Calibration, blocks_of

FORMAT_VERSION = "1.0"


def _round_number_of(times_ns: Sequence[float]) -> list[float]:
    """1, 2 or 5 times a power of ten of them, evenly spread: pyperf compares only equally many values."""
    wanted = max(digit * 10**power for digit in (1, 2, 5) for power in range(8) if digit * 10**power <= len(times_ns))
    return [times_ns[number * len(times_ns) // wanted] for number in range(wanted)]


def describe_for_pyperf(calibration: Calibration) -> dict[str, Any]:
    """A benchmark for each CPU: its fixed work in blocks of about a millisecond, or the user's workload; seconds."""
    has_command = bool(calibration.samples.command)
    benchmarks = []
    for said in calibration.samples.cpus:
        times_ns = [float(each) for each in said.command.length_ns] if has_command else blocks_of(said.work)
        if times_ns and said.trouble is None:
            name = f"{'workload' if has_command else 'fixed-work'}-cpu{said.cpu}"
            values = [time_ns / 1e9 for time_ns in _round_number_of(times_ns)]
            run = {"values": values, "metadata": {"cpu_affinity": str(said.cpu)}}
            benchmarks.append({"metadata": {"name": name}, "runs": [run]})
    metadata = {"unit": "second", "loops": 1, "noisewatch_version": __version__, "core": calibration.samples.core}
    return {"version": FORMAT_VERSION, "metadata": metadata, "benchmarks": benchmarks}
