"""How much noise a culprit made in each interval, as far as that is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, Frame
from noisewatch.surfaces.tui.state.culprit_history import CulpritHistory
from noisewatch.surfaces.tui.state.folding import folded
from noisewatch.surfaces.tui.state.noise import NOT_FOLLOWED_NS
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of

_TICK = culprit("tick", cpu=2, kind="tick", pid=None, tid=None)


def _history(*intervals: tuple[CulpritLine, ...], capacity: int = 10) -> CulpritHistory:
    found = CulpritHistory(capacity)
    for second, culprits in enumerate(intervals, start=1):
        found.add(_frame(culprits, second))
    return found


def _frame(culprits: tuple[CulpritLine, ...], second: int = 1) -> Frame:
    cpus = tuple(cpu_line(cpu, Role.TARGET) for cpu in (2, 3))
    return frame((cpu_line(0), *cpus), culprits, second)


def test_where_it_was_not_seen_it_made_no_noise() -> None:
    hog = culprit("hog", lost_ns=5e6)
    found = _history((), (hog,), (replace(hog, stolen_ns_per_s=7e6), _TICK))
    assert found.noise(hog, range(3)) == [0.0, 5e6, 7e6]
    assert found.noise(_TICK, range(3)) == [0.0, 0.0, 4e6]


def test_one_that_is_on_several_cpus_is_as_noisy_as_where_it_is_noisiest() -> None:
    on_two = (_TICK, replace(_TICK, cpu=3, stolen_ns_per_s=6e6), replace(_TICK, cpu=0, stolen_ns_per_s=9e6))
    found = _history(on_two)
    (line,) = folded(on_two)
    assert found.noise(line, range(1)) == [9e6]
    assert found.noise(line, range(1), frozenset({2, 3})) == [6e6]
    assert found.noise(_TICK, range(1), frozenset({2})) == [4e6]


def test_threads_of_one_name_are_told_apart_unless_they_are_one_line() -> None:
    two = (culprit("worker", tid=5, lost_ns=1e6), culprit("worker", cpu=3, tid=6, lost_ns=3e6))
    found = _history(two)
    assert [found.noise(each, range(1)) for each in two] == [[1e6], [3e6]]
    assert found.noise(folded(two)[0], range(1)) == [3e6]


def test_one_that_a_cut_frame_leaves_out_is_not_followed_and_on_a_cpu_that_was_not_read_it_is_unknown() -> None:
    many = tuple(culprit(f"hog{number}", tid=number) for number in range(MOST_CULPRITS))
    away = culprit("away", cpu=0, role=Role.HOUSEKEEPING)
    assert _history(many).noise(_TICK, range(1)) == [NOT_FOLLOWED_NS]
    assert _history((*many[:-1], away)).noise(_TICK, range(1)) == [0.0]
    assert _history((*many[:-1], away)).noise(replace(away, name="other"), range(1)) == [NOT_FOLLOWED_NS]
    unread = CulpritHistory()
    unread.add(frame((cpu_line(2, Role.TARGET, None), cpu_line(3, Role.TARGET))))
    unread.add(frame((cpu_line(2, Role.TARGET, None), cpu_line(3, Role.TARGET)), many, 2))
    assert unread.noise(_TICK, range(2)) == [None, None]
    assert unread.noise(replace(_TICK, cpu=3), range(2)) == [0.0, NOT_FOLLOWED_NS]


def test_where_one_of_its_cpus_was_not_read_the_noise_on_another_is_not_all_unless_it_is_grave() -> None:
    on_both = (_TICK, replace(_TICK, cpu=3, stolen_ns_per_s=3e8))
    found = _history(on_both)
    half = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET, None))
    found.add(frame(half, (_TICK,), 2))
    found.add(frame(half, (replace(_TICK, stolen_ns_per_s=9e6),), 3))
    found.add(frame((half[0], cpu_line(3, Role.OFFLINE, None)), (_TICK,), 4))
    for line in (*folded(on_both), _TICK):
        assert found.noise(line, range(4)) == [3e8, None, 9e6, 4e6]
    assert found.noise(_TICK, range(4), frozenset({2})) == [4e6, 4e6, 9e6, 4e6]


@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), max_size=8), st.data())
def test_what_was_asked_before_changes_no_answer(asked: list[tuple[int, int]], data: st.DataObject) -> None:
    """Intervals come between the questions, some of them with a CPU that was not read."""
    grown = _history((_TICK,), capacity=6)
    frames = [_frame((_TICK,))]
    for begin, count in asked:
        noise = data.draw(st.sampled_from([1e6, 2e6, None]))
        lines = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET, noise))
        frames.append(frame(lines, (replace(_TICK, stolen_ns_per_s=noise),) if noise else (), len(frames) + 1))
        grown.add(frames[-1])
        anew = CulpritHistory(6)
        for each in frames:
            anew.add(each)
        assert grown.noise(_TICK, range(begin, begin + count)) == anew.noise(_TICK, range(begin, begin + count))


def test_what_is_not_kept_is_unknown() -> None:
    found = _history(*(((_TICK,),) * 5), capacity=3)
    assert found.noise(_TICK, range(7)) == [None, None, 4e6, 4e6, 4e6, None, None]


def test_the_model_takes_in_the_intervals_that_its_history_has() -> None:
    model = model_of(frame(4, seconds=0.0), frame(4, (_TICK,)), frame(4, (_TICK,), 2))
    assert model.culprit_noise.count == model.history.count == 2
