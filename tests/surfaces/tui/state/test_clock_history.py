"""The clock of each CPU over time."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import ClockFigures, ClockPackage, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.tui.state.clock_history import ClockHistory, ClockRange
from tests.surfaces.tui.framing import cpu_line, frame, model_of

_TICK = (IrqSetting("LOC", Kind.TICK, "Local timer interrupts"), IrqSetting("24", Kind.IRQ, "eth0"))


def _frame(second: int, *mhz: int | None, ticks: tuple[int, ...] = ()) -> Frame:
    """Return a frame with housekeeping CPU 0 and target CPUs; some of them get the tick, and all an IRQ."""
    lines = tuple(
        cpu_line(cpu, Role.TARGET if cpu else Role.HOUSEKEEPING, current_khz=None if clock is None else clock * 1000)
        for cpu, clock in enumerate(mhz)
    )
    irqs = (IrqLine("24", tuple(range(len(mhz))), (1.0,) * len(mhz)), IrqLine("LOC", ticks, (100.0,) * len(ticks)))
    return frame(lines, second=second, irqs=irqs, irq_settings=_TICK if second == 1 else None)


def _clocks(*frames: Frame) -> ClockHistory:
    return model_of(*frames).clocks


def test_the_slowest_target_cpu_is_known_for_each_interval() -> None:
    cpus = (0, 1, 2)
    clocks = _clocks(_frame(1, 800, 3000, 2900, ticks=cpus), _frame(2, 800, 3000, None, ticks=cpus), _frame(3, 800))
    assert clocks.slowest(range(-1, 4)) == [None, 2_900_000, None, None, None]
    assert clocks.are_stale(range(3)) == [False, False, False]


def test_the_slowest_clock_is_unknown_while_one_is_unless_another_has_dropped() -> None:
    cpus = (0, 1, 2)
    mhz = [(3000, 1200), (3000, None), (3000, 1200), (3000, 3000), (None, 3000), (None, 1000), (3000, 3000)]
    clocks = _clocks(*(_frame(second, 800, *pair, ticks=cpus) for second, pair in enumerate(mhz, start=1)))
    expected = [1_200_000, None, 1_200_000, 3_000_000, None, 1_000_000, 3_000_000]
    assert clocks.slowest(range(7)) == expected
    assert [mean is None for mean in clocks.means(range(7))] == [False, True, False, False, True, True, False]
    assert clocks.drops() == [5]


def test_a_clock_without_a_tick_is_stale_and_not_the_slowest() -> None:
    clocks = _clocks(_frame(1, 800, 1200, 3000, ticks=(0, 2)), _frame(2, 800, 1200, 3100, ticks=(0,)))
    assert (clocks.slowest(range(2)), clocks.are_stale(range(2))) == ([3_000_000, 1_200_000], [False, True])
    assert (clocks.clocks(2, range(2)), clocks.are_stale(range(2), 2)) == ([3_000_000, 3_100_000], [False, True])


def test_a_stale_clock_has_the_age_of_its_last_tick_and_does_not_change_the_range() -> None:
    frames = [_frame(1, 800, 3000, ticks=(1,)), _frame(2, 800, 3400, ticks=(1,)), _frame(3, 800, 1200)]
    clocks = _clocks(*frames, _frame(6, 800, 1200))
    assert clocks.range_of(1, range(4)) == ClockRange(3_000_000, 3_400_000, 1_200_000, age_s=4.0)
    assert clocks.range_of(1, range(2)) == ClockRange(3_000_000, 3_400_000, 3_400_000, age_s=0.0)


def test_the_age_of_a_clock_that_never_had_a_tick_is_unknown() -> None:
    clocks = _clocks(_frame(1, 800, 3000), _frame(2, 800, 2000))
    assert clocks.range_of(1, range(2)) == ClockRange(2_000_000, 3_000_000, 2_000_000, age_s=None, is_stale=True)


def test_every_clock_is_stale_while_interrupts_are_unknown() -> None:
    clocks = _clocks(frame((cpu_line(0, Role.TARGET, current_khz=3_000_000),), irqs=None))
    assert (clocks.slowest([0]), clocks.are_stale([0])) == ([3_000_000], [True])


def test_a_cpu_without_a_clock_has_no_range() -> None:
    clocks = _clocks(_frame(1, 800, None))
    assert (clocks.range_of(1, range(1)), clocks.range_of(9, range(1)), clocks.clocks(9, [0])) == (None, None, [None])


def test_dropped_intervals_are_unknown() -> None:
    history, model = ClockHistory(capacity=2), model_of(_frame(1, 1, 1, ticks=(1,)))
    for second, mhz in enumerate((1000, 2000, 3000, 4000), start=1):
        history.add(_frame(second, 800, mhz, ticks=(1,)), model.irqs)
    assert history.clocks(1, range(5)) == [None, None, 3_000_000, 4_000_000, None]
    assert history.range_of(1, range(4)) == ClockRange(3_000_000, 4_000_000, 4_000_000, age_s=0.0)


def test_a_cpu_that_appears_later_was_unknown_before() -> None:
    clocks = _clocks(_frame(1, 800, 3000, ticks=(1,)), _frame(2, 800, 3000, 2000, ticks=(1, 2)))
    assert clocks.clocks(2, range(2)) == [None, 2_000_000]


def test_a_reached_power_limit_is_known_even_if_another_counter_is_lost() -> None:
    def limited(second: int, *counts: int | None) -> Frame:
        packages = tuple(ClockPackage(at, str(at), power_limit_count=count) for at, count in enumerate(counts, start=1))
        return replace(_frame(second, 800, 3000, 3000), clock=ClockFigures(packages=packages))

    clocks = _clocks(limited(1, 5, 3), limited(2, 6, None), limited(3, 6, 3), limited(4, 6, 3))
    assert [by_power for _, by_power in clocks.slowdown_causes(range(4))] == [False, True, False, False]
