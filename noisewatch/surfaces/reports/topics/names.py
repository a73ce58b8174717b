"""The topics by name, for all who only name them."""

from __future__ import annotations

VERDICT = "verdict"
TOPICS = (VERDICT, "layout", "statistics", "isolation", "hyper-threads", "turbo", "numa", "virtual-machines", "ci")
ALL_TOPICS = "topics"  # the name by which `explain` lists them alone
