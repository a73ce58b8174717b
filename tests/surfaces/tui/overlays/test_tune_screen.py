"""The monitor's key T lists the changes of tune; enter makes them, and restores those in effect."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.kernel.system.tuned import BOOT_ID, PATH, Tuned, TunedSession, encode_tuned
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.operations.tuning.tune import read_tuning, restore_host, tune_host
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.overlays.tune import TuneOverlay
from noisewatch.surfaces.tui.screens.page import status_row
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.operations.tuning.host import WrittenHost
from tests.surfaces.running import changed
from tests.surfaces.tui.framing import cpu_line, frame, overlay_text
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_TUNE = "noisewatch.surfaces.tui.overlays.tune"
_GOVERNOR = f"{CPUS}/cpu2/cpufreq/scaling_governor"
_CHANGE = f"{_GOVERNOR}: powersave -> performance"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WrittenHost:
    """The host that is tuned by root; its settings are files of the test."""
    host, journal = WrittenHost(tmp_path / "root", {_GOVERNOR: "powersave"}), tmp_path / "tune.jsonl"
    monkeypatch.setattr(f"{_TUNE}.is_root", lambda: True)
    for function in (read_tuning, tune_host, restore_host):
        monkeypatch.setattr(f"{_TUNE}.{function.__name__}", partial(function, settings=host, path=journal))
    return host


def _overlay(**files: str) -> TuneOverlay:
    """Return the overlay as T opens it on a machine with these files changed."""
    overlay = TuneOverlay.of(frame((cpu_line(2, "target"), cpu_line(3, "target"))))
    _act(overlay, **files)
    return overlay


def _act(overlay: TuneOverlay, **changes: str) -> None:
    files = changed(quiet_files(), {_GOVERNOR: "powersave\n", **changes})
    overlay.measure(MachineAccess(lambda: machine_of(files), PreflightOptions), lambda change: change())()


def test_enter_makes_the_listed_changes_and_restores_them(host: WrittenHost) -> None:
    overlay = _overlay()
    assert _CHANGE in overlay_text(overlay)
    assert "enter makes these changes" in overlay_text(overlay)
    assert host.read(_GOVERNOR) == "powersave"
    _act(overlay)
    assert host.read(_GOVERNOR) == "performance"
    assert "1 setting changed until" in overlay_text(overlay)
    assert " enter " not in overlay_text(overlay)
    again = _overlay()
    assert "tuned since 20" in overlay_text(again)
    assert "enter restores them" in overlay_text(again)
    _act(again)
    assert host.read(_GOVERNOR) == "powersave"
    assert "1 setting restored" in overlay_text(again)


def test_changes_that_the_journal_has_lost_are_named(host: WrittenHost, tmp_path: Path) -> None:
    _act(_overlay())
    journal = tmp_path / "tune.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"/scaling_governor", b"\0"))
    overlay = _overlay()
    assert host.read(_GOVERNOR) == "performance"
    assert "damaged lines of the journal" in overlay_text(overlay)
    assert not overlay.can_start


def test_changes_that_cannot_be_journalled_are_not_made(host: WrittenHost, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise UsageError("tune.jsonl: No space left on device; nothing is changed without a journal")

    overlay = _overlay()
    monkeypatch.setattr(f"{_TUNE}.tune_host", refuse)
    _act(overlay)
    assert "Cannot tune: tune.jsonl: No space left" in overlay_text(overlay)
    assert not overlay.can_start
    assert host.read(_GOVERNOR) == "powersave"


def test_another_user_sees_the_changes_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{_TUNE}.is_root", lambda: False)
    session = TunedSession("7 8 9 noisewatch", 0.0, "2-3", False, 12)
    published = encode_tuned(Tuned("this boot", (session,))).decode()
    overlay = _overlay(**{PATH: published, BOOT_ID: "this boot\n"})
    text = overlay_text(overlay)
    assert _CHANGE in text
    assert ": 12 settings" in text
    assert "needs root: sudo " in text
    assert text.split("needs root: ")[1].splitlines()[0].rstrip().endswith("tune --cpus 2-3")
    assert not overlay.can_start


def test_a_recording_is_never_tuned(host: WrittenHost) -> None:
    overlay = TuneOverlay.of(frame((cpu_line(2, "target"), cpu_line(3, "target")), origin="recording x.nw"))
    _act(overlay)
    assert "Only this host can be tuned" in overlay_text(overlay)
    assert _CHANGE in overlay_text(overlay)
    assert not overlay.can_start


def test_the_header_shows_that_the_machine_is_tuned() -> None:
    model = ScreenModel()
    model.add(frame(4, tuned="tuned since 2026-11-14 09:30: 12 settings"))
    assert "tuned since 2026-11-14 09:30: 12 settings  target" in "".join(text for text, _ in status_row(model, 120))
