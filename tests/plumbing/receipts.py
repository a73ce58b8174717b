"""What a receipt of `noisewatch run` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def lines_of(receipt: Path, kind: str = "repetition") -> list[dict[str, Any]]:
    """The lines of that kind, in order."""
    lines = [json.loads(line) for line in receipt.read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]
