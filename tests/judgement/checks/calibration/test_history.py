"""A calibration compared with earlier ones: slower, faster or noisier, and the facts that changed since."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated, Case, calibrated_with
from noisewatch.judgement.history.measured import entry_of
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import STRICT, Rules
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.model.history.figures import Figure
from tests.judgement.judging import calibrated_by, finding
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import quiet_machine

_SLOWER, _FASTER, _NOISIER = "slower-than-usual", "faster-than-usual", "noisier-than-usual"
_ALL = (_SLOWER, _FASTER, _NOISIER)
_MEMORIES = (Figure.MEMORY, Figure.SLOWEST_MEMORY)
_LATENCY, _MS = Figure.LATENCY, 1_000_000
_SPREADS = (1.0, 1.002, 0.999, 1.001, 0.998)  # of entries of one machine
_NEW: Facts = {FactClass.FIRMWARE: {"microcode": "0x2b0005c0"}}
_OLD: Facts = {FactClass.FIRMWARE: {"microcode": "0x2b000590"}}


@cache
def _snapshot() -> Snapshot:
    return read_snapshot(quiet_machine(), SnapshotOptions(frozenset({2, 3}), asks_inventory=True))


@cache
def _calibrated() -> Calibrated:
    gaps = tuple((number * 10 * _MS, 20_000, 1, 0) for number in range(1, 80))
    return calibrated_by(written_calibration(gaps=gaps))


@cache
def _newest() -> Entry:
    entry = entry_of(_calibrated(), _snapshot(), 0.0, None)
    assert entry is not None
    return entry


def _entry(number: int, times: Mapping[Figure, float], facts: Facts = _OLD) -> Entry:
    """Return an entry with the newest figures, each multiplied by its factor in `times`, and all by one deviation."""
    figures = {figure: value * times.get(figure, 1.0) for figure, value in _newest().figures.items()}
    spread = _SPREADS[number % len(_SPREADS)]
    figures = {figure: value * spread for figure, value in figures.items()}
    return replace(_newest(), at_s=86_400.0 * number, figures=figures, facts=facts)


def _past(count: int, **figures: float) -> list[Entry]:
    return [_entry(number, {Figure[name]: times for name, times in figures.items()}) for number in range(count)]


def _judged(entries: list[Entry], rules: Rules | None = None, doubt: str | None = None, accepted: int = 0) -> Verdict:
    past = Past(tuple(entries), accepted=accepted, doubt=doubt)
    return judge(Case(_snapshot(), calibrated=_calibrated(), past=past, rules=rules or Rules()))


def _statuses(verdict: Verdict) -> list[str]:
    return [finding(verdict, check_id).status for check_id in _ALL]


def test_figures_of_an_entry_do_not_depend_on_the_budget() -> None:
    samples = _calibrated().calibration.samples
    entries = [entry_of(calibrated_with(samples, Budget(10 * _MS, count)), _snapshot(), 0.0, None) for count in (25, 9)]
    assert [entry.figures for entry in entries if entry is not None] == [_newest().figures] * 2


def test_a_machine_as_usual_passes() -> None:
    verdict = _judged(_past(20))
    assert _statuses(verdict) == ["pass"] * 3
    assert "compared with 20 earlier entries" in finding(verdict, _SLOWER).answer.said


@pytest.mark.parametrize(
    ("figure", "times", "wrong", "words"),
    [
        ("LATENCY", 1 / 1.041, _SLOWER, "latency work: 4."),
        ("LATENCY", 1.041, _FASTER, "latency work: 3."),
        ("CLOCK", 2.0, _SLOWER, "clock: 50.0% slower"),
        ("CLOCK", 0.5, _FASTER, "clock: 2 times as fast"),
        ("MIDDLE_GAPS", 0.2, _NOISIER, "gaps of 10 to 100 µs: 5 times as noisy"),
    ],
)
def test_a_lasting_move_fails_with_the_facts_that_changed_then(
    figure: str, times: float, wrong: str, words: str
) -> None:
    moved = [_entry(number, {}, _NEW) for number in range(20, 24)]
    verdict = _judged([*_past(20, **{figure: times}), *moved])
    assert _statuses(verdict) == ["fail" if check_id == wrong else "pass" for check_id in _ALL]
    sentence = finding(verdict, wrong).answer.said
    assert words in sentence
    assert (
        "(5 of 25 entries); changed just then: microcode: 0x2b000590 → 0x2b0005c0; no other recorded fact" in sentence
    )


def test_less_noise_than_usual_passes() -> None:
    assert _statuses(_judged([*_past(20, MIDDLE_GAPS=5.0), *_past(4)])) == ["pass"] * 3


def test_one_or_two_slower_entries_are_noted_and_three_fail() -> None:
    old = _past(20, LATENCY=0.9)
    alone, two, three = (_judged([*old, *_past(number)]) for number in range(3))
    assert [finding(verdict, _SLOWER).status for verdict in (alone, two, three)] == ["warn", "warn", "fail"]
    assert [finding(verdict, _SLOWER).is_note for verdict in (alone, two, three)] == [True, True, False]
    assert "11.1% slower in the newest entry alone, an outlier or a change" in finding(alone, _SLOWER).answer.said
    assert "in the newest two entries alone" in finding(two, _SLOWER).answer.said
    assert not any(finding(verdict, _SLOWER).is_blocking_failure for verdict in (alone, two, three)), "not required"


@pytest.mark.parametrize("before", [5, 6, 7, 8])
def test_after_few_entries_a_slower_machine_warns_until_ranks_prove_the_move(before: int) -> None:
    results = [finding(_judged([*_past(before, LATENCY=0.5), *_past(more)]), _SLOWER) for more in range(5)]
    assert [result.status for result in results][:3] == ["warn"] * 3
    assert {result.status for result in results[3:]} <= {"warn", "fail"}
    assert results[-1].status == "fail"
    assert (
        f"in the newest 3 entries, compared with the {before} before, too few to confirm it" in results[2].answer.said
    )


def test_under_strict_a_move_blocks_and_one_slower_entry_is_unknown() -> None:
    old = _past(20, LATENCY=0.9)
    alone, three = (_judged([*old, *_past(number)], Rules(profile=STRICT)) for number in (0, 2))
    assert finding(alone, _SLOWER).is_blocking_unknown
    assert finding(three, _SLOWER).is_blocking_failure


def test_a_move_without_changed_facts_names_the_remaining_reasons() -> None:
    sentence = finding(_judged([*_past(20, LATENCY=0.9), *_past(4)]), _SLOWER).answer.said
    assert "no recorded fact changed; the cause may be cooling" in sentence


def test_a_machine_that_returned_to_its_level_passes() -> None:
    entries = [*_past(20), *[_entry(number, {_LATENCY: 1.1}) for number in range(20, 30)], *_past(5)]
    assert _statuses(_judged(entries)) == ["pass"] * 3


def test_a_level_that_lasts_longer_than_the_one_before_is_usual() -> None:
    assert _statuses(_judged([*_past(10, LATENCY=0.9), *_past(12)])) == ["pass"] * 3


def test_a_figure_that_alternates_between_two_levels_is_bimodal() -> None:
    entries = [_entry(number, {_LATENCY: 1.1 if number % 3 else 1.0}) for number in range(20)]
    answer = finding(_judged(entries), _SLOWER).answer
    assert answer.status == "pass"
    assert "latency work: bimodal, alternates between" in answer.said


@pytest.mark.parametrize(("times", "count"), [(1.4, 1), (1.4, 3), (1.4, 6), (2.0, 2), (2.0, 8), (1.15, 4), (1.15, 12)])
def test_slower_than_both_alternating_levels_warns_or_fails(times: float, count: int) -> None:
    entries = [_entry(number, {_LATENCY: (1.3 if number % 2 else 1.0) / 1.3 / times}) for number in range(24)]
    answer = finding(_judged([*entries, *_past(count - 1)]), _SLOWER).answer
    assert answer.status == ("warn" if count < 3 else "fail")
    assert "latency work: " in answer.said
    assert "bimodal" not in answer.said


def test_a_figure_that_stays_on_the_slower_of_two_levels_has_moved() -> None:
    entries = [_entry(number, {_LATENCY: 1.0 if number % 2 else 1 / 1.3}) for number in range(24)]
    answers = [finding(_judged([*entries, *_past(more)]), _SLOWER).answer for more in (3, 15, 40)]
    assert [answer.status for answer in answers] == ["pass", "fail", "pass"], "the slower level becomes usual"
    assert "bimodal" in answers[0].said
    assert "latency work: 30.0% slower since" in answers[1].said


@pytest.mark.parametrize(
    ("figure", "share", "wrong", "words"),
    [
        ("LATENCY", 0.003, _SLOWER, "latency work: drifts, 1"),
        ("MIDDLE_GAPS", 0.1, _NOISIER, "gaps of 10 to 100 µs: drifts, "),
    ],
)
def test_a_drift_fails_with_the_facts_that_changed_during_it(figure: str, share: float, wrong: str, words: str) -> None:
    drifting = [_entry(number, {Figure[figure]: (1 + share) ** (number - 40)}, _OLD) for number in range(40)]
    verdict = _judged(drifting)
    assert _statuses(verdict) == ["fail" if check_id == wrong else "pass" for check_id in _ALL]
    assert finding(verdict, wrong).answer.said.startswith(words)
    assert "(41 of 41 entries)" in finding(verdict, wrong).answer.said
    assert "microcode" in finding(verdict, wrong).answer.said


@pytest.mark.parametrize("count", [0, 4])
def test_checks_do_not_apply_with_few_entries(count: int) -> None:
    verdict = _judged(_past(count, LATENCY=0.5))
    assert _statuses(verdict) == ["not-applicable"] * 3
    assert f"collecting: {count} of 5" in (finding(verdict, _SLOWER).answer.reason or "")


def test_entries_before_an_acceptance_are_not_compared() -> None:
    verdict = _judged([*_past(20, LATENCY=0.9), *_past(3)], accepted=20)
    assert _statuses(verdict) == ["not-applicable"] * 3
    assert "3 of 5 comparable entries since the machine was accepted" in str(finding(verdict, _SLOWER).answer.reason)


def test_without_a_history_checks_do_not_apply() -> None:
    for past in (None, Past(is_kept=False)):
        verdict = judge(Case(_snapshot(), calibrated=_calibrated(), past=past))
        assert _statuses(verdict) == ["not-applicable"] * 3
        assert "--history" in (finding(verdict, _SLOWER).answer.reason or "")


def test_entries_that_may_be_of_another_machine_are_unknown() -> None:
    verdict = _judged(_past(20), doubt="two machines have the same /etc/machine-id")
    assert _statuses(verdict) == ["unknown"] * 3
    assert "same /etc/machine-id" in (finding(verdict, _SLOWER).answer.reason or "")


def test_without_a_calibration_the_reason_is_that_of_the_case() -> None:
    verdict = judge(Case(_snapshot(), no_calibration_reason="no CPU to spare", past=Past(tuple(_past(20)))))
    assert {finding(verdict, check_id).answer.reason for check_id in _ALL} == {"no CPU to spare"}


def test_a_calibration_in_doubt_is_not_compared() -> None:
    calibrated = _calibrated()
    samples = replace(calibrated.calibration.samples, is_realtime=True)
    doubtful = replace(calibrated, calibration=replace(calibrated.calibration, samples=samples))
    verdict = judge(Case(_snapshot(), calibrated=doubtful, past=Past(tuple(_past(20)))))
    assert "real-time priority" in (finding(verdict, _SLOWER).answer.reason or "")


def _without(entries: list[Entry], *figures: Figure) -> list[Entry]:
    return [
        replace(entry, figures={figure: value for figure, value in entry.figures.items() if figure not in figures})
        for entry in entries
    ]


def _judged_without_memory(entries: list[Entry]) -> Verdict:
    """Return the verdict on a calibration that could not measure main memory, after these entries."""
    calibration = _calibrated().calibration
    cpus = tuple(replace(cpu, main_memory=None) for cpu in calibration.cpus)
    calibrated = replace(_calibrated(), calibration=replace(calibration, cpus=cpus))
    return judge(Case(_snapshot(), calibrated=calibrated, past=Past(tuple(entries))))


def test_a_usual_figure_that_was_not_measured_now_is_unknown() -> None:
    verdict = _judged_without_memory(_past(20))
    assert _statuses(verdict) == ["unknown", "unknown", "pass"]
    reason = finding(verdict, _SLOWER).answer.reason or ""
    assert "as fast as usual as far as measured, but this calibration lacks figures of most earlier" in reason
    assert "entries: memory walk, memory" in reason
    moved = _judged_without_memory([*_past(20, LATENCY=0.9), *_past(3)])
    assert finding(moved, _SLOWER).status == "fail", "although memory is unknown"


def test_a_figure_that_few_entries_have_is_named_as_not_judged() -> None:
    few = [*_without(_past(17), *_MEMORIES), *_past(3)]
    rare = [*_without(_past(14), *_MEMORIES), *_past(6)]
    for verdict in (_judged(few), _judged_without_memory(rare)):
        answer = finding(verdict, _SLOWER).answer
        assert answer.status == "pass"
        assert (
            answer.said
            == "as fast as usual, compared with 20 earlier entries; not judged: memory walk, memory walk (slowest CPU)"
        )


def test_facts_that_most_entries_lack_are_unknown() -> None:
    facts = facts_of(_snapshot())
    for count, status in ((20, "pass"), (11, "pass"), (1, "unknown")):
        entries = [replace(entry, facts=facts if entry.at_s >= 86_400.0 * (20 - count) else {}) for entry in _past(20)]
        answer = finding(_judged(entries), "machine-changed").answer
        assert answer.status == status
        assert f"no known fact differs from {count} " in (answer.reason or answer.said)


def test_figures_that_no_earlier_entry_has_are_unknown() -> None:
    entries = [replace(entry, figures={Figure.LONG_GAPS: 1e-3}) for entry in _past(20)]
    reason = str(finding(_judged(entries), _SLOWER).answer.reason)
    assert "no value in this calibration, or fewer than 5 earlier values" in reason
