"""What ships for an engine, written out for the noisewatch of this checkout."""

from __future__ import annotations

from pathlib import Path

from noisewatch.integrations import integrations
from tests.surfaces.running import NOISEWATCH

_ROOT = Path(__file__).parents[2]
STARTS = " ".join(("/usr/bin/env", f"PYTHONPATH={_ROOT}", *NOISEWATCH))


def shipped(name: str, program: str = "noisewatch") -> dict[str, str]:
    """Return the files of an integration by path; they start noisewatch with the command `program`."""
    (found,) = [each for each in integrations() if each.name == name]
    return found.files_for(program)


def write_shipped(name: str, folder: Path, program: str = STARTS) -> Path:
    """The folder, with all of its files; its scripts can be started."""
    for path, text in shipped(name, program).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if text.startswith("#!"):
            place.chmod(0o755)
    return folder
