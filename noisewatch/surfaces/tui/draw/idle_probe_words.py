"""Texts and figures of the idle probe."""

from __future__ import annotations

from collections import defaultdict

from noisewatch.cpus import format_cpu_list, name_cpus
from noisewatch.kinds import Role
from noisewatch.machine.spinning.idle_probe.buffer import DUTY_SHARE
from noisewatch.model.idle_probe import ProbeState
from noisewatch.operations.frame.frame import CpuLine, Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Piece, Row
from noisewatch.surfaces.tui.draw.levels import style_of
from noisewatch.units import short_duration, short_noise, short_share

_MOST = 8  # characters of a state in the table


def header_words(frame: Frame) -> Row:
    """Return the CPUs on which the idle probe spins, with its cost, or why it does not spin; empty if it is off."""
    if frame.no_idle_probe_reason is not None:
        return [(f"  no idle probe: {frame.no_idle_probe_reason}", "doubt")]
    if not frame.has_idle_probe:
        return []
    cpus_by_state: dict[str, list[int]] = defaultdict(list)
    for line in frame.cpus:
        if line.role == Role.TARGET or line.cpu in frame.target:
            cpus_by_state[line.idle_probe].append(line.cpu)
    spins_on = cpus_by_state.pop(ProbeState.MEASURES, [])
    others = ", ".join(f"{name_cpus(cpus)} {state}" for state, cpus in cpus_by_state.items()) or "no target CPU"
    if not spins_on:
        return [("  idle probe waits: ", "plain"), (others, "strong")]
    spins = f"{DUTY_SHARE:.0%} of CPU {format_cpu_list(spins_on)}"
    return [("  idle probe: ", "plain"), (spins, "strong"), (f"; {others}" if cpus_by_state else "", "plain")]


def measured_cell(line: CpuLine, glyphs: Glyphs) -> Piece:
    """Return the noise that the idle probe measured on the CPU, or a short reason why it did not measure."""
    noise_ns = noise_ns_per_s(line)
    if noise_ns is not None:
        return short_duration(noise_ns), style_of(noise_ns, glyphs)
    is_short = line.role == Role.TARGET and len(line.idle_probe) <= _MOST
    return line.idle_probe if is_short else glyphs.dash, "faint"


def measured_row(line: CpuLine) -> Row:
    """Return the idle probe's figures, for the screen of one CPU."""
    noise_ns = noise_ns_per_s(line)
    if noise_ns is None or line.measured_ns is None:
        return [(f" idle probe: {line.idle_probe}", "faint")]
    gaps = f"{line.gap_count} gaps, longest {short_duration(line.longest_gap_ns)}" if line.gap_count else "no gap"
    return [
        (" measured ", "plain"),
        (f"{short_noise(noise_ns)}", style_of(noise_ns)),
        (
            f" ({short_share(line.measured_stolen_share)}): {gaps}, in {short_duration(line.measured_ns)} of spinning",
            "plain",
        ),
    ]


def noise_ns_per_s(line: CpuLine) -> float | None:
    return None if line.measured_stolen_share is None else line.measured_stolen_share * 1e9
