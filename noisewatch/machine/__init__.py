"""The machine that is observed, and the only door to it.

A source asks a `Machine` and never the operating system, so that the same code runs on this host, on a
copied tree, in replay and in tests. A machine hands out what the kernel said; it does not know what it means.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Json = Any  # what json.loads gives back


def is_readable_within(descriptor: int, seconds: float) -> bool:
    """Waits until it can be read, or the other end is gone. Takes any descriptor, select only those below 1024."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(seconds * 1e3))


def not_at_hand(files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
    """What `Machine.reread` answers where each file is to be read by itself."""
    return [(at, None) for at in range(len(files))]


class Machine(Protocol):
    """This host, a copied tree or a recording."""

    @property
    def is_live(self) -> bool:
        """Whether it is this host, now: it can be pinned to, spun on, and changes while one looks."""

    @property
    def name(self) -> str:
        """What is observed, in words for a header: `this host`, or the folder's or the file's name."""

    @property
    def own_pids(self) -> frozenset[int]:
        """The observer's own processes, which are never blamed."""

    def now_ns(self) -> int:
        """The machine's CLOCK_MONOTONIC, in nanoseconds."""

    def read_bytes(self, path: str) -> bytes:
        """The whole content of the file at the absolute `path`. Raises Unreadable or Absent."""

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> Iterable[tuple[int, bytes | None]]:
        """Of the paths, each with what it said before, those that say something else now, by their place in `files`.

        What it said is None of a path at which there was nothing. The answer is None where that is not at hand:
        `read_bytes` has it, or says why there is none.
        """

    def list_names(self, path: str) -> list[str]:
        """The names in the directory `path`, sorted. Raises Unreadable or Absent."""

    def mode(self, path: str) -> int:
        """The permission bits of `path`. Raises Unreadable or Absent."""

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        """What no file says (a system call, udev): JSON from `answer`, which only a live machine calls.

        Raises Unreadable where it cannot be asked.
        """

    def begin_snapshot(self) -> None:
        """Marks that the reads from here on belong together."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        """The result of `work`, started over without a file that gave no answer in time."""
