"""Topics of benchmarking that no check can judge from outside: a page of Markdown for each."""

from __future__ import annotations

VERDICT = "verdict"
TOPICS = (VERDICT, "layout", "statistics", "isolation", "hyper-threads", "turbo", "numa", "virtual-machines", "ci")
ALL_TOPICS = "topics"  # `explain topics` lists the topics
