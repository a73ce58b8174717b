"""Preflight in the monitor: its checks of the shown interval, and a complete preflight on demand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.errors import CannotMeasure
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Area, Gravity
from noisewatch.judgement.verdict import Verdict
from noisewatch.machine import Machine
from noisewatch.operations.frame.frame import CauseLine, FindingLine, Frame
from noisewatch.operations.machines import open_machine
from noisewatch.operations.preflight import PreflightOptions, preflight
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands.preflight import monitor_options
from noisewatch.surfaces.cli.common import machine_options
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import length
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.judgement.judging import finding
from tests.operations.listening import SilentListener
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import lines_of, replay_access, run_preflight, until, with_monitor
from tests.surfaces.tui.framing import frame, model_of, screen_of, text_of, unframed
from tests.surfaces.tui.screens.causes import HOG_IN_TWO, by_cause, finding_line
from tests.written.quiet_machine import CPUS, loaded_files, quiet_files

_FINDINGS = (
    FindingLine(
        id="tasks-on-target",
        status="fail",
        weight="blocking",
        gravity=Gravity.FAILED,
        said="hog (pid 7): 48% of CPU 3 (limit 0.5%)",
        fix="sudo taskset -pc 0-1 7",
    ),
    FindingLine(id="turbo-enabled", status="warn", weight="warning", gravity=Gravity.WARNED, said="turbo is on"),
    FindingLine(
        id="processor-hot",
        status="unknown",
        weight="warning",
        gravity=Gravity.OPEN,
        said="/sys/class/hwmon: no such file",
    ),
)


def _frame(second: int = 1) -> Frame:
    return frame(second=second, findings=_FINDINGS, verdict="unstable")


def test_checks_that_did_not_pass_are_listed_and_the_others_counted() -> None:
    rows = screen_of(model_of(_frame()), "preflight")
    assert "1 block, 1 warn, 1 unknown, 40 pass" in rows[3]
    assert [row.split()[:2] for row in rows[4:7]] == [
        ["✗", "tasks-on-target"],
        ["!", "turbo-enabled"],
        ["?", "processor-hot"],
    ]
    assert "hog (pid 7): 48% of CPU 3" in rows[4]


def test_the_selected_check_is_shown_in_full_with_its_command() -> None:
    model = model_of(_frame())
    text = "\n".join(screen_of(model, "preflight", 60, 24))
    assert "Did other tasks run on a target CPU, or could they?" in " ".join(text.split())
    assert "now      sudo taskset -pc 0-1 7" in text
    model.select(1)
    assert model.selected_finding() == _FINDINGS[1]
    model.select(9)
    assert model.selected_finding() == _FINDINGS[2]


def test_the_first_cause_is_above_with_its_commands_and_the_others_are_numbered() -> None:
    lines = screen_of(model_of(by_cause()), "preflight", 120, 40)
    first = next(at for at, line in enumerate(lines) if "fix first" in line)
    second = next(at for at, line in enumerate(lines) if "what to do" in line)
    above = "\n".join(lines[first:second])
    assert "cause 1 of 3" in above
    assert "what to do, the gravest first, rates over 5 s" in lines[second]
    assert "now      sudo taskset -pc 0-1 7" in above
    assert "fixes    tasks-on-target, target-cpu-busy" in above
    rows = [line.split()[:2] for line in lines[second + 1 : second + 5]]
    assert rows == [["✗", "1"], ["!", "2"], ["?", "3"], ["?", "processor-hot"]]
    assert f"all {len(CATALOGUE)} checks" in "".join(lines)
    assert "noisewatch preflight --cpus 3 --wait 300 --lock || exit 1" in "".join(lines)


def test_arrows_select_a_cause_and_y_copies_its_command() -> None:
    model = model_of(by_cause())
    model.go_to("preflight")
    assert command_to_copy(model)[0] == "sudo taskset -pc 0-1 7"
    model.select(1)
    assert command_to_copy(model)[0] == "echo 0 | sudo tee /turbo"
    model.select(1)
    assert command_to_copy(model)[0] is None
    model.select(1)
    assert model.findings().selected == HOG_IN_TWO[-1]


def test_a_cause_stays_selected_when_another_of_its_checks_comes_first() -> None:
    model = model_of(by_cause(second=1))
    model.go_to("preflight")
    model.select(1)
    findings = (finding_line("clock-capped", Gravity.WARNED, 2), *HOG_IN_TWO)
    model.add(replace(by_cause(second=2), findings=findings))
    selected = model.findings().selected
    assert selected is not None
    assert (selected.id, model.findings().is_gone) == ("clock-capped", False)


def test_enter_opens_the_checks_of_a_cause_and_escape_closes_them() -> None:
    model = model_of(by_cause())
    limit = "limit: share of a target CPU that one task may take: fails above 0.5%"
    assert limit not in "\n".join(screen_of(model, "preflight", 80, 30))
    model.opens_check = True
    rows = [text_of(row) for row in rows_of_screen(model, 80, 30, UNICODE)]
    assert limit in "\n".join(rows)
    model.go_back()
    assert (model.opens_check, model.screen) == (False, "preflight")


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("size", [(20, 5), (40, 10), (60, 20), (80, 24), (120, 34), (140, 40), (300, 80)])
def test_the_preflight_screen_fits_every_size_and_has_no_empty_half(size: tuple[int, int], glyphs: Glyphs) -> None:
    model = model_of(by_cause())
    model.go_to("preflight")
    for model.opens_check, model.area, model.shows_all_checks in product(
        (False, True), (None, Area.LOAD), (False, True)
    ):
        rows = rows_of_screen(model, *size, glyphs)
        assert len(rows) <= size[1]
        assert max(map(length, rows)) <= size[0]
        texts = [unframed(text_of(row)).strip(" │|") for row in rows]
        assert sum(not text for text in texts) <= size[1] / 2


def test_the_preflight_screen_shows_the_checks_of_the_shown_interval() -> None:
    model = model_of(frame(second=1, findings=()), _frame(2))
    assert "tasks-on-target" in "".join(screen_of(model, "preflight")[3:])
    model.step(-1)
    assert "tasks-on-target" not in "".join(screen_of(model, "preflight")[3:])


@pytest.mark.parametrize("verdict", [None, "stable"])
def test_without_findings_there_is_nothing_to_select(verdict: str | None) -> None:
    model = model_of(frame(verdict=verdict))
    text = "".join(screen_of(model, "preflight"))
    assert ("no verdict yet" in text) == (verdict is None)
    assert model.selected_finding() is None


def test_p_runs_the_preflight_of_a_recording_and_e_exports_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = (quiet_files(), quiet_files(3.0), loaded_files())
    access = replay_access(record(tmp_path / "machine.nw", *moments, calibrated_after=2))
    (tmp_path / "written").mkdir()
    monkeypatch.chdir(tmp_path / "written")
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await run_preflight(app, pilot)
        texts.append("\n".join(lines_of(app)))
        await pilot.press("e", "escape")
        texts.append("\n".join(lines_of(app)))

    with_monitor(steps, access=access, size=(100, 40))
    assert texts[0].splitlines()[1].split()[0] == "STABLE"
    assert "CPUs 2-3 (isolated)" in texts[0]
    assert {path.suffix for path in Path().iterdir()} >= {".json", ".md", ".svg"}
    assert '"verdict": "stable"' in next(Path().glob("*.json")).read_text()
    assert "benchmark-host" in texts[1]


def _judge(tmp_path: Path, cpus: set[int], *options: str, changes: Mapping[str, str] | None = None) -> Verdict:
    moments = [quiet_files(at) | dict(changes or {}) for at in (0.0, 3.0)]
    arguments = parse_arguments(["--replay", str(record(tmp_path / "machine.nw", *moments)), *options])
    machine = machine_options(arguments)
    preflight_options = replace(monitor_options(machine, frozenset(range(4))), announced=frozenset(cpus))
    return preflight(open_machine(machine), preflight_options, SilentListener()).verdict


def test_the_verdict_names_the_same_source_of_the_target_as_the_monitor(tmp_path: Path) -> None:
    assert _judge(tmp_path, {2, 3}).case.snapshot.target.chosen_by == "isolated"
    assert _judge(tmp_path, {1}, "--cpus", "1").case.snapshot.target.chosen_by == "as requested"


def test_a_doubtful_target_is_as_doubtful_as_in_a_shell(tmp_path: Path) -> None:
    verdict = _judge(tmp_path, {2, 3}, changes={f"{CPUS}/isolated": "rubbish\n"})
    assert "may be the wrong target" in (finding(verdict, "target-cpu-unusable").answer.reason or "")


def test_a_target_that_differs_from_the_announced_one_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="the target CPUs have changed from 1 to 2-3"):
        _judge(tmp_path, {1})


def test_without_a_machine_there_is_no_verdict_and_a_reason() -> None:
    def refuse() -> Machine:
        raise CannotMeasure("the machine is gone")

    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        await pilot.press("p", "enter")
        await until(pilot, lambda: "No verdict" in "".join(lines_of(app)))
        texts.append("".join(lines_of(app)))

    with_monitor(steps, access=MachineAccess(refuse, PreflightOptions))
    with_monitor(steps)
    assert "No verdict: the machine is gone" in texts[0]
    assert "No verdict: there is no machine" in texts[1]


def _eight_causes() -> Frame:
    """Return a frame with eight causes, each with a command."""
    interval = frame(failed=tuple(f"failed-{at}" for at in range(8)), verdict="unstable")
    findings = tuple(replace(line, cause=at) for at, line in enumerate(interval.findings, start=1))
    causes = tuple(CauseLine((("now", f"command {at}"),)) for at in range(8))
    return replace(interval, findings=findings, causes=causes)


@pytest.mark.parametrize("size", [(80, 14), (120, 34)])
def test_causes_that_do_not_fit_are_counted(size: tuple[int, int]) -> None:
    model = model_of(_eight_causes())
    rows = screen_of(model, "preflight", *size)
    names = {name for row in rows for name in re.findall(r"[✗?!] \d +.*(failed-\d)", row)}
    below = [int(match[1]) for row in rows if (match := re.search(r"(\d+) more below", row))]
    assert below == ([8 - len(names)] if len(names) < 8 else [])


def test_long_reasons_of_a_cause_are_counted_and_scrolled_by_pages() -> None:
    failing = frame(failed=("target-cpu-busy",), verdict="unstable")
    line = replace(failing.findings[0], cause=1, said="word " * 300)
    model = model_of(replace(failing, findings=(line,), causes=(CauseLine(),)))
    model.screen = Screen.PREFLIGHT
    model.toggle_check()

    def draw() -> list[str]:
        return [text_of(row) for row in rows_of_screen(model, 80, 24, UNICODE)]

    assert any(re.search(r"… \d+ more rows below: pgdn", row) for row in draw())
    for _ in range(9):
        model.select(10)
        after = draw()
    assert not any("more rows below" in row for row in after)
    assert any("limit: " in row for row in after)
