"""Pages of Markdown that `explain` prints: guides to noisewatch, subjects of benchmarking, and a glossary.

A guide is the manual for one way to use noisewatch, and continues the README. A subject explains one topic of
benchmarking, and cites its sources. A section of the glossary explains one term or several.
"""

from __future__ import annotations

VERDICT = "verdict"
GUIDES = ("monitor", "preflight", "tune", "run", "calibrate", "over-time", "fleet")
SUBJECTS = (
    VERDICT,
    "layout",
    "counters",
    "statistics",
    "isolation",
    "hyper-threads",
    "turbo",
    "numa",
    "virtual-machines",
    "ci",
)
GLOSSARY = "words"
TOPICS = (*GUIDES, *SUBJECTS, GLOSSARY)
ALL_TOPICS = "topics"  # `explain topics` lists the topics
