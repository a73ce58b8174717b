"""The key that writes the fix script and its undo."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.monitor import machine_access
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import shown, until, with_monitor
from tests.surfaces.tui.framing import frame
from tests.written.quiet_machine import CPUS, quiet_files


def _recorded(tmp_path: Path, governor: str = "powersave") -> MachineAccess:
    """Of a machine with one fault; the working folder is another than the recording's."""
    moments = [quiet_files(at) | {f"{CPUS}/cpu2/cpufreq/scaling_governor": f"{governor}\n"} for at in (0.0, 3.0)]
    return machine_access(parse_arguments(["--replay", str(record(tmp_path / "machine.nw", *moments))]))


def _notice_after(access: MachineAccess, *keys: str) -> str:
    notices: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, target=(2, 3), origin="replay of machine.nw"))
        await pilot.press(*keys)
        await until(pilot, lambda: not (app.model.notice or "sampling").startswith("sampling"))
        notices.append(app.model.notice or "")

    with_monitor(steps, access=access)
    return notices[0]


def test_shift_f_writes_the_fix_script_and_its_undo_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = _recorded(tmp_path)
    (tmp_path / "written").mkdir()
    monkeypatch.chdir(tmp_path / "written")
    notices = [_notice_after(access, "7", "F") for _ in range(2)]
    assert [notice.partition(":")[0] for notice in notices] == ["written", "written"]
    names = sorted(path.name for path in Path().iterdir())
    assert len(names) == 4
    assert {name.partition(".")[2] for name in names} == {"fix.sh", "undo.sh"}
    assert all(path.read_text().startswith("#!/bin/sh") for path in Path().iterdir())


def test_a_fix_script_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = _recorded(tmp_path)
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    notice = _notice_after(access, "7", "F")
    assert notice.startswith("nothing was written: ")
    assert notice.endswith("no such file or directory")


def test_where_nothing_fails_no_script_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = _recorded(tmp_path, governor="performance")
    (tmp_path / "written").mkdir()
    monkeypatch.chdir(tmp_path / "written")
    assert _notice_after(access, "F") == "no fix script: nothing fails or warns"
    assert not list(Path().iterdir())


def test_after_a_preflight_shift_f_writes_what_its_verdict_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = _recorded(tmp_path)
    (tmp_path / "written").mkdir()
    monkeypatch.chdir(tmp_path / "written")

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, target=(2, 3), origin="replay of machine.nw"))
        await pilot.press("p", "F")
        assert not list(Path().iterdir())
        await pilot.press("enter")
        await until(pilot, lambda: "CHECKS" in "".join(shown(app)))
        await pilot.press("F")

    with_monitor(steps, access=access, size=(100, 40))
    assert {path.name.partition(".")[2] for path in Path().iterdir()} == {"fix.sh", "undo.sh"}
