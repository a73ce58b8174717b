"""The names of the topics, for modules that need no more than names."""

from __future__ import annotations

VERDICT = "verdict"
TOPICS = (VERDICT, "layout", "statistics", "isolation", "hyper-threads", "turbo", "numa", "virtual-machines", "ci")
ALL_TOPICS = "topics"  # `explain topics` lists the topics
