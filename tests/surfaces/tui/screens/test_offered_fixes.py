"""`f fix` is offered only for rows with a fix, and `y copy` only for rows with a command."""

from __future__ import annotations

from noisewatch.kinds import Kind
from noisewatch.operations.advise import Advice
from noisewatch.operations.frame.frame import IrqLine, IrqSetting
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen_of, text_of


def test_no_fix_is_offered_for_an_irq_that_disturbs_no_target_cpu() -> None:
    cpus = (cpu_line(0), cpu_line(1, "sibling"), cpu_line(2, "target"))
    for effective, is_offered in (("0", False), ("1", True), ("2", True)):
        setting = IrqSetting("36", Kind.IRQ, "virtio1-req.0", allowed="0-2", effective=effective)
        model = model_of(frame(cpus, irqs=(IrqLine("36", (0,), (9.0,)),), irq_settings=(setting,)))
        rows = screen_of(model, Screen.IRQS, 130, 34)
        title, keys = next(row for row in rows if "─ IRQ 36" in row), rows[-1]
        assert ("f fix" in title, "f fix" in keys) == (is_offered, is_offered)
        assert command_to_copy(model)[1].endswith(
            "press f for a fix" if is_offered else "the IRQ disturbs no target CPU"
        )


def test_the_fix_panel_offers_to_copy_only_a_command() -> None:
    setting = IrqSetting("36", Kind.IRQ, "virtio1-req.0", allowed="0-2", effective="2")
    cpus = (cpu_line(0), cpu_line(2, "target"))
    model = model_of(frame(cpus, irqs=(IrqLine("36", (2,), (9.0,)),), irq_settings=(setting,)))
    model.go_to(Screen.IRQS)
    selected = model.selected()
    assert selected is not None
    for commands, is_offered in (((), False), ((("now", "echo"),), True)):
        model.advice = Advice(selected, ("said",), commands)
        rows = [text_of(row) for row in rows_of_screen(model, 130, 34, UNICODE)]
        title = next(row for row in rows if "─ IRQ 36" in row)
        assert ("y copy" in title) == is_offered
        assert "f, esc close" in title
