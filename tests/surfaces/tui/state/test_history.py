"""The ring of the last frames: every frame can be restored, and the losses of each CPU are columns."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.operations.frame.frame import NO_FIELDS, CauseLine, Frame, encode_frame, stable_fields
from noisewatch.surfaces.tui.state.history import History
from noisewatch.surfaces.tui.state.noise import OFFLINE_NS
from tests.surfaces.tui.framing import cpu_line, culprit, frame


def _history(count: int, capacity: int = 10) -> History:
    history = History(capacity)
    for number in range(count):
        lost_ns = 1_000.0 * number
        history.add(frame((cpu_line(0), cpu_line(1, "target", lost_ns)), (culprit(f"hog{number}"),), second=number))
    return history


def test_a_frame_is_restored_unchanged() -> None:
    history = _history(3)
    lines = (cpu_line(0), cpu_line(1, "target", 1_000.0))
    assert history.frame(1) == frame(lines, (culprit("hog1"),), second=1)


def test_only_the_last_frames_are_kept() -> None:
    history = _history(25)
    assert (history.count, history.first) == (25, 15)
    assert [history.frame(number).culprits[0].name for number in (15, 24)] == ["hog15", "hog24"]
    for number in (14, 25, -1):
        with pytest.raises(IndexError):
            history.frame(number)


def test_losses_are_found_by_the_number_of_the_interval() -> None:
    history = _history(12)
    assert history.noise(1, [1, 2, 11, 12]) == [None, 2_000.0, 11_000.0, None]
    assert history.worst([2, 11]) == [2_000.0, 11_000.0]
    assert history.noise(7, [3]) == [None]


def test_an_interval_without_a_cpu_has_no_loss_from_an_earlier_round() -> None:
    history = _history(12)
    history.add(frame((cpu_line(0),), second=12))
    assert history.noise(1, [11, 12]) == [11_000.0, None]
    assert history.worst([12]) == [None]


def test_an_offline_cpu_is_marked_in_its_lane_and_has_no_loss() -> None:
    history = _history(2)
    history.add(frame((cpu_line(0), cpu_line(1, "offline")), second=2))
    assert history.noise(1, [1, 2]) == [1_000.0, None]
    assert history.lane(1, [1, 2]) == [1_000.0, OFFLINE_NS]


def test_noisy_and_unknown_intervals_are_counted_in_any_window() -> None:
    history = History(4)
    for lost_ns in (6e6, 0.0, 6e6, None, 7e6):
        history.add(frame((cpu_line(1, "target", lost_ns),)))
    windows = [range(1, 5), range(1, 2), range(2, 3), range(2, 4), range(3, 5), range(4, 4)]
    assert [history.count_noisy(window) for window in windows] == [(2, 1), (0, 0), (1, 0), (1, 1), (1, 1), (0, 0)]


def test_unstable_intervals_are_counted_in_any_window() -> None:
    history = History(4)
    for verdict in ("unstable", "unstable", "stable", None, "unstable"):
        history.add(frame((cpu_line(1, "target"),), verdict=verdict))
    windows = [range(1, 5), range(1, 2), range(2, 4), range(3, 5), range(4, 4)]
    assert [history.count_unstable(window) for window in windows] == [2, 1, 0, 1, 0]


def test_notable_noise_of_one_target_cpu_leaves_an_unread_one_unknown() -> None:
    history = History()
    for noise_ns in (2e6, 6e6):
        history.add(frame((cpu_line(2, "target", noise_ns), cpu_line(3, "target", None))))
    assert history.worst(range(2)) == [None, 6e6]
    assert history.count_noisy(range(2)) == (1, 1)
    assert history.unknown_cpus((2, 3, 4), range(2)) == [3, 4]


def _decoded_history(frames: list[Frame], capacity: int = 10) -> History:
    """Return the history of frames from lines without the fields that are unchanged since the last line."""
    history, last_fields = History(capacity), NO_FIELDS
    for interval in frames:
        history.add(interval, encode_frame(interval, last_fields))
        last_fields = stable_fields(interval)
    return history


def test_each_interval_has_the_causes_of_its_own_time() -> None:
    calm, hog, thief = frame(gravities="44"), CauseLine(settles=("tasks-on-target",)), CauseLine(settles=("stolen",))
    causes = [(), (hog,), (hog,), (hog, thief), (), ()]
    frames = [replace(calm, causes=lines, gravities=f"4{len(lines)}") for lines in causes]
    history = _decoded_history(frames)
    assert [history.frame(number) for number in (5, 0, 3, 1, 2, 4)] == [frames[at] for at in (5, 0, 3, 1, 2, 4)]


def test_the_causes_of_the_oldest_interval_are_kept_though_an_earlier_line_has_them() -> None:
    hog = CauseLine(settles=("tasks-on-target",))
    frames = [replace(frame(second=second), causes=(hog,) if second < 30 else ()) for second in range(36)]
    history = _decoded_history(frames)
    assert [history.frame(number) for number in range(26, 36)] == frames[26:]
    changing = [replace(interval, gravities=str(number % 2)) for number, interval in enumerate(frames)]
    history = _decoded_history(changing)
    assert [history.frame(number) for number in range(26, 36)] == changing[26:]


def test_a_lane_of_many_intervals_equals_the_lanes_of_single_ones() -> None:
    history = History(4)
    for second, lost_ns in enumerate((1e3, None, 3e3, 4e3, 5e3, None, 7e3)):
        history.add(frame((cpu_line(1, "target", lost_ns),), second=second))
    for first in range(8):
        for end in range(first, 9):
            numbers = range(first, end)
            assert history.lane(1, numbers) == [history.lane(1, [number])[0] for number in numbers]
