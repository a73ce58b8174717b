"""The energy of runs in the reports and in the receipt."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from noisewatch.documents.run import RunDocument
from noisewatch.model.run.energy import EnergyStatistics, RunEnergy
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.energy import energy_words, words_on_energy_of
from noisewatch.units import NS_PER_S
from tests.surfaces.reports.run.written_series import UNDISTURBED, render, timed, written_series

_DENIED = "energy_uj: permission denied"


def _energy(joules: float | str) -> RunEnergy:
    return RunEnergy(NS_PER_S, {"package-0": joules, "package-0/dram": 1.25, "psys": "the counter was reset"}, None)


def _measured(joules: Sequence[float | str], has_two: bool = False) -> RunSeries:
    series = timed(written_series(*[UNDISTURBED] * len(joules), has_two=has_two), [1.0] * len(joules))
    judged = [
        replace(run, repetition=replace(run.repetition, energy=_energy(value)))
        for run, value in zip(series.repetitions, joules, strict=True)
    ]
    return replace(series, repetitions=tuple(judged), options=replace(series.options, measures_energy=True))


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_have_the_energy_of_whole_packages(form: str) -> None:
    words = " ".join(render(form, _measured([12.0, 13.0])).split())
    assert (
        "energy 12.50 J ± 0.71 J per run, 12.5 W on average (of the CPU packages, other processes included; memory "
        "used another 1.250 J)"
    ) in words
    assert "energy" not in render(form, written_series(UNDISTURBED, UNDISTURBED))


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_have_the_difference_in_energy(form: str) -> None:
    pairs = [20.0, 10.1, 20.1, 10.0, 20.2, 10.2, 20.0, 10.0]
    series = _measured(pairs, has_two=True)
    order = [series.repetitions[at] for at in (0, 1, 3, 2, 4, 5, 7, 6)]
    words = " ".join(render(form, replace(series, repetitions=tuple(order))).split())
    assert "A (sort) takes 99.3% more energy than B (other)" in words
    assert "95% interval, 4 pairs" in words


def test_a_repetition_has_its_domains_in_the_receipt() -> None:
    document = json.loads(render("json", _measured([12.0, _DENIED])))
    assert msgspec.convert(document, RunDocument)
    assert document["options"]["energy"] is True
    known, unknown = (repetition["energy"] for repetition in document["repetitions"])
    assert known == {
        "interval_ns": NS_PER_S,
        "package_j": 12.0,
        "dram_j": 1.25,
        "watts": 12.0,
        "domains": [
            {"domain": "package-0", "joules": 12.0, "reason": "none"},
            {"domain": "package-0/dram", "joules": 1.25, "reason": "none"},
            {"domain": "psys", "joules": None, "reason": "the counter was reset"},
        ],
        "reason": "none",
    }
    assert (unknown["package_j"], unknown["watts"], unknown["reason"]) == (None, None, _DENIED)
    (command,) = document["footer"]["commands"]
    assert (command["energy"]["count"], command["energy"]["mean_j"], command["energy"]["reason"]) == (1, 12.0, _DENIED)
    assert document["footer"]["energy_difference"] is None


def test_a_receipt_without_the_option_has_no_energy() -> None:
    document = json.loads(render("json", written_series(UNDISTURBED)))
    parts = (document["repetitions"][0], document["footer"], document["footer"]["commands"][0])
    assert not any("energy" in key for part in parts for key in part)


def test_the_difference_has_the_pairs_with_a_known_energy() -> None:
    series = _measured([20.0, 10.0, _DENIED, 10.0], has_two=True)
    difference = json.loads(render("json", series))["footer"]["energy_difference"]
    assert (difference["pairs"], difference["share"], difference["interval"]) == (1, -0.5, None)


@pytest.mark.parametrize(
    ("statistics", "words"),
    [
        (EnergyStatistics(0, None, None, None, None, None, _DENIED), f"energy unknown: {_DENIED}"),
        (
            EnergyStatistics(3, 5.0, 0.1, 50.0, None, 0.05, _DENIED),
            "energy 5.00 J ± 0.10 J per run, 50 W on average (of the CPU packages, other processes included; measured "
            f"for 5% longer than the run; known in 3 runs, unknown in others: {_DENIED})",
        ),
        (
            EnergyStatistics(1, 4501.0, None, 50.0, None, 0.0, None),
            "energy 4.501 kJ per run, 50 W on average (of the CPU packages, other processes included)",
        ),
    ],
)
def test_doubts_are_named(statistics: EnergyStatistics, words: str) -> None:
    assert energy_words(statistics) == words


def test_a_single_run_has_its_energy() -> None:
    repetition = _measured([12.0]).repetitions[0].repetition
    assert str(words_on_energy_of(repetition)).startswith("energy 12.00 J per run, 12 W on average")
    assert words_on_energy_of(written_series(UNDISTURBED).repetitions[0].repetition) is None
