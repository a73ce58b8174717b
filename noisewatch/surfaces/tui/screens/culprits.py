"""The last screen: the culprits on all CPUs, filtered and sorted, and the fix for one of them."""

from __future__ import annotations

from noisewatch.cpus import name_cpus
from noisewatch.surfaces.reports.parts.wraps import wrap_all
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.panel import Space
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.screens.selected_culprit import culprit_sections, list_keys
from noisewatch.surfaces.tui.state.filters import asked_cpus, mistakes, order_in_words
from noisewatch.surfaces.tui.state.listed_culprits import describe_culprit_count
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel

_LONGEST = 60


def begin_filter(model: ScreenModel) -> None:
    """Start a new filter: following keys are typed into it."""
    if model.screen not in (Screen.CULPRITS, Screen.EVENTS, Screen.IRQS):
        model.go_to(Screen.CULPRITS)
    model.filter_before = _filter(model)
    _change(model, "")
    model.is_typing = True


def type_key(model: ScreenModel, key: str, character: str | None) -> None:
    """Type a key into the filter: enter accepts it, an empty one showing all; escape restores the filter before."""
    if key == "enter":
        model.is_typing = False
    elif key == "escape":
        model.is_typing = False
        _change(model, model.filter_before)
    elif key == "backspace":
        _change(model, _filter(model)[:-1])
    elif character is not None and character.isprintable():
        _change(model, (_filter(model) + character)[:_LONGEST])


def hint(model: ScreenModel) -> str:
    """Return the effect of the keys that end typing."""
    before = f"esc: {model.filter_before}" if model.filter_before else "esc: as before"
    return f"enter: {'show these' if _filter(model) else 'show all'}, {before}"


def _filter(model: ScreenModel) -> str:
    if model.screen == Screen.EVENTS:
        return model.log.filter
    return model.irq_filter if model.screen == Screen.IRQS else model.filter


def _change(model: ScreenModel, text: str) -> None:
    """Set the filter of the screen, and select the first remaining row."""
    if model.screen == Screen.EVENTS:
        model.log.filter = text
    elif model.screen == Screen.IRQS:
        model.irq_filter = text
    else:
        model.filter = text
    model.close_fix()
    model.forget_selection()


_KEYS = (
    ("q", "quit"),
    ("/", "filter"),
    ("s", "sort"),
    ("enter", "open CPU"),
    ("f", "fix"),
    ("y", "copy fix"),
    ("esc", "back"),
)


def culprits_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, space: Space) -> list[Row]:
    by = f"by {order_in_words(model.sort, model.folds)}"
    who = f"{describe_culprit_count(model, model.listing())}, {by}"
    top = filter_rows(model, space.inside)
    return space.draw(culprit_sections(model, f"culprits on all CPUs, {by}", who, list_keys(model), space, top))


def filter_rows(model: ScreenModel, width: int) -> list[Row]:
    """Return the rows of the filter; the end of a long filter stays visible, so that typing can be seen."""
    text = _filter(model)
    if not text and not model.is_typing:
        return []
    visible = text + ("_" if model.is_typing else "")
    label = " filter: "
    rows: list[Row] = [[(label, "faint"), (visible[-max(width - len(label), 1) :], "strong")]]
    if model.is_typing:
        rows[0].append((f"  {hint(model)}", "faint"))
    else:
        rows += [
            [(f" {part}", "doubt")]
            for part in wrap_all((*mistakes(text), *_absent(model)), width - 2, "", keep="hyphens")
        ]
    return rows


def _absent(model: ScreenModel) -> list[str]:
    """Return a message for CPUs in the filter that the machine does not have."""
    if model.screen != Screen.CULPRITS or model.frame is None:
        return []
    absent = (asked_cpus(model.filter) or frozenset()) - {line.cpu for line in model.frame.cpus}
    return [f"no {name_cpus(absent)} here"] if absent else []
