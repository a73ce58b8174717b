"""A program in a terminal of the lab's machine: what it shows, and keys for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.lab import Lab

_TMUX = "tmux -S /run/screen.socket -f /dev/null"
_SEEN_WITHIN_S = 45
_NEXT = "--- then"
_CAPTURE = f"{_TMUX} capture-pane -p | sed 's/^│ //; s/│/ /g; s/┐/ /g; s/┤/ /g; s/┘/ /g'"  # without frames and brackets


class Screen:
    """A terminal of 120 columns and 40 rows in tmux."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def text(self) -> str:
        return self._lab.do(_CAPTURE)

    def press(self, key: str) -> None:
        self._lab.do(f"{_TMUX} send-keys {key}")

    def wait_for(self, pattern: str) -> str:
        """The text once a line matches the extended regular expression; fails when it never does."""
        return self.around("true", pattern)[1]

    def around(self, command: str, pattern: str) -> tuple[str, str]:
        """The text as the command has ended, and once a line matches after that.

        Both are taken within the machine: a way there and back takes as long as half an interval of the monitor.
        """
        found = self._lab.run(
            f"capture() {{ {_CAPTURE} >$1; }}\n"
            f"( {command}\n) >/dev/null && capture /run/before && cat /run/before || exit 1; echo {_NEXT}\n"
            f"end=$(($(date +%s) + {_SEEN_WITHIN_S})); while [ $(date +%s) -lt $end ]; do\n"
            f"  capture /run/seen; grep -qE '{pattern}' /run/seen && exec cat /run/seen\n"
            "  sleep 0.1\ndone; cat /run/seen; exit 1"
        )
        assert found.status == 0, f"never saw {pattern!r}:\n{found.out}{found.err}"
        before, _, after = found.out.partition(f"{_NEXT}\n")
        return before, after


@contextmanager
def shown(lab: Lab, command: str) -> Iterator[Screen]:
    """The command's screen; it is ended with the context."""
    lab.do(f"{_TMUX} new-session -d -x 120 -y 40 sh")
    try:
        lab.do(f"{_TMUX} send-keys '{command}' Enter")
        yield Screen(lab)
    finally:
        lab.do(f"{_TMUX} kill-server; while pgrep -x tmux >/dev/null; do sleep 0.2; done")
