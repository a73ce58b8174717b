"""A spike begins above the usual noise of a machine, at any level."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.surfaces.tui.state.history import USUAL_INTERVALS, spikes_in
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen

_MS = 1e6  # in ns
_HOUR = 3600
_STABLE = [0.02 * _MS] * 300


def _jittering_losses(usual_ms: float, spread: float, count: int = _HOUR) -> list[float | None]:
    """Return an hour of losses that vary around one value like counted ticks."""
    chance = random.Random(7)
    return [max(chance.gauss(usual_ms, usual_ms * spread), 0.0) * _MS for _ in range(count)]


@pytest.mark.parametrize("usual_ms", [8.0, 100.0, 700.0])
def test_constant_losses_are_not_a_spike(usual_ms: float) -> None:
    assert spikes_in([usual_ms * _MS] * _HOUR) == []
    assert spikes_in(_jittering_losses(usual_ms, 0.1)) == []


@pytest.mark.parametrize("seconds", [600, _HOUR])
def test_a_slow_rise_is_a_spike_only_where_it_crosses_the_limit(seconds: int) -> None:
    assert spikes_in([0.5 * _MS * at for at in range(seconds)]) == [10]


@pytest.mark.parametrize("usual_ms", [0.02, 4.0, 30.0, 400.0])
def test_each_burst_is_one_spike_at_any_usual_level(usual_ms: float) -> None:
    losses = [usual_ms * _MS] * 600
    for burst in (200, 260, 500):
        losses[burst : burst + 3] = [(usual_ms + 100) * _MS] * 3
    assert spikes_in(losses) == [200, 260, 500]


def test_each_of_many_bursts_is_a_spike() -> None:
    losses = [(0.1, 100.0)[at // 2 % 2] * _MS for at in range(_HOUR)]
    assert spikes_in(losses) == list(range(2, _HOUR, 4))


def test_noise_that_doubles_on_a_machine_that_is_never_quiet_is_a_spike() -> None:
    assert spikes_in([*[400 * _MS] * 9, *[900 * _MS] * 9, *[400 * _MS] * 9]) == [9]


@given(st.lists(st.none() | st.sampled_from([0.0, 4.9, 5.0, 8.0, 62.0, 124.0, 900.0]), min_size=1, max_size=40))
def test_the_keys_visit_each_crossing_of_the_limit_in_order_and_backwards(losses: Sequence[float | None]) -> None:
    model = model_of(
        *(
            frame((cpu_line(0), cpu_line(1, "target", None if ms is None else ms * _MS)), second=second)
            for second, ms in enumerate(losses, start=1)
        )
    )
    measured = [(at, ms) for at, ms in enumerate(losses) if ms is not None]
    crossings = {at for (_, before), (at, after) in pairwise(measured) if before < 5 <= after}
    doublings = {at for (_, before), (at, after) in pairwise(measured) if before >= 5 and after >= 2 * before}
    assert crossings | doublings <= set(spikes_in([None if ms is None else ms * _MS for ms in losses]))
    model.go_to_number(0)
    forwards = _visit_spikes(model, 1)
    assert crossings | doublings <= set(forwards)
    assert forwards == sorted(set(forwards))
    model.go_to_number(len(losses) - 1)
    backwards = _visit_spikes(model, -1)
    assert backwards == [number for number in reversed(forwards) if number < len(losses) - 1]


def _visit_spikes(model: ScreenModel, direction: int) -> list[int]:
    numbers, last = [], None
    while model.number != last:
        last = model.number
        model.step_to_spike(direction)
        numbers += [model.number] if model.number != last else []
    return numbers


def test_lasting_noise_is_one_spike_and_additional_noise_another() -> None:
    losses = [*_STABLE, *[50 * _MS] * 600, *[300 * _MS] * 600]
    assert spikes_in(losses) == [300, 900]
    assert spikes_in([*_STABLE, *[6 * _MS] * 5, *[300 * _MS] * 5]) == [300, 305]


def test_after_a_long_spike_quiet_is_usual_again() -> None:
    losses = [*[400 * _MS] * 300, *_STABLE[:USUAL_INTERVALS], 50 * _MS]
    assert spikes_in(losses) == [len(losses) - 1]


def test_an_unknown_loss_neither_starts_nor_ends_a_spike() -> None:
    assert spikes_in([*_STABLE, 50 * _MS, None, 50 * _MS, 50 * _MS]) == [300]
    assert spikes_in([None, 50 * _MS, None, 50 * _MS]) == []


@given(st.lists(st.none() | st.floats(0, 1e9), max_size=40))
def test_no_spike_starts_with_an_unknown_or_small_loss(losses: Sequence[float | None]) -> None:
    assert all((losses[at] or 0) >= 5 * _MS for at in spikes_in(losses))


def _model(*losses_ns: float) -> ScreenModel:
    return model_of(
        *(
            frame((cpu_line(0), cpu_line(1, "target", lost_ns)), second=second)
            for second, lost_ns in enumerate(losses_ns, start=1)
        )
    )


def test_on_a_constantly_noisy_machine_the_spike_key_gives_a_notice() -> None:
    model = _model(*[20 * _MS] * 60)
    model.step_to_spike(-1)
    assert model.cursor is None
    assert "no earlier spike" in screen(model)[-1]


def test_on_a_constantly_noisy_machine_only_a_spike_pauses_the_picture() -> None:
    model = _model(*[20 * _MS] * 60)
    model.toggle_pause_on_spike()
    model.add(frame((cpu_line(0), cpu_line(1, "target", 20 * _MS)), second=61))
    assert model.cursor is None
    model.add(frame((cpu_line(0), cpu_line(1, "target", 90 * _MS)), second=62))
    assert (model.number, model.pauses_on_spike) == (61, False)
