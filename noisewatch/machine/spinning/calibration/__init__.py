"""The calibration's processes: one spinner a CPU, and the host that starts them.

noisewatch ── run.py: starts, watches, collects
  └─ host.py: a lean process that forks …
       └─ … one process a CPU, pinned, which follows its slots and writes to its buffer
"""
