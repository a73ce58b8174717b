"""The culprits that a screen lists are worked out once for a picture, and anew for whatever another one depends on."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from noisewatch.surfaces.tui.state.baseline import baseline_of
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.listed_culprits import ListedCulprits
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import culprit, frame, model_of


def _model() -> ScreenModel:
    first = frame(4, (culprit("hog", cpu=2), culprit("hog", cpu=3, pid=12), culprit("other", cpu=3)))
    second = frame(4, (culprit("latecomer", cpu=2), culprit("hog", cpu=3)), second=2)
    return model_of(first, second)


def test_what_is_asked_again_is_not_worked_out_again() -> None:
    model = _model()
    assert model.listed() is model.listed()


@pytest.mark.parametrize(
    "changed",
    [
        {"newest": frame(4, (culprit("newest"),), second=3)},
        {"cursor": 0},
        {"screen": Screen.CULPRITS},
        {"screen": Screen.CPU, "cpu": 3},
        {"screen": Screen.CULPRITS, "filter": "late"},
        {"shows_all_cpus": True},
        {"folds": False},
        {"sort": SortOrder.CPU},
        {"sort": SortOrder.CHANGE, "baseline": baseline_of(_model().history, 0)},
    ],
    ids=" ".join,
)
def test_after_each_change_the_list_is_that_of_now(changed: Mapping[str, object]) -> None:
    model = _model()
    for name, value in changed.items():
        before = model.listed()
        setattr(model, name, value)
        assert model.listed() is not before
        assert model.listed() == ListedCulprits().of(model)
