"""Whether what tasks had of the target CPUs adds up to the command's own time."""

from __future__ import annotations

from noisewatch.model.run.books import Books, RanTime, balance, ran_between
from noisewatch.model.run.repetition import Repetition
from tests.written.quiet_machine import quiet_files, stat_file
from tests.written.repetitions import CPUACCT, MS, late, ran, repeat

_ROWS = "".join(f"{line}\n" for line in quiet_files(1.0)["/proc/stat"].splitlines() if not line.startswith("cpu3"))


def _books(*moments: dict[str, str], own_ms: float = 0.0, gone: tuple[str, ...] = ()) -> Books:
    return repeat(*moments, own_ms=own_ms, gone=gone).books


def _on_cpu_2(repetition: Repetition) -> RanTime | None:
    return ran_between(repetition.span.before, repetition.span.after, 2)


def test_what_tasks_had_and_the_command_had_not_is_foreign() -> None:
    books = _books(ran(), ran({2: 600, 3: 300}, 1.0), own_ms=850)
    assert (books.tasks_ns, books.foreign_ns, books.is_exact) == (900 * MS, 50 * MS, True)
    assert books.doubt_ns < MS


def test_a_command_that_had_more_than_its_cpus_ran_has_left_them() -> None:
    books = _books(ran(), ran({2: 600}, 1.0), own_ms=850)
    assert books.foreign_ns is None
    assert "250 ms more CPU time" in str(books.reason)


def test_time_of_which_nobody_knows_whose_it_was_is_in_doubt_and_hides_nobody() -> None:
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=600)
    before, after = repetition.span.before, repetition.span.after
    sure = balance(before, after, repetition.target, 600 * MS)
    unsure = balance(before, after, repetition.target, 600 * MS, 300 * MS)
    assert (unsure.own_ns, unsure.foreign_ns) == (600 * MS, 300 * MS)
    assert unsure.doubt_ns == sure.doubt_ns + 300 * MS


def test_a_few_microseconds_too_much_are_within_the_doubt() -> None:
    books = _books(ran(), ran({2: 600}, 1.0), own_ms=600.05)
    assert (books.foreign_ns, books.reason) == (0, None)


def test_a_cpu_without_a_row_leaves_the_books_open() -> None:
    books = _books(ran(), {**ran({2: 600}, 1.0), "/proc/stat": _ROWS}, own_ms=600)
    assert books.foreign_ns is None
    assert "CPU 3" in str(books.reason)


def test_rows_that_stand_still_are_no_counts() -> None:
    still = quiet_files()["/proc/stat"]
    books = _books({"/proc/stat": still}, {"/proc/stat": still})
    assert books.foreign_ns is None


def test_without_an_exact_count_the_ticks_may_be_off_by_two_of_each_cpu() -> None:
    books = _books({}, {"/proc/stat": stat_file({2: 60}, 100)}, own_ms=500)
    assert (books.foreign_ns, books.is_exact) == (100 * MS, False)
    assert books.doubt_ns >= 40 * MS


def test_an_exact_count_that_stands_still_yields_to_the_ticks() -> None:
    after = ran({2: 600}, 1.0)
    books = _books(ran(), after | {CPUACCT: ran()[CPUACCT]}, own_ms=600)
    assert (books.is_exact, books.foreign_ns) == (False, 0)


def test_a_task_that_never_left_its_cpu_shows_in_the_ticks() -> None:
    before, after = late(ran()), late(ran({3: 900}, 1.0))
    after["/proc/schedstat"] = late(ran(seconds=1.0), [6, 5, 5, 5])["/proc/schedstat"]
    books = _books(before, after)
    assert books.foreign_ns == 880 * MS


def test_no_cpu_ran_tasks_for_longer_than_the_repetition() -> None:
    """One that had been there for hours is counted when it leaves."""
    ticks = {"/proc/stat": stat_file({}, 100)}
    books = _books(late(ran()), late(ran({2: 3_600_000}, 1.0) | ticks, [6, 5, 6, 5]))
    assert books.foreign_ns == 1000 * MS


def test_what_a_task_had_before_it_left_in_the_repetition_is_in_the_doubt() -> None:
    """The CPU was idle for all but 50 ms of it."""
    ticks = {"/proc/stat": stat_file({2: 5}, 100)}
    books = _books(late(ran()), late(ran({2: 3_600_000}, 1.0) | ticks, [6, 5, 6, 5]))
    assert books.foreign_ns is not None
    assert 30 * MS < books.foreign_ns - books.doubt_ns <= 50 * MS


def test_interrupts_that_are_counted_as_tasks_are_in_the_doubt() -> None:
    stat = stat_file({2: 50}, 100).replace("cpu2 1050 0 500 100050 20 0 5", "cpu2 1050 0 500 100040 20 0 15")
    after = {**late(ran({2: 600}, 1.0), [6, 5, 6, 5]), "/proc/stat": stat}
    books = _books(late(ran()), after, own_ms=500)
    assert "100040" in stat
    assert books.foreign_ns == 100 * MS
    assert books.doubt_ns > 100 * MS


def test_a_cpu_that_no_task_has_left_is_late() -> None:
    found = _on_cpu_2(repeat(late(ran()), late(ran(seconds=1.0), [6, 5, 5, 5])))
    assert found is not None
    assert found.is_late
    found = _on_cpu_2(repeat(late(ran()), late(ran(seconds=1.0), [6, 5, 6, 5])))
    assert found is not None
    assert not found.is_late


def test_a_count_by_tasks_that_run_is_never_late() -> None:
    found = _on_cpu_2(repeat(ran(), ran(seconds=1.0)))
    assert found is not None
    assert not found.is_late
