"""Lines of a receipt of `noisewatch run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def lines_of(receipt: Path, kind: str = "repetition") -> list[dict[str, Any]]:
    """Return the lines of this kind, in order."""
    lines = [json.loads(line) for line in receipt.read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]
