"""The shipped files of an integration, which start the noisewatch of this checkout."""

from __future__ import annotations

from pathlib import Path

from noisewatch.integrations import integrations
from tests.surfaces.running import NOISEWATCH

_ROOT = Path(__file__).parents[2]
PROGRAM = " ".join(("/usr/bin/env", f"PYTHONPATH={_ROOT}", *NOISEWATCH))


def shipped_files(name: str, program: str = "noisewatch") -> dict[str, str]:
    """Return the files of an integration by path; they start noisewatch with the command `program`."""
    (integration,) = [integration for integration in integrations() if integration.name == name]
    return integration.files_for(program)


def write_shipped(name: str, folder: Path, program: str = PROGRAM) -> Path:
    """Write the files of an integration to `folder`, scripts as executables, and return the folder."""
    for path, text in shipped_files(name, program).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        if text.startswith("#!"):
            target.chmod(0o755)
    return folder
