"""The tests, which README.md lists."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MACHINES = CHECKOUT / "tests" / "machines"  # recordings
