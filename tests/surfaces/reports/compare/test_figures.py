"""`noisewatch compare`: figures that differ by more than chance, and figures that cannot be compared.

Figures under load, and figures of each of two sets of CPUs, are compared separately.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.surfaces.reports.compare.documents import (
    Compare,
    against,
    calibration,
    cpu,
    header,
    receipt,
    repetition,
    times,
    under_load,
    with_facts,
)


def test_a_slower_machine_is_named_with_its_ratio_and_the_test(compare: Compare) -> None:
    ran = compare(calibration(), calibration(cpu(speed=0.95)))
    assert ran.status == 1
    assert ran.out.splitlines()[0].startswith("6 figures differ; blocking differences: ")
    assert "latency work: 200 µs → 211 µs, 5.3% slower, ratio 1.053 (1.0" in ran.words
    assert "clock: 3 GHz → 2.85 GHz, 5.0% slower" in ran.words
    assert "13 figures compared, each at a significance level of 0.38% (Bonferroni: 5% for all)" in ran.words
    assert "Welch's t-test, by the spread of blocks within each calibration" in ran.words


def _cpus(count: int, slower: float = 1.0, others: float = 1.0) -> dict[str, Any]:
    """Return a calibration of `count` CPUs: CPU 7 takes `slower` times as long as usual, the others `others` times."""
    speeds = {number: 1 / (slower if number == 7 else others) for number in range(count)}
    return calibration(*({**cpu(speed), "cpu": number} for number, speed in speeds.items()))


def test_one_slow_cpu_among_many_is_named(compare: Compare) -> None:
    ran = compare(_cpus(64), _cpus(64, slower=1.6))
    assert ran.status == 1
    assert "latency work on CPU 7: 200 µs → 320 µs, 60.0% slower" in ran.words
    assert "clock on CPU 7: 3 GHz → 1.875 GHz, 37.5% slower" in ran.words
    assert "13 figures compared, 2 of them also CPU by CPU, each at a significance level of 0.33%" in ran.words
    figures = compare(_cpus(64), _cpus(64, slower=1.6), "--format", "json").json["figures"]
    assert [figure["figure"] for figure in figures if figure["cpu"] == 7][:1] == ["latency work on CPU 7"]


def test_slowest_cpu_among_slower_ones_is_named(compare: Compare) -> None:
    out = compare(_cpus(8), _cpus(8, slower=1.6, others=1.05)).words
    assert "latency work: " in out
    assert "latency work on CPU 7: " in out


@pytest.mark.parametrize("slower", [1.0, 1.05, 1.6])
def test_equal_change_of_all_cpus_is_not_listed_by_cpu(compare: Compare, slower: float) -> None:
    ran = compare(_cpus(8), _cpus(8, slower, slower))
    assert ran.status == (slower > 1)
    assert "on CPU" not in ran.words


def test_slower_cache_walk_of_one_cpu_is_not_listed_by_cpu(compare: Compare) -> None:
    after = _cpus(8)
    after["calibration"]["cpus"][7]["cache"] |= {"median_ns": 2_000_000, "width_share": 0.1}
    assert "on CPU" not in compare(_cpus(8), after).words


@pytest.mark.parametrize(("slower", "status"), [(1.3, 0), (1.8, 3)])
def test_slow_cpu_that_is_too_noisy_makes_the_result_unknown(compare: Compare, slower: float, status: int) -> None:
    before, after = _cpus(8), _cpus(8)
    for document, by in ((before, 1.0), (after, slower)):
        document["calibration"]["cpus"][7]["latency_work"] |= {"median_ns": 1e6 * by, "mad_share": 0.15}
    ran = compare(before, after)
    assert ran.status == status
    assert (
        "because one or both sides have no answer: latency work on CPU 7 (too noisy to compare)" in ran.words
    ) == bool(status)


def test_a_slow_cpu_is_named_though_another_cpu_is_only_on_one_side(compare: Compare) -> None:
    ran = compare(_cpus(64), _cpus(63, slower=1.6))
    assert ran.status == 1
    assert "latency work on CPU 7: 200 µs → 320 µs, 60.0% slower" in ran.words


def test_sets_without_a_common_cpu_are_compared_by_their_means_only(compare: Compare) -> None:
    after = _cpus(8, slower=1.6)
    for number, one_cpu in enumerate(after["calibration"]["cpus"]):
        one_cpu["cpu"] = 8 + number
    out = compare(_cpus(8), after).words
    assert "on CPU" not in out
    assert "CPU by CPU" not in out


@pytest.mark.parametrize("speed", [0.993, 1.0, 1.007])
def test_speed_change_below_the_threshold_is_no_difference(compare: Compare, speed: float) -> None:
    assert compare(calibration(), calibration(cpu(speed=speed))).status == 0


def test_number_of_pieces_in_a_block_is_no_difference(compare: Compare) -> None:
    other = cpu()
    other["throughput"] |= {"pieces": 4, "median_ns": 800_000}
    assert compare(calibration(), calibration(other)).status == 0


def test_noise_change_is_a_difference_only_beyond_the_drift(compare: Compare) -> None:
    assert compare(calibration(cv=0.001), calibration(cv=0.003)).status == 0
    ran = compare(calibration(cv=0.001), calibration(cpu(gaps_per_s=9e4), cv=0.1))
    assert ran.status == 1
    assert "noise floor at 10 ms: 0.10% → 10.00%, 100 times as noisy" in ran.words
    assert "gaps below 10 µs: 240/s → 86 400/s" in ran.words
    assert "by the drift between calibrations" in ran.words


_KINDS = ("latency_work", "throughput", "interpreter", "cache", "memory")


def _noisy(*kinds: str, slower: float = 1.0, width: float = 5.0) -> dict[str, Any]:
    """Return a CPU whose results for these kinds of work vary too much to compare, or by `width`."""
    noisy_work = {"count": 200, "median_ns": 1e6 * slower, "pieces": 5, "mad_share": 0.9, "width_share": width}
    works: dict[str, Any] = dict.fromkeys(kinds, noisy_work)
    return cpu(**works)


def _with_core(core: str, document: dict[str, Any]) -> dict[str, Any]:
    for half in (document, document["under_load"]):
        half["calibration"]["core"] = core
    return document


_OFFLINE = cpu(trouble="went offline")
_TOO_NOISY = _noisy(*_KINDS) | {"effective_khz_spread_share": 4.0}
_NO_TIME = [header(opening=calibration()["calibration"]), repetition(0.1, "disturbed"), {"kind": "footer"}]
_OPEN: Sequence[tuple[object, object, str]] = [
    (calibration(), calibration(cpu(latency_work=None)), "latency work"),
    (calibration(), calibration(cpu(effective_khz=None)), "clock"),
    (calibration(), calibration(cpu(gaps_without_room=3)), "gaps below 10 µs"),
    (calibration(), calibration(cpu(histogram={"edges_ns": [2000, 2000, 4000], "counts": [9, 6]})), "gaps below 10 µs"),
    (calibration(), calibration(_OFFLINE), "latency work"),
    (calibration(_OFFLINE), calibration(_OFFLINE), "speeds before: "),
    (calibration(noise_floor=[]), calibration(noise_floor=[]), "noise floors before: "),
    (calibration(_TOO_NOISY), calibration(_TOO_NOISY), "speeds (too noisy to compare)"),
    *(
        (
            calibration(_noisy(kind, width=width)),
            calibration(_noisy(kind, width=width, slower=slower)),
            f"{name} (too ",
        )
        for kind, name, width, changes in (
            ("memory", "memory walk", 5.0, (0.5, 1.9)),
            ("throughput", "throughput work", 0.5, (0.6, 1.8)),
            ("throughput", "throughput work", 0.55, (0.6, 1.8)),
        )
        for slower in changes
    ),
    (_NO_TIME, _NO_TIME, "run time"),
    (under_load(), under_load(cpu(latency_work=None)), "latency work under load; only one side has 1 figure before: "),
    (under_load(), under_load(_OFFLINE), ""),
    (under_load(), under_load(noise_floor=[]), ""),
    (under_load(_OFFLINE), under_load(_OFFLINE), "speeds under load before: "),
    (under_load(noise_floor=[]), under_load(noise_floor=[]), "noise floors under load before: "),
    (under_load(_TOO_NOISY), under_load(_TOO_NOISY), "speeds under load (too noisy to compare)"),
    (under_load(), _with_core("python", under_load()), "speeds, speeds under load before: "),
    (against(cpu(), _OFFLINE), against(cpu(), _OFFLINE), "speeds (--against) before: "),
]


@pytest.mark.parametrize(("before", "after", "unknown"), _OPEN)
def test_figures_unknown_on_one_or_both_sides_make_the_result_unknown(
    compare: Compare, before: object, after: object, unknown: str
) -> None:
    ran = compare(before, after)
    assert ran.status == 3
    answer, before_sides, _ = ran.words.partition(" before: ")
    _, is_open, names = answer.partition("because one or both sides have no answer: ")
    assert is_open
    assert unknown in names + before_sides


@pytest.mark.parametrize(("kind", "width"), [("memory", 5.0), ("throughput", 0.5), ("throughput", 0.55)])
def test_small_change_of_a_noisy_kind_of_work_is_no_difference(compare: Compare, kind: str, width: float) -> None:
    after = calibration(_noisy(kind, width=width, slower=1.3))
    assert compare(calibration(_noisy(kind, width=width)), after).status == 0


def test_missing_sample_length_or_clock_is_ignored(compare: Compare) -> None:
    short = calibration(cpu(effective_khz=None))
    del short["noise_floor"][-1]
    assert compare(short, short).status == 0
    assert compare(calibration(cpu(effective_khz=None)), short).status == 0


def test_figures_of_different_cores_or_work_are_not_compared(compare: Compare) -> None:
    other = calibration(noise_floor_of="latency work")
    other["calibration"]["core"] = "python"
    ran = compare(calibration(), other)
    assert ran.status == 3
    assert "speeds not compared: measured by the core native before, python after" in ran.words
    assert "noise floors not compared: of mixed work before, latency work after" in ran.words


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_figures_too_noisy_to_compare_are_counted(compare: Compare, form: str) -> None:
    answer = "no difference found; 1 of 13 figures is too noisy to tell"
    noisy = calibration(_noisy("memory"))
    assert answer in compare(noisy, noisy, "--format", form).words
    noisier = calibration(_noisy("memory", "cache"), facts=with_facts(turbo="on"))
    ran = compare(noisy, noisier)
    assert ran.words.startswith(
        "1 fact differs; no blocking differences; 2 of 13 figures are too noisy to tell before: "
    )
    assert "too noisy to detect even a large change: cache walk, memory walk" in ran.words


def test_noisy_figures_are_not_counted_next_to_a_difference(compare: Compare) -> None:
    ran = compare(calibration(_noisy("memory")), calibration(_noisy("memory") | {"effective_khz": 2e6}))
    assert ran.status == 1
    assert "figures is too noisy to tell" not in ran.words


def test_two_series_are_compared_by_their_undisturbed_runs(compare: Compare) -> None:
    same = compare(receipt(times(0.1)), receipt(times(0.1, seed=2)))
    assert (same.status, same.out.splitlines()[0]) == (0, "no difference found")
    disturbed = [repetition(0.5, "disturbed"), repetition(0.5, "unknown"), repetition(9, is_cut_short=True)]
    failed = repetition(0.01, ended={"by": "exit", "status": 1})
    slower = [header(), *disturbed, failed, *map(repetition, times(0.103, seed=2)), {"kind": "footer"}]
    ran = compare(receipt(times(0.1)), slower)
    assert ran.status == 1
    assert "run time: 99.9 ms → 103 ms" in ran.words or "run time: 100 ms → 103 ms" in ran.words
    assert "Welch's t-test of the means of the undisturbed runs" in ran.words


def test_series_with_too_few_undisturbed_runs_makes_the_result_unknown(compare: Compare) -> None:
    mostly_disturbed = [header(), *(repetition(0.1, "disturbed") for _ in range(30)), *map(repetition, times(0.1))]
    ran = compare(receipt(times(0.1)), mostly_disturbed)
    assert ran.status == 3
    assert "run time" in ran.words
    assert "cut short, the receipt has no end" in ran.words


@pytest.mark.parametrize(
    ("command", "name"),
    [({"program": "bench2"}, "bench2"), ({"program": "bench", "argv": ["bench", 7]}, "bench ?")],
    ids=["program", "malformed arguments"],
)
def test_other_commands_are_named(compare: Compare, command: dict[str, Any], name: str) -> None:
    other = receipt(times(0.1), commands=[{"command": "a", **command}])
    assert f"other commands were run: bench before, {name} after" in compare(receipt(times(0.1)), other).words


def test_a_document_of_a_series_is_the_same_as_its_lines(compare: Compare) -> None:
    lines = receipt(times(0.1))
    whole = {**lines[0], "kind": "series", "repetitions": lines[1:-1], "footer": lines[-1]}
    ran = compare(lines, whole)
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no difference found")


def test_receipt_and_calibration_are_compared_by_common_figures(compare: Compare) -> None:
    opening = {"core": "native", "scheduler": "other", "cpus": [cpu(speed=0.9)], "noise_floor": []}
    ran = compare(calibration(), receipt(times(0.1), opening=opening))
    assert ran.status == 1
    assert "latency work is" not in ran.out
    assert "known only after: figures run time" in ran.words


def test_run_times_are_compared_even_if_speeds_are_of_different_cores(compare: Compare) -> None:
    native, python = calibration()["calibration"], calibration(cpu(speed=0.1))["calibration"] | {"core": "python"}
    before, after = (receipt(times(0.1), opening=opening) for opening in (native, python))
    ran = compare(before, after)
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no difference found")
    assert "speeds not compared: measured by the core native before, python after" in ran.words
    ran = compare(calibration(), after)
    assert ran.status == 3
    assert "because one or both sides have no answer: speeds, " in ran.words


def test_change_under_load_only_is_found(compare: Compare) -> None:
    ran = compare(under_load(), under_load(cpu(speed=0.5, gaps_per_s=9e4), cv=0.1))
    assert ran.status == 1
    assert "latency work under load: 200 µs → 400 µs, 2 times as slow" in ran.words
    assert "noise floor at 10 ms under load: 0.10% → 10.00%, 100 times as noisy" in ran.words
    assert "gaps below 10 µs under load: 240/s → 86 400/s" in ran.words
    assert "latency work: 2" not in ran.words
    assert "26 figures compared, each at a significance level of 0.19%" in ran.words


def test_change_without_load_only_is_no_change_under_load(compare: Compare) -> None:
    after = under_load() | {"calibration": calibration(cpu(speed=0.5))["calibration"]}
    ran = compare(under_load(), after)
    assert ran.status == 1
    assert "latency work: 200 µs → 400 µs" in ran.words
    assert "latency work under load:" not in ran.words


def test_load_on_one_side_only_is_reported(compare: Compare) -> None:
    ran = compare(calibration(), under_load(cpu(speed=0.5)))
    answer = "no difference found; only one side has all figures under load"
    assert (ran.status, ran.out.splitlines()[0]) == (0, answer)
    assert "known only after: all figures under load" in ran.words


def test_different_loads_are_reported(compare: Compare) -> None:
    ran = compare(under_load(), under_load(processes=1, cpus=[1]))
    assert ran.status == 0
    assert "another load: 2 busy processes on CPUs 0-1 before, 1 busy process on CPU 1 after" in ran.words


def test_target_and_against_cpus_are_compared_separately(compare: Compare) -> None:
    before = against(cpu(), cpu())
    ran = compare(before, against(cpu(), cpu(speed=0.5, gaps_per_s=9e4), other_cv=0.1))
    assert ran.status == 1
    assert "latency work (--against): 200 µs → 400 µs, 2 times as slow" in ran.words
    assert "noise floor at 10 ms (--against): 0.10% → 10.00%" in ran.words
    assert "latency work: 2" not in ran.words
    assert "noise floor at 10 ms: " not in ran.words
    assert "before: " in ran.words
    assert "(calibration, CPU 3 against CPU 0)" in ran.words
    ran = compare(before, against(cpu(speed=0.95), cpu()))
    assert ran.status == 1
    assert "latency work: 200 µs → 211 µs, 5.3% slower" in ran.words
    assert "latency work (--against)" not in ran.out


def test_target_with_against_cpus_is_compared_with_a_target_alone(compare: Compare) -> None:
    alone = calibration({**cpu(), "cpu": 3}, target=[3])
    ran = compare(alone, against(cpu(), cpu(speed=0.5), other_cv=0.1))
    answer = "no difference found; only one side has all figures (--against)"
    assert (ran.status, ran.out.splitlines()[0]) == (0, answer)
    assert "known only after: all figures (--against)" in ran.words


def test_different_against_cpus_are_reported(compare: Compare) -> None:
    other = against(cpu(), cpu())
    other["against"] = [0, 1]
    assert "different CPUs of --against: CPU 0 → CPUs 0-1" in compare(against(cpu(), cpu()), other).words


_OLD_NAMES = {"throughput": "native_work", "interpreter": "work", "cache": "memory", "memory": "main_memory"}


def _with_old_names(results: dict[str, Any]) -> dict[str, Any]:
    return {_OLD_NAMES.get(key, key): value for key, value in results.items()}


def _times_of_work(compare: Compare, *cpus: dict[str, Any]) -> dict[str, tuple[float, float]]:
    ran = compare(*map(calibration, cpus), "--format", "json")
    return {row["figure"]: (row["before"], row["after"]) for row in ran.json["figures"] if row["unit"] == "ns"}


def test_calibrations_with_the_names_of_0_2_0_are_compared_with_new_ones(compare: Compare) -> None:
    spread = cpu()["cache"]
    new = cpu(cache=spread | {"median_ns": 2e6}, memory=spread | {"median_ns": 8e6})
    old = _with_old_names(new)
    assert {"native_work", "work", "main_memory"} <= old.keys()
    times = _times_of_work(compare, old, new)
    assert (times["cache walk"], times["memory walk"]) == ((4e5, 4e5), (1.6e6, 1.6e6))
    assert len(times) == 6
    assert all(before == after for before, after in times.values())


@pytest.mark.parametrize("added", [{"throughput"}, {"interpreter", "cache"}])
def test_memory_in_a_calibration_with_old_and_new_names_is_unknown(compare: Compare, added: set[str]) -> None:
    both = _with_old_names(cpu()) | {name: cpu()[name] for name in added}
    assert _times_of_work(compare, both, cpu()).keys() == {"latency work", "clock reading"}


def test_memory_without_other_kinds_of_work_is_unknown(compare: Compare) -> None:
    alone = {key: value for key, value in cpu().items() if key not in {"throughput", "interpreter", "cache"}}
    assert _times_of_work(compare, alone, cpu()).keys() == {"latency work", "clock reading"}


def test_runs_that_share_a_memory_layout_are_one_sample(compare: Compare) -> None:
    """Fifty runs of ten layouts have the error of ten samples."""

    def of_layouts(shared: bool) -> list[dict[str, Any]]:
        layouts = [at % 10 for at in random.Random(2).sample(range(50), 50)]
        lines = receipt([0.1 + layout / 100 for layout in layouts])
        for layout, line in zip(layouts, lines[1:-1], strict=True):
            line["layout"] = {"number": layout, "environment_bytes": 1, "argv0_bytes": 0} if shared else None
        return lines

    def width(shared: bool) -> float:
        ran = compare(of_layouts(shared), of_layouts(shared), "--format", "json")
        low, high = next(row["ratio_interval"] for row in ran.json["figures"] if row["figure"] == "run time")
        return float(high - low)

    assert width(shared=True) > 2 * width(shared=False)
