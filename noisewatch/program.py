"""How the program that runs is started, for advice: what pipx or a virtual environment installs, sudo does not find."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

NAME = "noisewatch"
_SUDO = "sudo"


def as_root(arguments: str, is_here: bool) -> str:
    """The shell's words that start noisewatch as root; by its path where `is_here`, else as another machine may."""
    return f"{_SUDO} {started_by() if is_here else NAME} {arguments}"


def named_for_root(text: str) -> str:
    """A text for people in which `sudo noisewatch` is the program that runs, which sudo finds."""
    return text.replace(f"{_SUDO} {NAME} ", as_root("", is_here=True))


def started_by() -> str:
    """The shell's words that start the noisewatch that runs, from any folder and as anybody."""
    started, beside = sys.argv[0], os.path.join(os.path.dirname(sys.executable), NAME)
    if started == os.environ.get("PEX") and os.access(started, os.X_OK):
        return shlex.quote(started)  # one file, which pex unpacks to a cache of whoever starts it
    if os.path.basename(started) == NAME and (found := shutil.which(started)) is not None:
        return shlex.quote(os.path.abspath(found))
    if os.access(beside, os.X_OK):
        return shlex.quote(beside)
    return f"{shlex.quote(sys.executable)} -m {NAME}"
