"""A program in a terminal of the lab's machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.lab import Lab

_TMUX = "tmux -S /run/screen.socket -f /dev/null"
_TIMEOUT_S = 45
_SEPARATOR = "--- then"
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
        """Return the text once a line matches the extended regular expression; fail after a timeout."""
        return self.around("true", pattern)[1]

    def around(self, command: str, pattern: str) -> tuple[str, str]:
        """Return the screen's text when the command ends, and its text once a line matches afterwards.

        Both are captured within the machine: a round trip takes as long as half an interval of the monitor.
        """
        result = self._lab.run(
            f"capture() {{ {_CAPTURE} >$1; }}\n"
            f"( {command}\n) >/dev/null && capture /run/before && cat /run/before || exit 1; echo {_SEPARATOR}\n"
            f"end=$(($(date +%s) + {_TIMEOUT_S})); while [ $(date +%s) -lt $end ]; do\n"
            f"  capture /run/after; grep -qE '{pattern}' /run/after && exec cat /run/after\n"
            "  sleep 0.1\ndone; cat /run/after; exit 1"
        )
        assert result.status == 0, f"never saw {pattern!r}:\n{result.out}{result.err}"
        before, _, after = result.out.partition(f"{_SEPARATOR}\n")
        return before, after


@contextmanager
def open_screen(lab: Lab, command: str) -> Iterator[Screen]:
    """Run a command in a terminal, and close the terminal at the end."""
    lab.do(f"{_TMUX} new-session -d -x 120 -y 40 sh")
    try:
        lab.do(f"{_TMUX} send-keys '{command}' Enter")
        yield Screen(lab)
    finally:
        lab.do(f"{_TMUX} kill-server; while pgrep -x tmux >/dev/null; do sleep 0.2; done")
