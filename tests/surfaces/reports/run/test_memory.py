"""The change of the memory bandwidth during a series, in the report and in the receipt."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.documents.run import BandwidthChangePart
from noisewatch.model.run.traffic import GroupTraffic
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.drawing.colours import paint
from noisewatch.surfaces.reports.run.conditions import memory_sentences
from noisewatch.surfaces.reports.run.document import render_text
from noisewatch.surfaces.reports.run.options import SeriesOptions
from noisewatch.surfaces.reports.run.receipt import footer_of
from tests.judgement.noise.test_steadiness import copies, copying
from tests.surfaces.reports.run.written_series import UNDISTURBED, written_series

_GROUPS = (GroupTraffic("/web\x1b[2J", 4.2e9), GroupTraffic("/", 1e8), GroupTraffic("/new", None, "it is Unavailable"))


def _series(before: float, after: float) -> RunSeries:
    series = written_series(UNDISTURBED)
    opening, closing = copying(copies(before)), copying(copies(after))
    options = replace(series.options, calibration_s=1.0)
    return replace(series, options=options, opening=opening, closing=closing, traffic=_GROUPS)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            0.0,
            0.3,
            "took 30.3% more time on CPU 2 (30.2% to 30.3%): another program or virtual machine began using memory "
            "bandwidth",
        ),
        (
            0.3,
            0.0,
            "took 23.2% less time on CPU 2 (23.2% to 23.3%): another program or virtual machine stopped using memory "
            "bandwidth",
        ),
    ],
)
def test_a_changed_bandwidth_is_reported_with_the_traffic_of_groups(before: float, after: float, words: str) -> None:
    series = _series(before, after)
    change, traffic = memory_sentences(series, conclude(series))
    assert change.endswith(words)
    assert traffic == "memory traffic by group of resctrl: /web·[2J 4.2 GB/s, / 0.1 GB/s"


def test_an_unchanged_bandwidth_needs_no_sentence() -> None:
    series = _series(0.0, 0.0)
    assert memory_sentences(series, conclude(series)) == []


def test_the_receipt_has_the_change_and_the_traffic() -> None:
    footer = footer_of(_series(0.0, 0.3), SeriesOptions())
    assert isinstance(footer.bandwidth_change, BandwidthChangePart)
    assert footer.bandwidth_change.is_too_much
    assert footer.bandwidth_change.share == pytest.approx(0.3, abs=0.02)
    assert isinstance(footer.traffic, list)
    assert [(group.bytes_per_s, group.unknown) for group in footer.traffic] == [
        (4.2e9, "none"),
        (1e8, "none"),
        (None, "it is Unavailable"),
    ]
    without = footer_of(written_series(UNDISTURBED), SeriesOptions())
    assert (without.bandwidth_change, without.traffic) == (None, None)


def test_a_changed_bandwidth_is_a_doubt_about_the_headline() -> None:
    changed, same = (render_text(_series(0.0, after), SeriesOptions(in_colour=True)) for after in (0.3, 0.0))
    headline = "1 of 1 run undisturbed"
    assert paint(headline, "doubt") in changed
    assert paint(headline, "good") in same
