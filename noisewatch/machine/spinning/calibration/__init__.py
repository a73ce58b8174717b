"""The calibration's processes: one spinner per CPU, and the host that starts them.

noisewatch ── run.py: starts, watches, collects
  └─ host.py: a lean process that forks …
       └─ … one process per CPU, pinned, which follows its slots and writes to its buffer
"""
