"""Runs of a benchmark tool, each judged by its part of the repetition in which the tool ran."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.benchmark_runs import MarkedRun, WatchedCommand, mark_run
from noisewatch.judgement.run.left_target import LeftTarget
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.clock_shift import ClockShift
from noisewatch.model.interval.interval import interval_between
from noisewatch.model.run.benchmark_run import BenchmarkRun, HookedRun
from noisewatch.model.run.leaving import TimeOutside
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.repetition import Repetition
from tests.judgement.run.test_placement_reasons import placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, TWO_KINDS, TWO_NODES, UNKNOWN_NODES
from tests.written.quiet_machine import CPUS, process
from tests.written.repetitions import MS, THREADED, ran, repeat
from tests.written.trace_windows import traced

_WATCHER, _TOOL, _WORKER, _HOG = 900, 901, 902, 950
_WALL_NS = 1_763_900_000 * 10**9
_KHZ = {2: 3_000_000.0}
_PLACED = placed([thread_look(_WORKER, 2, 100 * MS)], [thread_look(_WORKER, 2, 900 * MS)], places=ONE_NODE)


def _moment(at: int, hog_ms: float = 0, children_ms: float = 0, worker_ms: float | None = None) -> dict[str, str]:
    """Return the files `at` half seconds after the start; the worker had all time but the hog's and children's."""
    busy_ms = 500 * at
    own_ms = busy_ms - hog_ms - children_ms if worker_ms is None else worker_ms
    return (
        ran({2: busy_ms}, at / 2)
        | process(_WATCHER, "noisewatch", 0, 0, allowed="0-1")
        | process(_TOOL, "pyperf", 2, at * MS // 100, allowed="2", parent=_WATCHER, children=round(children_ms / 10))
        | process(_WORKER, "python", 2, round(own_ms * MS), allowed="2", parent=_TOOL)
        | process(_HOG, "hog", 2, round(hog_ms * MS), allowed="2")
    )


def _repetition(*moments: Mapping[str, str]) -> Repetition:
    """Return a repetition of these moments, half a second apart, with a look at each."""
    repetition = repeat(
        *map(dict, moments),
        seconds=0.5,
        looks=range(len(moments)),
        own_pids=[_WATCHER, _TOOL, _WORKER],
        own_ms=500 * (len(moments) - 1),
        use=THREADED,
    )
    return replace(repetition, began_wall_ns=_WALL_NS)


def _run(began_ms: float, ended_ms: float, hooked: HookedRun | None = None) -> BenchmarkRun:
    return BenchmarkRun(
        benchmark=0,
        run=0,
        name="bench",
        value_count=3,
        ended_wall_ns=(_WALL_NS + round(ended_ms * MS),),
        length_ns=round((ended_ms - began_ms) * MS),
        hooked=hooked,
    )


def _mark(
    run: BenchmarkRun, *repetitions: Repetition, placement: Placement = _PLACED, khz_by_cpu: Mapping[int, float] = _KHZ
) -> MarkedRun:
    watched = WatchedCommand(repetitions=[(repetition, placement) for repetition in repetitions], khz_by_cpu=khz_by_cpu)
    return mark_run(run, watched)


def _with_hog() -> Repetition:
    """Return a repetition of six half seconds, in the third of which a hog had 200 ms."""
    return _repetition(*[_moment(at, hog_ms=0 if at < 3 else 200) for at in range(7)])


def test_a_hog_disturbs_only_the_run_in_which_it_ran() -> None:
    outcomes = [_mark(_run(*when), _with_hog()).verdict.outcome for when in ((0, 1000), (1000, 1500), (1500, 3000))]
    assert outcomes == ["undisturbed", "disturbed", "undisturbed"]
    (reason,) = _mark(_run(1000, 1500), _with_hog()).verdict.reasons
    assert (reason.name, reason.pid, reason.ns) == ("hog", _HOG, 200 * MS - 4_000)


def test_a_run_that_a_hog_may_have_disturbed_is_not_undisturbed() -> None:
    """The run ended in the half second in which the hog ran."""
    assert _mark(_run(100, 1200), _with_hog()).verdict.outcome != "undisturbed"


def test_a_run_is_placed_on_the_clock_of_the_looks() -> None:
    repetition = _with_hog()
    marked = _mark(_run(100, 900), repetition)
    assert (marked.began_ns, marked.ended_ns) == (repetition.began_ns + 100 * MS, repetition.began_ns + 900 * MS)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (replace(_run(0, 500), ended_wall_ns=()), "date"),
        (replace(_run(0, 500), length_ns=None), "duration"),
        (_run(-200, 500), "while the command was watched"),
        (_run(2500, 3100), "while the command was watched"),
        (_run(-10_000, -9000), "while the command was watched"),
    ],
)
def test_a_run_that_cannot_be_placed_is_unknown(run: BenchmarkRun, words: str) -> None:
    marked = _mark(run, _with_hog())
    assert (marked.verdict.outcome, marked.began_ns) == ("unknown", None)
    assert words in marked.verdict.unknowns[0]


@pytest.mark.parametrize("shift", [ClockShift(-5 * MS, 0), ClockShift(0, 5 * MS)])
def test_a_run_is_unknown_after_a_clock_shift(shift: ClockShift) -> None:
    marked = _mark(_run(0, 1000), replace(_with_hog(), shift=shift))
    assert marked.verdict.outcome == "unknown"
    assert "clock" in marked.verdict.unknowns[0]


def test_in_a_repeated_hour_the_time_in_which_the_command_ran_counts() -> None:
    run = _run(0, 1000)
    twice = replace(run, ended_wall_ns=(run.ended_wall_ns[0] - 3600 * 10**9, *run.ended_wall_ns))
    assert _mark(twice, _with_hog()).verdict.outcome == "undisturbed"


def test_a_run_is_matched_with_the_repetition_that_contains_it() -> None:
    later = _with_hog()
    earlier = replace(later, began_wall_ns=_WALL_NS - 3600 * 10**9)
    assert _mark(_run(1000, 1500), earlier, later).verdict.outcome == "disturbed"


def _with_lowered_clock() -> Repetition:
    """Return a repetition of six half seconds, in the third of which the only target CPU had a lower clock."""
    clock = f"{CPUS}/cpu2/cpufreq/scaling_cur_freq"
    ticking = {f"{CPUS}/nohz_full": "\n"}
    khz = [2_400_000 if at == 3 else 3_000_000 for at in range(7)]
    whole = _repetition(*[_moment(at) | ticking | {clock: f"{khz[at]}\n"} for at in range(7)])
    windows = tuple(interval_between(_of_cpu_2(window.before), _of_cpu_2(window.after)) for window in whole.windows)
    span = interval_between(_of_cpu_2(whole.span.before), _of_cpu_2(whole.span.after))
    return replace(whole, windows=windows, span=span, allowed=frozenset({2}))


def _of_cpu_2(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, target=replace(snapshot.target, cpus=frozenset({2})))


def test_a_clock_below_the_calibrated_one_disturbs_the_run_in_which_it_was_low() -> None:
    verdicts = [_mark(_run(*when), _with_lowered_clock()).verdict for when in ((0, 1000), (990, 1510), (1600, 2900))]
    assert [verdict.outcome for verdict in verdicts] == ["undisturbed", "disturbed", "undisturbed"]
    assert [reason.kind for reason in verdicts[1].reasons] == ["clock-lowered"]
    assert _mark(_run(990, 1510), _with_lowered_clock(), khz_by_cpu={}).verdict.outcome == "undisturbed"


@pytest.mark.parametrize("places", [TWO_NODES, TWO_KINDS], ids=["nodes", "kinds"])
def test_a_move_to_another_node_or_kind_of_core_may_have_been_in_any_run(
    places: Mapping[int, CpuPlace],
) -> None:
    moved = placed([thread_look(_WORKER, 1, 100 * MS)], [thread_look(_WORKER, 2, 900 * MS)], places=places)
    outcomes = [_mark(_run(*when), _with_hog(), placement=moved).verdict.outcome for when in ((0, 1000), (1000, 1500))]
    assert outcomes == ["unknown", "disturbed"]
    (unknown,) = _mark(_run(0, 1000), _with_hog(), placement=moved).verdict.unknowns
    assert unknown.startswith(f"bench (tid {_WORKER}) moved to another memory node or kind of core")


def test_a_worker_that_moves_makes_its_run_unknown_among_many_workers() -> None:
    def outcome(last_cpu: int) -> str:
        looks = [
            [
                thread_look(_WORKER, cpu, ran_ms * MS, migrations=migrations),
                thread_look(_TOOL, 2, 90_000 * MS, migrations=0),
            ]
            for migrations, cpu, ran_ms in ((0, 1, 50), (1, last_cpu, 500))
        ]
        return _mark(_run(0, 1000), _with_hog(), placement=placed(*looks, used_ns=90_500 * MS)).verdict.outcome

    assert (outcome(0), outcome(2)) == ("undisturbed", "unknown")


def test_no_run_is_undisturbed_where_memory_nodes_are_unknown() -> None:
    unknown = placed([thread_look(_WORKER, 2, 900 * MS)], places=UNKNOWN_NODES)
    assert _mark(_run(0, 1000), _with_hog(), placement=unknown).verdict.outcome == "unknown"


def _with_unread_thread() -> Repetition:
    whole = _with_hog()
    cut = []
    for window in whole.windows:
        tasks = window.after.tasks
        assert tasks is not None
        after = replace(window.after, tasks=replace(tasks, pids=tasks.pids | {999_999}))
        cut.append(replace(window, after=after))
    return replace(whole, windows=tuple(cut))


def test_an_unread_thread_makes_the_time_of_other_processes_unknown() -> None:
    marked = _mark(_run(0, 1000), _with_unread_thread())
    assert marked.verdict.outcome == "unknown"
    assert "not all threads were read" in marked.verdict.unknowns[0]


def _with_ended_worker(ms: int = 480) -> Repetition:
    """Return a repetition whose worker ended after `ms`, before the second look; only its parent's ticks count it."""
    without_worker = {
        path: text for path, text in _moment(1, children_ms=ms).items() if f"/proc/{_WORKER}/" not in path
    }
    return _repetition(
        _moment(0), without_worker, *[_moment(at, children_ms=ms, worker_ms=500 * at - 500) for at in range(2, 5)]
    )


def test_the_time_of_an_ended_worker_is_counted_only_in_ticks() -> None:
    verdict = _mark(_run(0, 500), _with_ended_worker()).verdict
    assert verdict.outcome == "unknown"
    assert "may be off" in verdict.unknowns[0]


def _hooked_run(verdict: str, began_ms: float = 50, ended_ms: float = 400) -> HookedRun:
    began_ns = _with_ended_worker().began_ns
    return HookedRun(began_ns + round(began_ms * MS), began_ns + round(ended_ms * MS), verdict, "value 2: waited")


def test_an_undisturbed_hook_settles_an_unknown_run() -> None:
    marked = _mark(_run(0, 500, _hooked_run("undisturbed")), _with_ended_worker())
    assert marked.verdict.outcome == "undisturbed"
    assert marked.ended_ns == _with_ended_worker().began_ns + 400 * MS


@pytest.mark.parametrize(("ms", "hooked", "words"), [(510, "undisturbed", ""), (530, "unknown", "also ran elsewhere")])
def test_the_ticks_of_an_ended_worker_may_exceed_the_time_of_its_cpu(ms: int, hooked: str, words: str) -> None:
    """The CPU counted 500 ms; the worker's user time and system time are each in steps of 10 ms."""
    assert _mark(_run(0, 500), _with_ended_worker(ms)).verdict.outcome == "unknown"
    verdict = _mark(_run(0, 500, _hooked_run("undisturbed")), _with_ended_worker(ms)).verdict
    assert (verdict.outcome, words in "".join(verdict.unknowns)) == (hooked, True)


@pytest.mark.parametrize(("ms", "hooked"), [(1002, "undisturbed"), (1020, "unknown")])
def test_a_hook_settles_counts_that_differ_by_less_than_the_allowance(ms: int, hooked: str) -> None:
    """The CPU counted 1000 ms, and the allowance is 5 ms."""
    repetition = _repetition(*[_moment(at, worker_ms=at * ms / 2) for at in range(4)])
    hook = HookedRun(repetition.began_ns + 10 * MS, repetition.began_ns + 990 * MS, "undisturbed", "")
    verdict = _mark(_run(0, 1000), repetition).verdict
    assert (verdict.outcome, "also ran elsewhere" in verdict.unknowns[0]) == ("unknown", True)
    assert _mark(_run(0, 1000, hook), repetition).verdict.outcome == hooked


_ELSEWHERE = TimeOutside(0, None, frozenset({0}))


@pytest.mark.parametrize(
    ("repetition", "words"),
    [
        (replace(_with_ended_worker(), allowed=None), "changed its affinity"),
        (replace(_with_ended_worker(), allowed=frozenset({0})), "set its affinity to CPU 0"),
        (replace(_with_ended_worker(), first_outside=_ELSEWHERE), "set its affinity to CPU 0"),
    ],
    ids=["unknown affinity", "left at the end", "left before"],
)
def test_an_undisturbed_hook_does_not_show_on_which_cpu_the_run_was(repetition: Repetition, words: str) -> None:
    for run in (_run(0, 500), _run(0, 500, _hooked_run("undisturbed"))):
        verdict = _mark(run, repetition).verdict
        assert verdict.outcome == "unknown"
        assert words in verdict.unknowns[0]


def test_an_undisturbed_hook_does_not_settle_unread_threads() -> None:
    repetition = _with_unread_thread()
    hooked = HookedRun(repetition.began_ns + 10 * MS, repetition.began_ns + 990 * MS, "undisturbed", "")
    assert _mark(_run(0, 1000, hooked), repetition).verdict.outcome == "unknown"


def test_a_disturbed_hook_disturbs_the_run() -> None:
    verdict = _mark(_run(0, 500, _hooked_run("disturbed")), _with_ended_worker()).verdict
    assert verdict.outcome == "disturbed"
    assert verdict.reasons[-1].name == "value 2: waited"


def test_an_unknown_hook_leaves_the_run_unknown() -> None:
    assert _mark(_run(0, 500, _hooked_run("unknown")), _with_ended_worker()).verdict.outcome == "unknown"


def test_the_hook_of_another_run_does_not_count() -> None:
    marked = _mark(_run(0, 500, _hooked_run("undisturbed", began_ms=5000, ended_ms=5400)), _with_ended_worker())
    assert marked.verdict.outcome == "unknown"


def test_an_undisturbed_hook_does_not_outweigh_a_hog_in_the_looks() -> None:
    repetition = _with_hog()
    hooked = HookedRun(repetition.began_ns + 1010 * MS, repetition.began_ns + 1490 * MS, "undisturbed", "")
    assert _mark(_run(1000, 1500, hooked), repetition).verdict.outcome == "disturbed"


def test_a_process_left_running_by_an_earlier_repetition_is_not_the_tools() -> None:
    moments = [
        _moment(at, hog_ms=0 if at < 3 else 200)
        | process(_HOG, "hog", 2, 0 if at < 3 else 200 * MS, allowed="2", parent=_WATCHER)
        for at in range(7)
    ]
    repetition = replace(_repetition(*moments), earlier_pids=frozenset({_HOG}))
    repetition = replace(
        repetition,
        windows=tuple(
            interval_between(
                replace(window.before, own_pids=window.before.own_pids | {_HOG}),
                replace(window.after, own_pids=window.after.own_pids | {_HOG}),
            )
            for window in repetition.windows
        ),
    )
    assert _mark(_run(1010, 1490), repetition).verdict.outcome == "disturbed"
    assert _mark(_run(100, 900), repetition).verdict.outcome == "undisturbed"


def _verdict_of_leaving(left: LeftTarget, when: tuple[int, int]) -> RepetitionVerdict:
    watched = WatchedCommand(repetitions=[(_with_hog(), _PLACED)], khz_by_cpu=_KHZ, left_by_number={1: left})
    return mark_run(_run(*when), watched).verdict


@pytest.mark.parametrize(
    ("share", "when", "outcome", "kinds"),
    [
        (0.99, (0, 1000), RunOutcome.DISTURBED, [ReasonKind.LEFT_TARGET]),
        (0.6, (1000, 1500), RunOutcome.UNKNOWN, []),  # the hog may not have disturbed it
        (0.1, (0, 1000), RunOutcome.UNKNOWN, []),
        (0.1, (1000, 1500), RunOutcome.DISTURBED, [ReasonKind.FOREIGN]),
    ],
)
def test_a_run_of_a_command_that_left_its_target_is_not_undisturbed(
    share: float, when: tuple[int, int], outcome: RunOutcome, kinds: list[ReasonKind]
) -> None:
    name = "the command ran on CPU 0, not on the target"
    left = RunReason(kind=ReasonKind.LEFT_TARGET, name=name, cpus=frozenset({0}), ns=900 * MS, share=share)
    verdict = _verdict_of_leaving(LeftTarget(left, 0), when)
    assert (verdict.outcome, [reason.kind for reason in verdict.reasons]) == (outcome, kinds)
    assert bool(verdict.unknowns and name in verdict.unknowns[0]) == (share < 0.9)


def test_runs_are_unknown_if_it_is_unknown_whether_the_command_left_its_target() -> None:
    left = LeftTarget(None, 0, "the command ran on other CPUs for 1 s: cannot tell whether a target CPU went offline")
    verdict = _verdict_of_leaving(left, (0, 1000))
    assert (verdict.outcome, verdict.unknowns) == (RunOutcome.UNKNOWN, (left.unknown,))
    verdict = _verdict_of_leaving(left, (1000, 1500))
    assert (verdict.outcome, verdict.unknowns[-1]) == (RunOutcome.DISTURBED, left.unknown)


@pytest.mark.parametrize(
    ("cpus", "outcome"),
    [
        ((2, 2, 2, 2, 2, 2), RunOutcome.UNDISTURBED),
        ((2, 2, 0, 2, 2, 2), RunOutcome.UNKNOWN),
        ((2, 0, 2, 0, 2, 0), RunOutcome.UNKNOWN),
    ],
)
@pytest.mark.parametrize("is_hooked", [False, True])
def test_a_run_is_unknown_if_a_look_found_a_thread_outside_the_target(
    cpus: tuple[int, ...], outcome: RunOutcome, is_hooked: bool
) -> None:
    repetition = _with_hog()
    looks = [[thread_look(_WORKER, cpu, at * 400 * MS)] for at, cpu in enumerate(cpus, start=1)]
    placement = placed(*looks, target=repetition.target, places=ONE_NODE)
    hooked = HookedRun(repetition.began_ns + 10 * MS, repetition.began_ns + 990 * MS, "undisturbed", "")
    verdict = _mark(_run(0, 1000, hooked if is_hooked else None), repetition, placement=placement).verdict
    assert verdict.outcome == outcome
    assert all("cannot tell whether it was there during this run" in unknown for unknown in verdict.unknowns)


@pytest.mark.parametrize(("outside_ms", "outcome"), [(2, RunOutcome.UNDISTURBED), (8, RunOutcome.UNKNOWN)])
def test_the_time_outside_is_compared_with_the_allowance_of_the_run(outside_ms: int, outcome: RunOutcome) -> None:
    """8 ms are within the allowance of the repetition of three seconds, but not of the run of one second."""
    placement = replace(_PLACED, max_outside_ns=outside_ms * MS)
    assert _mark(_run(0, 1000), _with_hog(), placement=placement).verdict.outcome == outcome


@pytest.mark.parametrize(("own_ms", "outcome"), [(3000, RunOutcome.UNDISTURBED), (2900, RunOutcome.UNKNOWN)])
def test_a_trace_replaces_the_looks_outside_the_target(own_ms: int, outcome: RunOutcome) -> None:
    repetition = traced(_with_hog(), own_ms=own_ms)
    repetition = replace(repetition, books=replace(repetition.books, tasks_ns=None))
    placement = replace(_PLACED, max_outside_ns=400 * MS, traced_share=1.0)
    assert _mark(_run(0, 1000), repetition, placement=placement).verdict.outcome == outcome
