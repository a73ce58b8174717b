"""The monitor and its sampler process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.operations.frame.frame import CauseLine, encode_frame, stable_fields
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.sampler import SamplerOptions
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import lines_of, until, with_monitor
from tests.surfaces.tui.framing import culprit, frame
from tests.written.quiet_machine import quiet_files


def sampler_program(text: str) -> list[str]:
    """Return the command of a fake sampler that runs this program."""
    return [sys.executable, "-c", f"import os, sys, time\n{text}"]


def _header_when(sampler: list[str], words: str) -> str:
    """Return the first two rows of the screen once they contain the words."""
    heads: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: words in "".join(lines_of(app)[:2]))
        heads.append("  ".join(lines_of(app)[:2]))

    with_monitor(steps, sampler)
    return heads[0]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("sys.stderr.write('boom'); sys.exit(2)", "the sampler ended: boom"),
        ("sys.stderr.write('first\\nlast\\n'); sys.exit(2)", "the sampler ended: last"),
        ("sys.exit(7)", "the sampler ended: status 7"),
        ("sys.stderr.buffer.write(b'\\xff'); sys.exit(1)", "the sampler ended"),
        ("os.kill(os.getpid(), 9)", "the sampler ended: status -9"),
    ],
)
def test_the_header_shows_why_the_sampler_ended(program: str, words: str) -> None:
    assert words in _header_when(sampler_program(program), words)


def test_the_header_shows_the_sampler_error_after_some_frames_too() -> None:
    line = encode_frame(frame())
    program = f"os.write(1, {line!r}); sys.stderr.write('boom'); sys.exit(2)"
    assert "benchmark-host" in _header_when(sampler_program(program), "boom")


@pytest.mark.parametrize("junk", [b"junk\n", encode_frame(frame())[:100]], ids=["junk", "cut"])
def test_a_sampler_that_dies_within_a_frame_is_reported(junk: bytes) -> None:
    program = f"os.write(1, {encode_frame(frame())!r} + {junk!r}); sys.stderr.write('boom'); sys.exit(1)"
    assert "the sampler ended" in _header_when(sampler_program(program), "the sampler ended")


def test_an_escape_sequence_in_the_sampler_error_is_not_drawn() -> None:
    program = "sys.stderr.write('\\x1b]0;x\\x07boom'); sys.exit(2)"
    assert _header_when(sampler_program(program), "boom").isprintable()


def test_frames_of_the_sampler_are_shown_as_they_come() -> None:
    first, second = encode_frame(frame()), encode_frame(frame(culprits=(culprit("latecomer"),), second=2))
    program = f"os.write(1, {first!r}); time.sleep(0.05); os.write(1, {second!r}); time.sleep(60)"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "latecomer [4711]" in "".join(lines_of(app)))

    assert with_monitor(steps, sampler_program(program)).model.history.count == 2


def test_fields_that_the_sampler_omits_are_unchanged() -> None:
    first = frame(causes=(CauseLine(settles=("tasks-on-target",)),), gravities="04")
    second = replace(first, culprits=(culprit("latecomer"),))
    lines = encode_frame(first) + encode_frame(second, stable_fields(first))

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "latecomer [4711]" in "".join(lines_of(app)))

    model = with_monitor(steps, sampler_program(f"os.write(1, {lines!r}); time.sleep(60)")).model
    assert (model.newest, model.history.frame(0), model.history.frame(1)) == (second, first, second)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_the_sampler_does_not_outlive_the_monitor(tmp_path: Path, key: str) -> None:
    file = tmp_path / "pid"
    line = encode_frame(frame())
    program = f"open({str(file)!r}, 'w').write(str(os.getpid())); os.write(1, {line!r}); time.sleep(60)"

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "benchmark-host" in lines_of(app)[0])
        await pilot.press(key)

    with_monitor(steps, sampler_program(program))
    assert not psutil.pid_exists(int(file.read_text()))


def test_a_sampler_that_ignores_signals_does_not_outlive_the_monitor(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    program = (
        "import signal; [signal.signal(each, signal.SIG_IGN) for each in (1, 2, 13, 15)]\n"
        f"open({str(file)!r}, 'w').write(str(os.getpid())); os.write(1, {encode_frame(frame())!r}); time.sleep(60)"
    )

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "benchmark-host" in lines_of(app)[0])

    with_monitor(steps, sampler_program(program))
    assert not psutil.pid_exists(int(file.read_text()))


def _sampler_command(machine: MachineOptions) -> list[str]:
    return SamplerOptions(machine=machine, allowed=frozenset({0}), observer=os.getpid()).command()


def test_the_real_sampler_shows_a_copied_tree(unchanged_tree: Path) -> None:
    head = _header_when(_sampler_command(MachineOptions(sysroot=str(unchanged_tree))), "benchmark-host")
    assert "copied tree" in head
    assert "UNKNOWN" in head


def test_the_real_sampler_replays_a_recording(tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", quiet_files(), quiet_files(0.02))
    assert "4 CPUs" in _header_when(_sampler_command(MachineOptions(replay=str(recording))), "CPUs")


def test_the_real_sampler_reports_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would leave no room for the reason
    head = _header_when(_sampler_command(MachineOptions(replay="none.nw")), "the sampler ended")
    assert "none.nw: no such file" in head


def test_frames_that_come_together_are_drawn_once() -> None:
    lines = b"".join(encode_frame(frame(culprits=(culprit(f"c{second}"),), second=second)) for second in range(1, 60))
    counts: list[int] = []

    class CountingApp(MonitorApp):
        def draw(self) -> None:
            counts.append(self.model.history.count)
            super().draw()

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "c59 [4711]" in "".join(lines_of(app)))

    with_monitor(steps, sampler_program(f"os.write(1, {lines!r}); time.sleep(60)"), kind=CountingApp)
    assert counts[-1] == 59
    assert len(counts) < 30
