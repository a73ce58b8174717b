"""Pages of Markdown that `explain` prints: the guides to this program, and topics of benchmarking.

A guide is the manual of one way to use noisewatch, and goes on where the README ends. A subject is what no check can
judge from outside.
"""

from __future__ import annotations

VERDICT = "verdict"
GUIDES = ("monitor", "preflight", "run", "calibrate", "over-time", "fleet")
SUBJECTS = (VERDICT, "layout", "statistics", "isolation", "hyper-threads", "turbo", "numa", "virtual-machines", "ci")
TOPICS = (*GUIDES, *SUBJECTS)
ALL_TOPICS = "topics"  # `explain topics` lists the topics
