"""A calibration as a file that pyperf reads: https://pyperf.readthedocs.io/en/latest/api.html#pyperf-json-format."""

from __future__ import annotations

from typing import Any

from noisewatch import __version__
from noisewatch.model.calibration import Calibration, blocks_of

FORMAT_VERSION = "1.0"


def describe_for_pyperf(calibration: Calibration) -> dict[str, Any]:
    """A benchmark for each CPU: its fixed work in blocks of about a millisecond, or the user's workload; seconds."""
    has_command = bool(calibration.samples.command)
    benchmarks = []
    for said in calibration.samples.cpus:
        times_ns = [float(each) for each in said.command.length_ns] if has_command else blocks_of(said.work)
        if times_ns:
            name = f"{'workload' if has_command else 'fixed-work'}-cpu{said.cpu}"
            values = [time_ns / 1e9 for time_ns in times_ns]
            run = {"values": values, "metadata": {"cpu_affinity": str(said.cpu)}}
            benchmarks.append({"metadata": {"name": name}, "runs": [run]})
    metadata = {"unit": "second", "loops": 1, "noisewatch_version": __version__, "core": calibration.samples.core}
    return {"version": FORMAT_VERSION, "metadata": metadata, "benchmarks": benchmarks}
