"""The smallest detectable change as a sentence, and `--detect` as a table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.detection import needed_samples, smallest_change_of
from noisewatch.judgement.noise.smallest_change import samples_needed, smallest_change
from noisewatch.kinds import Work
from noisewatch.surfaces.reports.calibration.detection import change_sentence, detect_lines, opening_sentence
from tests.surfaces.reports.calibration.calibrations import ALL, broken, noisy, quiet, recorded, short, traced


def _with_cv(cv: float) -> Calibrated:
    """Return a calibration of latency work with this upper bound of its CV."""
    calibrated = quiet()

    def change_cv(floor: NoiseFloor) -> NoiseFloor:
        return replace(floor, cv_high=cv, smallest_change_share=smallest_change(cv, floor.samples))

    floors = tuple(map(change_cv, calibrated.floors))
    return replace(calibrated, floors=floors, budget=replace(calibrated.budget, work=Work.LATENCY))


def test_sentences_name_the_change_and_the_number_of_samples() -> None:
    calibrated = _with_cv(0.016)
    assert change_sentence(calibrated) == "A change of 1.3% can be detected here with 25 samples of 100 ms."
    needed = samples_needed(0.016, 0.005)
    assert opening_sentence(calibrated) == (
        f"A change of 1.3% can be detected here with 25 samples of 100 ms (latency work); for 0.5% take {needed}."
    )


@pytest.mark.parametrize(
    ("share", "more"), [(0.02, "for 2% take 12"), (1e-6, "for 0.0001% more than 10,000 are needed.")]
)
def test_requested_change_is_in_the_sentence(share: float, more: str) -> None:
    calibrated = _with_cv(0.016)
    requested = replace(calibrated, budget=replace(calibrated.budget, detect=share))
    assert more in opening_sentence(requested)


def test_no_change_smaller_than_the_minimum_is_proposed() -> None:
    assert (
        opening_sentence(_with_cv(0.0))
        == "A change of 0.01% can be detected here with 25 samples of 100 ms (latency work)."
    )


def test_kind_of_work_that_varies_most_is_named() -> None:
    worst = smallest_change_of(traced())
    assert f"({worst.work} work, which varies most)" in opening_sentence(traced())


@pytest.mark.parametrize(
    ("calibrated", "why"),
    [
        (recorded, "too little was measured on CPU 1 (latency, memory)."),
        (short, "too little was measured"),
        (broken, "CPU 3: it went offline"),
    ],
)
def test_change_is_unknown_if_one_kind_of_work_is_unknown(calibrated: Callable[[], Calibrated], why: str) -> None:
    for sentence in (change_sentence(calibrated()), opening_sentence(calibrated())):
        assert sentence.startswith("The smallest detectable change with 25 samples of 100 ms is unknown: ")
        assert why in sentence


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", [*ALL])
def test_the_table_keeps_to_the_width(name: str, width: int) -> None:
    lines = detect_lines(ALL[name](), 0.02, width)
    assert max(map(len, lines)) <= width


def test_table_has_a_row_for_each_kind_and_explains_dashes() -> None:
    lines = detect_lines(recorded(), 0.02, 120)
    assert lines[0].startswith(
        "samples of each version needed to show a change of 2%, by sample length (Welch's t-test"
    )
    rows = [line.split() for line in lines[1:7]]
    assert " ".join(rows[0]) == "kind of work 1 ms 10 ms 100 ms 1 s"
    assert [row[0] for row in rows[1:]] == ["latency", "throughput", "interpreter", "cache", "memory"]
    cells = [cell for row in rows[1:] for cell in row[1:]]
    expected = ["—" if row.samples is None else str(row.samples) for row in needed_samples(recorded(), 0.02)]
    assert cells == expected
    assert "— too little was measured on CPU 1: latency, memory" in lines
    many = "— more than 10,000 samples: throughput, interpreter at 1 ms, 10 ms; cache at 1 ms, 10 ms, 100 ms"
    assert many in lines


def test_reason_common_to_all_kinds_is_a_sentence() -> None:
    (line,) = detect_lines(broken(), 0.02, 200)
    assert line.startswith("The number of samples needed to show a change of 2% is unknown: CPU 3: it went offline")
    assert detect_lines(None, 0.02, 200) == [
        "The number of samples needed to show a change of 2% is unknown: no calibration was run."
    ]


def test_table_is_omitted_unless_requested() -> None:
    assert detect_lines(noisy(), None, 80) == detect_lines(None, None, 80) == []
