"""The panel next to the culprits: one CPU's second, conditions of the target CPUs, and the checks."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, Conditions, CpuLine, Frame, Temperature
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.side_panel import side_panel
from tests.surfaces.tui.framing import cpu_line, frame, model_of, text_of


def _panel_text(interval: Frame) -> str:
    return "\n".join(text_of(row) for row in side_panel(model_of(interval), 60, 20, UNICODE))


def _target(cpu: int, **rest: object) -> CpuLine:
    return replace(cpu_line(cpu, Role.TARGET, governor="performance"), **rest)


def test_the_target_cpus_without_a_clock_are_named() -> None:
    assert "clock  3 GHz performance  ? 3" in _panel_text(frame((_target(2), _target(3, current_khz=None))))
    assert "clock  3 GHz performance  ? 2" in _panel_text(frame((_target(2, governor=None), _target(3))))
    assert "?" not in _panel_text(frame((_target(2), _target(3)))).split("conditions")[1].split("preflight")[0]


def test_unreadable_temperature_sensors_are_named() -> None:
    sensors = (Temperature("core 0", 41.0, 100.0), Temperature("core 1", None, 100.0))
    assert "41 of 100 °C  ? core 1" in _panel_text(frame((_target(2),), conditions=Conditions(temperatures=sensors)))


def test_the_breakdown_of_a_second_is_shown_only_for_a_measured_cpu() -> None:
    time_ns = tuple(250_000_000 if kind == "irq" else 0 for kind in KINDS)
    text = _panel_text(frame((_target(2, taken_ns_per_s=time_ns),)))
    assert [line.split()[-2] for line in text.splitlines() if "irq " in line or "free" in line] == ["25%", "75%"]
    assert "use of its time" not in _panel_text(frame((_target(2, taken_ns_per_s=None),)))


def test_a_first_snapshot_of_a_vm_without_clocks_leaves_an_empty_panel() -> None:
    first_look = replace(frame((_target(2, current_khz=None, governor=None),)), turbo=None, counts=None, verdict=None)
    rows = side_panel(model_of(first_look), 38, 12, UNICODE)
    assert [len(text_of(row)) for row in rows] == [38] * 12
    assert text_of(rows[5]).strip("│ ") == ""


def test_checks_that_do_not_fit_are_counted_and_the_gravest_come_first() -> None:
    failed = tuple(f"failed-{at}" for at in range(30))
    interval = frame((_target(2, taken_ns_per_s=None),), failed=failed, unknown=("open",))
    lines = _panel_text(interval).splitlines()
    marks = [line.strip("│ ") for line in lines if "failed-" in line]
    assert marks == [f"✗ failed-{at}" for at in range(len(marks))]
    assert f"{31 - len(marks)} more · 7 shows all" in lines[-2]
