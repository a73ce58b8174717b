"""How the program that runs is started, for advice: what pipx or a virtual environment installs, sudo does not find."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

NAME = "noisewatch"


def as_root(arguments: str, is_here: bool) -> str:
    """The shell's words that start noisewatch as root; by its path where `is_here`, else as another machine may."""
    return f"sudo {started_by() if is_here else NAME} {arguments}"


def started_by() -> str:
    """The shell's words that start the noisewatch that runs, from any folder and as anybody."""
    started, beside = sys.argv[0], os.path.join(os.path.dirname(sys.executable), NAME)
    if os.path.basename(started) == NAME and (found := shutil.which(started)) is not None:
        return shlex.quote(os.path.abspath(found))
    if os.access(beside, os.X_OK):
        return shlex.quote(beside)
    return f"{shlex.quote(sys.executable)} -m {NAME}"
