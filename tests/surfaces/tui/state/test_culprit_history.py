"""The noise of a culprit in each interval, as far as it is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, Frame
from noisewatch.surfaces.tui.state.culprit_history import CulpritHistory
from noisewatch.surfaces.tui.state.folding import fold_culprits
from noisewatch.surfaces.tui.state.noise import NOT_FOLLOWED_NS
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of

_TICK = culprit("tick", cpu=2, kind="tick", pid=None, tid=None)


def _history(*intervals: tuple[CulpritLine, ...], capacity: int = 10) -> CulpritHistory:
    history = CulpritHistory(capacity)
    for second, culprits in enumerate(intervals, start=1):
        history.add(_frame(culprits, second))
    return history


def _frame(culprits: tuple[CulpritLine, ...], second: int = 1) -> Frame:
    cpus = tuple(cpu_line(cpu, Role.TARGET) for cpu in (2, 3))
    return frame((cpu_line(0), *cpus), culprits, second)


def test_a_culprit_made_no_noise_in_intervals_without_it() -> None:
    hog = culprit("hog", lost_ns=5e6)
    history = _history((), (hog,), (replace(hog, stolen_ns_per_s=7e6), _TICK))
    assert history.noise(hog, range(3)) == [0.0, 5e6, 7e6]
    assert history.noise(_TICK, range(3)) == [0.0, 0.0, 4e6]


def test_a_culprit_on_several_cpus_has_the_noise_of_its_worst_cpu() -> None:
    on_two = (_TICK, replace(_TICK, cpu=3, stolen_ns_per_s=6e6), replace(_TICK, cpu=0, stolen_ns_per_s=9e6))
    history = _history(on_two)
    (line,) = fold_culprits(on_two)
    assert history.noise(line, range(1)) == [9e6]
    assert history.noise(line, range(1), frozenset({2, 3})) == [6e6]
    assert history.noise(_TICK, range(1), frozenset({2})) == [4e6]


def test_threads_of_the_same_name_are_distinguished_unless_folded() -> None:
    threads = (culprit("worker", tid=5, lost_ns=1e6), culprit("worker", cpu=3, tid=6, lost_ns=3e6))
    history = _history(threads)
    assert [history.noise(thread, range(1)) for thread in threads] == [[1e6], [3e6]]
    assert history.noise(fold_culprits(threads)[0], range(1)) == [3e6]


def test_a_culprit_omitted_from_a_full_frame_is_not_followed_and_unknown_on_an_unread_cpu() -> None:
    many = tuple(culprit(f"hog{number}", tid=number) for number in range(MOST_CULPRITS))
    away = culprit("away", cpu=0, role=Role.HOUSEKEEPING)
    assert _history(many).noise(_TICK, range(1)) == [NOT_FOLLOWED_NS]
    assert _history((*many[:-1], away)).noise(_TICK, range(1)) == [0.0]
    assert _history((*many[:-1], away)).noise(replace(away, name="other"), range(1)) == [NOT_FOLLOWED_NS]
    history = CulpritHistory()
    history.add(frame((cpu_line(2, Role.TARGET, None), cpu_line(3, Role.TARGET))))
    history.add(frame((cpu_line(2, Role.TARGET, None), cpu_line(3, Role.TARGET)), many, 2))
    assert history.noise(_TICK, range(2)) == [None, None]
    assert history.noise(replace(_TICK, cpu=3), range(2)) == [0.0, NOT_FOLLOWED_NS]


def test_noise_is_unknown_while_one_cpu_is_not_read_unless_it_is_grave() -> None:
    on_both = (_TICK, replace(_TICK, cpu=3, stolen_ns_per_s=3e8))
    history = _history(on_both)
    cpus = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET, None))
    history.add(frame(cpus, (_TICK,), 2))
    history.add(frame(cpus, (replace(_TICK, stolen_ns_per_s=9e6),), 3))
    history.add(frame((cpus[0], cpu_line(3, Role.OFFLINE, None)), (_TICK,), 4))
    for line in (*fold_culprits(on_both), _TICK):
        assert history.noise(line, range(4)) == [3e8, None, 9e6, 4e6]
    assert history.noise(_TICK, range(4), frozenset({2})) == [4e6, 4e6, 9e6, 4e6]


@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), max_size=8), st.data())
def test_earlier_queries_do_not_change_an_answer(queries: list[tuple[int, int]], data: st.DataObject) -> None:
    """Queries alternate with new intervals, some of them with an unread CPU."""
    history = _history((_TICK,), capacity=6)
    frames = [_frame((_TICK,))]
    for begin, count in queries:
        noise = data.draw(st.sampled_from([1e6, 2e6, None]))
        lines = (cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET, noise))
        frames.append(frame(lines, (replace(_TICK, stolen_ns_per_s=noise),) if noise else (), len(frames) + 1))
        history.add(frames[-1])
        rebuilt = CulpritHistory(6)
        for interval in frames:
            rebuilt.add(interval)
        assert history.noise(_TICK, range(begin, begin + count)) == rebuilt.noise(_TICK, range(begin, begin + count))


def test_dropped_intervals_are_unknown() -> None:
    history = _history(*(((_TICK,),) * 5), capacity=3)
    assert history.noise(_TICK, range(7)) == [None, None, 4e6, 4e6, 4e6, None, None]


def test_the_culprit_history_has_the_same_intervals_as_the_history() -> None:
    model = model_of(frame(4, seconds=0.0), frame(4, (_TICK,)), frame(4, (_TICK,), 2))
    assert model.culprit_noise.count == model.history.count == 2


def test_the_rates_of_a_thread_begin_behind_an_interval_without_it() -> None:
    def hog(rate: float | None, lost_ns: float = 5e6) -> tuple[CulpritLine, ...]:
        return (culprit("hog", tid=5, rate_per_s=rate, lost_ns=lost_ns), culprit("hog", tid=6, rate_per_s=90.0))

    (line, other) = hog(10.0)
    history = _history(hog(10.0), hog(None), hog(11.0, 6e6), hog(9.0))
    assert history.rates(line, range(4)) == [(11.0, 6e6), (9.0, 5e6)]
    assert history.rates(line, range(3)) == [(11.0, 6e6)]
    assert history.rates(other, range(4)) == [(90.0, 4e6)] * 4
    assert history.rates(replace(line, cpu=3), range(4)) == []
    assert _history(hog(10.0), (), hog(10.0)).rates(line, range(3)) == [(10.0, 5e6)]
