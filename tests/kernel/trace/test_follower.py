"""One command after the other, followed in pages as the kernel writes them. CPU 1 is traced."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

from noisewatch.kernel.trace.buffers import TraceBuffers
from noisewatch.kernel.trace.events import events_of_senders, events_on_target
from noisewatch.kernel.trace.follower import TraceFollower
from noisewatch.kernel.trace.window import TraceWindow
from noisewatch.kinds import Kind, Tracer
from noisewatch.machine.tracefs.instance import Instance
from tests.kernel.trace.ring_buffer import event_format, page, record, switch

_US = 1000
_HOG, _COMMAND, _CHILD = 4_199_001, 4_199_002, 4_199_003  # nobody has these numbers here
_BEFORE = os.getpid()
_Events = Iterable[tuple[int, bytes]]


class _WrittenInstance(Instance):
    def __init__(self) -> None:
        super().__init__(Path("/nowhere"), "target", (1,), 256)
        self.written: dict[int, list[bytes]] = {}
        self.is_on = True

    @property
    def is_writing(self) -> bool:
        return self.is_on

    def pages(self, cpu: int) -> Iterable[bytes]:
        return self.written.pop(cpu, [])

    def enable(self, event: str, condition: str | None = None) -> bool:
        return True


class _WrittenBuffers(TraceBuffers):
    made: ClassVar[list[_WrittenBuffers]] = []

    def __enter__(self) -> Self:
        self.happened, self.started = _WrittenInstance(), _WrittenInstance()
        self.target, self.senders, self.untold = self.happened, self.started, []
        self.events, self.events_of_senders = events_on_target(event_format), events_of_senders(event_format)
        _WrittenBuffers.made.append(self)
        return self

    def start(self) -> None:
        """Nothing is switched on."""


class _Followed:
    """Times are µs since the trace had just begun."""

    def __init__(self, follower: TraceFollower) -> None:
        self.follower = follower
        self.buffers = _WrittenBuffers.made.pop()
        self.began_ns = time.monotonic_ns()

    def on_target(self, *events: tuple[int, bytes], is_after_loss: bool = False) -> None:
        self._put(self.buffers.happened, 1, events, is_after_loss)

    def on_others(self, *events: tuple[int, bytes], cpu: int = 0, is_after_loss: bool = False) -> None:
        self._put(self.buffers.started, cpu, events, is_after_loss)

    def begin(self, at_us: int) -> None:
        self.follower.follow(_COMMAND, self.at(at_us))

    def end(self, at_us: int) -> TraceWindow | str:
        return self.follower.end(self.at(at_us))

    def at(self, at_us: int) -> int:
        return self.began_ns + at_us * _US

    def _put(self, instance: _WrittenInstance, cpu: int, events: _Events, is_after_loss: bool) -> None:
        timed = [(self.at(at_us), written) for at_us, written in events]
        pages = instance.written.setdefault(cpu, [])
        pages.append(page(timed, is_after_loss=is_after_loss, begin_ns=timed[0][0]))


@contextmanager
def _followed() -> Iterator[_Followed]:
    with TraceFollower(frozenset({1}), frozenset({0, 1}), Tracer.EVENTS, _WrittenBuffers) as follower:
        followed = _Followed(follower)
        until_ns = followed.at(5000)
        while time.monotonic_ns() < until_ns:  # all that is written has happened
            time.sleep(0.001)
        yield followed


def _born(tid: int, parent: int) -> bytes:
    return record("task/task_newtask", parent, pid=tid)


def _times(window: TraceWindow | str) -> dict[str, int]:
    """What others had, in µs."""
    assert isinstance(window, TraceWindow), window
    return {time.source.name: time.ns // _US for time in window.times}


def _own_us(window: TraceWindow | str) -> int:
    assert isinstance(window, TraceWindow), window
    return window.own_ns_by_cpu[1] // _US


def test_the_command_and_its_child_are_own_and_another_thread_is_not() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)), (200, _born(_CHILD, _COMMAND)))
        followed.on_target(
            (20, switch("run", _COMMAND)),
            (220, switch("child", _CHILD, _COMMAND)),
            (320, switch("hog", _HOG, _CHILD)),
            (400, switch("run", _COMMAND, _HOG)),
            (900, switch("idle", 0, _COMMAND)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert (_own_us(window), _times(window)) == (120 + 100 + 500, {"hog": 80})
    assert isinstance(window, TraceWindow)
    told = {thread.name: (thread.tid, thread.ran_ns // _US, thread.moves) for thread in window.threads}
    assert told == {"run": (_COMMAND, 620, {}), "child": (_CHILD, 100, {})}


def test_what_was_before_and_what_comes_after_the_command_is_not_in_it() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target(
            (20, switch("hog", _HOG)),
            (150, switch("run", _COMMAND, _HOG)),
            (900, switch("hog", _HOG, _COMMAND)),
            (2000, switch("idle", 0, _HOG)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert (_own_us(window), _times(window)) == (750, {"hog": 50 + 100})


def test_who_has_the_cpu_when_nothing_happens_any_more_has_it_to_the_end() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target((20, switch("run", _COMMAND)), (300, switch("hog", _HOG, _COMMAND)))
        followed.begin(100)
        assert _times(followed.end(1000)) == {"hog": 700}
        followed.on_others((2000, _born(_COMMAND, _BEFORE)))
        followed.on_target((2500, switch("run", _COMMAND, _HOG)), (2900, switch("idle", 0, _COMMAND)))
        followed.begin(2100)
        window = followed.end(3000)
    assert (_own_us(window), _times(window)) == (400, {"hog": 400})


def test_looks_on_the_way_change_nothing() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target((20, switch("hog", _HOG)), (200, switch("run", _COMMAND, _HOG)))
        followed.begin(100)
        followed.follower.look()
        followed.on_others((300, _born(_CHILD, _COMMAND)))
        followed.on_target((400, switch("hog", _HOG, _COMMAND)), (450, switch("child", _CHILD, _HOG)))
        followed.follower.look()
        followed.on_target((800, switch("idle", 0, _CHILD)))
        window = followed.end(1000)
    assert (_own_us(window), _times(window)) == (200 + 350, {"hog": 150})


def test_events_that_were_lost_make_it_unknown_until_the_next_command() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target((20, switch("run", _COMMAND)))
        followed.on_target((500, switch("run", _COMMAND)), is_after_loss=True)
        followed.begin(100)
        assert "CPU 1 were lost" in str(followed.end(1000))
        followed.on_others((2000, _born(_COMMAND, _BEFORE)))
        followed.on_target((2500, switch("idle", 0, _COMMAND)))
        followed.begin(2100)
        assert _own_us(followed.end(3000)) == 400


def test_births_that_were_lost_make_it_unknown_until_the_next_command() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_others((500, _born(_CHILD, _COMMAND)), is_after_loss=True)
        followed.on_target((20, switch("run", _COMMAND)))
        followed.begin(100)
        assert followed.end(1000) == "events were lost: who was started by whom is not known"
        followed.on_others((2000, _born(_COMMAND, _BEFORE)))
        followed.on_target((3000, switch("idle", 0, _COMMAND)))
        followed.begin(2100)
        assert _own_us(followed.end(3000)) == 900


def test_a_page_of_births_that_makes_no_sense_is_a_loss() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.buffers.started.written[1] = [b"rubbish"]
        followed.on_target((20, switch("run", _COMMAND)))
        followed.begin(100)
        assert followed.end(1000) == "events were lost: who was started by whom is not known"


def test_of_a_cpu_on_which_nothing_was_seen_yet_nothing_is_known() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.begin(100)
        assert "none was seen yet" in str(followed.end(1000))


def test_a_trace_that_does_not_show_the_command_is_not_believed() -> None:
    """Somebody may have switched it off."""
    with _followed() as followed:
        followed.on_target((20, switch("idle", 0, _HOG)))
        followed.begin(100)
        assert followed.end(1000) == "the trace has not seen the command begin"
        followed.on_others((2000, _born(_COMMAND, _BEFORE)))
        followed.begin(2100)
        assert followed.end(3000) == "the trace has not seen the command begin"


def test_a_call_that_the_command_sent_is_its_own() -> None:
    call = "irq_vectors/call_function_single"
    with _followed() as followed:
        followed.on_others(
            (10, _born(_COMMAND, _BEFORE)),
            (20, _born(_CHILD, _COMMAND)),
            (300, record("csd/csd_queue_cpu", _CHILD, cpu=1, func=7)),
            (500, record("csd/csd_queue_cpu", _HOG, cpu=1, func=7)),
        )
        followed.on_target(
            (30, switch("run", _COMMAND)),
            (310, record(f"{call}_entry", _COMMAND)),
            (320, record(f"{call}_exit", _COMMAND)),
            (510, record(f"{call}_entry", _COMMAND)),
            (530, record(f"{call}_exit", _COMMAND)),
            (900, switch("idle", 0, _COMMAND)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    calls = {(time.is_own, time.ns // _US) for time in window.times if time.source.kind == Kind.IPI}
    assert calls == {(True, 10), (False, 20)}


def _in_doubt(first: int, second: int) -> tuple[int, list[tuple[int, int]]]:
    """In µs, of a CPU that is next seen with another thread: what is the command's only perhaps, and what is whose."""
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target(
            (20, switch("run", _COMMAND)),
            (300, switch("first", first, _COMMAND)),
            (500, switch("run", _COMMAND, second)),
            (900, switch("idle", 0, _COMMAND)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    return window.doubt_ns // _US, [(time.ns // _US, time.doubt_ns // _US) for time in window.times]


def test_time_of_a_stranger_whose_begin_was_not_seen_may_have_been_idle_or_the_commands() -> None:
    assert _in_doubt(0, _HOG) == (0, [(200, 200)])
    assert _in_doubt(_COMMAND, _HOG) == (0, [(200, 200)])
    assert _in_doubt(_CHILD, _HOG) == (0, [(200, 0)])  # whose it was of two strangers does not matter


def test_time_of_the_command_whose_begin_was_not_seen_may_have_been_a_strangers() -> None:
    assert _in_doubt(0, _COMMAND) == (200, [])
    assert _in_doubt(_HOG, _COMMAND) == (200, [])
    assert _in_doubt(_COMMAND, _COMMAND) == (0, [])


def test_a_trace_that_was_switched_off_is_not_believed_until_it_tells_who_has_the_cpu() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target((20, switch("run", _COMMAND)), (500, switch("hog", _HOG, _COMMAND)))
        followed.begin(100)
        followed.buffers.started.is_on = False
        assert followed.end(1000) == "somebody has switched the trace off, or changed it, meanwhile"
        followed.buffers.started.is_on = True
        followed.on_others((2000, _born(_COMMAND, _BEFORE)))
        followed.on_target((2500, switch("run", _COMMAND, _HOG)), (2900, switch("idle", 0, _COMMAND)))
        followed.begin(2100)
        assert "CPU 1 were lost" in str(followed.end(3000))


def test_a_thread_of_the_command_that_is_gone_and_has_the_cpu_all_the_same_shows_that_events_are_missing() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)))
        followed.on_target((20, switch("run", _COMMAND)))
        followed.begin(100)
        assert "CPU 1: the trace has not seen a thread of the command end" in str(followed.end(1000))


def test_what_the_command_has_left_running_may_have_the_cpu() -> None:
    with _followed() as followed:
        followed.on_others((10, _born(_COMMAND, _BEFORE)), (15, _born(os.getpid(), _COMMAND)))
        followed.on_target((20, switch("run", _COMMAND)), (300, switch("left", os.getpid(), _COMMAND)))
        followed.begin(100)
        assert _own_us(followed.end(1000)) == 900
