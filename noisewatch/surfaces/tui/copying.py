"""The command that helps, for the clipboard: of the advice that is shown, or of the selected check."""

from __future__ import annotations

from noisewatch.surfaces.tui.preflight_screen import NOT_NOW
from noisewatch.surfaces.tui.screen_model import PREFLIGHT, ScreenModel
from noisewatch.surfaces.tui.selection import is_same

_NONE = (None, "no command to copy")


def command_to_copy(model: ScreenModel) -> tuple[str | None, str]:
    """The first command there is, and what is said of it; without one, why."""
    if model.screen == PREFLIGHT:
        finding = model.selected_finding()
        findings = model.frame.findings if model.frame is not None else ()
        if finding is not None and not any(is_same(finding, each) for each in findings):
            return None, f"no command to copy: {NOT_NOW}"
        is_there = finding is not None and finding.fix is not None and finding.is_command
        return _copied(finding.fix, 0, "now") if finding is not None and finding.fix and is_there else _NONE
    advice = model.advice
    if advice is None:
        return None, "no command to copy: f asks for one"
    if not advice.commands:
        return _NONE
    purpose, command = advice.commands[0]
    return _copied(command, len(advice.commands) - 1, purpose)


def _copied(command: str, others: int, purpose: str) -> tuple[str, str]:
    told = [purpose] if others or purpose != "now" else []
    told += [f"{others} more shown"] if others else []
    which = f" ({', '.join(told)})" if told else ""
    return command, f"sent to the terminal's clipboard{which}, not run: {command}"
