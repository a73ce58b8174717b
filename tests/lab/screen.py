"""A program in a terminal of the lab's machine: what it shows, and keys for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.lab import Lab

_TMUX = "tmux -S /run/screen.socket -f /dev/null"
_SEEN_WITHIN_S = 45


class Screen:
    """A terminal of 120 columns and 40 rows in tmux."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def text(self) -> str:
        return self._lab.do(f"{_TMUX} capture-pane -p")

    def press(self, key: str) -> None:
        self._lab.do(f"{_TMUX} send-keys {key}")

    def wait_for(self, pattern: str) -> str:
        """The text once a line matches the extended regular expression; fails when it never does."""
        found = self._lab.run(
            f"end=$(($(date +%s) + {_SEEN_WITHIN_S})); while [ $(date +%s) -lt $end ]; do\n"
            f"  {_TMUX} capture-pane -p >/run/seen; grep -qE '{pattern}' /run/seen && exec cat /run/seen\n"
            f"  sleep 0.1\ndone; cat /run/seen; exit 1"
        )
        assert found.status == 0, f"never saw {pattern!r}:\n{found.out}"
        return found.out

    def number(self, pattern: str) -> int:
        """The number that the first group matches on the screen now."""
        text = self.text()
        match = re.search(pattern, text)
        assert match is not None, text
        return int(match[1])


@contextmanager
def shown(lab: Lab, command: str) -> Iterator[Screen]:
    """The command's screen; it is ended with the context."""
    lab.do(f"{_TMUX} new-session -d -x 120 -y 40 sh")
    try:
        lab.do(f"{_TMUX} send-keys '{command}' Enter")
        yield Screen(lab)
    finally:
        lab.do(f"{_TMUX} kill-server; while pgrep -x tmux >/dev/null; do sleep 0.2; done")
