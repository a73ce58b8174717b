"""From event to event: the picture goes to the interval in which something happened."""

from __future__ import annotations

from noisewatch.surfaces.tui.state.screen_model import OVERVIEW, ScreenModel


def step_to_event(model: ScreenModel, direction: int) -> None:
    """Goes to the next interval that way in which something happened; stays where there is none."""
    kept = range(model.history.first, model.history.count)
    happened = {event.number for event in model.log.events if event.number in kept}
    beyond = [number for number in happened if (number - model.number) * direction > 0]
    if beyond:
        model.go_to_number(min(beyond, key=lambda number: abs(number - model.number)))


def show_event(model: ScreenModel) -> None:
    """Shows, on the overview, who was there at the moment of the chosen event."""
    event = model.log.selected()
    if event is None:
        return
    number = min(event.number, model.history.count - 1)  # of a device it may have just been said
    if number < model.history.first:
        model.notice = "that moment is not kept any more"
    elif number >= 0:
        model.go_to_number(number)
        model.go_to(OVERVIEW)
