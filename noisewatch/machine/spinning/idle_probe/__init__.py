"""The idle probe's processes: a spinner a CPU that looks for gaps a fiftieth of the time, and the host that forks them.

noisewatch's sampler ── run.py: starts them, says how long they may spin, reads what they wrote
  └─ host.py: a lean process that forks …
       └─ worker.py: … one process a CPU, pinned, which spins in slices and writes to its buffer (buffer.py)
"""
