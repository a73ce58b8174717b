"""Pages of Markdown that `explain` prints: the guides to this program, and topics of benchmarking.

A guide is the manual for one way to use noisewatch, and continues the README. A subject is a topic that no check can
judge from outside. The glossary explains one term per section.
"""

from __future__ import annotations

VERDICT = "verdict"
GUIDES = ("monitor", "preflight", "tune", "run", "calibrate", "over-time", "fleet")
SUBJECTS = (VERDICT, "layout", "statistics", "isolation", "hyper-threads", "turbo", "numa", "virtual-machines", "ci")
GLOSSARY = "words"
TOPICS = (*GUIDES, *SUBJECTS, GLOSSARY)
ALL_TOPICS = "topics"  # `explain topics` lists the topics
