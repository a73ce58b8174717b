"""Comparison of the CPU time of tasks on the target CPUs with the command's own time."""

from __future__ import annotations

from noisewatch.model.run.books import Books, RanTime, balance, ran_between
from noisewatch.model.run.repetition import Repetition
from tests.written.quiet_machine import quiet_files, stat_file
from tests.written.repetitions import CPUACCT, MS, late, ran, repeat

_ROWS = "".join(f"{line}\n" for line in quiet_files(1.0)["/proc/stat"].splitlines() if not line.startswith("cpu3"))


def _books(*moments: dict[str, str], own_ms: float = 0.0, missing: tuple[str, ...] = ()) -> Books:
    return repeat(*moments, own_ms=own_ms, gone=missing).books


def _on_cpu_2(repetition: Repetition) -> RanTime | None:
    return ran_between(repetition.span.before, repetition.span.after, 2)


def test_time_of_tasks_beyond_the_commands_own_is_foreign() -> None:
    books = _books(ran(), ran({2: 600, 3: 300}, 1.0), own_ms=850)
    assert (books.tasks_ns, books.foreign_ns, books.is_exact) == (900 * MS, 50 * MS, True)
    assert books.doubt_ns < MS


def test_command_with_more_time_than_its_cpus_has_left_them() -> None:
    books = _books(ran(), ran({2: 600}, 1.0), own_ms=850)
    assert books.foreign_ns is None
    assert "250 ms more CPU time" in str(books.reason)


def test_time_of_unknown_owner_is_in_doubt_and_not_foreign() -> None:
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=600)
    before, after = repetition.span.before, repetition.span.after
    sure = balance(before, after, repetition.target, 600 * MS)
    unsure = balance(before, after, repetition.target, 600 * MS, 300 * MS)
    assert (unsure.own_ns, unsure.foreign_ns) == (600 * MS, 300 * MS)
    assert unsure.doubt_ns == sure.doubt_ns + 300 * MS


def test_excess_of_a_few_microseconds_is_within_the_doubt() -> None:
    books = _books(ran(), ran({2: 600}, 1.0), own_ms=600.05)
    assert (books.foreign_ns, books.reason) == (0, None)


def test_cpu_without_a_row_leaves_the_foreign_time_unknown() -> None:
    books = _books(ran(), {**ran({2: 600}, 1.0), "/proc/stat": _ROWS}, own_ms=600)
    assert books.foreign_ns is None
    assert "CPU 3" in str(books.reason)


def test_constant_rows_leave_the_foreign_time_unknown() -> None:
    still = quiet_files()["/proc/stat"]
    books = _books({"/proc/stat": still}, {"/proc/stat": still})
    assert books.foreign_ns is None


def test_doubt_of_ticks_is_two_ticks_of_each_cpu() -> None:
    books = _books({}, {"/proc/stat": stat_file({2: 60}, 100)}, own_ms=500)
    assert (books.foreign_ns, books.is_exact) == (100 * MS, False)
    assert books.doubt_ns >= 40 * MS


def test_ticks_are_used_if_the_exact_count_is_constant() -> None:
    after = ran({2: 600}, 1.0)
    books = _books(ran(), after | {CPUACCT: ran()[CPUACCT]}, own_ms=600)
    assert (books.is_exact, books.foreign_ns) == (False, 0)


def test_task_that_never_left_its_cpu_counts_by_ticks() -> None:
    before, after = late(ran()), late(ran({3: 900}, 1.0))
    after["/proc/schedstat"] = late(ran(seconds=1.0), [6, 5, 5, 5])["/proc/schedstat"]
    books = _books(before, after)
    assert books.foreign_ns == 880 * MS


def test_cpu_ran_tasks_for_no_longer_than_the_repetition() -> None:
    """The run time of a task that had been there for hours is counted when it leaves."""
    ticks = {"/proc/stat": stat_file({}, 100)}
    books = _books(late(ran()), late(ran({2: 3_600_000}, 1.0) | ticks, [6, 5, 6, 5]))
    assert books.foreign_ns == 1000 * MS


def test_time_of_a_task_before_the_repetition_is_in_the_doubt() -> None:
    """The CPU was idle for all but 50 ms of the repetition."""
    ticks = {"/proc/stat": stat_file({2: 5}, 100)}
    books = _books(late(ran()), late(ran({2: 3_600_000}, 1.0) | ticks, [6, 5, 6, 5]))
    assert books.foreign_ns is not None
    assert 30 * MS < books.foreign_ns - books.doubt_ns <= 50 * MS


def test_interrupts_that_count_as_task_time_are_in_the_doubt() -> None:
    stat = stat_file({2: 50}, 100).replace("cpu2 1050 0 500 100050 20 0 5", "cpu2 1050 0 500 100040 20 0 15")
    after = {**late(ran({2: 600}, 1.0), [6, 5, 6, 5]), "/proc/stat": stat}
    books = _books(late(ran()), after, own_ms=500)
    assert "100040" in stat
    assert books.foreign_ns == 100 * MS
    assert books.doubt_ns > 100 * MS


def test_count_of_a_cpu_that_no_task_has_left_is_late() -> None:
    ran_time = _on_cpu_2(repeat(late(ran()), late(ran(seconds=1.0), [6, 5, 5, 5])))
    assert ran_time is not None
    assert ran_time.is_late
    ran_time = _on_cpu_2(repeat(late(ran()), late(ran(seconds=1.0), [6, 5, 6, 5])))
    assert ran_time is not None
    assert not ran_time.is_late


def test_count_that_includes_running_tasks_is_never_late() -> None:
    ran_time = _on_cpu_2(repeat(ran(), ran(seconds=1.0)))
    assert ran_time is not None
    assert not ran_time.is_late
