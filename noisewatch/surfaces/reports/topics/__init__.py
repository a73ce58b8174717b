"""Pages of Markdown that `explain` prints: the guides to this program, and topics of benchmarking.

A guide is the manual of one way to use noisewatch, and goes on where the README ends. A subject is what no check can
judge from outside. The glossary explains terms, one in each section.
"""

from __future__ import annotations

VERDICT = "verdict"
GUIDES = ("monitor", "preflight", "run", "calibrate", "over-time", "fleet")
SUBJECTS = (VERDICT, "layout", "statistics", "isolation", "hyper-threads", "turbo", "numa", "virtual-machines", "ci")
GLOSSARY = "words"
TOPICS = (*GUIDES, *SUBJECTS, GLOSSARY)
ALL_TOPICS = "topics"  # `explain topics` lists the topics
