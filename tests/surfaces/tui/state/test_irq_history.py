"""Interrupts by source and CPU, their history and their affinity."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.kinds import Kind
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import Frame, IrqLine, IrqSetting, decode_frame, encode_frame
from noisewatch.operations.sampling import sample_frames
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.screens.irq_panel import irq_facts
from noisewatch.surfaces.tui.state import irq_history
from noisewatch.surfaces.tui.state.irq_history import IrqHistory
from noisewatch.surfaces.tui.state.irq_table import all_rows
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.running import quiet_tree, record
from tests.surfaces.tui.framing import frame, model_of, text_of
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_MOVED = {"/proc/irq/24/smp_affinity_list": "1\n", "/proc/irq/24/effective_affinity_list": "1\n"}
_MOVE_TEXT = "IRQ 24 (eth0-rx-0) moved from CPU 0 to CPU 1"


class _LiveMachine(WrittenMachine):
    is_live = True


def _moments(changes: Sequence[dict[str, str]], without_effective: bool = False) -> list[Files]:
    """Return the files at moments three seconds apart."""
    moments = [quiet_files(3.0 * at) | change for at, change in enumerate(changes)]
    omitted = "effective_affinity_list" if without_effective else "nothing"
    return [{path: text for path, text in files.items() if omitted not in path} for files in moments]


def _replayed_model(path: Path, moments: Sequence[Files]) -> ScreenModel:
    recording = Recording(str(record(path / "machine.nw", *moments)))
    return model_of(*sample_frames(recording, SnapshotOptions(), 1.0))


def _live_model(moments: Sequence[Files], monkeypatch: pytest.MonkeyPatch) -> ScreenModel:
    """Return the model of these moments on a live machine."""
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    machine = _LiveMachine(*moments, answers=ANSWERS)
    frames: Iterator[Frame] = sample_frames(machine, SnapshotOptions(), 1.0, lambda _: machine.advance())
    return model_of(*islice(frames, len(moments)))


def _irq_events(model: ScreenModel) -> list[str]:
    return [event.text for event in model.log.events if event.kind == "irq"]


def _setting(label: str = "205", effective: str | None = "1", allowed: str | None = "0-3") -> IrqSetting:
    return IrqSetting(label, Kind.IRQ, f"eth0-TxRx-{label}", allowed=allowed, effective=effective)


def _settings_over_time(*settings: tuple[IrqSetting, ...]) -> ScreenModel:
    return model_of(*(frame(second=second, irq_settings=rows) for second, rows in enumerate(settings, start=1)))


def _facts_text(model: ScreenModel) -> str:
    """Return the facts about the first IRQ that the screen shows below the table."""
    return "\n".join(text_of(row) for row in irq_facts(model, all_rows(model)[0], 100, 12, UNICODE))


def test_each_active_row_has_its_rate_on_each_cpu(tmp_path: Path) -> None:
    last = _replayed_model(tmp_path, _moments([{}, {}])).newest
    assert last is not None
    lines = {line.label: line for line in last.irqs or ()}
    assert lines["LOC"].rate_by_cpu == {0: 100, 1: 100}
    assert (lines["24"].rate_by_cpu, lines["24"].total) == ({0: 100}, 100)
    assert lines.keys() == {"24", "25", "LOC"}
    assert decode_frame(encode_frame(last)).irqs == last.irqs


def test_an_unreadable_table_leaves_the_rates_unknown_with_a_reason(tmp_path: Path) -> None:
    model = _replayed_model(tmp_path, _moments([{}, {"/proc/interrupts": "rubbish\n"}, {}, {}]))
    assert model.newest is not None
    interval = model.history.frame(0)
    assert (interval.irqs, interval.no_irqs_reason) == (None, "/proc/interrupts could not be read")
    assert model.irqs.rates("24", range(-1, 4)) == [None, None, None, 100, None]


def test_settings_name_all_rows_with_and_without_a_number(unchanged_tree: Path) -> None:
    (only,) = sample_frames(CopiedTree(str(unchanged_tree)), SnapshotOptions(), 1.0)
    settings = {setting.label: setting for setting in only.irq_settings or ()}
    assert settings["24"].name == "eth0-rx-0"
    assert (settings["24"].allowed, settings["24"].effective, settings["24"].irq) == ("0-1", "0", 24)
    assert (settings["LOC"].kind, settings["LOC"].name, settings["LOC"].irq) == (
        Kind.TICK,
        "Local timer interrupts",
        None,
    )
    assert decode_frame(encode_frame(only)).irq_settings == only.irq_settings


def test_an_irq_is_managed_by_the_kernel_only_if_its_affinity_is_read_only() -> None:
    modes = {"/proc/irq/25/smp_affinity": 0o444}
    machine = WrittenMachine(quiet_files(), answers=ANSWERS, modes=modes)
    (only,) = sample_frames(machine, SnapshotOptions(), 1.0)
    states = {row.label: (row.movable, row.is_managed) for row in only.irq_settings or ()}
    assert (states["24"], states["25"], states["LOC"]) == ((True, False), (False, True), (False, False))
    old = WrittenMachine(quiet_files() | {"/proc/sys/kernel/osrelease": "6.1.0\n"}, answers=ANSWERS)
    (only,) = sample_frames(old, SnapshotOptions(), 1.0)
    assert {(row.movable, row.is_managed) for row in only.irq_settings or () if row.irq} == {(None, None)}


def test_rows_are_listed_even_if_no_affinity_can_be_read(tmp_path: Path) -> None:
    missing: dict[str, str | None] = dict.fromkeys(path for path in quiet_files() if path.startswith("/proc/irq/"))
    (only,) = sample_frames(CopiedTree(str(quiet_tree(tmp_path, missing))), SnapshotOptions(), 1.0)
    (irq_24,) = [setting for setting in only.irq_settings or () if setting.label == "24"]
    assert (irq_24.name, irq_24.allowed, irq_24.effective) == ("eth0-rx-0", None, None)


@pytest.mark.parametrize(
    ("without_effective", "expected"),
    [(False, _MOVE_TEXT), (True, "IRQ 24 (eth0-rx-0) may now go to CPU 1 instead of CPUs 0-1")],
)
def test_a_moved_irq_is_the_same_event_live_and_in_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_effective: bool, expected: str
) -> None:
    moments = _moments([{}, {}, {}, {}, _MOVED, _MOVED, _MOVED], without_effective)
    live, replay = _live_model(moments, monkeypatch), _replayed_model(tmp_path, moments)
    events = [[(event.text, event.number, event.at_ns) for event in model.log.events] for model in (live, replay)]
    assert events[0] == events[1] == [(expected, 3, 13_000_000_000)]
    moves = replay.irqs.moves(replay.irqs.settings["24"], 9)
    assert [(move.before, move.after) for move in moves] == [("0-1", "1") if without_effective else ("0", "1")]


def test_the_settings_of_an_irq_are_those_of_the_shown_interval() -> None:
    new = IrqSetting("206", Kind.IRQ, "nvme0q1", allowed="0-3", effective="2", is_managed=True)
    model = _settings_over_time((_setting(),), (_setting(effective=None, allowed="5"), new), (new,), ())
    settings = [
        [(irq.label, irq.effective, irq.allowed) for irq in model.irqs.settings_at(at).values()] for at in range(4)
    ]
    assert settings == [[("205", "1", "0-3")], [("205", None, "5"), ("206", "2", "0-3")], [("206", "2", "0-3")], []]
    rows = []
    for number in (0, 1, 2, 3):
        model.go_to_number(number)
        rows.append({row.label: row.effective for row in all_rows(model)})
    assert rows == [{"205": {1}}, {"205": None, "206": {2}}, {"206": {2}}, {}]


def test_settings_of_irqs_become_unknown_when_they_are_unreadable(tmp_path: Path) -> None:
    blind = {path: text for path, text in quiet_files(9.0).items() if "/irq/" not in path and "interrupts" not in path}
    model = _replayed_model(tmp_path, [*_moments([{}, {}, {}]), *[blind] * 4])
    assert model.irqs.settings_at(0)["24"].effective == "0"
    assert not model.irqs.settings


def test_before_the_oldest_kept_move_moves_are_unknown() -> None:
    model = _settings_over_time(*((_setting(effective=str(cpu)),) for cpu in range(12)))
    model.go_to_number(2)
    assert "moved     unknown: only its last moves are kept" in _facts_text(model)
    model.go_to_number(4)
    assert "from CPU 3 to CPU 4" in _facts_text(model)


def test_the_moves_of_a_removed_driver_are_shown_only_at_their_time() -> None:
    moved, other = (_setting(effective="5"),), (replace(_setting(effective="7"), name="nvme0q1"),)
    model = _settings_over_time((_setting(),), moved, other, ())
    model.go_to_number(1)
    assert "from CPU 1 to CPU 5" in _facts_text(model)
    model.go_to_number(2)
    assert "moved     unknown before this snapshot" in _facts_text(model)


@pytest.mark.parametrize("unknown", [None, ""])
def test_a_move_is_relative_to_the_last_known_affinity(unknown: str | None) -> None:
    model = _settings_over_time((_setting(),), (_setting(effective=unknown, allowed="5"),), (_setting(effective="5"),))
    assert _irq_events(model) == ["IRQ 205 (eth0-TxRx-205) moved from CPU 1 to CPU 5"]


def test_a_number_reused_by_another_driver_is_not_a_move() -> None:
    moved = (_setting(effective="5"),)
    other = (replace(_setting(effective="7"), name="nvme0q1"),)
    model = _settings_over_time((_setting(),), moved, other)
    assert (len(_irq_events(model)), model.irqs.moves(other[0], 2)) == (1, [])


def test_of_many_moves_those_to_target_cpus_are_logged_and_the_others_counted() -> None:
    labels = [str(200 + number) for number in range(12)]
    before = tuple(_setting(label, "0") for label in labels)
    after = tuple(_setting(label, "3" if label == "211" else "1") for label in labels)
    texts = _irq_events(_settings_over_time(before, after))
    assert texts[0] == "IRQ 211 (eth0-TxRx-211) moved from CPU 0 to CPU 3"
    assert texts[-1] == "4 more IRQs moved: 207, 208, 209, 210"


def test_rates_are_kept_as_long_as_intervals_are() -> None:
    history = IrqHistory(capacity=3)
    rates = (None, 5.0, None, 7.0, 8.0)
    for rate in rates:
        history.add(frame(irqs=() if rate is None else (IrqLine("205", (1,), (rate,)),)))
    assert history.rates("205", range(6)) == [None, None, 0, 7, 8, None]
    assert history.rates("206", range(2, 5)) == [0, 0, 0]


def test_irqs_that_appear_later_were_silent_before() -> None:
    history = IrqHistory()
    history.add(frame(irqs=()))
    history.add(frame(irqs=None))
    history.add(frame(irqs=(IrqLine("205", (1, 3), (2.0, 3.0)),)))
    assert history.rates("205", range(3)) == [0, None, 5]


def test_no_irq_is_silent_in_an_interval_with_unknown_interrupts() -> None:
    history = IrqHistory()
    for irqs in ((), None, (), ()):
        history.add(frame(irqs=irqs))
    assert (history.is_silent("205", range(4)), history.is_silent("205", range(2, 4))) == (False, True)


def test_irqs_beyond_the_capacity_are_unknown_and_replace_silent_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(irq_history, "_MOST_IRQS", 2)
    history = IrqHistory()
    busy = (IrqLine("1", (0,), (9.0,)), IrqLine("2", (0,), (9.0,)))
    history.add(frame(irqs=busy))
    history.add(frame(irqs=(*busy, IrqLine("3", (0,), (9.0,)))))
    assert history.rates("3", range(2)) == [None, None]
    for _ in range(3):
        history.add(frame(irqs=busy[:1]))
    history.add(frame(irqs=(busy[0], IrqLine("3", (0,), (9.0,)))))
    assert (history.rates("3", [5]), history.rates("1", [5]), history.rates("2", [5])) == ([9], [9], [None])
    for _ in range(2):
        history.add(frame(irqs=busy[:1]))
    history.add(frame(irqs=busy))
    assert history.rates("2", range(4, 9)) == [None, None, None, None, 9]
    assert [history.is_silent(label, range(5, 8)) for label in ("1", "2", "3")] == [False, False, False]


@pytest.mark.parametrize(
    "field",
    ['"irqs":[1]', '"irqs":[["1"]]', '"irq_settings":[["1","boo","","","","",true,true]]', '"places":[[1,"0"]]'],
)
def test_an_invalid_line_is_rejected(field: str) -> None:
    name = field.partition(":")[0]
    line = encode_frame(frame()).replace(f"{name}:null".encode(), field.encode())
    with pytest.raises(ValueError, match=r"no frame|boo"):
        decode_frame(line)
