"""The lane of runs: each repetition with its number and its verdict, in the run's own words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, Frame, RepetitionLine, RunLine, decode_frame, encode_frame
from noisewatch.surfaces.drawing.glyphs import ASCII
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, frame, model_of, screen, screen_of, text_of

_FIRST = 7  # the column of the first interval
_WHY = "stress-ng (pid 812) on CPU 3: 12 ms (1.2%)"


def _repetition(number: int, begin_s: float, end_s: float, outcome: str = "undisturbed") -> RepetitionLine:
    return RepetitionLine(
        number=number,
        last=number,
        command=0,
        began_ns=round(begin_s * SECOND_NS),
        ended_ns=round(end_s * SECOND_NS),
        outcome=outcome,
        reason="" if outcome == "undisturbed" else _WHY,
    )


def _run(*repetitions: RepetitionLine, stage: str = "running", number: int = 1, since_s: float = 0.0) -> RunLine:
    outcomes = [repetition.outcome for repetition in repetitions]
    return RunLine(
        id="4711.4811",
        stage=stage,
        programs=("bench",),
        cpus=(3,),
        number=number,
        wanted=10,
        since_ns=round(since_s * SECOND_NS),
        counts=(outcomes.count("undisturbed"), outcomes.count("disturbed"), outcomes.count("unknown")),
        share_by_cpu=((3, 0.97),),
        repetitions=repetitions,
    )


def _model(*runs: RunLine | None) -> ScreenModel:
    """Return a model with one frame a second, each with that state of the run."""
    return model_of(*(frame(second=at, runs=() if run is None else (run,)) for at, run in enumerate(runs)))


def _lane(model: ScreenModel, width: int = 100, height: int = 30) -> str:
    (lane,) = [line.rstrip() for line in screen(model, width, height) if line.startswith("run    ")]
    return lane[_FIRST:]


def _three_runs() -> ScreenModel:
    """Return a model with three repetitions of three seconds, and a fourth that is running."""
    done = [_repetition(1, 2.1, 5.0), _repetition(2, 5.1, 8.0, "disturbed"), _repetition(3, 8.1, 11.0, "unknown")]
    runs = [_run(*(row for row in done if row.ended_ns == at * SECOND_NS), number=3) for at in range(12)]
    return _model(*runs, _run(number=4, since_s=11.1), _run(number=4, since_s=11.1))


def test_a_repetition_is_marked_by_its_verdict_for_its_whole_duration() -> None:
    assert _lane(_three_runs()) == "   1••2!!3??>>"


def test_without_a_run_there_is_no_lane_and_no_row_for_it() -> None:
    lines = screen(_model(None, None, None))
    assert not any(line.startswith("run ") for line in lines)
    assert lines[-4].startswith("target ")


def test_without_unicode_repetitions_are_marked_in_ascii() -> None:
    lane = next(line for line in screen_of(_three_runs(), Screen.OVERVIEW, glyphs=ASCII) if line.startswith("run    "))
    assert lane.rstrip()[_FIRST:] == "   1..2!!3??>>"


def test_short_repetitions_share_a_column_that_shows_the_worst() -> None:
    short = [_repetition(number, 1 + number / 10, 1.05 + number / 10) for number in range(1, 10)]
    short[4] = replace(short[4], outcome="disturbed")
    model = _model(None, _run(), _run(*short, number=10), _run(stage="ended"))
    assert _lane(model) == "  !"


def test_a_number_gives_way_to_the_sign() -> None:
    model = _model(None, _run(), _run(_repetition(12, 1.1, 2.0)), _run(_repetition(13, 2.1, 3.0), stage="ended"))
    assert _lane(model) == "  ••"


def test_the_cursor_shows_the_repetition_with_its_culprit() -> None:
    model = _three_runs()
    model.go_to_number(6)
    assert f"run 2 disturbed: {_WHY}" in "\n".join(screen(model, 140, 40))
    model.go_to_number(3)
    assert "run 1 undisturbed" in "\n".join(screen(model, 140, 40))


def test_a_repetition_that_is_not_undisturbed_is_an_event_at_its_start() -> None:
    events = [(event.number, event.text) for event in _three_runs().log.events if event.kind == "run"]
    assert events == [
        (0, "run of bench began: 10 repetitions"),
        (6, f"run 2 disturbed: {_WHY}"),
        (9, f"run 3 unknown: {_WHY}"),
    ]
    lines = screen_of(_three_runs(), Screen.EVENTS, 140, 40)
    assert any(f"r run       run 2 disturbed: {_WHY}" in line for line in lines)


def test_a_repetition_is_listed_before_later_events_of_its_interval() -> None:
    disturbed = _repetition(1, 1.2, 1.9, "disturbed")
    frames = [frame(second=1), frame(second=2, failed=("tasks-on-target",), runs=(_run(disturbed),))]
    model = model_of(*frames)
    assert [event.kind for event in model.log.listed()] == ["run", "verdict", "run"]
    at = [event.at_ns / SECOND_NS for event in model.log.listed()]
    assert at == [2.0, 2.0, 1.2]
    text = "\n".join(screen_of(model, Screen.EVENTS, 140, 40))
    assert -1 < text.index("failing: tasks-on-target") < text.index("run 1 disturbed")


def test_repeatedly_disturbed_repetitions_are_one_line() -> None:
    done = [_repetition(at, at + 0.1, at + 1.0, "disturbed") for at in range(1, 5)]
    model = _model(None, *(_run(*done[:at]) for at in range(1, 5)), _run(*done[:4]))
    text = f"run of bench disturbed 4 times in 3 s, last: run 4 disturbed: {_WHY}"
    assert [event.text for event in model.log.listed()] == [text, "run of bench began: 10 repetitions"]
    assert any(
        "r run       run of bench disturbed 4 times in 3 s, last: run" in row
        for row in screen_of(model, Screen.EVENTS, 80, 24)
    )
    model.log.folds = False
    assert len(model.log.listed()) == 5


def test_an_extended_group_of_short_repetitions_is_logged_once() -> None:
    first = _repetition(1, 1.1, 1.2, "disturbed")
    model = _model(None, _run(), _run(first), _run(replace(first, last=9, ended_ns=3 * SECOND_NS)))
    assert [event.text for event in model.log.events if event.kind == "run"][1:] == [f"run 1 disturbed: {_WHY}"]
    assert _lane(model) == "  1!"
    model.go_to_number(3)
    assert f"runs 1-9 disturbed: {_WHY}" in "\n".join(screen(model, 140, 40))


def test_the_end_of_a_run_is_logged_once() -> None:
    last = _run(_repetition(1, 1.1, 2.0), _repetition(2, 2.1, 3.0, "disturbed"), stage="ended")
    model = _model(None, _run(), _run(), last, replace(last, repetitions=()), None)
    texts = [event.text for event in model.log.events if event.kind == "run"]
    assert texts[-1] == "run of bench ended: 1 undisturbed, 1 disturbed"
    assert len(texts) == 3


def test_a_vanished_run_has_no_verdict_on_its_running_repetition() -> None:
    model = _model(None, _run(since_s=1.0), _run(since_s=1.0), None, None)
    assert [event.text for event in model.log.events][-1] == "run of bench is gone: its end was not reported"
    assert _lane(model) == ""
    assert "run 1/10" not in "\n".join(screen(model))


def test_many_disturbed_repetitions_do_not_fill_the_log() -> None:
    many = [_repetition(number, 1 + number / 100, 1 + number / 100, "disturbed") for number in range(1, 60)]
    model = _model(None, _run(), _run(*many, number=60))
    texts = [event.text for event in model.log.events if event.kind == "run"]
    assert len(texts) == 10
    assert texts[-1] == "51 more repetitions: disturbed, unknown, failed or cut short"


def test_the_current_run_is_named_below_the_verdict_without_changing_it() -> None:
    lines = screen(_three_runs(), 100, 30)
    assert lines[2].startswith("run 4/10 of bench ")
    elsewhere = screen(_model(replace(_run(), cpus=(0, 1))))
    assert elsewhere[2].startswith("run 1/10 of bench on CPUs 0-1 ")
    noisy = frame(second=20, runs=(_run(number=4),), verdict="unstable")
    assert "UNSTABLE" in screen(model_of(frame(second=19), noisy))[1]
    assert screen(_model(None, _run(stage="waiting")))[2].startswith("run of bench: waiting ")


def test_the_share_of_the_command_is_shown_on_its_cpu() -> None:
    model = _three_runs()
    model.cpu = 3
    assert any("command bench 97%" in line for line in screen_of(model, Screen.CPU))
    target = cpu_line(3, Role.TARGET, taken_ns_per_s=(0,) * len(KINDS))
    model = model_of(*(frame(second=at, cpus=(target,), runs=(_run(),)) for at in range(2)))
    assert any("command" in line and "97%" in line for line in screen_of(model, Screen.OVERVIEW, 140, 40))


@pytest.mark.parametrize("name", list(Screen))
@pytest.mark.parametrize(("width", "height"), [(20, 24), (80, 24), (140, 40), (20, 5), (1, 1)])
def test_every_screen_with_a_run_fits(name: Screen, width: int, height: int) -> None:
    model = _three_runs()
    model.go_to(name)
    rows = rows_of_screen(model, width, height, ASCII)
    assert len(rows) <= height
    assert all(len(text_of(row)) <= width for row in rows)


def test_the_runs_of_a_frame_survive_encoding() -> None:
    original: Frame = frame(runs=(_run(_repetition(1, 2.1, 5.0, "disturbed")),))
    assert decode_frame(encode_frame(original)).runs == original.runs
