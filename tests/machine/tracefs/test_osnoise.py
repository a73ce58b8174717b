"""The osnoise tracer's one option, in a folder that looks like tracefs; with a kernel's own: tests/lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.errors import CannotMeasure
from noisewatch.machine.tracefs.instance import how_to_follow
from noisewatch.machine.tracefs.watcher import WORKLOAD_OFF, instance_path

_DEFAULT = "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP\n"


def _tracefs(folder: Path, options: str | None = _DEFAULT, tracers: str = "timerlat osnoise nop\n") -> Path:
    for name in ("osnoise", "instances/theirs"):
        (folder / name).mkdir(parents=True)
    (folder / "available_tracers").write_text(tracers)
    (folder / "current_tracer").write_text("nop\n")
    (folder / "instances/theirs/current_tracer").write_text("nop\n")
    if options is not None:
        (folder / "osnoise/options").write_text(options)
    return folder


def _options(tracefs: Path) -> str:
    return (tracefs / "osnoise/options").read_text()


def test_the_load_is_left_out_and_the_instances_name_says_that_it_was_there(tmp_path: Path) -> None:
    tracefs = _tracefs(tmp_path)
    purpose, prepare = how_to_follow(tracefs)
    assert (purpose, _options(tracefs)) == (WORKLOAD_OFF, _DEFAULT)
    prepare()
    assert _options(tracefs) == "NO_OSNOISE_WORKLOAD"


def test_where_it_was_left_out_before_it_stays_so(tmp_path: Path) -> None:
    tracefs = _tracefs(tmp_path, "DEFAULTS NO_OSNOISE_WORKLOAD\n")
    purpose, prepare = how_to_follow(tracefs)
    prepare()
    assert purpose != WORKLOAD_OFF
    assert _options(tracefs) == "DEFAULTS NO_OSNOISE_WORKLOAD\n"


@pytest.mark.parametrize("tracer", ["osnoise", "timerlat"])
@pytest.mark.parametrize("whose", ["current_tracer", "instances/theirs/current_tracer"])
def test_while_somebody_else_uses_it_nothing_is_changed(tmp_path: Path, tracer: str, whose: str) -> None:
    tracefs = _tracefs(tmp_path)
    (tracefs / whose).write_text(tracer + "\n")
    with pytest.raises(CannotMeasure, match="another program uses"):
        how_to_follow(tracefs)


def test_another_of_us_that_is_about_to_use_it_is_somebody_else(tmp_path: Path) -> None:
    tracefs = _tracefs(tmp_path)
    instance_path(tracefs, WORKLOAD_OFF).mkdir()
    with pytest.raises(CannotMeasure, match="another program uses"):
        how_to_follow(tracefs)


def test_a_kernel_without_it_or_without_the_option_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="no osnoise tracer"):
        how_to_follow(_tracefs(tmp_path, tracers="nop\n"))
    with pytest.raises(CannotMeasure, match=r"Linux 6\.2"):
        how_to_follow(_tracefs(tmp_path / "old", options=None))
