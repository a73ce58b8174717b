"""Files in which something moves whenever the machine runs, be it by our reading them.

One that stood still is damaged, cached, or covered by another file, and says nothing about the time in between.
"""

from __future__ import annotations


def stood_still(path: str) -> str:
    """The reason why the file tells of nothing."""
    return f"{path} stood still: none of its counts moved, and some always do on a machine that runs"
