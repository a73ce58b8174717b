"""The monitor's memory is constant once its history is full."""

from __future__ import annotations

import gc
import os

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.ring import CAPACITY
from tests.surfaces.tui.app.piloting import with_monitor
from tests.surfaces.tui.crowd import frames_of
from tests.surfaces.tui.framing import SECOND_NS

_CPUS = 16
_WARM, _FRAMES = CAPACITY + 4_400, 100_000
_MAX_GROWTH = 5 * 1024 * 1024
_MEASURE_EVERY = 10_000
_PAUSE_EVERY = 500  # frames between two pauses for other tasks


def _resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _frame(frames: list[Frame], number: int) -> Frame:
    """Return a frame with a new time from a machine that repeats `frames`."""
    return replace(frames[number % len(frames)], taken_at_ns=number * SECOND_NS, sampler_cpu_s=None)


@pytest.mark.slow
def test_a_hundred_thousand_frames_take_no_more_memory_than_a_full_history() -> None:
    frames = frames_of(_CPUS)
    sizes: list[int] = []

    async def soak(app: MonitorApp, pilot: Pilot[None]) -> None:
        for number in range(1, _WARM + _FRAMES + 1):
            app.show_frame(_frame(frames, number))
            if number % _PAUSE_EVERY == 0:
                await pilot.pause(0)
            if number >= _WARM and (number - _WARM) % _MEASURE_EVERY == 0:
                sizes.append(_resident_bytes())

    with_monitor(soak, patience_s=3600.0)
    full, *later = sizes
    print(f"{full / 2**20:.1f} MB with a full history, and every {_MEASURE_EVERY} frames from there:")
    print(" ".join(f"{(size - full) / 2**20:+.2f}" for size in later), "MB")
    assert len(later) == _FRAMES // _MEASURE_EVERY
    assert later[-1] - full <= _MAX_GROWTH
