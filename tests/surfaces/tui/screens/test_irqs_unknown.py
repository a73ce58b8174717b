"""The IRQ screen with unread interrupts or affinities."""

from __future__ import annotations

import re

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import Frame, IrqLine, IrqSetting
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen_of

_NEAR = IrqSetting("24", Kind.IRQ, "disk", allowed="0-1", effective="0", movable=True)
_CARD = IrqSetting("204", Kind.IRQ, "eth0", allowed="0-3", effective="3", movable=True)
_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts")


def _frame(second: int, uncounted: tuple[int, ...] = (), rate: float = 0.0) -> Frame:
    """Return a frame in which IRQ 204 goes to target CPU 3, but interrupts CPU 0 at `rate`."""
    lines = tuple(
        cpu_line(cpu, Role.TARGET if cpu == 3 else Role.HOUSEKEEPING, interrupts_per_s=None if cpu in uncounted else 9)
        for cpu in range(4)
    )
    irqs = (IrqLine("LOC", (0, 1), (10.0, 10.0)), *([IrqLine("204", (0,), (rate,))] if rate else ()))
    settings = (_CARD, _NEAR, _TICK) if second == 1 else None
    return frame(lines, second=second, irqs=irqs, irq_settings=settings)


def test_a_rate_is_unknown_while_interrupts_of_an_allowed_cpu_are_not_counted() -> None:
    irqs = model_of(_frame(1), _frame(2, uncounted=(3,)), _frame(3, (3,), rate=5_000.0), _frame(4, (3,), 5.0)).irqs
    assert irqs.rates("204", range(4)) == [0, None, 5_000, None]
    assert irqs.rates("24", range(4)) == [0, 0, 0, 0]
    assert irqs.rates("LOC", range(4)) == [20, None, None, None]
    assert irqs.rates("999", range(2)) == [0, None]


def test_an_irq_is_not_silent_while_interrupts_of_an_allowed_cpu_are_not_counted() -> None:
    model = model_of(_frame(1), _frame(2, uncounted=(3,)), _frame(3))
    irqs = model.irqs
    assert (irqs.is_silent("204", range(3)), irqs.is_silent("24", range(3))) == (False, True)
    assert irqs.is_silent("204", range(2, 3))
    assert any(re.match(r".? *204 ", line) for line in screen_of(model, "irqs"))


def test_the_history_counts_intervals_with_an_uncounted_cpu() -> None:
    model = model_of(*(_frame(second, uncounted=(3,) if 10 < second <= 30 else ()) for second in range(1, 41)))
    model.shows_silent_irqs = True
    history = next(line for line in screen_of(model, "irqs", 130, 34) if "in 40 intervals" in line)
    assert "(20 unknown)" in history


def _move_text(*readings: tuple[str | None, str | None]) -> str:
    """Return the row `moved` of an IRQ, from its allowed and effective CPUs in readings ten seconds apart."""
    settings = [IrqSetting("204", Kind.IRQ, "eth0", allowed=may, effective=cpu, movable=True) for may, cpu in readings]
    frames = [frame(4, second=10 * at + 1, irqs=(), irq_settings=(setting,)) for at, setting in enumerate(settings)]
    model = model_of(*frames)
    model.shows_silent_irqs = True
    lines = screen_of(model, "irqs", 120, 34)
    return next(line.split("moved", 1)[1].strip() for line in lines if line.startswith("moved"))


def test_an_irq_is_unmoved_only_for_as_long_as_its_affinity_is_known() -> None:
    both, allowed_only, neither = ("0-3", "3"), ("0-3", None), (None, None)
    ending = "before this snapshot; affinities are read every 10 s"
    assert _move_text(both, both, both) == f"not in the 20 s {ending}"
    assert _move_text(allowed_only, allowed_only, allowed_only) == f"not in the 20 s {ending}"
    assert _move_text(neither, both, both) == f"not in the 10 s {ending}"
    assert _move_text(both, allowed_only, both) == "unknown before this snapshot; affinities are read every 10 s"
    assert (
        _move_text(both, allowed_only, allowed_only)
        == "unknown for 10 s: the kernel no longer reports where the IRQ goes"
    )
    assert _move_text(both, both, neither) == "unknown: the kernel does not report where the IRQ goes"


def test_an_irq_number_of_a_new_driver_is_unmoved_since_its_start() -> None:
    settings = [IrqSetting("204", Kind.IRQ, name, allowed="0-3", effective="3") for name in ("sda", "eth0", "eth0")]
    frames = [frame(4, second=10 * at + 1, irqs=(), irq_settings=(setting,)) for at, setting in enumerate(settings)]
    model = model_of(*frames)
    model.shows_silent_irqs = True
    assert any("not in the 10 s before" in line for line in screen_of(model, "irqs", 120, 34))
