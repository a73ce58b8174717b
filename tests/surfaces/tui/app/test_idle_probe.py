"""The idle probe on the screen: its key, its cost, and what it measured."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine, Frame, decode_frame, encode_frame
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.running import Run
from tests.surfaces.tui.app.piloting import shown, until, with_monitor
from tests.surfaces.tui.app.test_app_sampler import sampler_program
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen, screen_of


def _measuring(cpu: int, share: float = 0.00042, **rest: Any) -> CpuLine:
    return cpu_line(
        cpu,
        Role.TARGET,
        300_000.0,
        is_estimate=True,
        idle_probe="measures",
        measured_ns=170_000_000,
        measured_stolen_share=share,
        gap_count=12,
        longest_gap_ns=45_000,
        **rest,
    )


def _watched(*cpus: CpuLine, **rest: Any) -> Frame:
    return frame((cpu_line(0), *cpus), has_idle_probe=True, **rest)


def _waiting(cpu: int, state: str) -> CpuLine:
    return cpu_line(cpu, Role.TARGET, idle_probe=state)


def _row_of(lines: list[str], cpu: int) -> str:
    return next(line for line in lines if line.startswith(f" T {cpu:>3} "))


def test_what_was_measured_stands_beside_the_estimate_and_without_its_mark() -> None:
    lines = screen(model_of(_watched(_measuring(1))))
    assert "noise/s measured" in "".join(lines)
    assert "~300 µs   420 µs " in _row_of(lines, 1)


def test_a_cpu_that_is_not_measured_says_why_in_place_of_a_figure() -> None:
    lines = screen(model_of(_watched(_waiting(1, "busy"), _waiting(2, "sibling busy"))))
    assert " busy " in _row_of(lines, 1)
    assert " – " in _row_of(lines, 2)
    assert "CPU 1 busy, CPU 2 sibling busy" in lines[2]


def test_without_the_idle_probe_there_is_no_column_for_it() -> None:
    assert "measured" not in "".join(screen(model_of(frame())))


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        ((_measuring(1), _measuring(2)), "idle probe: 2% of CPU 1-2 "),
        ((_measuring(1), _waiting(2, "busy")), "idle probe: 2% of CPU 1; CPU 2 busy "),
        ((_waiting(1, "was busy"),), "idle probe waits: CPU 1 was busy "),
        ((), "idle probe waits: no target CPU "),
        ((cpu_line(1, Role.OFFLINE, idle_probe="offline"),), "idle probe waits: CPU 1 offline "),
    ],
)
def test_the_head_tells_what_it_costs_and_where_it_does_not_spin(cpus: tuple[CpuLine, ...], said: str) -> None:
    target = tuple(line.cpu for line in cpus)
    assert said in screen(model_of(_watched(*cpus, target=target)))[2]


def test_the_head_tells_why_there_is_none() -> None:
    told = frame(no_idle_probe_reason="it ended with status -9")
    assert "no idle probe: it ended with status -9" in screen(model_of(told))[2]


def test_without_a_sampler_there_is_no_idle_probe() -> None:
    model = model_of(_watched(_measuring(1)))
    model.trouble = "the sampler ended: status -9"
    assert "idle_probe" not in screen(model)[2]


def test_the_screen_of_a_cpu_tells_all_that_was_measured() -> None:
    model = model_of(_watched(_measuring(1, 0.042)))
    model.cpu = 1
    said = "measured 42 ms/s (4.2%): 12 gaps, longest 45 µs, in 170 ms of spinning"
    assert said in "".join(screen_of(model, Screen.CPU))


def test_the_screen_of_a_cpu_tells_why_nothing_was() -> None:
    model = model_of(_watched(_waiting(1, "sibling busy")))
    model.cpu = 1
    assert "idle probe: sibling busy" in "".join(screen_of(model, Screen.CPU))


def test_what_was_measured_comes_through_the_pipe() -> None:
    told = _watched(_measuring(1), no_idle_probe_reason=None)
    assert decode_frame(encode_frame(told)) == told


def _asked(*keys: str) -> list[str]:
    """The requests of the keys, as the sampler reads them."""
    program = (
        f"os.write(1, {encode_frame(frame())!r})\n"
        f"asked = [sys.stdin.readline().strip() for _ in range({len(keys)})]\n"
        "sys.stderr.write(' '.join(asked)); sys.exit(2)"
    )
    notices: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "benchmark-host" in shown(app)[0])
        await pilot.press(*keys)
        await until(pilot, lambda: "the sampler ended" in shown(app)[-1])
        notices.append(shown(app)[-1])

    with_monitor(steps, sampler_program(program), size=(140, 30))
    return notices


def test_the_key_asks_for_it_and_once_more_for_its_end() -> None:
    assert '{"idle_probe": true} {"idle_probe": false}' in _asked("S", "S")[0]


def test_a_sampler_that_is_started_anew_is_asked_again() -> None:
    program = f"os.write(1, {encode_frame(frame())!r}); line = sys.stdin.readline(); sys.exit(line)"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "benchmark-host" in shown(app)[0])
        app._pause_sampler()
        await pilot.press("S")
        app._resume_sampler()
        await until(pilot, lambda: '{"idle_probe": true}' in "".join(shown(app)))

    with_monitor(steps, sampler_program(program))


def test_of_a_replay_there_is_nothing_to_spin_on() -> None:
    heads: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(origin="replay of machine.nw"))
        await pilot.press("S")
        heads.append(shown(app)[-1])

    with_monitor(steps, sampler_program("time.sleep(60)"))
    assert "no idle probe: a replay of machine.nw has no CPUs to spin on" in heads[0]


def test_the_option_is_refused_for_a_copied_tree(run: Run, unchanged_tree: Any) -> None:
    ran = run("--idle-probe", "--sysroot", unchanged_tree)
    assert ran.status == 2
    assert "no idle probe can run" in ran.err
