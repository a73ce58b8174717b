"""The observed machine, and the only way to access it.

All readings go through a `Machine`, never directly to the operating system, so the same code works on this host, on a
copied tree, in replay and in tests. A machine returns the kernel's texts uninterpreted.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Json = Any  # a value of json.loads


def wait_readable(descriptor: int, seconds: float) -> bool:
    """Wait until the descriptor is readable or its other end is closed; return False if neither happens in time.

    Unlike select, it accepts descriptors of 1024 and above.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(seconds * 1e3))


def not_at_hand(files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
    """Return the answer of `Machine.reread` that leaves every file to `read_bytes`."""
    return [(at, None) for at in range(len(files))]


class Machine(Protocol):
    """This host, a copied tree or a recording."""

    @property
    def is_live(self) -> bool:
        """Whether this is the running host: processes can be pinned and spin on it, and it changes while it is read."""

    @property
    def name(self) -> str:
        """The machine's name in a header: `this host`, or the name of the folder or file."""

    @property
    def own_pids(self) -> frozenset[int]:
        """The observer's own processes, which are never culprits."""

    def now_ns(self) -> int:
        """Return the machine's CLOCK_MONOTONIC in nanoseconds."""

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of the file at the absolute `path`. Raise Unreadable or Absent."""

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> Iterable[tuple[int, bytes | None]]:
        """Return the files that have changed, as pairs of their index in `files` and the new content.

        `files` are paths with their previous content, None if the file did not exist. If a returned content is
        None, call `read_bytes`, which returns the content or raises the reason.
        """

    def list_names(self, path: str) -> list[str]:
        """Return the sorted names in the directory `path`. Raise Unreadable or Absent."""

    def mode(self, path: str) -> int:
        """Return the permission bits of `path`. Raise Unreadable or Absent."""

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        """Return the answer to a question that no file answers, as JSON.

        Only a live machine calls `answer`, which may use system calls, start programs or measure. A recording returns
        the recorded answer. Raise Unreadable if there is no answer.
        """

    def begin_snapshot(self) -> None:
        """Begin a snapshot: all reads from here on belong to it."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        """Return the result of `work`; restart it without a file that could not be read in time."""
