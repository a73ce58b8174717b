"""The CPU panel: its CPUs, their order and their history."""

from __future__ import annotations

import pytest

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.tui.state.filters import SortOrder
from tests.surfaces.tui.framing import cpu_line, cpu_order, frame, model_of, screen

_MANY = tuple(
    cpu_line(
        cpu, Role.TARGET if cpu in (40, 41) else Role.HOUSEKEEPING, lost_ns=1000.0 * cpu, interrupts_per_s=100.0 - cpu
    )
    for cpu in range(64)
)


def _row_of(cpu: int, lines: list[str]) -> str:
    panel = [line for line in lines if line[3:6].strip() == str(cpu) and line[0] == " " and line[2] == " "]
    return panel[0]


@pytest.mark.parametrize(
    ("cpu_count", "width", "height", "key"),
    [
        (2, 80, 24, "▄ 1.0 ms  █ 200 ms"),
        (8, 80, 24, "noise/s ▄ 1.0 ms  █ 200 ms"),
        (2, 120, 24, "▂ 50 µs  ▄ 1.0 ms  ▆ 10 ms  █ 200 ms"),
        (8, 120, 34, "noise/s as bars: ▂ 50 µs  ▄ 1.0 ms  ▆ 10 ms  █ 200 ms"),
        (8, 200, 60, "noise/s as bars: ▂ 50 µs  ▄ 1.0 ms  ▆ 10 ms  █ 200 ms"),
        (512, 200, 60, "noise/s as bars: ▂ 50 µs  ▄ 1.0 ms  ▆ 10 ms  █ 200 ms"),
    ],
)
def test_the_heights_of_bars_have_a_key(cpu_count: int, width: int, height: int, key: str) -> None:
    model = model_of(*(frame(cpu_count, second=second) for second in range(1, 100)))
    assert [key in line for line in screen(model, width, height)].count(True) == 1


def test_the_noise_has_its_share_next_to_it() -> None:
    model = model_of(frame((cpu_line(3, Role.TARGET, 45_000_000.0), cpu_line(4, Role.TARGET, None))))
    for width in (80, 120, 200):
        lines = screen(model, width, 24)
        assert next(line for line in lines if " T   3" in line).split()[2:5] == ["45", "ms", "4.5%"]
        assert next(line for line in lines if " T   4" in line).split()[2:4] == ["?", "?"]


def test_all_cpus_are_sorted_by_number_where_they_fit() -> None:
    lines = tuple(
        cpu_line(cpu, Role.TARGET if cpu == 3 else Role.HOUSEKEEPING, lost_ns=1e6 * (4 - cpu)) for cpu in range(4)
    )
    assert cpu_order(screen(model_of(frame(lines)))) == [0, 1, 2, 3]


def test_target_cpus_come_first_where_not_all_fit() -> None:
    order = cpu_order(screen(model_of(frame(_MANY)), 100, 25))
    assert order == [41, 40, 63]


def test_sorted_by_rate_the_most_interrupted_come_after_the_targets() -> None:
    model = model_of(frame(_MANY))
    model.sort = SortOrder.RATE
    assert cpu_order(screen(model, 100, 25)) == [40, 41, 0]


def test_sorted_by_cpu_the_rows_are_in_numerical_order() -> None:
    model = model_of(frame(_MANY))
    model.sort = SortOrder.CPU
    assert cpu_order(screen(model, 100, 25)) == [0, 1, 2]


def test_an_unknown_loss_is_a_question_mark_between_the_grave_losses_and_the_others() -> None:
    losses = {9: None, 8: 6_000_000.0}
    lines = tuple(cpu_line(cpu, lost_ns=losses.get(cpu, 4_000_000.0)) for cpu in range(64))
    rows = screen(model_of(frame(lines)), 100, 200)
    assert "?" in _row_of(9, rows)
    assert cpu_order(screen(model_of(frame(lines)), 100, 25))[:3] == [8, 9, 0]


def test_the_heading_shows_which_rows_are_visible() -> None:
    model = model_of(frame(_MANY))
    model.offset = 10
    heading = next(line for line in screen(model, 100, 25) if line.startswith("   CPU "))
    assert "rows 11 to 13 of 64" in heading


def test_scrolled_to_the_end_the_last_cpu_is_shown() -> None:
    model = model_of(frame(_MANY))
    model.sort, model.offset = SortOrder.CPU, 10_000
    assert cpu_order(screen(model, 100, 25))[-1] == 63


def test_an_offline_cpu_is_shown_as_offline_without_figures() -> None:
    lines = (cpu_line(0), CpuLine(1, Role.OFFLINE), cpu_line(2, Role.TARGET))
    row = _row_of(1, screen(model_of(frame(lines))))
    assert row.split() == ["x", "1", "offline", "x"]  # the last one is the shown interval


def test_each_role_has_its_mark() -> None:
    lines = (cpu_line(0), cpu_line(1, Role.SIBLING), cpu_line(2, Role.TARGET), CpuLine(3, Role.OFFLINE))
    rows = screen(model_of(frame(lines)))
    assert [_row_of(cpu, rows)[1] for cpu in range(4)] == [" ", "s", "T", "x"]


def test_an_estimate_is_marked() -> None:
    rows = screen(
        model_of(frame((cpu_line(0, lost_ns=3_000_000.0, is_estimate=True), cpu_line(1, lost_ns=3_000_000.0))))
    )
    assert "~3.0 ms" in _row_of(0, rows)
    assert "~" not in _row_of(1, rows)


def test_without_any_clock_there_is_no_column_for_it() -> None:
    rows = screen(model_of(frame((cpu_line(0, current_khz=None), cpu_line(1, current_khz=None)))))
    assert "GHz" not in "".join(rows)


def test_a_clock_that_is_unknown_on_one_cpu_is_a_question_mark() -> None:
    rows = screen(model_of(frame((cpu_line(0, current_khz=None), cpu_line(1, current_khz=2_500_000)))))
    assert "?" in _row_of(0, rows)
    assert " 2.50 " in _row_of(1, rows)


def test_the_history_grows_to_the_right_and_shows_the_size_of_the_loss() -> None:
    losses = [0.0, 50_000.0, 1_000_000.0, 200_000_000.0, None]
    model = model_of(*(frame((cpu_line(0, lost_ns=lost_ns),), second=at) for at, lost_ns in enumerate(losses)))
    rows = screen(model)
    assert _row_of(0, rows).rstrip().endswith(" _▂▄█?")
    heading = next(row for row in rows if "last 5 intervals" in row)
    assert heading.index("last 5") + 4 == _row_of(0, rows).rindex("?")


def test_a_history_longer_than_its_room_shows_the_newest() -> None:
    losses = [0.0] * 300 + [200_000_000.0]
    model = model_of(*(frame((cpu_line(0, lost_ns=lost_ns),), second=at) for at, lost_ns in enumerate(losses)))
    assert _row_of(0, screen(model, 80)).rstrip().endswith("█")


def test_only_cpus_of_the_newest_frame_are_shown() -> None:
    both, one = (cpu_line(0), cpu_line(1)), (cpu_line(0),)
    model = model_of(frame(both), frame(one, second=2))
    assert cpu_order(screen(model)) == [0]
    model.add(frame(both, second=3))
    assert cpu_order(screen(model)) == [0, 1]


def test_an_interval_has_the_same_column_for_all_cpus() -> None:
    noise_ns = 200_000_000.0
    frames = [frame((cpu_line(0, lost_ns=0.0),), second=second) for second in range(5)]
    frames.append(frame((cpu_line(0, lost_ns=noise_ns), cpu_line(1, lost_ns=noise_ns)), second=5))
    rows = screen(model_of(*frames))
    assert _row_of(0, rows).index("█") == _row_of(1, rows).index("█")


def test_figures_give_way_to_a_history_of_sixteen_intervals() -> None:
    model = model_of(*(frame(2, second=second) for second in range(1, 40)))
    heads = {width: next(row for row in screen(model, width, 30) if "noise/s" in row) for width in (100, 60, 50, 40)}
    assert [column for column in ("irq/s", "sirq/s", "load", "GHz") if column in heads[100]] == [
        "irq/s",
        "sirq/s",
        "load",
        "GHz",
    ]
    assert "sirq/s" not in heads[60]
    assert all(column in heads[60] for column in ("irq/s", "load", "GHz"))
    assert "load" not in heads[50]
    for width, head in heads.items():
        row = _row_of(0, screen(model, width, 30))
        assert row.count("▁") >= 16, width
        assert "…" not in head


def test_the_heading_counts_its_intervals_in_as_many_words_as_fit() -> None:
    model = model_of(*(frame(16, second=second) for second in range(1, 40)))
    heading = next(row for row in screen(model, 120, 34) if "noise/s" in row)
    assert heading.count("last 18 intervals") == 2
