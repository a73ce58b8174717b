"""The command that helps, for the clipboard: of the advice that is shown, or of the selected check."""

from __future__ import annotations

from noisewatch.surfaces.tui.screens.preflight import NOT_NOW
from noisewatch.surfaces.tui.state.screen_model import PREFLIGHT, ScreenModel
from noisewatch.surfaces.tui.state.selection import is_same


def command_to_copy(model: ScreenModel) -> tuple[str | None, str]:
    """The first command that a shell can run, and what is said of it; without one, why."""
    if model.screen == PREFLIGHT:
        return _of_check(model)
    advice = model.advice
    if advice is None:
        return _nothing("f asks what helps")
    if not advice.commands:
        return _by_hand(advice.by_hand)
    purpose, command = advice.commands[0]
    return _copied(command, len(advice.commands) - 1, purpose)


def _of_check(model: ScreenModel) -> tuple[str | None, str]:
    finding = model.selected_finding()
    findings = model.frame.findings if model.frame is not None else ()
    if finding is None:
        return _nothing("no check is selected")
    if not any(is_same(finding, each) for each in findings):
        return _nothing(NOT_NOW)
    return _copied(finding.fix, 0, "now") if finding.fix and finding.is_command else _by_hand(finding.fix)


def _by_hand(what: str | None) -> tuple[None, str]:
    return _nothing("no command is known to help" if what is None else f"this needs your hand: {what}")


def _nothing(why: str) -> tuple[None, str]:
    return None, f"nothing to copy: {why}"


def _copied(command: str, others: int, purpose: str) -> tuple[str, str]:
    told = [purpose] if others or purpose != "now" else []
    told += [f"{others} more shown"] if others else []
    which = f" ({', '.join(told)})" if told else ""
    return command, f"sent to the terminal's clipboard{which}, not run: {command}"
