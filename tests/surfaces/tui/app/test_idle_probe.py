"""The idle probe on the screen: its key, its cost, and its measurements."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine, Frame, decode_frame, encode_frame
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.running import Run
from tests.surfaces.tui.app.piloting import lines_of, until, with_monitor
from tests.surfaces.tui.app.test_app_sampler import sampler_program
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen, screen_of


def _measured_cpu(cpu: int, share: float = 0.00042, **rest: Any) -> CpuLine:
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


def _probe_frame(*cpus: CpuLine, **rest: Any) -> Frame:
    return frame((cpu_line(0), *cpus), has_idle_probe=True, **rest)


def _waiting_cpu(cpu: int, state: str) -> CpuLine:
    return cpu_line(cpu, Role.TARGET, idle_probe=state)


def _row_of(lines: list[str], cpu: int) -> str:
    return next(line for line in lines if line.startswith(f" T {cpu:>3} "))


def test_measured_noise_is_next_to_the_estimate_without_its_mark() -> None:
    lines = screen(model_of(_probe_frame(_measured_cpu(1))))
    assert "noise/s measured" in "".join(lines)
    assert "~300 µs   420 µs " in _row_of(lines, 1)


def test_a_cpu_that_is_not_measured_shows_the_reason_instead_of_a_figure() -> None:
    lines = screen(model_of(_probe_frame(_waiting_cpu(1, "busy"), _waiting_cpu(2, "sibling busy"))))
    assert " busy " in _row_of(lines, 1)
    assert " – " in _row_of(lines, 2)
    assert "CPU 1 busy, CPU 2 sibling busy" in lines[2]


def test_without_the_idle_probe_there_is_no_column_for_it() -> None:
    assert "measured" not in "".join(screen(model_of(frame())))


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ((_measured_cpu(1), _measured_cpu(2)), "idle probe: 2% of CPU 1-2 "),
        ((_measured_cpu(1), _waiting_cpu(2, "busy")), "idle probe: 2% of CPU 1; CPU 2 busy "),
        ((_waiting_cpu(1, "was busy"),), "idle probe waits: CPU 1 was busy "),
        ((), "idle probe waits: no target CPU "),
        ((cpu_line(1, Role.OFFLINE, idle_probe="offline"),), "idle probe waits: CPU 1 offline "),
    ],
)
def test_the_third_row_shows_cost_and_state_of_the_idle_probe(cpus: tuple[CpuLine, ...], expected: str) -> None:
    target = tuple(line.cpu for line in cpus)
    assert expected in screen(model_of(_probe_frame(*cpus, target=target)))[2]


def test_the_third_row_shows_why_there_is_no_idle_probe() -> None:
    interval = frame(no_idle_probe_reason="it ended with status -9")
    assert "no idle probe: it ended with status -9" in screen(model_of(interval))[2]


def test_without_a_sampler_there_is_no_idle_probe() -> None:
    model = model_of(_probe_frame(_measured_cpu(1)))
    model.trouble = "the sampler ended: status -9"
    assert "idle probe" not in screen(model)[2]


def test_the_screen_of_a_cpu_shows_all_measurements() -> None:
    model = model_of(_probe_frame(_measured_cpu(1, 0.042)))
    model.cpu = 1
    text = "measured 42 ms/s (4.2%): 12 gaps, longest 45 µs, in 170 ms of spinning"
    assert text in "".join(screen_of(model, Screen.CPU))


def test_the_screen_of_a_cpu_shows_why_it_is_not_measured() -> None:
    model = model_of(_probe_frame(_waiting_cpu(1, "sibling busy")))
    model.cpu = 1
    assert "idle probe: sibling busy" in "".join(screen_of(model, Screen.CPU))


def test_measurements_of_the_idle_probe_survive_encoding() -> None:
    interval = _probe_frame(_measured_cpu(1), no_idle_probe_reason=None)
    assert decode_frame(encode_frame(interval)) == interval


def _requests_after(*keys: str) -> list[str]:
    """Return the requests of these keys as the sampler reads them."""
    program = (
        f"os.write(1, {encode_frame(frame())!r})\n"
        f"asked = [sys.stdin.readline().strip() for _ in range({len(keys)})]\n"
        "sys.stderr.write(' '.join(asked)); sys.exit(2)"
    )
    notices: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "benchmark-host" in lines_of(app)[0])
        await pilot.press(*keys)
        await until(pilot, lambda: "the sampler ended" in lines_of(app)[-1])
        notices.append(lines_of(app)[-1])

    with_monitor(steps, sampler_program(program), size=(140, 30))
    return notices


def test_the_key_requests_the_idle_probe_and_then_its_end() -> None:
    assert '{"idle_probe": true} {"idle_probe": false}' in _requests_after("S", "S")[0]


def test_a_restarted_sampler_gets_the_request_again() -> None:
    program = f"os.write(1, {encode_frame(frame())!r}); line = sys.stdin.readline(); sys.exit(line)"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "benchmark-host" in lines_of(app)[0])
        app._pause_sampler()
        await pilot.press("S")
        app._resume_sampler()
        await until(pilot, lambda: '{"idle_probe": true}' in "".join(lines_of(app)))

    with_monitor(steps, sampler_program(program))


def test_a_replay_has_no_idle_probe() -> None:
    heads: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(origin="replay of machine.nw"))
        await pilot.press("S")
        heads.append(lines_of(app)[-1])

    with_monitor(steps, sampler_program("time.sleep(60)"))
    assert "no idle probe: a replay of machine.nw has no CPUs to spin on" in heads[0]


def test_the_option_is_rejected_for_a_copied_tree(run: Run, unchanged_tree: Any) -> None:
    result = run("--idle-probe", "--sysroot", unchanged_tree)
    assert result.status == 2
    assert "has no CPUs to spin on" in result.err
