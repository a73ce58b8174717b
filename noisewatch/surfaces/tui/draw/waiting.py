"""Texts for screens without rates: before the first frame, and for a frame without an interval."""

from __future__ import annotations

from noisewatch.surfaces.tui.state.screen_model import ScreenModel


def waiting_text(model: ScreenModel) -> str:
    """Return the text before the first frame: that this host is measured, or what is read instead of it."""
    return f"reading {model.opened} …" if model.opened is not None else f"measuring: {_first_interval(model)}"


def no_rates_reason(model: ScreenModel) -> str:
    """Return why the shown frame has no rates: it is the first one, or the only snapshot of a copied tree."""
    frame = model.frame
    if frame is None or frame.origin is None:
        return f"measuring: {_first_interval(model)}"
    if frame.is_last:
        return "no rates: a copied tree is a single snapshot of /proc and /sys"
    return "no rates yet: this is the first snapshot of the recording"


def _first_interval(model: ScreenModel) -> str:
    return "the first second is not over" if model.pace_s == 1 else f"the first {model.pace_s:g} s are not over"
