"""A shell whose sudo, `root` in scripts, acts on a folder, not on this host: cgroups are folders, threads are files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# `threads/TID` contains the allowed CPUs of a thread. systemctl, kill and the like are only written to the log.
_SUDO = r"""
sudo() {
    echo "$*" >>"$ROOT.log"
    program=$1; shift
    case $program in
    tee)
        lines=$(cat)
        for path; do
            case $path in *subtree_control|*sysrq-trigger) continue;; esac
            [ -d "$ROOT${path%/*}" ] || mkdir -p "$ROOT${path%/*}"
            printf '%s\n' "$lines" >"$ROOT$path" || return 1
        done;;
    rm) shift; for path; do rm -f -- "$ROOT$path"; done;;
    mkdir) mkdir -p "$ROOT$2";;
    rmdir) rm -r "$ROOT$1";;
    taskset) mkdir -p "$ROOT/threads"; echo "$2" >"$ROOT/threads/$3";;
    esac
}
root() { sudo "$@"; }
"""


def tree_of(root: Path) -> dict[str, str]:
    """Return the text of each file below the folder, by its path."""
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def sh(root: Path, *commands: str | None) -> dict[str, str]:
    """Run the commands (None is skipped) and return the files afterwards; errors and output on stderr fail the test."""
    root.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "ROOT": str(root)}
    for command in filter(None, commands):
        script = _SUDO + command.replace("[ ! -d /", f"[ ! -d {root}/")
        process = subprocess.run(
            ["sh", "-u", "-c", script], capture_output=True, text=True, check=False, env=environment
        )
        assert (process.returncode, process.stderr) == (0, ""), command
    return tree_of(root)
