"""Series with random or fixed memory layouts: what the command receives, and which runs count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.errors import UsageError
from noisewatch.machine.live import LiveMachine
from noisewatch.model.run.energy import RunEnergy
from noisewatch.model.run.layout import Layout, draw_turns
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.run import options as run_options
from noisewatch.operations.run.conclusion import conclude, gate_of_series
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunSeries, run_series, turns, undisturbed_count
from tests.operations.listening import SilentListener
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, timed, written_series

_MACHINE = MachineOptions(cpus=str(max(os.sched_getaffinity(0))))
_DISTURBED = disturbed_by("hog")


class _Listener(SilentListener):
    def on_begin(self, beginning: object) -> None: ...

    def on_repetition(self, judged: object) -> None: ...


def _run(options: RunOptions) -> RunSeries:
    return run_series(LiveMachine([os.getpid()]), options, _Listener())


def _script(folder: Path, name: str) -> str:
    """Return the path of a script that appends its argv[0], personality and layout variable to a log."""
    script = folder / name
    look = 'echo "$0 $(cat /proc/self/personality) ${NOISEWATCH_LAYOUT-none}"'
    script.write_text(f"#!/bin/sh\n{look} >> {folder / 'log'}\n")
    script.chmod(0o755)
    return str(script)


def _log(folder: Path) -> list[list[str]]:
    return [line.split(" ") for line in (folder / "log").read_text().splitlines()]


@pytest.mark.usefixtures("restored_process")
def test_each_layout_runs_twice_with_what_the_receipt_contains(tmp_path: Path) -> None:
    argv = (_script(tmp_path, "bench"),)
    series = _run(RunOptions(argv=argv, machine=_MACHINE, runs=4, varies_layout=True))
    layouts = [judged.repetition.layout for judged in series.repetitions]
    assert [layout.number for layout in layouts if layout] == [turn.layout for turn in draw_turns(4, 0, series.seed)]
    log = _log(tmp_path)
    assert len(log) == len(layouts) == 8
    for (argv0, personality, value), layout in zip(log, layouts, strict=True):
        assert layout is not None
        assert (len(argv0) - len(argv[0]), len(value)) == (layout.argv0_bytes, layout.environment_bytes)
        assert (os.path.basename(argv0), os.path.realpath(argv0)) == ("bench", argv[0])
        assert personality == "00000000"
    assert len(set(layouts)) == 4


@pytest.mark.usefixtures("restored_process")
def test_two_commands_run_as_pairs_in_each_layout(tmp_path: Path) -> None:
    a, b = (_script(tmp_path, name) for name in ("bench-a", "bench-b"))
    series = _run(RunOptions(argv=(a,), against=(b,), machine=_MACHINE, runs=3, varies_layout=True))
    pairs = list(zip(series.repetitions[::2], series.repetitions[1::2], strict=True))
    firsts = []
    for first, second in pairs:
        assert first.repetition.layout is not None
        assert first.repetition.layout == second.repetition.layout
        assert {first.repetition.command, second.repetition.command} == {0, 1}
        firsts.append((first.repetition.layout.number, first.repetition.command))
    assert sorted(firsts) == [(layout, command) for layout in range(3) for command in range(2)]
    assert len({tuple(line[2] for line in _log(tmp_path)[at : at + 2]) for at in range(0, 12, 2)}) == 3


@pytest.mark.usefixtures("restored_process")
def test_fixed_layout_adds_no_variable(tmp_path: Path) -> None:
    argv = (_script(tmp_path, "bench"),)
    series = _run(RunOptions(argv=argv, machine=_MACHINE, runs=2, has_fixed_layout=True))
    assert _log(tmp_path) == [[argv[0], "00040000", "none"]] * 2
    assert [judged.repetition.layout for judged in series.repetitions] == [None, None]


@pytest.mark.usefixtures("restored_process")
@pytest.mark.parametrize("options", [{"varies_layout": True}, {"has_fixed_layout": True}])
def test_refused_layout_is_an_error_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: dict[str, bool]
) -> None:
    monkeypatch.setattr(run_options, "refused_layout_reason", lambda layout: "operation not permitted")
    argv = (_script(tmp_path, "bench"),)
    with pytest.raises(UsageError, match=r"layout: cannot switch .* operation not permitted .*Docker"):
        _run(RunOptions(argv=argv, machine=_MACHINE, calibration_s=60, **options))  # type: ignore[arg-type]
    assert not (tmp_path / "log").exists()


def with_layouts(series: RunSeries, numbers: list[int]) -> RunSeries:
    """Return the series with these layouts."""
    judged = [
        replace(run, repetition=replace(run.repetition, layout=Layout(number, 100 * number, 0)))
        for run, number in zip(series.repetitions, numbers, strict=True)
    ]
    options = replace(series.options, varies_layout=True, runs=len(set(numbers)))
    return replace(series, repetitions=tuple(judged), options=options)


def test_layouts_with_two_undisturbed_runs_show_the_effect() -> None:
    verdicts = [UNDISTURBED] * 8
    series = with_layouts(timed(written_series(*verdicts), [1, 2, 3, 1.01, 3.02, 2.01, 4, 4]), [0, 1, 2, 0, 2, 1, 3, 3])
    effect = conclude(series).commands[0].layout_effect
    assert effect is not None
    assert (effect.layouts, effect.is_shown) == (4, True)
    verdicts[6] = _DISTURBED
    disturbed = with_layouts(written_series(*verdicts), [0, 1, 2, 0, 2, 1, 3, 3])
    effect = conclude(disturbed).commands[0].layout_effect
    assert effect is not None
    assert effect.layouts == 3
    assert conclude(written_series(*verdicts)).commands[0].layout_effect is None


def test_layout_counts_as_one_pair_with_the_mean_of_its_pairs() -> None:
    numbers = [layout for layout in (0, 1, 0, 2, 1, 2, 3, 4, 4, 3) for _ in range(2)]
    times = [1 + number / 10 + at % 2 * 0.1 for at, number in enumerate(numbers)]
    series = with_layouts(timed(written_series(*[UNDISTURBED] * 20, has_two=True), times), numbers)
    conclusion = conclude(series)
    assert conclusion.difference is not None
    assert (conclusion.pairs, conclusion.difference.pairs) == (5, 5)
    assert conclusion.difference.share == pytest.approx(0.1 / 1.2)
    assert conclusion.difference.second_share is None
    assert conclusion.difference.interval is not None
    half = with_layouts(written_series(_DISTURBED, *[UNDISTURBED] * 19, has_two=True), numbers)
    assert (conclude(half).pairs, conclude(half).difference.pairs) == (5, 5)  # type: ignore[union-attr]


def test_gate_and_retries_count_whole_layouts() -> None:
    numbers = [0, 1, 1, 0, 2, 2]
    verdicts = [_DISTURBED, *[UNDISTURBED] * 5]
    series = with_layouts(written_series(*verdicts), numbers)
    assert undisturbed_count(series.options, series.repetitions) == 2
    two = replace(series, options=replace(series.options, runs=2))
    assert gate_of_series(two) == "undisturbed"
    assert gate_of_series(series) == "disturbed"
    options = replace(series.options, runs=2, most_retries=3)
    judged = series.repetitions
    assert len(list(turns(options, 1, lambda: judged[:4]))) == 2 * 2 + 3 * 2
    assert len(list(turns(options, 1, lambda: judged))) == 2 * 2


def test_number_of_requested_repetitions() -> None:
    one = RunOptions(argv=("true",), runs=5)
    assert (one.requested_count, one.is_series) == (5, True)
    assert replace(one, varies_layout=True).requested_count == 10
    assert replace(one, varies_layout=True, is_aa=True).requested_count == 20
    assert replace(one, runs=1, varies_layout=True).is_series
    assert not replace(one, runs=1).is_series


def test_energy_of_a_layout_counts_as_one_pair() -> None:
    numbers = [layout for layout in (0, 1, 0, 2, 1, 2) for _ in range(2)]
    series = with_layouts(written_series(*[UNDISTURBED] * 12, has_two=True), numbers)
    energy = RunEnergy(10**9, {"package-0": 2.0}, None)
    judged = [replace(run, repetition=replace(run.repetition, energy=energy)) for run in series.repetitions]
    difference = conclude(replace(series, repetitions=tuple(judged))).energy_difference
    assert difference is not None
    assert difference.pairs == 3
