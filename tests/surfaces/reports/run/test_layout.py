"""Sentences on memory layouts, and the layouts in a receipt."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from noisewatch.kernel.snapshot.knobs import Knob, Knobs
from noisewatch.model.run.layout import LayoutEffect
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.conditions import FIXED_LAYOUT_WORDS, layout_effect_words, layout_sentences
from tests.operations.run.test_layouts import with_layouts
from tests.surfaces.reports.run.running import read
from tests.surfaces.reports.run.written_series import UNDISTURBED, render, timed, written_series

_WITHIN = "random addresses, which differ in each run, count as within"
_NUMBERS = [0, 1, 2, 0, 2, 1]


def _varied(**options: object) -> RunSeries:
    series = with_layouts(timed(written_series(*[UNDISTURBED] * 6), [1, 2, 3, 1.01, 3.02, 2.01]), _NUMBERS)
    return replace(series, options=replace(series.options, **options))


def test_effect_is_described_with_both_deviations() -> None:
    assert layout_effect_words(LayoutEffect(25, 0.016, 0.003, 1e-9, 0.002)) == (
        f"varies 1.6% between layouts and 0.3% within one (25 layouts; {_WITHIN})"
    )
    assert layout_effect_words(LayoutEffect(25, 0.001, 0.003, 0.3, 0.002)) == (
        f"no effect of the layout shown: varies 0.3% within one (25 layouts; {_WITHIN}); a variation between layouts "
        "below 0.2% may be missed"
    )
    assert layout_effect_words(LayoutEffect(1, None, None, None, None)) == (
        "1 layout with two counted runs: too few to show an effect of the layout (at least 3)"
    )


@pytest.mark.parametrize("form", ["text", "markdown", "github"])
def test_report_states_the_variable_and_the_effect(form: str) -> None:
    report = " ".join(render(form, _varied()).split())
    assert "adds a variable NOISEWATCH_LAYOUT (0 to 4,096 bytes) to the environment and makes argv[0] longer" in report
    assert "(noisewatch explain layout)" in report
    assert "between layouts" in report


@pytest.mark.parametrize("form", ["text", "markdown", "github"])
def test_report_warns_of_a_fixed_layout(form: str) -> None:
    series = written_series(UNDISTURBED, UNDISTURBED)
    fixed = replace(series, options=replace(series.options, has_fixed_layout=True))
    assert FIXED_LAYOUT_WORDS in " ".join(render(form, fixed).split())
    assert "one memory layout" not in " ".join(render(form, series).split())


def test_program_from_path_keeps_its_name() -> None:
    (sentence,) = layout_sentences(_varied(argv=("sort",)))
    assert "argv[0]" not in sentence


def test_layout_that_counts_as_a_pair_is_stated() -> None:
    (sentence,) = layout_sentences(_varied(against=("b",)))
    assert "its runs count as one pair" in sentence


@pytest.mark.parametrize(
    ("level", "words"), [("2", "addresses are random"), ("0", "addresses are not random"), (None, "it is unknown")]
)
def test_randomization_of_the_machine_is_stated(level: str | None, words: str) -> None:
    series = _varied()
    texts = {} if level is None else {str(Knob.ADDRESS_RANDOMISATION): level}
    settings = replace(series.machine.settings, knobs=Knobs(texts, frozenset()))
    assert words in layout_sentences(replace(series, machine=replace(series.machine, settings=settings)))[0]


def test_receipt_has_the_layout_of_each_repetition_and_the_effect() -> None:
    document = read(render("json", _varied()))
    assert document["options"]["layout"] == "varied"
    layouts = [repetition["layout"] for repetition in document["repetitions"]]
    assert layouts == [{"number": at, "environment_bytes": 100 * at, "argv0_bytes": 0} for at in _NUMBERS]
    effect = document["footer"]["commands"][0]["layout_effect"]
    assert (effect["layouts"], effect["is_shown"]) == (3, True)
    other = json.loads(render("json", written_series(UNDISTURBED)))
    assert other["options"]["layout"] == "any"
    assert other["repetitions"][0]["layout"] is other["footer"]["commands"][0]["layout_effect"] is None


def test_single_layout_is_no_single_run() -> None:
    series = with_layouts(timed(written_series(UNDISTURBED, UNDISTURBED), [1.0, 1.1]), [0, 0])
    report = " ".join(render("text", series).split())
    assert "(2 runs, CV 6.73%)" in report
    assert "one layout: cannot tell how much processes vary" in report
