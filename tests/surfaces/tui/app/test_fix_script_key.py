"""The key that writes the fix script and its undo."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.operations.frame.frame import CauseLine
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import replay_access, run_preflight, with_monitor
from tests.surfaces.tui.framing import findings, frame
from tests.written.quiet_machine import CPUS, quiet_files

_CAUSES = (
    CauseLine((("now", "echo performance | sudo tee /a"), ("undo", "echo powersave | sudo tee /a"), ("for good", "k"))),
    CauseLine((("now", "sudo taskset -pc 0-1 4711"), ("undo", "sudo taskset -pc 0-3 4711")), names=((4711, "hog"),)),
    CauseLine((("try", "--cpus 1"),)),
)
_FINDINGS = tuple(replace(line, cause=at) for at, line in enumerate(findings(("governor", "hogs", "smt")), start=1))


def _notice_after(key: str, **fields: Any) -> str:
    notices: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, **fields))
        await pilot.press("7", key)
        notices.append(app.model.notice or "")

    with_monitor(steps, size=(200, 30))
    return notices[0]


def test_shift_f_writes_the_fixes_of_all_shown_causes_and_their_undo_to_new_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notices = [_notice_after("F", findings=_FINDINGS, causes=_CAUSES) for _ in range(2)]
    paths = [Path(notice.split()[1]) for notice in notices]
    assert all(path.exists() and len(notice) < 80 for path, notice in zip(paths, notices, strict=True)), notices
    assert len(set(tmp_path.iterdir())) == 4
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o755 for path in tmp_path.iterdir())
    fix = paths[0].read_text()
    undo = Path(str(paths[0]).replace(".fix.sh", ".undo.sh")).read_text()
    assert [line for line in fix.splitlines() if line.startswith("{ ")] == [
        "{ echo performance | root tee /a; } >/dev/null",
        "{ root taskset -pc 0-1 4711; } >/dev/null",
    ]
    assert [line for line in undo.splitlines() if line.startswith("{ ")] == [
        "{ root taskset -pc 0-3 4711; } >/dev/null",
        "{ echo powersave | root tee /a; } >/dev/null",
    ]
    assert "#   governor: k" in fix
    assert "#   smt: smt was found: --cpus 1" in fix
    assert "4711) name=hog ;;" in fix


def test_a_fix_script_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    notice = _notice_after("F", findings=_FINDINGS, causes=_CAUSES)
    assert notice.startswith("nothing was written: ")
    assert notice.endswith("no such file or directory")


@pytest.mark.parametrize(("verdict", "why"), [("stable", "no check fails or warns"), (None, "there is no verdict yet")])
def test_without_shown_causes_no_script_is_written(
    verdict: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _notice_after("F", verdict=verdict) == f"no fix script: {why}"
    assert not list(tmp_path.iterdir())


def test_after_a_preflight_shift_f_writes_the_fixes_of_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = [quiet_files(at) | {f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n"} for at in (0.0, 3.0)]
    access = replay_access(record(tmp_path / "machine.nw", *moments))
    (tmp_path / "written").mkdir()
    monkeypatch.chdir(tmp_path / "written")

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await run_preflight(app, pilot)
        await pilot.press("F")

    with_monitor(steps, access=access, size=(100, 40))
    assert {path.name.partition(".")[2] for path in Path().iterdir()} == {"fix.sh", "undo.sh"}
