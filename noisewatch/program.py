"""The command that starts the running program, for use in advice.

sudo does not find programs that pipx or a virtual environment contains.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys

NAME = "noisewatch"
_SUDO = "sudo"


def is_root() -> bool:
    """Return whether this process has root's rights: its effective user is root."""
    return os.geteuid() == 0


def as_root(arguments: str, is_here: bool) -> str:
    """Return the shell command that starts noisewatch as root: by path if `is_here` (on this host), else by name."""
    return f"{_SUDO} {start_command() if is_here else NAME} {arguments}"


def name_for_root(text: str) -> str:
    """Return the text with each `sudo noisewatch` replaced by a command that sudo finds on this host."""
    return text.replace(f"{_SUDO} {NAME} ", as_root("", is_here=True))


def start_command() -> str:
    """Return the shell command that starts the running noisewatch, valid in any folder and for any user."""
    started, sibling = sys.argv[0], os.path.join(os.path.dirname(sys.executable), NAME)
    if started == os.environ.get("PEX") and os.access(started, os.X_OK):
        return shlex.quote(started)  # a single file, which pex unpacks to the user's cache
    if os.path.basename(started) == NAME and (path := shutil.which(started)) is not None:
        return shlex.quote(os.path.abspath(path))
    if os.access(sibling, os.X_OK):
        return shlex.quote(sibling)
    return f"{shlex.quote(sys.executable)} -m {NAME}"
