"""What a signal had stopped, in pages as the kernel writes them. CPU 1 is traced."""

from __future__ import annotations

import pytest

from noisewatch.kernel.trace.runs import TraceWindow
from tests.kernel.trace.followed import BEFORE, CHILD, COMMAND, HOG, US, born, followed_trace
from tests.kernel.trace.ring_buffer import switch


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize(("state", "stopped_us"), [(4, 300), (1, 0), (8, 0)])
def test_a_child_that_a_signal_stops_is_told_though_no_look_finds_it(state: int, stopped_us: int, looks: bool) -> None:
    """Sleeps and stops by a debugger do not count as stops, nor do stops of other processes."""
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)), (200, born(CHILD, COMMAND)))
        followed.on_target(
            (20, switch("run", COMMAND)),
            (220, switch("child", CHILD, COMMAND, state=1)),
            (320, switch("hog", HOG, CHILD, state=state)),
        )
        followed.begin(100)
        if looks:
            followed.follower.look()
        followed.on_target(
            (400, switch("idle", 0, HOG, state=4)),
            (620, switch("child", CHILD)),
            (700, switch("run", COMMAND, CHILD, state=16)),
            (900, switch("idle", 0, COMMAND)),
        )
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    assert window.states.stopped_ns // US == stopped_us
