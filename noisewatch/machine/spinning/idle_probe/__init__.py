"""The idle probe's processes: a spinner per CPU that detects gaps 2% of the time, and the host that forks them.

noisewatch's sampler ── run.py: starts them, sets how long they may spin, reads their slices
  └─ host.py: a lean process that forks …
       └─ … one process per CPU, pinned, which spins in slices and writes to its buffer (buffer.py)
"""
